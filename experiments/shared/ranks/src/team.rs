//! Ranks that have met: JSON objects, between rank 0 and each of the others.

use std::collections::BTreeSet;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Launched, Place};

/// A longer message, in bytes, is not one of ours.
const LONGEST: u64 = 64 << 10;
/// A connection that is silent for so long before it has introduced itself is not one of ours.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// Rank 0 waits for the others as long as its patience, and they a little longer for its verdict.
const GRACE: Duration = Duration::from_secs(5);

/// What a rank says of itself when it comes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What the rank works with: no two ranks may have the same.
    pub device: String,
    /// What all ranks must have the same of, each with its name: versions, options.
    pub same: Vec<(String, String)>,
}

/// A rank, for the error messages of the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Who {
    rank: usize,
    host: String,
    process: u32,
}

impl Who {
    fn me(rank: usize) -> Who {
        #[cfg(unix)]
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        #[cfg(windows)]
        let host = std::env::var("COMPUTERNAME").unwrap_or_else(|_| "?".to_owned());
        Who { rank, host, process: std::process::id() }
    }
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} (process {} on {})", self.rank, self.process, self.host)
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    /// From a rank that comes: what it is, or why it cannot take part.
    Join(Who, Result<Hello, String>),
    /// From rank 0: all have come.
    Welcome(Who),
    /// An order, or the answer to one.
    Say(Value),
    /// From rank 0: all is done.
    End,
    /// All is over; the reason.
    Stop(String),
}

/// A connection to another rank.
struct Link {
    who: Who,
    stream: TcpStream,
}

/// Where that fails, the other side is gone, which the thread that listens to it notices; or it
/// reads nothing, and will be late.
fn send(mut stream: &TcpStream, message: &Message) {
    let _ = serde_json::to_vec(message).map(|bytes| stream.write_all(&bytes));
}

fn receive(stream: impl Read) -> serde_json::Result<Message> {
    Message::deserialize(&mut serde_json::Deserializer::from_reader(stream.take(LONGEST)))
}

/// Neither reading nor writing takes longer than `limit`.
fn limit(stream: &TcpStream, limit: Duration) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))
}

/// Ends a process whose rank is the first argument because another rank is gone; the second says
/// which, and why. Other threads of the process may wait for that rank.
pub type Lost = fn(usize, &str) -> !;

/// All ranks, as one of them sees them.
pub struct Team {
    shared: Arc<Shared>,
    /// What comes by each link.
    said: Vec<Receiver<Value>>,
}

/// What the threads of a rank share.
struct Shared {
    me: Who,
    /// Rank 0's to all others, in their order; another rank's to rank 0.
    links: Vec<Link>,
    patience: Duration,
    /// When the last order began or ended, and who has not done it yet.
    pending: Mutex<(Instant, Vec<Who>)>,
    /// Set at the end, good or bad: from then on a closed connection is no news.
    over: AtomicBool,
    launched: Mutex<Launched>,
    lost: Lost,
}

impl Team {
    /// Rank 0 opens the port at which the ranks meet: at the loopback address if the place says
    /// so, otherwise at all addresses of the host.
    pub fn listen(place: &Place) -> Result<TcpListener> {
        let host = if place.host == "localhost" { "127.0.0.1" } else { &place.host };
        let ips = match host.parse::<IpAddr>() {
            Ok(ip) if ip.is_loopback() => vec![ip],
            _ => vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
        };
        let addresses: Vec<_> = ips.into_iter().map(|ip| (ip, place.port).into()).collect();
        TcpListener::bind(&addresses[..]).with_context(|| {
            let port = place.port;
            format!("rank 0 cannot open port {port}, where the ranks meet (MASTER_PORT chooses it)")
        })
    }

    /// Rank 0 waits until all ranks have come, `launched` or not, and compares what they say of
    /// themselves with `hello`. From then on another thread calls `lost` as soon as a rank is
    /// gone.
    pub fn gather(
        place: &Place,
        listener: TcpListener,
        mut launched: Launched,
        hello: Hello,
        patience: Duration,
        lost: Lost,
    ) -> Result<Team> {
        let me = Who::me(0);
        let mut came = vec![];
        let met = await_all(&mut came, place, &listener, &mut launched, patience)
            .and_then(|()| compare(&me, &of_all(hello, place), &came));
        let verdict = match &met {
            Ok(()) => Message::Welcome(me.clone()),
            Err(why) => Message::Stop(format!("{why:#}")),
        };
        came.iter().for_each(|(link, _)| send(&link.stream, &verdict));
        met?;
        came.sort_by_key(|(link, _)| link.who.rank);
        let links = came.into_iter().map(|(link, _)| link).collect();
        Team::start(me, links, patience, launched, lost)
    }

    /// Another rank goes to where the ranks meet and waits until all are there. `hello` is what
    /// it says of itself, or why it cannot take part, which is then the error of all. `lost` is
    /// called as by [`Team::gather`].
    pub fn join(
        place: &Place,
        hello: Result<Hello, String>,
        patience: Duration,
        lost: Lost,
    ) -> Result<Team> {
        let me = Who::me(place.rank);
        let stream = connect(place, patience)?;
        limit(&stream, patience + GRACE)?;
        let hello = hello.map(|hello| of_all(hello, place));
        send(&stream, &Message::Join(me.clone(), hello));
        let Place { host, port, .. } = place;
        let limit = (patience + GRACE).as_secs();
        let gone = || format!("rank 0 at {host}:{port} is gone, or silent for {limit} s");
        match receive(&stream).with_context(gone)? {
            Message::Welcome(who) => {
                let links = vec![Link { who, stream }];
                Team::start(me, links, patience, Launched::default(), lost)
            }
            Message::Stop(why) => bail!(why),
            other => bail!("rank 0 at {host}:{port} said {other:?}, and no welcome"),
        }
    }

    fn start(
        me: Who,
        links: Vec<Link>,
        patience: Duration,
        launched: Launched,
        lost: Lost,
    ) -> Result<Team> {
        let pending = Mutex::new((Instant::now(), vec![]));
        let (over, launched) = (AtomicBool::new(false), Mutex::new(launched));
        let shared = Arc::new(Shared { me, links, patience, pending, over, launched, lost });
        let mut said = vec![];
        for (n, link) in shared.links.iter().enumerate() {
            link.stream.set_read_timeout(None)?;
            let stream = BufReader::new(link.stream.try_clone()?);
            let (shared, (sender, receiver)) = (shared.clone(), channel());
            said.push(receiver);
            thread::spawn(move || shared.listen_to(&shared.links[n].who, stream, &sender));
        }
        let watching = shared.clone();
        thread::spawn(move || watching.watch());
        Ok(Team { shared, said })
    }

    /// How many ranks rank 0 has gathered, itself included.
    pub fn ranks(&self) -> usize {
        self.said.len() + 1
    }

    /// How many hosts they are on.
    pub fn hosts(&self) -> usize {
        self.shared.everyone().map(|who| &who.host).collect::<BTreeSet<_>>().len()
    }

    /// Rank 0 has every rank do the same thing: tells the others, does its `own` part, and
    /// waits for the others' answers. Returns all answers in the order of the ranks.
    pub fn order<Order: Serialize, Answer: DeserializeOwned>(
        &mut self,
        order: &Order,
        own: impl FnOnce(&Order) -> Result<Answer>,
    ) -> Result<Vec<Answer>> {
        let (shared, message) = (&self.shared, Message::Say(serde_json::to_value(order)?));
        *lock(&shared.pending) = (Instant::now(), shared.everyone().cloned().collect());
        shared.tell_all(&message);
        let mut answers = vec![own(order).inspect_err(|_| shared.await_news())?];
        shared.done(0);
        for (Link { who, .. }, said) in shared.links.iter().zip(&self.said) {
            let answer = said.recv().inspect_err(|_| shared.await_news());
            let answer = answer.map_err(|_| anyhow!("{who} is gone"))?;
            answers.push(serde_json::from_value(answer).map_err(|e| {
                let hint = "do all ranks run the same build?";
                anyhow!("{who} sent an answer of another type: {e}; {hint}")
            })?);
        }
        Ok(answers)
    }

    /// Rank 0 tells all ranks that everything is done.
    pub fn end(self) {
        self.shared.over.store(true, Ordering::Release);
        self.shared.tell_all(&Message::End);
    }

    /// Another rank does what rank 0 says, until it says that all is done. An error of `obey` is
    /// told to rank 0, and ends it.
    pub fn follow<Order: DeserializeOwned, Answer: Serialize>(
        self,
        mut obey: impl FnMut(&Order) -> Result<Answer>,
    ) -> Result<()> {
        let shared = &self.shared;
        for order in &self.said[0] {
            let order = serde_json::from_value(order).context("an order of another type");
            let answer = order.and_then(|order| obey(&order)).inspect_err(|e| {
                shared.await_news();
                shared.stop(&format!("{} failed: {e:#}", shared.me));
            })?;
            shared.tell_all(&Message::Say(serde_json::to_value(answer)?));
        }
        Ok(())
    }
}

impl Drop for Team {
    /// Without an end, this rank has failed, and the others should not wait to find out.
    fn drop(&mut self) {
        self.shared.stop(&format!("{} failed; its own output says why", self.shared.me));
    }
}

impl Shared {
    fn everyone(&self) -> impl Iterator<Item = &Who> {
        std::iter::once(&self.me).chain(self.links.iter().map(|link| &link.who))
    }

    fn tell_all(&self, message: &Message) {
        self.links.iter().for_each(|link| send(&link.stream, message));
    }

    /// A rank has done the last order.
    fn done(&self, rank: usize) {
        let (since, pending) = &mut *lock(&self.pending);
        pending.retain(|who| who.rank != rank);
        if pending.is_empty() {
            *since = Instant::now();
        }
    }

    /// The first time, tells the others that all is over, and why. Then waits for the ranks that
    /// this one has started.
    fn stop(&self, why: &str) -> bool {
        let is_first = !self.over.swap(true, Ordering::AcqRel);
        if is_first {
            self.tell_all(&Message::Stop(why.to_owned()));
        }
        std::mem::take(&mut *lock(&self.launched));
        is_first
    }

    /// A rank is gone: tells the others and the program, unless all is over anyway.
    fn lose(&self, why: &str) {
        if self.stop(why) {
            (self.lost)(self.me.rank, why);
        }
    }

    /// After an error: it may be the echo of a rank that is gone. The news of that, which ends
    /// the process with the better error, gets a moment to arrive.
    fn await_news(&self) {
        thread::sleep(Duration::from_secs(1));
        if self.over.load(Ordering::Acquire) {
            thread::sleep(GRACE); // `lost` is being called
        }
    }

    /// The thread of a link: takes what is said, and notices when nothing can come.
    fn listen_to(&self, who: &Who, mut stream: BufReader<TcpStream>, said: &Sender<Value>) {
        let why = loop {
            match receive(&mut stream) {
                Ok(Message::Say(value)) => {
                    self.done(who.rank);
                    if said.send(value).is_err() {
                        return; // the team is dropped
                    }
                }
                Ok(Message::End) => return self.over.store(true, Ordering::Release),
                Ok(Message::Stop(why)) => break why,
                Ok(other) => break format!("{who} said {other:?}"),
                Err(e) if e.is_eof() => {
                    break format!("{who} is gone: its connection closed, so its process ended");
                }
                Err(e) => break format!("{who} is gone: {e}"),
            }
        };
        self.lose(&why);
    }

    /// The thread that notices when nothing happens, also while this rank waits in a collective
    /// operation for another one.
    fn watch(&self) {
        while !self.over.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(20));
            let (since, late) = lock(&self.pending).clone();
            let limit = if late.is_empty() { 2 * self.patience } else { self.patience };
            if since.elapsed() > limit {
                let rank_0 = if self.me.rank == 0 { &self.me } else { &self.links[0].who };
                let (names, seconds) = (late.iter().map(Who::to_string), limit.as_secs());
                self.lose(&match names.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => format!("{rank_0} gave no order for {seconds} s"),
                    late => format!("{late} did not finish what it was told within {seconds} s"),
                });
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A rank that has come, and what it says of itself.
type Arrival = (Link, Result<Hello, String>);

/// What a rank says, and that all must have been told of the same number of ranks.
fn of_all(mut hello: Hello, place: &Place) -> Hello {
    hello.same.insert(0, ("number of ranks".to_owned(), place.ranks.to_string()));
    hello
}

/// Takes in the other ranks as they come, until as many have come as there are.
fn await_all(
    came: &mut Vec<Arrival>,
    place: &Place,
    listener: &TcpListener,
    launched: &mut Launched,
    patience: Duration,
) -> Result<()> {
    let Place { ranks, host, port, .. } = place;
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + patience;
    let (sender, introduced) = channel();
    while came.len() + 1 < *ranks {
        if let Ok((stream, _)) = listener.accept() {
            // A thread for each, so that one that says nothing holds up nobody.
            let sender = sender.clone();
            let introduce = move || introduction(stream).map(|arrival| sender.send(arrival));
            let _ = thread::Builder::new().spawn(introduce);
        }
        came.extend(introduced.recv_timeout(Duration::from_millis(2)));
        if let Some((rank, how)) = launched.ended() {
            bail!("rank {rank} ended before all had come: {how}");
        }
        if Instant::now() > deadline {
            let absent = (1..*ranks).filter(|n| came.iter().all(|(link, _)| link.who.rank != *n));
            let absent: Vec<_> = absent.map(|rank| rank.to_string()).collect();
            let s = if absent.len() == 1 { "" } else { "s" };
            let (absent, limit) = (absent.join(", "), patience.as_secs());
            bail!("rank{s} {absent} of {ranks} did not come to {host}:{port} within {limit} s");
        }
    }
    Ok(())
}

/// Waits for a connection to say who it is; one that is none of ours is closed again.
fn introduction(stream: TcpStream) -> Option<Arrival> {
    limit(&stream, INTRODUCTION).ok()?;
    let Message::Join(who, hello) = receive(&stream).ok()? else { return None };
    Some((Link { who, stream }, hello))
}

/// Whether all ranks have the same where they must, and no two the same number or device.
fn compare(me: &Who, mine: &Hello, came: &[Arrival]) -> Result<()> {
    let mut seen = vec![(me, mine)];
    for (Link { who, .. }, hello) in came {
        let hello = hello.as_ref().map_err(|why| anyhow!("{who} cannot take part: {why}"))?;
        for (first, Hello { device, .. }) in &seen {
            ensure!(first.rank != who.rank, "{first} and {who} have the same rank");
            ensure!(
                *device != hello.device,
                "{first} and {who} use the same {device}: each rank needs one of its own"
            );
        }
        for ((name, ours), (_, theirs)) in mine.same.iter().zip(&hello.same) {
            ensure!(ours == theirs, "{who} has a different {name} from {me}: {theirs}, not {ours}");
        }
        seen.push((who, hello));
    }
    Ok(())
}

/// Connects to rank 0, which may start later than this rank.
fn connect(place: &Place, patience: Duration) -> Result<TcpStream> {
    let Place { rank, host, port, .. } = place;
    let deadline = Instant::now() + patience;
    loop {
        let mut why = ErrorKind::ConnectionRefused.into();
        let addresses = (host.as_str(), *port).to_socket_addrs();
        for address in addresses.map_err(|e| why = e).into_iter().flatten() {
            match TcpStream::connect_timeout(&address, patience) {
                Ok(stream) if stream.local_addr()? != address => return Ok(stream),
                // Nobody listens there yet, and the system took the very port that is looked for
                // as this side's own, and connected it to itself.
                Ok(_) => {}
                Err(e) => why = e,
            }
        }
        let limit = patience.as_secs();
        ensure!(
            Instant::now() < deadline,
            "rank {rank} found no rank 0 at {host}:{port} within {limit} s: {why}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}
