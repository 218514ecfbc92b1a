//! A learner's host code with the check of its exercise: `cargo workbook exercise` names the
//! two files when it compiles this program.

use std::process::ExitCode;

/// The learner's file.
#[allow(dead_code, unreachable_pub)]
mod mine {
    include!(env!("TRIAL_MINE"));
}

/// The exercise's `check.rs`.
#[allow(unreachable_pub)]
mod check {
    #[allow(unused_imports)]
    use crate::mine;
    include!(env!("TRIAL_CHECK"));
}

fn main() -> ExitCode {
    trial::main(check::check)
}
