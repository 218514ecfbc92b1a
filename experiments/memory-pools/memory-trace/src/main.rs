//! # Who waits when a memory pool is full, and when does memory leave it?
//!
//! Page: `book/src/memory-pools/memory-trace.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | four streams and each pool: timed, watched, checked |
//! | [`streams`] | The experiment | who waits when the pool is full? |
//! | [`device`] | | streams, kernels, timeline |
//! | [`mod@watch`] | The experiment | how much memory is in use meanwhile? |
//! | [`free`] | While `cuMemFree` is at work | when does its memory leave? |
//!
//! Four streams each allocate a buffer from one pool, work on it, and free it. The pool
//! may hold two and a half buffers. Meanwhile other threads of the host note how much
//! memory is in use, once a millisecond: what the pool says (in use, reserved
//! from the driver), what the driver says (`cuMemGetInfo`) and what NVML says, which
//! `nvidia-smi` shows.
//!
//! ```text
//! order   depth_first    one stream after the other: allocate, work, free
//!         breadth_first  first all allocate, then all work, then all free
//! pool    returning      release threshold 0, the default
//!         keeping        the largest threshold: keeps what it has
//!         strict         returning, and must not let one stream wait for another's free
//! ```
//!
//! The streams do all this twice, with a pause between.
//!
//! **Prediction:** the host never waits in `cuMemAllocAsync`. In depth-first order streams
//! 3 and 4 get the buffers that streams 1 and 2 have promised to free, and start when
//! those are done, so two buffers serve all four. In breadth-first order none has
//! promised anything yet, and allocations 3 and 4 fail. Memory falls in the pause with a
//! threshold of 0, and at the end with the largest.

mod device;
mod free;
mod streams;
mod watch;

use std::process::ExitCode;
use std::time::Duration;

use lab::memory::power_of_two_within;
use lab::{Case, Clock, Lab, Result};

use device::{Bench, KERNEL};
use streams::{Kind, Order};
use watch::{Memory, watch};

const LARGEST: usize = 2 << 30;
/// Between two readings of the memory in use.
const COARSE: Duration = Duration::from_millis(1);
const CASES: [(Order, Kind); 4] = [
    (Order::DepthFirst, Kind::Returning),
    (Order::DepthFirst, Kind::Keeping),
    (Order::DepthFirst, Kind::Strict),
    (Order::BreadthFirst, Kind::Returning),
];

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Buffers, of which eight would fit, and work on them.
    let most = if lab.quick() { LARGEST / 8 } else { LARGEST };
    let bytes = most.min(power_of_two_within(lab.free_bytes()? / 8));
    let mut bench = Bench::new(lab, bytes)?;

    // ANCHOR: streams
    // 2. The four streams, from pools that hold two and a half buffers: timed
    //    unwatched, then watched, then with every word checked.
    for (order, kind) in CASES {
        let pool = streams::pool(lab, bytes * 5 / 2, kind)?;
        let case = Case::new("streams").with("order", order).with("pool", kind);
        let timed = case
            .with("bytes", bytes)
            .with("cap_bytes", bytes * 5 / 2)
            .time_turns(lab, Clock::Host, || {
                Ok((bench.streams(&pool, order, false)?.seconds, ()))
            })?;
        let (turn, memory) = watch(lab.context(), Some(&pool), COARSE, || {
            bench.streams(&pool, order, false)
        })?;
        timed
            .note(|case, ()| Ok(with_memory(case, memory).spans(turn.spans)))?
            .checked(bench.streams(&pool, order, true)?.checked)
            .record(lab)?;
    }
    // ANCHOR_END: streams

    // 3. `cuMemFree`, likewise.
    free::cases(lab, &mut bench)
}

fn with_memory(case: Case, memory: Memory) -> Case {
    memory.into_iter().fold(case, |case, (name, series)| case.memory(name, series))
}
