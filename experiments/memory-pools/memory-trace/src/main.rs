//! # Who waits when a memory pool is full, and when does memory leave it?
//!
//! Four streams each allocate a buffer from one pool, work on it, and free it. The pool
//! may hold two and a half buffers. Meanwhile other threads of the host note how much
//! memory is in use, once a millisecond: what the pool says (used by somebody, reserved
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
//! those are done, so two buffers serve all four. In breadth-first order nobody has
//! promised anything yet, and allocations 3 and 4 fail. Memory falls in the pause with a
//! threshold of 0, and at the end with the largest.

use std::process::ExitCode;
use std::time::Duration;

use lab::{Case, Clock, Kernel, Lab, Result, Span};

use crate::pool::Pool;
use crate::turns::{Bench, STREAMS};
use crate::watch::{Memory, watch};

mod pool;
mod turns;
mod watch;

const KERNEL: Kernel = Kernel {
    name: "memory-trace",
    source: include_str!("../../../../kernels/memory-trace.cu"),
    ptx: include_str!("../../../../kernels/ptx/memory-trace.ptx"),
};

const LARGEST: usize = 2 << 30;
/// Between two readings of the memory in use: over the streams' run, and over a free.
const COARSE: Duration = Duration::from_millis(1);
const FINE: Duration = Duration::from_micros(50);
const CASES: [(&str, &str); 4] = [
    ("depth_first", "returning"),
    ("depth_first", "keeping"),
    ("depth_first", "strict"),
    ("breadth_first", "returning"),
];

fn main() -> ExitCode {
    let question =
        "Who waits when a memory pool is full, and when does memory leave it?";
    lab::run("memory-trace", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Buffers of which eight would fit, and as many passes of work over one as take
    //    ten milliseconds.
    let context = lab.context().clone();
    let most = if lab.quick() { LARGEST / 8 } else { LARGEST };
    let bytes = most.min((lab.free_bytes()? / 8).next_power_of_two() / 2);
    let mut bench = Bench::new(lab, bytes)?;

    // 2. The four streams, from pools that hold two and a half buffers: timed while
    //    nobody watches, then watched, then with every word checked.
    for (order, kind) in CASES {
        let pool = Pool::new(&context, bytes * 5 / 2, kind)?;
        let (samples, ()) = lab.time_turns(Clock::Host, || {
            let turn = bench.streams(&pool, order, false)?;
            Ok((turn.seconds, ()))
        })?;
        let (turn, memory) = watch(&context, Some(&pool), COARSE, || {
            let turn = bench.streams(&pool, order, false)?;
            Ok((turn.zero, turn))
        })?;
        let checked = bench.streams(&pool, order, true)?.checked;
        let case = Case::new("streams").with("order", order).with("pool", kind);
        let case = case.with("bytes", bytes).with("cap_bytes", bytes * 5 / 2);
        let case = with_memory(case, memory).spans(turn.spans);
        lab.record(case.checked(checked).samples(samples))?;
    }

    // 3. `cuMemFree`, likewise, of a buffer as large as four.
    bench.words *= STREAMS;
    for wait in ["before", "none"] {
        let (samples, ()) = lab.time_turns(Clock::Host, || {
            let turn = bench.free(wait)?;
            Ok((turn.seconds, ()))
        })?;
        let (mut turn, memory) = watch(&context, None, FINE, || {
            let turn = bench.free(wait)?;
            Ok((turn.zero, turn))
        })?;
        turn.spans.extend(old_size(&turn.spans, &memory));
        let case = Case::new("free").with("wait", wait);
        let case = with_memory(case.with("bytes", STREAMS * bytes), memory);
        lab.record(case.spans(turn.spans).samples(samples))?;
    }
    Ok(())
}

fn with_memory(case: Case, memory: Memory) -> Case {
    memory.into_iter().fold(case, |case, (name, series)| case.memory(name, series))
}

// ANCHOR: old_size
/// From the start of the free to the first reading of NVML's that shows less.
fn old_size(spans: &[Span], memory: &Memory) -> Option<Span> {
    let start_seconds = spans.iter().find(|s| s.label == "free")?.start_seconds;
    let (_, readings) = memory.iter().find(|(name, _)| *name == "nvml")?;
    let before = readings.iter().rfind(|r| r.seconds <= start_seconds)?;
    let after = readings
        .iter()
        .find(|r| r.seconds > start_seconds && r.bytes < before.bytes)?;
    let (lane, label) = ("NVML".to_owned(), "old size".to_owned());
    Some(Span { lane, label, start_seconds, end_seconds: after.seconds })
}
// ANCHOR_END: old_size
