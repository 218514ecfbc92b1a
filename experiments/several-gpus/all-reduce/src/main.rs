//! # How fast can several GPUs add up what each of them has?
//!
//! Page: `book/src/several-gpus/all-reduce.md`. Its sections show each file,
//! or what it measures; small vectors are on the page after it, `all-reduce-latency.md`:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured | every method, for more and more bytes |
//! | [`device`] | | streams, kernels and buffers of all GPUs |
//! | [`ways`] | The experiment | what does each queue? |
//! | [`verify`] | The experiment | is the sum right? |
//! | [`limited`] | What the speed costs | and NCCL, with as many blocks? |
//! | [`slices`] | What the speed costs | how many blocks and flags does the ring need? |
//!
//! In an *all-reduce* every GPU has a vector, and afterwards every GPU has the sum of all of
//! them. Training on several GPUs does that with gradients, after every batch.
//!
//! In a *ring* each GPU sends to the next one only. A vector is cut into as many chunks as
//! there are GPUs. A chunk goes round and is added to on each GPU; then its sum goes round.
//! With four GPUs, the path of the chunk that GPU 0 sends first:
//!
//! ```text
//! step      0       1       2       3       4       5
//!        0 ──► 1 ──► 2 ──► 3 ──► 0 ──► 1 ──► 2
//! inputs in  1       2       3   │   4       4       4
//! ```
//!
//! All chunks do so at once, each one starting on another GPU. So every GPU sends and
//! receives in each of the 2 (n - 1) steps, every time 1/n of the vector.
//!
//! The methods: the ring as a launch for each step (`ring_of_launches`); the ring as
//! one launch whose blocks wait for those of the neighbours (`ring`); every GPU adding one
//! chunk from all and writing it to all (`direct`); few elements, each with a flag of its own
//! (`tagged`); NVIDIA's library (`nccl`); and the host.
//!
//! **Prediction:** from 64 MiB on, `ring` reaches 85% of NCCL's bandwidth, and NCCL 75% of
//! the link's peak. For 1 KiB `ring` takes longer than `nccl`, and `tagged` less than 5 µs.

mod device;
mod limited;
mod slices;
mod verify;
mod ways;

use std::process::ExitCode;

use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
use lab::nccl::{self, bus_bandwidth_factor};
use lab::{CannotRun, Case, Ceiling, Lab, Result};
use peer_access::Access;

use device::{KERNEL, MOST_GPUS, Ranks};
use verify::RAGGED;
use ways::Method;

/// Bytes of a vector.
const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 1 << 30;
const ELEMENT: usize = size_of::<f32>();
/// All-reduces that are timed as one.
const IN_A_ROW: usize = 16;

fn main() -> ExitCode {
    // SAFETY: no thread has been started yet.
    unsafe { nccl::leave_multicast_off() };
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The GPUs, each with access to the memory of all others.
    let mut contexts = lab.gpus(2)?;
    contexts.truncate(MOST_GPUS);
    if let Access::Refused(why) = peer_access::enable_all(&contexts)? {
        return Err(CannotRun(why).into());
    }
    let n = contexts.len();

    // 2. Buffers. GPUs with too little memory for the largest vector get smaller ones.
    let wanted = if lab.quick() { lab.l2_bytes() / 4 } else { LARGEST };
    let largest = wanted.min(lab.free_bytes()? / 3).max(SMALLEST);
    let mut gpus = Ranks::new(lab, &contexts, (largest / ELEMENT).max(RAGGED))?;

    // 3. The methods, and how many are timed in a row. Most need kernels that wait for each
    //    other, and so run at the same time.
    let cooperates = CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
    let together = lab.context().attribute(cooperates)? != 0;
    let launches = if together { 4 } else { 1 }; // an emulated GPU counts, for one
    let mut methods = vec![(Method::RingOfLaunches, launches)];
    let library = if together { nccl::available() } else { Err(String::new()) };
    if library.is_ok() {
        gpus.join_nccl()?;
    }
    for method in [Method::Ring, Method::Direct, Method::Tagged, Method::Nccl] {
        let case = Case::new("queued").with("method", method);
        match &library {
            _ if !together => {
                lab.skip(case, "this GPU has no kernels that wait for one another");
            }
            Err(why) if method == Method::Nccl => lab.skip(case, why),
            _ => methods.push((method, IN_A_ROW)),
        }
    }
    let with_host =
        || methods.iter().map(|(method, _)| *method).chain([Method::Host]);

    // 4. A size that nothing divides.
    for method in with_host() {
        gpus.check_on_host(method)?;
    }

    let sizes = (0..).map(|power| SMALLEST << (2 * power));
    for bytes in sizes.take_while(|bytes| *bytes <= largest) {
        let count = bytes / ELEMENT;
        // 5. By the GPUs' clock, several in a row. Before that one of a size that no vector of
        //    16 bytes divides; and NCCL prepares at its first call for a size.
        for (method, row) in methods.iter().copied() {
            if !method.takes(&gpus, count) {
                continue;
            }
            gpus.clear()?;
            method.queue(&mut gpus, count - 3)?;
            gpus.check(method, count - 3)?;
            let case = case(lab, "queued", method, bytes, n);
            in_a_row(lab, &mut gpus, (method, row), bytes, case)?;
        }

        // 6. By the host's clock: one, from the call until all GPUs are done.
        for method in with_host() {
            if !method.takes(&gpus, count) {
                continue;
            }
            gpus.clear()?;
            let timed =
                case(lab, "call", method, bytes, n).time_on_host(lab, || {
                    method.queue(&mut gpus, count)?;
                    gpus.wait()
                })?;
            timed.checked(gpus.check(method, count)?).record(lab)?;
        }
    }
    if together {
        slices::slices(lab, &mut gpus, largest)?;
        limited::equal_blocks(lab, &mut gpus, largest)?;
    }
    Ok(())
}

/// What all cases have. Their bandwidth is NCCL's `busbw`: of what crosses the links of each
/// GPU, one way.
fn case(lab: &Lab, name: &str, method: Method, bytes: usize, gpus: usize) -> Case {
    Case::new(name)
        .with("method", method)
        .with("bytes", bytes)
        .reads((bytes as f64 * bus_bandwidth_factor(gpus)) as usize)
        .ceiling(Ceiling::NvLink)
        .footprint(2 * bytes, lab.l2_bytes())
}

// ANCHOR: queued
/// Times several all-reduces after each other, queued ahead on all GPUs, and checks the last.
/// A sample is the time of one.
fn in_a_row(
    lab: &mut Lab,
    gpus: &mut Ranks,
    (method, row): (Method, usize),
    bytes: usize,
    case: Case,
) -> Result<()> {
    let (count, row) = (bytes / ELEMENT, row.min(LARGEST / bytes));
    let first = gpus.each[0].stream.clone();
    gpus.clear()?;
    let timed = case.time_on_gpu(lab, &first, |_| {
        gpus.joined(|gpus| (0..row).try_for_each(|_| method.queue(gpus, count)))
    })?;
    timed.per(row).checked(gpus.check(method, count)?).record(lab)
}
// ANCHOR_END: queued
