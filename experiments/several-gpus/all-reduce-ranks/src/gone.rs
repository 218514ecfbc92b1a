//! How a process ends that cannot go on: its own error, or another rank that is gone.

use std::io::Write;
use std::process::ExitCode;

use lab::options::{CANNOT_RUN, FAILED, RECORDED};
use lab::{CannotRun, Result, gpu};

/// Ends a rank that is not rank 0, which the lab does for that one.
pub(crate) fn ended(outcome: Result<()>) -> ExitCode {
    let Err(e) = outcome else { return ExitCode::from(RECORDED) };
    complain(&gpu::explain_all(&e));
    ExitCode::from(if e.is::<CannotRun>() { CANNOT_RUN } else { FAILED })
}

/// Ends this process at once: another rank is gone, and the GPU may wait for it forever.
pub(crate) fn leave(rank: usize, why: &str) -> ! {
    match rank {
        0 => complain(why),
        _ => complain(&format!("rank {rank}: {why}")),
    }
    unsafe extern "C" {
        safe fn _exit(code: i32) -> !;
    }
    // Not `exit`: what CUDA and NCCL do at the exit would wait for the GPU.
    _exit(FAILED.into())
}

/// A whole line at once: other ranks may write to the same place.
fn complain(why: &str) {
    let line = format!("error: {}\n", lab::visible_lines(why));
    let _ = std::io::stderr().write_all(line.as_bytes()); // or nobody is there to read it
}
