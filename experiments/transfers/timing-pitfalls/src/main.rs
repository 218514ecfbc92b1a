//! # How wrong can a timing be when the timed work is right?
//!
//! Page: `book/src/transfers/timing-pitfalls.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | what the clock encloses |
//! |---|---|---|
//! | `main.rs` | The experiment | the copy |
//! | [`once`] | The experiment; 1. Once in a process | first calls, and the loading of a module |
//! | [`pages`] | 2. Pages that are not there yet | page faults |
//! | [`allocations`] | 3. Allocations | allocating device memory |
//! | [`waiting`] | 4. Not waiting; 5. Waiting for others | the call, older work |
//! | [`cached`] | 6. Bytes that a cache holds | a cache instead of the memory |
//! | [`idle`] | 7. Threads that do nothing | a 32nd of the work |
//! | [`short`] | 8. A kernel shorter than its launch | the launch |
//! | [`kernels`] | | the kernels of 6, 7 and 8 |
//!
//! The chapter times a copy of 1,000,000 floats to the GPU and back. Here the same copy
//! and two kernels are timed as they should be, and then as they are commonly mistimed.
//! The work is the same each time, and checked where it is timed correctly. What differs
//! is what the clock encloses.
//!
//! **Prediction:** the chapter's listing, which clones, allocates and faults pages in
//! while the clock runs, gives at least twice the true time each way. A clock that stops
//! before the copy has ended gives less than a tenth of it.

mod allocations;
mod cached;
mod idle;
mod kernels;
mod once;
mod pages;
mod short;
mod waiting;

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, PinnedHostSlice};
use lab::memory::pinned;
use lab::{Case, Ceiling, Lab, Result, emulator};

use kernels::KERNEL;

/// As many as in the chapter's listing.
const FLOATS: usize = 1_000_000;
const BYTES: usize = FLOATS * size_of::<f32>();
/// The one way that is not wrong on purpose.
const RIGHT: &str = "right";

fn main() -> ExitCode {
    // The program calls itself, to run the chapter's listing in a new process.
    if std::env::args_os().nth(1).is_some_and(|word| word == once::LISTING) {
        emulator::load_if_needed();
        let failed = once::listing().inspect_err(|e| eprintln!("{e}")).is_err();
        return ExitCode::from(u8::from(failed));
    }
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let mut buffers = Buffers {
        data: (0..FLOATS).map(value).collect(),
        back: vec![1.0; FLOATS],
        pinned_data: pinned(lab.context(), FLOATS, value)?,
        pinned_back: pinned(lab.context(), FLOATS, |_| 1.0)?,
        device: stream.alloc_zeros(FLOATS)?,
        stream,
    };
    right(lab, &mut buffers)?;
    once::listings(lab)?;
    once::launches(lab)?;
    pages::measure(lab, &mut buffers)?;
    allocations::measure(lab, &buffers)?;
    waiting::not_waiting(lab, &mut buffers)?;
    waiting::behind_others(lab, &mut buffers)?;
    drop(buffers);
    cached::measure(lab)?;
    idle::measure(lab)?;
    short::measure(lab)
}

/// What the copies use. Every page of the host's memory is there.
struct Buffers {
    stream: Arc<CudaStream>,
    data: Vec<f32>,
    back: Vec<f32>,
    pinned_data: PinnedHostSlice<f32>,
    pinned_back: PinnedHostSlice<f32>,
    device: CudaSlice<f32>,
}

/// All buffers are there, nothing else is in flight, a few copies have run before, and the
/// clock stops when the copy is done.
fn right(lab: &mut Lab, buffers: &mut Buffers) -> Result<()> {
    let Buffers { stream, data, back, pinned_data, pinned_back, device } = buffers;
    let idle = || Ok(stream.synchronize()?);
    for (kind, data, back) in [
        ("pageable", &data[..], &mut back[..]),
        ("pinned", pinned_data.as_slice()?, pinned_back.as_mut_slice()?),
    ] {
        stream.memset_zeros(device)?;
        // ANCHOR: right
        up(kind, RIGHT)
            .ceiling(Ceiling::HostLink)
            .time_on_host_after(lab, idle, |()| {
                stream.memcpy_htod(data, device)?;
                Ok(stream.synchronize()?)
            })?
            .check_device(stream, device, value)?
            .record(lab)?;
        // ANCHOR_END: right
        down(kind, RIGHT)
            .ceiling(Ceiling::HostLink)
            .time_on_host_after(lab, idle, |()| {
                stream.memcpy_dtoh(device, back)?;
                Ok(stream.synchronize()?)
            })?
            .check(back, value)?
            .record(lab)?;
    }
    Ok(())
}

/// A copy to the GPU, timed in the way `timed`.
fn up(kind: &str, timed: &str) -> Case {
    let case = Case::new("copy").with("direction", "host_to_device");
    in_the_way(timed, case).with("kind", kind).writes(BYTES)
}

/// A copy to the host, timed in the way `timed`.
fn down(kind: &str, timed: &str) -> Case {
    let case = Case::new("copy").with("direction", "device_to_host");
    in_the_way(timed, case).with("kind", kind).reads(BYTES)
}

/// A case that is timed in the way `timed`: every one but [`RIGHT`] is wrong.
fn in_the_way(timed: &str, case: Case) -> Case {
    let case = case.with("timed", timed);
    if timed == RIGHT { case } else { case.wrong_on_purpose() }
}

/// A million floats, all different.
fn value(i: usize) -> f32 {
    i as f32
}
