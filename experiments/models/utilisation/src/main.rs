//! # What does a GPU that is 100% busy do?
//!
//! Page: `book/src/models/utilisation.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | five loads, one after the other, and what NVML says of each |
//! | [`loads`] | The experiment | a warp that waits, multiplications, a copy |
//! | [`mod@watch`] | The experiment | reading NVML while a load runs |
//!
//! `nvidia-smi` shows *GPU-Util*: the share of the last moments in which a kernel ran. It does
//! not say how large the kernel was, or what it did.
//!
//! ```text
//! GPU-Util       ████████████████   there was a kernel: 100%
//! SM 0           ████████████████   one warp, which waits
//! SM 1 … 131
//! ```
//!
//! **Prediction:** one warp that waits shows as 100%, as do multiplications on all
//! multiprocessors; only power and the work done tell them apart. With rests of half the
//! time it is 50%. A copy shows as 100%, with little less for the memory.

mod loads;
mod watch;

use std::process::ExitCode;
use std::time::Duration;

use lab::machine::Monitor;
use lab::{Clock, Lab, Result, Samples};

use loads::{KERNEL, Kind, Loads};
use watch::watch;

/// Seconds of each load: before the first reading, and while NVML is read.
const FULL: [f64; 2] = [1.5, 3.0];
const QUICK: [f64; 2] = [1.0, 0.5];

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let mut loads = Loads::new(lab)?;

    // 1. One launch of each kernel: how long it takes, and whether it is right.
    for kind in [Kind::Spin, Kind::Copy, Kind::Multiply] {
        loads.measure(lab, kind)?;
    }

    // 2. Launch after launch, while NVML is asked.
    let monitor = Monitor::new();
    let device = monitor.device(lab.context().ordinal() as i32);
    let seconds = if lab.quick() { QUICK } else { FULL };
    for kind in Kind::ALL {
        let case = loads.case("watched", kind);
        let Some(device) = &device else {
            lab.skip(case, "NVML does not know this GPU");
            continue;
        };
        let seconds = seconds.map(Duration::from_secs_f64);
        let (seconds, case) = watch(device, case, seconds, || loads.turn(kind))?;
        let samples = Samples::taken_elsewhere(Clock::Host, seconds);
        case.timed(samples, ()).per(kind.launches() as usize).record(lab)?;
    }
    Ok(())
}
