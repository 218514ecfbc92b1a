//! # Sixty times faster: by the allocator, by four streams, or by where the clock stops?
//!
//! Four times over, a program allocates a large buffer, runs a kernel on it, and frees
//! it. The cudaMallocAsync article does so with `cuMemAlloc` in sequence and with
//! `cuMemAllocAsync` on four streams, and finds the second 60 times faster. Three things
//! differ between the two. Here each is varied on its own:
//!
//! ```text
//! allocator   mem_alloc     cuMemAlloc, cuMemFree
//!             pool          stream-ordered, a pool that gives back what is free when the
//!                           host waits for a stream (release threshold 0, the default)
//!             keeping_pool  a pool that keeps what it has (the largest threshold)
//! schedule    waiting       one stream; the host waits for the kernel before it frees
//!             one_stream    one stream; the host frees without having waited
//!             four_streams  one for each round, without waiting
//! until       submitted     the clock stops after the last free
//!             done          ... after the host has waited for all streams
//!             returned      ... when the driver has all memory back
//! ```
//!
//! **Prediction:** the four kernels write 16 GiB, which takes the H200 about 4 ms, and no
//! program that waits for them is faster. `cuMemAlloc` maps physical memory each time, at
//! about a millisecond for each GiB, so in sequence it takes about 20 ms. The allocator
//! accounts for 5×, four streams for nothing, and the rest of the 60× is in the clock:
//! `submitted` leaves out the work, and `done` leaves out what the pool still holds.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use lab::{Case, Ceiling, Clock, Kernel, Lab, Result, check};

use crate::allocator::Allocator;
use crate::rounds::{Bench, ROUNDS};

mod allocator;
mod kernels;
mod rounds;

const KERNEL: Kernel = Kernel {
    name: "free-attribution",
    source: include_str!("../../../../kernels/free-attribution.cu"),
    ptx: include_str!("../../../../kernels/ptx/free-attribution.ptx"),
};

const LARGEST: usize = 4 << 30;
const SCHEDULES: [&str; 3] = ["waiting", "one_stream", "four_streams"];
const UNTIL: [&str; 3] = ["submitted", "done", "returned"];
const PASSES: [usize; 2] = [1, 16];
/// Before a turn, so that the driver is done with what the turn before has freed.
const REST: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let question = "Sixty times faster: by the allocator, by four streams, or by \
                    where the clock stops?";
    lab::run("free-attribution", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Streams, kernels, allocators, and buffers of which five would fit.
    let mut bench = Bench::new(lab)?;
    let allocators = [
        ("mem_alloc", Allocator::MemAlloc),
        ("pool", Allocator::pool(lab.context(), 0)?),
        ("keeping_pool", Allocator::pool(lab.context(), u64::MAX)?),
    ];
    //    After its last call `cuMemFree` leaves nothing to be done, and a pool that returns
    //    its memory while the host waits leaves none to be returned after that.
    let stops = [&UNTIL[1..2], &UNTIL[..2], &UNTIL];
    let most = if lab.quick() { LARGEST / 16 } else { LARGEST };
    let bytes = most.min((lab.free_bytes()? / 5).next_power_of_two() / 2);

    // 2. A size that no block divides.
    bench.kernels.words = 1_000_003;
    bench.check_rounds(&allocators[0].1, "waiting")?;
    bench.kernels.words = bytes / size_of::<u32>();

    // 3. Allocator, schedule and the clock's stop in all combinations, after a rest.
    for ((name, allocator), stops) in allocators.iter().zip(stops) {
        for (schedule, until) in
            SCHEDULES.iter().flat_map(|s| stops.iter().map(move |until| (s, until)))
        {
            let (samples, spans) = lab.time_turns(Clock::Host, || {
                thread::sleep(REST);
                bench.rounds(allocator, schedule, until)
            })?;
            let checked = bench.check_rounds(allocator, schedule)?;
            let case = Case::new("rounds").with("allocator", *name);
            let case = case.with("schedule", *schedule).with("until", *until);
            let case = case.with("bytes", bytes).writes(ROUNDS * bytes);
            lab.record(case.checked(checked).spans(spans).samples(samples))?;
        }
    }

    // 4. Without a rest. Nothing is timed before twice the GPU's memory was freed; how
    //    many turns are fast until then?
    for (name, allocator) in &allocators {
        let mut turn = || bench.rounds(allocator, "waiting", "done");
        let mut turns = vec![];
        for _ in 0..2 * lab.free_bytes()? / (ROUNDS * bytes) {
            turns.push(turn()?.0);
        }
        let fast = turns.iter().take_while(|turn| **turn < 2.0 * turns[0]).count();
        let (samples, spans) = lab.time_turns(Clock::Host, turn)?;
        let checked = bench.check_rounds(allocator, "waiting")?;
        let case = Case::new("sustained").with("allocator", *name);
        let case = case.with("bytes", bytes).with("fast_turns", fast);
        let case = case.writes(ROUNDS * bytes).checked(checked);
        lab.record(case.spans(spans).samples(samples))?;
    }

    // 5. The kernel alone, on a buffer that is there, short and long. And `cuMemFree`
    //    alone, after the kernel and during it.
    let (stream, direct) = (bench.streams[0].clone(), &Allocator::MemAlloc);
    for passes in PASSES {
        let case = |name| {
            let case = Case::new(name).with("bytes", bytes).with("passes", passes);
            case.writes(passes * bytes)
        };
        let buffer = direct.alloc(bytes, &stream)?;
        bench.kernels.turn += 1;
        let samples = lab
            .time_on_gpu(&stream, |_| bench.kernels.work(&stream, buffer, passes))?;
        let checked = bench.right(buffer)?;
        check::every_element("right words", &[checked], |_| {
            bench.kernels.words as u64
        })?;
        bench.kernels.turn += 1; // in which nothing is right yet
        check::every_element("words", &[bench.right(buffer)?], |_| 0)?;
        direct.free(buffer, &stream)?;
        let kernel = case("kernel").ceiling(Ceiling::DeviceMemory).checked(checked);
        lab.record(kernel.footprint(bytes, lab.l2_bytes()).samples(samples))?;

        // ANCHOR: free
        for schedule in ["waiting", "one_stream"] {
            let (samples, ()) = lab.time_turns(Clock::Host, || {
                let buffer = direct.alloc(bytes, &stream)?;
                bench.kernels.work(&stream, buffer, passes)?;
                if schedule == "waiting" {
                    stream.synchronize()?;
                }
                let start = Instant::now();
                direct.free(buffer, &stream)?;
                Ok((start.elapsed().as_secs_f64(), ()))
            })?;
            lab.record(case("free").with("schedule", schedule).samples(samples))?;
        }
        // ANCHOR_END: free
    }
    Ok(())
}
