//! What a kernel has to do, and whether it does. It is given PTX, whoever compiled it, and runs it
//! on the emulated GPU: no file, no process, no clock but one that it is lent. So a page can ask it
//! as a terminal can.
//!
//! | module | what is in it |
//! |---|---|
//! | [`mod@check`] | `check.toml`: what an exercise demands |
//! | [`data`] | the buffers that a kernel works on |
//! | [`launch`] | kernels are launched, on fresh memory and within limits |
//! | [`judge`] | a kernel is judged by what its launches did |
//! | [`plan`] | what of anybody's kernel to launch, on which buffers: from options, or from a comment |
//! | `signature` | the parameters that a kernel's source declares |
//! | [`subject`] | a file with kernels, and the choice of one of them |
//! | [`trial`] | that kernel is run: what it did, and what was found |
//! | `remedy` | what to do about what was found |
//! | [`names`] | the source's names and elements, in sentences about its PTX |
//! | [`compiler`] | what compilers say, and what it means here |
//! | [`count`] | counts by their names, and by lines of the source |
//! | [`outcome`] | what is said of it, row by row |

#![forbid(unsafe_code)]

pub mod check;
pub mod compiler;
pub mod count;
pub mod data;
pub mod judge;
pub mod launch;
pub mod names;
pub mod outcome;
pub mod plan;
mod remedy;
mod signature;
pub mod subject;
pub mod trial;

use std::fmt;

pub use check::Check;
pub use judge::Judge;
pub use launch::Limits;
pub use outcome::{Outcome, Row, State};

/// What was asked for cannot be done as it was asked, whatever the kernel is: a sentence.
#[derive(Debug)]
pub struct Misused(pub String);

impl fmt::Display for Misused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misused {}

/// Returns [`Misused`], as `bail!` returns another error.
macro_rules! misused {
    ($($text:tt)*) => { return Err($crate::Misused(format!($($text)*)).into()) };
}
use misused;
