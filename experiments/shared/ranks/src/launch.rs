//! The smallest launcher: the same program again, on this host.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::{Place, SECRET_VARIABLE};

/// How long a rank may take to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// This program's file. On Linux it is the one that runs, even if a new build has its path.
pub fn program() -> std::io::Result<PathBuf> {
    match cfg!(target_os = "linux") {
        true => Ok("/proc/self/exe".into()),
        false => std::env::current_exe(),
    }
}

/// What nobody guesses: hashes with keys that the standard library gets from the system.
fn secret() -> String {
    let half = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", half(), half())
}

/// The other ranks, started by rank 0 on its own host; none if a launcher started them. They
/// are waited for when this is dropped; one that does not end is killed.
#[derive(Default)]
pub struct Launched(Vec<Child>);

impl Launched {
    /// Starts ranks 1 to `ranks` - 1 with this program's arguments, as torchrun would, and
    /// opens the port at which they meet this process, rank 0.
    pub fn start(ranks: usize) -> Result<(Place, TcpListener, Launched)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let host = Ipv4Addr::LOCALHOST.to_string();
        let secret = secret();
        let place =
            Place { rank: 0, local_rank: 0, ranks, host, port, secret: Some(secret.clone()) };
        let mut launched = Launched::default();
        for rank in 1..ranks {
            let mut command = Command::new(program()?);
            command
                .args(std::env::args_os().skip(1))
                .env("RANK", rank.to_string())
                .env("LOCAL_RANK", rank.to_string())
                .env("WORLD_SIZE", ranks.to_string())
                .env("MASTER_ADDR", &place.host)
                .env("MASTER_PORT", port.to_string())
                .env(SECRET_VARIABLE, &secret); // which other users cannot read
            let child = command.spawn();
            launched.0.push(child.with_context(|| format!("cannot start rank {rank}"))?);
        }
        Ok((place, listener, launched))
    }

    /// A rank that has ended already, and how.
    pub(crate) fn ended(&mut self) -> Option<(usize, ExitStatus)> {
        let ended =
            |(n, child): (usize, &mut Child)| Some((n + 1, child.try_wait().ok().flatten()?));
        self.0.iter_mut().enumerate().find_map(ended)
    }

    /// Waits for the ranks; none is left afterwards.
    pub(crate) fn reap(&mut self) {
        let deadline = Instant::now() + GRACE;
        for mut child in self.0.drain(..) {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
            // No effect on one that has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.reap();
    }
}
