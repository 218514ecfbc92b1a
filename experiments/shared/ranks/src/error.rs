//! What can go wrong between ranks, in words for the one who started them.

use crate::place::Launcher;

/// The environment does not say which rank this is.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceError {
    /// A variable that the launcher should have set.
    #[error(
        "{variable} is not set, though other variables say that {launcher} started this"
    )]
    Missing {
        /// The variable's name, or its names.
        variable: &'static str,
        /// What started this program, by the other variables.
        launcher: Launcher,
    },
    /// A variable that should be a number.
    #[error("{variable}={value} is not a number that makes sense there")]
    NotANumber {
        /// The variable's name.
        variable: &'static str,
        /// What it is set to.
        value: String,
    },
    /// A rank that does not exist.
    #[error(
        "{rank_variable}={rank}, but {ranks_variable}={ranks}: ranks count from 0 to {}",
        ranks.saturating_sub(1)
    )]
    RankOutside {
        /// The variable with the rank.
        rank_variable: &'static str,
        /// The rank.
        rank: usize,
        /// The variable with the number of ranks.
        ranks_variable: &'static str,
        /// The number of ranks.
        ranks: usize,
    },
    /// Nothing says on which host rank 0 is.
    #[error(
        "MASTER_ADDR is not set: {launcher} started ranks on several hosts and does not say \
         on which of them rank 0 is"
    )]
    NoMaster {
        /// What started this program.
        launcher: Launcher,
    },
}

/// The ranks did not meet, or did not stay together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub(crate) String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }
}
