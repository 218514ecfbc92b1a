//! The other ranks: do what rank 0 says, and listen to it.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::conductor::{await_news, beat_every};
use crate::wire::{Ear, PROTOCOL, ToConductor, ToFollower, Who, say, silence};
use crate::{Card, Error, Place};

/// Rank 0 waits as long as its patience; a rank waits a little longer for what it says then.
const GRACE: Duration = Duration::from_secs(5);

/// A rank other than 0, in a team that has met.
pub struct Follower {
    stream: Arc<Mutex<TcpStream>>,
    orders: Receiver<Result<Value, Error>>,
    over: Arc<AtomicBool>,
}

impl Follower {
    /// Goes to where the ranks meet and waits until all are there. `card` is what this
    /// rank shows, or the reason for which it cannot take part, which is then told as the
    /// error to all. From then on `lost` is called, at most once and from another
    /// thread, as soon as rank 0 is gone or says that another rank is.
    pub fn join(
        place: &Place,
        card: Result<Card, String>,
        patience: Duration,
        lost: impl Fn(&str) + Send + 'static,
    ) -> Result<Follower, Error> {
        let at = format!("{}:{}", place.host, place.port);
        let stream = connect(place, patience)?;
        let broken = |e: std::io::Error| Error::new(format!("rank 0 at {at}: {e}"));
        stream.set_nodelay(true).map_err(broken)?;
        stream.set_read_timeout(Some(patience + GRACE)).map_err(broken)?;
        stream.set_write_timeout(Some(patience)).map_err(broken)?;
        let mut ear = Ear::new(stream.try_clone().map_err(broken)?);
        let stream = Arc::new(Mutex::new(stream));
        let hello = ToConductor::Hello {
            protocol: PROTOCOL.to_owned(),
            secret: place.secret.clone(),
            who: Who::me(place.rank),
            ranks: place.ranks,
            card,
        };
        say(&stream, &hello).map_err(broken)?;
        let conductor = match ear.hear() {
            Ok(ToFollower::Welcome(conductor)) => conductor,
            Ok(ToFollower::Stop(why)) => return Err(Error::new(why)),
            Ok(other) => {
                return Err(Error::new(format!("rank 0 at {at} said {other:?}")));
            }
            Err(e) => {
                let why = silence(&e, patience + GRACE);
                return Err(Error::new(format!("rank 0 at {at} is gone: {why}")));
            }
        };
        let settled = stream.lock().unwrap_or_else(|e| e.into_inner());
        settled.set_read_timeout(Some(patience)).map_err(broken)?;
        drop(settled);
        let over = Arc::new(AtomicBool::new(false));
        let (sender, orders) = channel();
        let listens = over.clone();
        thread::spawn(move || {
            let ended = listen(&conductor, ear, &sender, patience);
            let expected = listens.swap(true, Ordering::AcqRel);
            if let Err(why) = ended
                && !expected
            {
                lost(&why);
                let _ = sender.send(Err(Error::new(why))); // or the follower has failed
            }
        });
        let (beats, beating) = (over.clone(), stream.clone());
        thread::spawn(move || {
            // If it cannot be said, the thread that listens finds out why.
            while !beats.load(Ordering::Acquire) && say(&beating, &ToConductor::Beat).is_ok() {
                thread::sleep(beat_every(patience));
            }
        });
        Ok(Follower { stream, orders, over })
    }

    /// Does what rank 0 says, until it says that all is done. An error of `obey` is told to
    /// rank 0, and ends it.
    pub fn follow<Order: DeserializeOwned, Answer: Serialize>(
        self,
        mut obey: impl FnMut(&Order) -> Result<Answer>,
    ) -> Result<()> {
        for order in &self.orders {
            match serde_json::from_value(order?).map_err(Into::into).and_then(|o| obey(&o)) {
                Ok(answer) => {
                    let answer = ToConductor::Answer(serde_json::to_value(answer)?);
                    // If it cannot be said, the thread that listens finds out why.
                    let _ = say(&self.stream, &answer);
                }
                Err(e) => {
                    await_news(&self.over);
                    self.over.store(true, Ordering::Release);
                    let _ = say(&self.stream, &ToConductor::Failed(format!("{e:#}")));
                    return Err(e);
                }
            }
        }
        Ok(())
    }
}

/// Connects to rank 0, which may start later than this rank.
fn connect(place: &Place, patience: Duration) -> Result<TcpStream, Error> {
    let deadline = Instant::now() + patience;
    loop {
        let addresses = (place.host.as_str(), place.port).to_socket_addrs();
        let tried = addresses.and_then(|addresses| {
            let mut last = std::io::ErrorKind::NotFound.into();
            for address in addresses {
                match TcpStream::connect_timeout(&address, patience) {
                    // If nobody listens yet, the system may choose the very port that is
                    // looked for as this side's own, and connect it to itself.
                    Ok(stream) if stream.local_addr()? == address => {
                        last = std::io::ErrorKind::ConnectionRefused.into();
                    }
                    Ok(stream) => return Ok(stream),
                    Err(e) => last = e,
                }
            }
            Err(last)
        });
        match tried {
            Ok(stream) => return Ok(stream),
            Err(e) if Instant::now() > deadline => {
                return Err(Error::new(format!(
                    "rank {} found no rank 0 at {}:{} within {} s: {e}",
                    place.rank,
                    place.host,
                    place.port,
                    patience.as_secs()
                )));
            }
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Passes on what rank 0 orders, until it says that all is done. The error is the reason
/// for which nothing more can come.
fn listen(
    conductor: &Who,
    mut ear: Ear,
    orders: &Sender<Result<Value, Error>>,
    patience: Duration,
) -> Result<(), String> {
    loop {
        match ear.hear() {
            Ok(ToFollower::Order(order)) => {
                let _ = orders.send(Ok(order)); // the follower may have failed
            }
            Ok(ToFollower::Beat | ToFollower::Welcome(_)) => {}
            Ok(ToFollower::End) => return Ok(()),
            Ok(ToFollower::Stop(why)) => return Err(why),
            Err(e) => {
                return Err(format!("{conductor} is gone: {}", silence(&e, patience)));
            }
        }
    }
}
