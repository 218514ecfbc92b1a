//! # Sixty times faster: by the allocator, by four streams, or by where the clock stops?
//!
//! Page: `book/src/memory-pools/free-attribution.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | allocator, schedule and clock in all combinations |
//! | [`allocator`] | The experiment | the driver's two ways to get device memory |
//! | [`rounds`] | The experiment | what is timed, and its check |
//! | [`clean_memory`] | Clean memory runs out | and without a rest? |
//! | [`free`] | What a free costs | what do the kernel and `cuMemFree` take alone? |
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

mod allocator;
mod clean_memory;
mod free;
mod rounds;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use lab::memory::power_of_two_within;
use lab::{Case, Clock, Lab, Result};
use pool::driver::{DriverPool, properties};

use allocator::Allocator;
use rounds::{Bench, KERNEL, ROUNDS, Schedule, Until};

const LARGEST: usize = 4 << 30;
/// Before a turn, so that the driver is done with what the turn before has freed.
const REST: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Streams, kernels, allocators, and buffers of which five would fit.
    let mut bench = Bench::new(lab)?;
    let pool = |threshold| -> Result<Allocator> {
        let pool = DriverPool::new(&properties(lab.context()))?;
        pool.set_threshold(threshold)?;
        Ok(Allocator::Pool(pool))
    };
    let allocators = [
        ("mem_alloc", Allocator::MemAlloc),
        ("pool", pool(0)?),
        ("keeping_pool", pool(u64::MAX)?),
    ];
    //    After its last call `cuMemFree` leaves nothing to be done, and a pool that returns
    //    its memory while the host waits leaves none to be returned after that.
    let stops = [&Until::ALL[1..2], &Until::ALL[..2], &Until::ALL];
    let (most, parts, rest) = match lab.quick() {
        true => (LARGEST / 16, 20, REST / 5),
        false => (LARGEST, 5, REST),
    };
    let bytes = most.min(power_of_two_within(lab.free_bytes()? / parts));

    // 2. A size that no block divides.
    bench.words = 1_000_003;
    bench.check_rounds(&allocators[0].1, Schedule::Waiting)?;
    bench.words = bytes / size_of::<u32>();

    // ANCHOR: rounds
    // 3. Allocator, schedule and the clock's stop in all combinations, after a rest.
    for ((name, allocator), stops) in allocators.iter().zip(stops) {
        for (schedule, until) in
            Schedule::ALL.iter().flat_map(|s| stops.iter().map(move |u| (*s, *u)))
        {
            let case = Case::new("rounds").with("allocator", *name);
            let case = case.with("schedule", schedule).with("until", until);
            let case = case.with("bytes", bytes).writes(ROUNDS * bytes);
            let timed = case.time_turns(lab, Clock::Host, || {
                thread::sleep(rest);
                bench.rounds(allocator, schedule, until, false)
            })?;
            timed
                .checked(bench.check_rounds(allocator, schedule)?)
                .spans()
                .record(lab)?;
        }
    }
    // ANCHOR_END: rounds

    clean_memory::sustained(lab, &mut bench, &allocators)?;
    free::cases(lab, &mut bench)
}
