//! What is wrong with PTX.

use std::fmt;

/// Why a PTX file, or a kernel of it, cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1 on.
    pub line: u32,
    /// What is wrong there. An operation that is not supported is named.
    pub what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the PTX: {}", self.line, self.what)
    }
}

impl std::error::Error for ParseError {}
