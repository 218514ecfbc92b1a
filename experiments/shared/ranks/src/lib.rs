//! One process per GPU: which of them this one is, how they meet, and how they notice
//! that one is gone.
//!
//! A *launcher* (`torchrun`, `srun`, `mpirun`) starts the same program many times, on one
//! host or on many, and tells each process by environment variables which one it is:
//! [`Place`]. They meet at rank 0, over TCP. Rank 0 becomes the [`Conductor`], which says
//! what all do next and does the same itself; the others are [`Follower`]s. The
//! connections stay open to the end, because a collective operation of which one rank is
//! missing never returns, and says nothing:
//!
//! | what happens | who notices | by |
//! |---|---|---|
//! | a stranger connects | rank 0 | the missing secret ([`SECRET_VARIABLE`]) |
//! | a rank never comes | rank 0 | the time-out of [`Conductor::gather`] |
//! | other program, other versions, same GPU | rank 0 | comparing the [`Card`]s |
//! | a process dies | whoever is connected to it | the closed connection |
//! | a host or a process hangs | whoever is connected to it | the missing beats |
//! | a rank does not finish what it was told | rank 0 | the missing answer |
//!
//! Whoever notices first tells rank 0, which tells everybody; so every rank ends with an
//! error that names the rank that is gone. Nothing here knows CUDA or NCCL.

mod conductor;
mod error;
mod follower;
mod launch;
mod place;
mod wire;

pub use conductor::Conductor;
pub use error::Error;
pub use follower::Follower;
pub use launch::{Launched, program};
pub use place::Place;
pub use wire::Card;

use std::time::Duration;

/// How long ranks wait for one another, unless the environment says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The environment variable that says how many seconds ranks wait for one another.
pub const PATIENCE_VARIABLE: &str = "WORKBOOK_PATIENCE";

/// The environment variable with the secret by which the ranks of a run know each other:
/// whoever connects without it is turned away, and no matter. Rank 0 makes one for the ranks
/// that it starts itself; a launcher passes on what the user has set. Without it anybody who
/// reaches the port can be taken for a rank.
pub const SECRET_VARIABLE: &str = "WORKBOOK_SECRET";

/// How long ranks wait for one another: for a rank to come, to give a sign of life, to
/// answer. `WORKBOOK_PATIENCE` in seconds, or [`PATIENCE`].
pub fn patience() -> Result<Duration, Error> {
    let Ok(value) = std::env::var(PATIENCE_VARIABLE) else { return Ok(PATIENCE) };
    match value.parse() {
        Ok(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::not_a_number(PATIENCE_VARIABLE, &value)),
    }
}
