//! # How busy is the GPU, if batches have to be made before they can be sent?
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
//! the GPU busy 0.8 / 1.8 = 44 % of the time at most, with a loader 80 %, and with two
//! threads that make each batch, all the time. One slot is not enough, because the
//! producer waits until it is sent; two are, and more only help if some batches take
//! longer to make than others.

mod epoch;

use std::process::ExitCode;

use lab::check::every_element;
use lab::{Case, Clock, Kernel, Lab, Result, Samples};

use epoch::{BATCHES, Epoch, Gpu, Maker, after, kind};

/// The kernel of the experiment `pipeline`.
const KERNEL: Kernel = Kernel {
    name: "pipeline",
    source: include_str!("../../../../kernels/pipeline.cu"),
    ptx: include_str!("../../../../kernels/ptx/pipeline.ptx"),
};

const WORKERS: [usize; 3] = [1, 2, 4];
/// How long the kernel takes, in times that one thread takes to make a batch; how much
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

fn main() -> ExitCode {
    let question = "How busy is the GPU, if batches have to be made first?";
    lab::run("data-loader", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Batches of 2 MiB, or less on a small GPU, less a word: no block divides them.
    let fitting = lab.free_bytes()?.next_power_of_two() / 256 / size_of::<u32>();
    let words = fitting.min(1 << 19) - 1;
    let bytes = words * size_of::<u32>();
    let mut gpu = Gpu::new(lab, words)?;
    let mut pageable = vec![0; words];
    // SAFETY: written below before anything reads it.
    let mut pinned =
        unsafe { lab.context().alloc_pinned_with_flags::<u32>(words, 0) }?;
    let pinned = pinned.as_mut_slice()?;

    // 2. The steps by themselves: making a batch of either kind with one thread, and
    //    sending it.
    let one = Maker::new(1, UNEVEN)?;
    let mut make_seconds = vec![];
    for (name, batch) in [("usual", 0), ("long", 7)] {
        pinned.fill(0);
        let samples = lab.time_on_host(|| {
            one.make(batch, pinned);
            Ok(())
        })?;
        let made = after(UNEVEN[kind(batch)]);
        let checked = every_element("make", pinned, |i| made(batch * words + i))?;
        make_seconds.push(median(&samples));
        let case = Case::new("make").with("batch", name).with("bytes", bytes);
        lab.record(case.checked(checked).samples(samples))?;
    }
    let samples = gpu.time_upload(lab, pinned)?;
    let upload = median(&samples);
    let case = Case::new("upload").with("bytes", bytes).writes(bytes);
    lab.record(case.checked(words as u64).samples(samples))?;

    for (load, share, rounds, slots) in LOADS {
        // 3. A kernel as long as this load asks for.
        let kernel = gpu.tune(share * make_seconds[0])?;
        for workers in WORKERS {
            if workers > 1 && load != "even" {
                continue;
            }
            let maker = Maker::new(workers, rounds)?;
            let uneven = usize::from(rounds == UNEVEN);
            let make = |batch| make_seconds[kind(batch) * uneven] / workers as f64;
            let case = |way: &str| {
                let case =
                    Case::new(way).with("load", load).with("workers", workers);
                case.with("bytes", bytes).with("batches", BATCHES)
            };

            // 4. One step after the other.
            if load != "uneven" {
                let sum =
                    (0..BATCHES).map(|batch| make(batch) + upload + kernel).sum();
                let serial = case("serial").with("kind", "pinned");
                let serial = serial.model("bound_seconds", sum);
                epoch(lab, &mut gpu, &maker, serial, |gpu| {
                    gpu.serial(&maker, pinned)
                })?;
            }
            if load == "even" && workers == 1 {
                let serial = case("serial").with("kind", "pageable");
                epoch(lab, &mut gpu, &maker, serial, |gpu| {
                    gpu.serial(&maker, &mut pageable)
                })?;
            }

            // 5. With a loader.
            let slots = if workers > 1 { &[2] } else { slots };
            for &slots in slots {
                let case = case("loader").with("slots", slots);
                let case =
                    case.model("bound_seconds", bound(make, upload, kernel, slots));
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
    gpu: &mut Gpu,
    maker: &Maker,
    case: Case,
    mut run: impl FnMut(&mut Gpu) -> Result<Epoch>,
) -> Result<()> {
    gpu.clear()?;
    let mut busy = vec![];
    let (samples, spans) = lab.time_turns(Clock::Host, || {
        let Epoch { seconds, busy_seconds, spans } = run(gpu)?;
        busy.push(busy_seconds);
        Ok((seconds, spans))
    })?;
    let checked = gpu.check(maker)?;
    let case = case.checked(checked);
    let in_kernels = Samples {
        clock: Clock::CudaEvents,
        seconds: busy.split_off(busy.len() - samples.seconds.len()),
        ..samples.clone()
    };
    lab.record(case.clone().with("of", "kernels").samples(in_kernels))?;
    lab.record(case.with("of", "epoch").spans(spans).samples(samples))
}

// ANCHOR: bound
/// When the last kernel is done, if each step starts as soon as it can: making, when
/// a slot is free; the copy, when the batch is made and one of two buffers on the GPU
/// is free; the kernel, when the batch has arrived.
fn bound(
    make: impl Fn(usize) -> f64,
    upload: f64,
    kernel: f64,
    slots: usize,
) -> f64 {
    let (mut made, mut sent, mut done) = (0f64, 0f64, 0f64);
    let (mut slots, mut buffers) = (vec![0f64; slots], [0f64; 2]); // free from then on
    for batch in 0..BATCHES {
        let slot = batch % slots.len();
        made = made.max(slots[slot]) + make(batch);
        sent = sent.max(made).max(buffers[batch % 2]) + upload;
        slots[slot] = sent;
        done = done.max(sent) + kernel;
        buffers[batch % 2] = done;
    }
    done
}
// ANCHOR_END: bound

/// The median of samples, in seconds.
fn median(samples: &Samples) -> f64 {
    let mut seconds = samples.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
