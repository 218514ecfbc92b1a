//! # How busy is the GPU, if batches have to be made before they can be sent?
//!
//! Page: `book/src/streams/data-loader.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured; Why | epochs with a loader and without one |
//! | [`mod@epoch`] | The experiment | batches are made, sent and worked on |
//! | [`maker`] | The experiment | making a batch |
//! | [`device`] | | device memory, events, the kernel, the check |
//! | [`model`] | More hands | when could the last kernel be done? |
//!
//! A training program loads batch after batch: a host thread reads or decodes it, it crosses
//! the link, a kernel works on it. One after the other, the GPU waits most of the time. If
//! a *producer* makes the next batches meanwhile, in a ring of pinned buffers (*slots*),
//! all three can go on at once (the crate `staging` has such a loader):
//!
//! ```text
//! serial   | make 0 |up| kernel 0 | make 1 |up| kernel 1 | make 2 |up| kernel 2 |
//! loader   | make 0 | make 1 | make 2 | make 3 |
//!                   |up|     |up|     |up|
//!                      | kernel 0 | kernel 1 | kernel 2 |
//! ```
//!
//! **Prediction:** a batch takes make + upload + kernel in turn, and with a loader as long
//! as the longest of the three. So a kernel that is 0.8 times as long as the making keeps
//! the GPU busy 0.8 / 1.8 = 44% of the time at most, with a loader 80%, and with two
//! threads that make each batch, all the time. One slot is not enough, because the
//! producer waits until it is sent; two are, and more only help if some batches take
//! longer to make than others.

mod device;
mod epoch;
mod maker;
mod model;

use std::process::ExitCode;

use lab::{Case, Clock, Lab, Result, Samples, memory};

use device::{BATCHES, Epoch, Trainer};
use maker::{Maker, after, kind};
use model::bound;

// ANCHOR: loads
/// How long the kernel takes, relative to one thread's making of a batch; how much
/// there is to make; and the numbers of slots to try.
const LOADS: [(&str, f64, [u32; 2], &[usize]); 4] = [
    ("slow_producer", 0.25, EVEN, &[2]),
    ("even", 0.8, EVEN, &[1, 2, 4]),
    ("fast_producer", 2.0, EVEN, &[2]),
    ("uneven", 2.4, UNEVEN, &[1, 2, 3, 4]),
];
/// Rounds that it takes to make a word of any batch, and of every eighth.
const EVEN: [u32; 2] = [16, 16];
const UNEVEN: [u32; 2] = [16, 144];
// ANCHOR_END: loads

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Batches of 2 MiB, or less on a small GPU, less a word: no block divides them.
    let fitting = lab.free_bytes()?.next_power_of_two() / 256 / size_of::<u32>();
    let words = fitting.min(1 << 19) - 1;
    let bytes = words * size_of::<u32>();
    let mut gpu = Trainer::new(lab, words)?;
    let mut pageable = vec![0; words];
    let mut pinned = memory::pinned(lab.context(), words, |_| 0)?;
    let pinned = pinned.as_mut_slice()?;

    // 2. The steps by themselves: making a batch of either kind with one thread, and
    //    sending it.
    let one = Maker::new(1, UNEVEN)?;
    let mut make_seconds = vec![];
    for (name, batch) in [("usual", 0), ("long", 7)] {
        pinned.fill(0);
        let made = after(UNEVEN[kind(batch)]);
        let timed = Case::new("make")
            .with("batch", name)
            .with("bytes", bytes)
            .time_on_host(lab, || {
                one.make(batch, pinned);
                Ok(())
            })?
            .check(pinned, |i| made(batch * words + i))?;
        make_seconds.push(timed.samples.median());
        timed.record(lab)?;
    }
    let (stream, batch) = (&gpu.copies, &mut gpu.halves[0].batch);
    stream.memset_zeros(batch)?;
    let timed = Case::new("upload")
        .with("bytes", bytes)
        .writes(bytes)
        .time_on_gpu(lab, stream, |_| Ok(stream.memcpy_htod(pinned, batch)?))?
        .check_device(stream, batch, |i| pinned[i])?;
    let upload = timed.samples.median();
    timed.record(lab)?;

    for (load, share, rounds, slots) in LOADS {
        // 3. A kernel as long as this load asks for.
        let kernel = gpu.tune(share * make_seconds[0])?;
        let (workers, from_pageable): (&[usize], bool) = match load {
            "even" => (&[1, 2, 4], true),
            "slow_producer" | "fast_producer" | "uneven" => (&[1], false),
            other => unreachable!("{other}"),
        };
        for &workers in workers {
            let maker = Maker::new(workers, rounds)?;
            let uneven = usize::from(rounds == UNEVEN);
            let make = |batch| make_seconds[kind(batch) * uneven] / workers as f64;
            let case = |way: &str| {
                let case =
                    Case::new(way).with("load", load).with("workers", workers);
                case.with("bytes", bytes).with("batches", BATCHES)
            };

            // 4. One step after the other.
            if rounds != UNEVEN && workers != 2 {
                let sum =
                    (0..BATCHES).map(|batch| make(batch) + upload + kernel).sum();
                let serial = case("serial").with("kind", "pinned");
                let serial = serial.model("bound_seconds", sum);
                epoch(lab, &mut gpu, &maker, serial, |gpu| {
                    gpu.serial(&maker, pinned)
                })?;
            }
            if from_pageable && workers == 1 {
                let serial = case("serial").with("kind", "pageable");
                epoch(lab, &mut gpu, &maker, serial, |gpu| {
                    gpu.serial(&maker, &mut pageable)
                })?;
            }

            // 5. With a loader.
            let slots = if workers > 1 { &[2] } else { slots };
            for &slots in slots {
                let bound = bound(make, upload, kernel, slots);
                let case = case("loader").with("slots", slots);
                let case = case.model("bound_seconds", bound);
                epoch(lab, &mut gpu, &maker, case, |gpu| {
                    gpu.with_loader(&maker, slots)
                })?;
            }
        }
    }
    Ok(())
}

/// Times epochs, and how long kernels ran in them, and compares all results.
fn epoch(
    lab: &mut Lab,
    gpu: &mut Trainer,
    maker: &Maker,
    case: Case,
    mut run: impl FnMut(&mut Trainer) -> Result<Epoch>,
) -> Result<()> {
    gpu.clear()?;
    let mut busy = vec![];
    let epochs = case.clone().with("of", "epoch");
    let epochs = epochs.time_turns(lab, Clock::Host, || {
        let (seconds, in_kernels, spans) = run(gpu)?;
        busy.push(in_kernels);
        Ok((seconds, spans))
    })?;
    let checked = gpu.check(maker)?;
    let seconds = busy.split_off(busy.len() - epochs.samples.seconds.len());
    let clock = Clock::CudaEvents;
    let kernels = Samples { clock, seconds, ..epochs.samples.clone() };
    case.with("of", "kernels").timed(kernels, ()).checked(checked).record(lab)?;
    epochs.spans().checked(checked).record(lab)
}
