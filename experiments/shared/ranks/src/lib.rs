//! One process per GPU: which of them this one is, how they meet, and how they notice
//! that one is gone.
//!
//! A *launcher* (`torchrun`, `srun`, `mpirun`) starts the same program many times, on one
//! host or on many, and tells each process by environment variables which one it is:
//! [`Place`]. They meet at rank 0, over TCP, as a [`Team`]: rank 0 says what all do next and does
//! the same itself. The connections stay open to the end, because a collective operation of
//! which one rank is missing never returns, and says nothing:
//!
//! | what happens | who notices | by |
//! |---|---|---|
//! | a stranger connects | rank 0, which hangs up | what it says, or that it says nothing |
//! | a rank never comes | rank 0 | the time-out of [`Team::gather`] |
//! | other program, other versions, same GPU | rank 0 | comparing each rank's [`Hello`] |
//! | a process dies | whoever is connected to it | the closed connection |
//! | a process or a host hangs | rank 0 | an order that is not done within the time-out |
//! | rank 0 hangs, or waits for its GPU | all | no order within two time-outs |
//!
//! Whoever notices first tells rank 0, which tells everybody; so every rank ends with an
//! error that names the rank that is gone. Nothing here knows CUDA or NCCL. Nothing is
//! encrypted, and whoever speaks as a rank does is taken for one.

#![warn(missing_docs)]

mod launch;
mod place;
mod team;

pub use launch::{Launched, program};
pub use place::Place;
pub use team::{Hello, Lost, Team};

/// How long ranks wait for one another: as many seconds as `WORKBOOK_PATIENCE` says, or a minute.
pub fn patience() -> anyhow::Result<std::time::Duration> {
    let seconds = std::env::var("WORKBOOK_PATIENCE").unwrap_or_else(|_| "60".to_owned());
    match seconds.parse() {
        Ok(seconds @ 1..=86_400) => Ok(std::time::Duration::from_secs(seconds)),
        _ => anyhow::bail!("WORKBOOK_PATIENCE is {seconds:?}; expected an integer from 1 to 86400"),
    }
}
