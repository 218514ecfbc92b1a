//! The smallest launcher: the same program again, on this host.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::Place;

/// How long a rank may take to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// This program's file. On Linux it is the one that runs, even if a new build has its path.
pub fn program() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
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
        let mut launched = Launched::default();
        for rank in 1..ranks {
            let child = Command::new(program()?)
                .args(std::env::args_os().skip(1))
                .env("RANK", rank.to_string())
                .env("LOCAL_RANK", rank.to_string())
                .env("WORLD_SIZE", ranks.to_string())
                .env("MASTER_ADDR", &host)
                .env("MASTER_PORT", port.to_string())
                .spawn();
            launched.0.push(child.with_context(|| format!("cannot start rank {rank}"))?);
        }
        Ok((Place { rank: 0, local_rank: 0, ranks, host, port }, listener, launched))
    }

    /// A rank that has ended already, and how.
    pub(crate) fn ended(&mut self) -> Option<(usize, ExitStatus)> {
        let ended = |child: &mut Child| child.try_wait().ok().flatten();
        self.0.iter_mut().zip(1..).find_map(|(child, rank)| Some((rank, ended(child)?)))
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let deadline = Instant::now() + GRACE;
        for child in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
            // No effect on one that has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
