//! What ranks say to each other: one JSON object a line.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Changes with the messages.
pub(crate) const PROTOCOL: &str = "ranks 2";

/// A longer line, in bytes, is not one of ours.
pub(crate) const LONGEST: usize = 64 << 10;

/// What a rank shows when it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// What it works with: no two ranks may have the same.
    pub device: String,
    /// What all ranks must have the same of, by name: versions, options.
    pub same: BTreeMap<String, String>,
}

/// A rank, for the error messages of the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Who {
    pub(crate) rank: usize,
    pub(crate) host: String,
    pub(crate) process: u32,
}

impl Who {
    pub(crate) fn me(rank: usize) -> Who {
        Who { rank, host: host(), process: std::process::id() }
    }
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(windows)]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "?".to_owned())
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} (process {} on {})", self.rank, self.process, self.host)
    }
}

/// From another rank to rank 0.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToConductor {
    Hello {
        protocol: String,
        /// What the ranks of this run know each other by.
        secret: Option<String>,
        who: Who,
        ranks: usize,
        /// Or the reason for which it cannot take part.
        card: Result<Card, String>,
    },
    Beat,
    Answer(Value),
    Failed(String),
}

/// From rank 0 to another rank.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToFollower {
    Welcome(Who),
    Beat,
    Order(Value),
    /// All is done.
    End,
    /// All is over; the reason.
    Stop(String),
}

/// Says one thing. Whole lines, whichever thread sends.
pub(crate) fn say(stream: &Mutex<TcpStream>, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.lock().unwrap_or_else(|e| e.into_inner()).write_all(&line)
}

/// What the other side says, line by line.
pub(crate) struct Ear(BufReader<TcpStream>);

impl Ear {
    pub(crate) fn new(stream: TcpStream) -> Ear {
        Ear(BufReader::new(stream))
    }

    /// The next message. `UnexpectedEof` if the other side closed the connection,
    /// `WouldBlock` or `TimedOut` if it was silent for the stream's time-out.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = vec![];
        self.0.by_ref().take(LONGEST as u64).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_slice(&line)?)
    }
}

/// Why nothing more was heard, as the rest of a sentence.
pub(crate) fn silence(error: &io::Error, patience: std::time::Duration) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe => "its connection closed, so its process ended".to_owned(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("it gave no sign of life for {} s", patience.as_secs())
        }
        _ => error.to_string(),
    }
}
