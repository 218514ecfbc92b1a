//! All tests that run the experiments' real programs, as one program: while one of them waits,
//! another runs.

#![cfg(unix)]
#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod bounds;
mod driver;
mod emulated;
mod sessions;
mod shown;
#[path = "../../../../book/workbook/tests/support/skip.rs"]
mod skip;
mod tables;
#[path = "../../../../book/workbook/tests/support/turns.rs"]
mod turns;
