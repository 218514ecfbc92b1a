//! Rank 0: gathers the ranks, says what all do next, and listens to each.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::wire::{Ear, LONGEST, PROTOCOL, ToConductor, ToFollower, Who, say, silence};
use crate::{Card, Error, Launched, Place, SECRET_VARIABLE};

/// A connection that does not introduce itself within this time is not one of ours.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// So many of them are heard at a time; the others wait for their turn.
const VISITORS: usize = 64;

/// How long rank 0 still tells those who come why they need not have come.
const LATECOMERS: Duration = Duration::from_secs(1);

/// Rank 0 of a team that has met.
pub struct Conductor {
    team: Arc<Team>,
    answers: Vec<Receiver<Value>>,
}

/// What the conductor's threads share.
struct Team {
    followers: Vec<Member>,
    patience: Duration,
    /// Set at the end, good or bad: from then on a closed connection is no news.
    over: AtomicBool,
    orders: AtomicUsize,
    last_order: Mutex<Instant>,
    launched: Mutex<Launched>,
    lost: Box<dyn Fn(&str) + Send + Sync>,
}

/// Another rank, as rank 0 knows it.
struct Member {
    who: Who,
    stream: Mutex<TcpStream>,
    answered: AtomicUsize,
}

/// A connection that has not said yet who it is.
struct Visitor {
    stream: TcpStream,
    heard: Vec<u8>,
    since: Instant,
}

/// A rank that has come and was not yet looked at.
struct Arrival {
    who: Who,
    protocol: String,
    secret: Option<String>,
    ranks: usize,
    card: Result<Card, String>,
    stream: TcpStream,
    ear: Ear,
}

impl Conductor {
    /// Opens the port at which the ranks meet: at the host's loopback address if the place
    /// says so, otherwise at all its addresses.
    pub fn listen(place: &Place) -> Result<TcpListener, Error> {
        let at = format!("{}:{}", place.host, place.port);
        let addresses = (place.host.as_str(), place.port).to_socket_addrs().map_err(|e| {
            Error::new(format!(
                "rank 0 cannot find the host of rank 0, {}: {e} (MASTER_ADDR names it)",
                place.host
            ))
        })?;
        // Not by the addresses: /etc/hosts often gives a host's own name a loopback address,
        // at which the ranks of other hosts would not find it.
        let local = place.host == "localhost"
            || place.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        let bound = addresses.map(|address| match address.ip() {
            _ if local => address,
            IpAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, place.port)),
            IpAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, place.port)),
        });
        TcpListener::bind(&bound.collect::<Vec<_>>()[..]).map_err(|e| {
            Error::new(format!(
                "rank 0 cannot open the port at which the ranks meet, {at}: {e} (MASTER_PORT \
                 chooses it)"
            ))
        })
    }

    /// Waits until all ranks have come, `launched` or not, and compares what they show with `card`. From
    /// then on `lost` is called, at most once and from another thread, as soon as a rank is
    /// gone. It should end the process, whose other threads may wait for that rank.
    pub fn gather(
        place: &Place,
        listener: TcpListener,
        mut launched: Launched,
        card: Card,
        patience: Duration,
        lost: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Conductor, Error> {
        let me = Who::me(place.rank);
        let mut came: Vec<Option<Arrival>> = (1..place.ranks).map(|_| None).collect();
        let failed = fill(&mut came, place, &listener, &mut launched, patience)
            .and_then(|()| compare(&me, &card, came.iter().flatten()));
        if let Err(error) = failed {
            for arrival in came.into_iter().flatten() {
                // A rank that cannot hear it sees the closed connection.
                let _ = say(&Mutex::new(arrival.stream), &ToFollower::Stop(error.0.clone()));
            }
            return Err(error);
        }
        let (mut followers, mut ears) = (vec![], vec![]);
        for arrival in came.into_iter().flatten() {
            let Arrival { who, stream, ear, .. } = arrival;
            let settings = stream
                .set_read_timeout(Some(patience))
                .and_then(|()| stream.set_write_timeout(Some(patience)));
            settings.map_err(|e| Error::new(format!("{who}: {e}")))?;
            let (stream, answered) = (Mutex::new(stream), AtomicUsize::new(0));
            followers.push(Member { who, stream, answered });
            ears.push(ear);
        }
        let team = Arc::new(Team {
            followers,
            patience,
            over: AtomicBool::new(false),
            orders: AtomicUsize::new(0),
            last_order: Mutex::new(Instant::now()),
            launched: Mutex::new(launched),
            lost: Box::new(lost),
        });
        team.tell_all(&ToFollower::Welcome(me))?;
        let mut answers = vec![];
        for (n, ear) in ears.into_iter().enumerate() {
            let (sender, receiver) = channel();
            answers.push(receiver);
            let team = team.clone();
            thread::spawn(move || team.listen_to(n, ear, &sender));
        }
        let beats = team.clone();
        thread::spawn(move || beats.beat());
        Ok(Conductor { team, answers })
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.team.followers.len() + 1
    }

    /// How many hosts the ranks are on.
    pub fn hosts(&self) -> usize {
        let mut hosts: Vec<_> = self.team.followers.iter().map(|m| m.who.host.clone()).collect();
        hosts.push(Who::me(0).host);
        hosts.sort();
        hosts.dedup();
        hosts.len()
    }

    /// Has every rank do the same thing: tells the others, does rank 0's `own` part, and
    /// waits for the others' answers. Returns all answers in the order of the ranks.
    pub fn order<Order: Serialize, Answer: DeserializeOwned>(
        &mut self,
        order: &Order,
        own: impl FnOnce(&Order) -> Result<Answer>,
    ) -> Result<Vec<Answer>> {
        let team = &self.team;
        *team.last_order.lock().unwrap_or_else(|e| e.into_inner()) = Instant::now();
        team.orders.fetch_add(1, Ordering::Relaxed);
        team.tell_all(&ToFollower::Order(serde_json::to_value(order)?))?;
        let own = own(order).inspect_err(|_| await_news(&team.over))?;
        let mut all = vec![own];
        for (member, answers) in team.followers.iter().zip(&self.answers) {
            let answer = answers.recv_timeout(team.patience).map_err(|e| match e {
                RecvTimeoutError::Timeout => team.lose(&format!(
                    "{} did not finish what it was told within {} s",
                    member.who,
                    team.patience.as_secs()
                )),
                RecvTimeoutError::Disconnected => Error::new(format!("{} is gone", member.who)),
            })?;
            let answer = serde_json::from_value(answer);
            all.push(answer.with_context(|| format!("{} answered nonsense", member.who))?);
        }
        *team.last_order.lock().unwrap_or_else(|e| e.into_inner()) = Instant::now();
        Ok(all)
    }

    /// Tells all ranks that everything is done.
    pub fn end(self) {
        self.team.over.store(true, Ordering::Release);
        // A rank that is gone by now has nothing left to do.
        let _ = self.team.tell_all(&ToFollower::End);
    }
}

impl Drop for Conductor {
    /// Without an end, rank 0 has failed, and the others should not wait to find out.
    fn drop(&mut self) {
        if !self.team.over.swap(true, Ordering::AcqRel) {
            self.team.stop(&format!("{} failed; its own output says why", Who::me(0)));
        }
        self.team.reap();
    }
}

impl Team {
    /// Tells all ranks something; one that cannot be told is gone.
    fn tell_all(&self, message: &ToFollower) -> Result<(), Error> {
        for member in &self.followers {
            say(&member.stream, message).map_err(|e| {
                self.lose(&format!("{} is gone: {}", member.who, silence(&e, self.patience)))
            })?;
        }
        Ok(())
    }

    fn stop(&self, why: &str) {
        for member in &self.followers {
            // The one that cannot hear it is the one that is gone.
            let _ = say(&member.stream, &ToFollower::Stop(why.to_owned()));
        }
    }

    /// Waits for the ranks that rank 0 has started.
    fn reap(&self) {
        self.launched.lock().unwrap_or_else(|e| e.into_inner()).reap();
    }

    /// A rank is gone: tells the others and the program, unless all is over anyway.
    fn lose(&self, why: &str) -> Error {
        if !self.over.swap(true, Ordering::AcqRel) {
            self.stop(why);
            self.reap();
            (self.lost)(why);
        }
        Error::new(why)
    }

    /// The thread of one follower: takes its answers, and notices when none can come.
    fn listen_to(&self, n: usize, mut ear: Ear, answers: &Sender<Value>) {
        let member = &self.followers[n];
        loop {
            match ear.hear() {
                Ok(ToConductor::Answer(value)) => {
                    member.answered.fetch_add(1, Ordering::Relaxed);
                    if answers.send(value).is_err() {
                        return; // the conductor is dropped
                    }
                }
                Ok(ToConductor::Beat) => {}
                Ok(ToConductor::Failed(why)) => {
                    self.lose(&format!("{} failed: {why}", member.who));
                    return;
                }
                Ok(ToConductor::Hello { .. }) => {
                    self.lose(&format!("{} introduced itself twice", member.who));
                    return;
                }
                Err(e) => {
                    let why = silence(&e, self.patience);
                    self.lose(&format!("{} is gone: {why}", member.who));
                    return;
                }
            }
        }
    }

    /// The thread that tells the others that rank 0 lives, and notices when it hangs.
    fn beat(&self) {
        while !self.over.load(Ordering::Acquire) {
            if self.tell_all(&ToFollower::Beat).is_err() {
                return;
            }
            let last = *self.last_order.lock().unwrap_or_else(|e| e.into_inner());
            // Longer than an answer may take, whose absence says more.
            if last.elapsed() > self.patience * 3 / 2 {
                self.lose(&self.standstill(last.elapsed()));
                return;
            }
            thread::sleep(beat_every(self.patience));
        }
    }

    /// Every process is alive, but nothing happens.
    fn standstill(&self, time: Duration) -> String {
        let orders = self.orders.load(Ordering::Relaxed);
        let waiting = |m: &&Member| m.answered.load(Ordering::Relaxed) < orders;
        let waiting: Vec<_> =
            self.followers.iter().filter(waiting).map(|m| m.who.to_string()).collect();
        let behind = match waiting.is_empty() {
            true => "every other rank has finished what it was told".to_owned(),
            false => format!("these have not finished what they were told: {}", waiting.join(", ")),
        };
        format!("nothing happened for {} s on rank 0; {behind}", time.as_secs())
    }
}

/// After an error: it may be the echo of a rank that is gone. The news of that, which ends
/// the process with the better error, gets a moment to arrive.
pub(crate) fn await_news(over: &AtomicBool) {
    let deadline = Instant::now() + Duration::from_secs(1);
    while !over.load(Ordering::Acquire) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    if over.load(Ordering::Acquire) {
        thread::sleep(Duration::from_secs(5)); // `lost` is being called
    }
}

/// How often to give a sign of life.
pub(crate) fn beat_every(patience: Duration) -> Duration {
    (patience / 4).min(Duration::from_secs(1))
}

/// Takes in the other ranks as they come, until all are there. Where one does not fit, those
/// that come a little later are still taken in, so that they are told, too.
fn fill(
    came: &mut [Option<Arrival>],
    place: &Place,
    listener: &TcpListener,
    launched: &mut Launched,
    patience: Duration,
) -> Result<(), Error> {
    let broken = |e| Error::new(format!("the port at which the ranks meet: {e}"));
    listener.set_nonblocking(true).map_err(broken)?;
    let mut deadline = Instant::now() + patience;
    let (mut failed, mut visitors) = (None, vec![]);
    while came.iter().any(Option::is_none) && Instant::now() < deadline {
        // What is wrong with one connection does not matter to the others.
        while visitors.len() < VISITORS
            && let Ok((stream, _)) = listener.accept()
        {
            visitors.extend(Visitor::new(stream).ok());
        }
        let mut wrong = None;
        for mut visitor in std::mem::take(&mut visitors) {
            match visitor.introduced() {
                Ok(None) => visitors.push(visitor),
                Ok(Some(arrival)) => wrong = admit(came, place, arrival).err().or(wrong),
                Err(_) => {} // a stranger's connection is closed again
            }
        }
        thread::sleep(Duration::from_millis(2));
        let ended = launched
            .ended()
            .map(|(rank, how)| Error::new(format!("rank {rank} ended before all had come: {how}")));
        if failed.is_none() {
            failed = wrong.or(ended);
            if failed.is_some() {
                deadline = deadline.min(Instant::now() + LATECOMERS);
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        None if came.iter().any(Option::is_none) => Err(absent(came, place, patience)),
        None => Ok(()),
    }
}

impl Visitor {
    fn new(stream: TcpStream) -> io::Result<Visitor> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Visitor { stream, heard: vec![], since: Instant::now() })
    }

    /// Who it is, once it has said so; an error if it is not one of ours.
    fn introduced(&mut self) -> io::Result<Option<Arrival>> {
        let mut part = [0; 4096];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.heard.extend(&part[..bytes]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
            if self.heard.len() > LONGEST {
                return Err(ErrorKind::InvalidData.into());
            }
        }
        if self.heard.last() != Some(&b'\n') {
            return match self.since.elapsed() < INTRODUCTION {
                true => Ok(None),
                false => Err(ErrorKind::TimedOut.into()),
            };
        }
        let ToConductor::Hello { protocol, secret, who, ranks, card } =
            serde_json::from_slice(&self.heard)?
        else {
            return Err(ErrorKind::InvalidData.into());
        };
        let stream = self.stream.try_clone()?;
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(INTRODUCTION))?;
        let ear = Ear::new(stream.try_clone()?);
        Ok(Some(Arrival { who, protocol, secret, ranks, card, stream, ear }))
    }
}

/// Gives an arrival its seat. One that does not fit is seated too where it can be, so that
/// it is told.
fn admit(came: &mut [Option<Arrival>], place: &Place, arrival: Arrival) -> Result<(), Error> {
    let who = arrival.who.clone();
    let turn_away = |arrival: Arrival, why: String| {
        // It finds out by the closed connection, if it cannot hear it.
        let _ = say(&Mutex::new(arrival.stream), &ToFollower::Stop(why.clone()));
        Err(Error::new(why))
    };
    if arrival.secret != place.secret {
        let why = format!(
            "{who} does not have the secret of rank 0: {SECRET_VARIABLE} must be the same \
             for all ranks"
        );
        let _ = turn_away(arrival, why); // it may be a stranger, who spoils nothing
        return Ok(());
    }
    let difference = if arrival.protocol != PROTOCOL {
        Some(format!("speaks `{}`, and rank 0 speaks `{PROTOCOL}`", arrival.protocol))
    } else if arrival.ranks != place.ranks {
        Some(format!("was told of {} ranks, and rank 0 of {}", arrival.ranks, place.ranks))
    } else {
        None
    };
    if let Some(difference) = difference {
        return turn_away(arrival, format!("{who} {difference}"));
    }
    let Some(seat) = who.rank.checked_sub(1).and_then(|n| came.get_mut(n)) else {
        return turn_away(arrival, format!("{who} and this process are both rank 0"));
    };
    if let Some(first) = seat {
        let why = format!("{} and {who} have the same rank", first.who);
        return turn_away(arrival, why);
    }
    let refused = arrival.card.as_ref().err().map(|why| format!("{who} cannot take part: {why}"));
    *seat = Some(arrival);
    refused.map_or(Ok(()), |why| Err(Error::new(why)))
}

/// The ranks that have not come.
fn absent(came: &[Option<Arrival>], place: &Place, patience: Duration) -> Error {
    let absent: Vec<_> = (1..place.ranks)
        .filter(|rank| came[rank - 1].is_none())
        .map(|rank| rank.to_string())
        .collect();
    let s = if absent.len() == 1 { "" } else { "s" };
    Error::new(format!(
        "rank{s} {} of {} did not come to {}:{} within {} s",
        absent.join(", "),
        place.ranks,
        place.host,
        place.port,
        patience.as_secs()
    ))
}

/// Whether all ranks have the same where they must, and no two the same device.
fn compare<'a>(
    me: &Who,
    mine: &Card,
    arrivals: impl Iterator<Item = &'a Arrival>,
) -> Result<(), Error> {
    let mut seen = vec![(me, &mine.device)];
    for Arrival { who, card, .. } in arrivals {
        let Ok(card) = card else { continue }; // refused when it came
        let names = mine.same.keys().chain(card.same.keys());
        for name in names {
            let of = |card: &Card| card.same.get(name).cloned().unwrap_or("none".to_owned());
            let (theirs, ours) = (of(card), of(mine));
            if theirs != ours {
                return Err(Error::new(format!(
                    "{who} has a different {name} from {me}: {theirs}, not {ours}"
                )));
            }
        }
        if let Some((first, _)) = seen.iter().find(|(_, device)| **device == card.device) {
            return Err(Error::new(format!(
                "{first} and {who} use the same {}: each rank needs one of its own",
                card.device
            )));
        }
        seen.push((who, &card.device));
    }
    Ok(())
}
