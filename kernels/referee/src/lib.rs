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
//! | [`count`] | counts by their names, and by lines of the source |
//! | [`outcome`] | what is said of it, row by row |

#![forbid(unsafe_code)]

pub mod check;
pub mod count;
pub mod data;
pub mod judge;
pub mod launch;
pub mod outcome;

pub use check::Check;
pub use judge::Judge;
pub use launch::Limits;
pub use outcome::{Outcome, Row, State};
