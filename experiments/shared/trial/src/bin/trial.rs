//! A learner's host code with the check of its exercise: `cargo workbook exercise` names the
//! two files when it compiles this program. Verifying an exercise names all of its files, and
//! says by number which one is to be checked.

use std::process::ExitCode;

#[allow(dead_code, unreachable_pub)]
mod files {
    use trial::Check;

    include!(concat!(env!("OUT_DIR"), "/files.rs"));

    /// The check of the learner's file with this number.
    pub fn check(number: usize) -> Option<Check> {
        CHECKS.get(number).copied()
    }
}

fn main() -> ExitCode {
    trial::main(files::check)
}
