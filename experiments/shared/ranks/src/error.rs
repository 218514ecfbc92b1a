//! What can go wrong between ranks, in words for the one who started them.

/// The environment does not say which rank this is; or the ranks did not meet, or did not
/// stay together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub(crate) String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }

    pub(crate) fn not_a_number(variable: &str, value: &str) -> Error {
        Error::new(format!("{variable}={value} is not a number that makes sense there"))
    }
}
