//! # How long does an urgent kernel wait behind a large one?
//!
//! Page: `book/src/streams/stream-priorities.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | a small kernel beside a large grid |
//! | [`grid`] | The experiment | a grid, what it writes, and when it ran |
//!
//! A large grid keeps the GPU full: when one of its blocks ends, the next takes its place.
//! A small kernel that arrives now, in a stream of its own, needs a place too. A stream has a
//! *priority*, which decides whose blocks go first when there is room. It does not stop a
//! block that runs.
//!
//! ```text
//! equal   large  ■■■■■■■■■■■■■■■■■■■■■■■■        each ■ is a wave of blocks
//!         small       └── waits ──────────■
//! high    large  ■■■■■■■■■■■■■■■■■■■■■■■■
//!         small       └■
//! ```
//!
//! The large grid is of one of two kinds: blocks that wait for memory nearly all the time
//! (`chase`), and blocks that compute (`compute`). The small kernel computes.
//!
//! **Prediction:** with equal priority the small kernel waits until the large grid has
//! started its last block. With high priority it waits until a block ends: half of a
//! block's time, as it arrives at any time, and twice as long behind blocks of twice the time.
//! Then it runs as fast as alone.

mod grid;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, result};
use lab::timeline::span;
use lab::{Case, Clock, Lab, Result};

use grid::{Grid, Kernels, THREADS};

/// Kinds of large grids, and the fewest steps of a block: about 20 µs.
const KINDS: [(&str, u32); 2] = [("chase", 1 << 7), ("compute", 1 << 10)];
/// How many waves of blocks a large grid has. With fewer, each block takes longer.
const WAVES: [u32; 3] = [128, 32, 8];
/// Steps of the small kernel.
const SMALL: u32 = 1 << 8;
/// The small kernel arrives at this many different times after the start of a wave.
const PHASES: u32 = 8;

fn main() -> ExitCode {
    lab::run!(Some(grid::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Streams: the large grid's has the lowest priority, the small one's that or the
    //    highest.
    let (lowest, highest) = result::stream::get_priority_range()?;
    let context = lab.context().clone();
    let stream = |priority| context.new_stream_with_priority(priority);
    let (background, equal, high) =
        (stream(lowest)?, stream(lowest)?, stream(highest)?);
    let event = || context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
    let (start, asked, done, end) = (event()?, event()?, event()?, event()?);
    let kernels = Kernels::load(lab)?;
    let grid =
        |name, blocks, steps| Grid::new(&background, &kernels, name, blocks, steps);

    // 2. The small kernel on an idle GPU: what it waits for is its launch.
    let mut small = grid("compute", 1, SMALL)?;
    Case::new("idle")
        .model("steps", f64::from(SMALL))
        .time_turns(lab, Clock::CudaEvents, || {
            asked.record(&equal)?;
            small.launch(&equal)?;
            done.record(&equal)?;
            let spans = small.spans(0.0, seconds(&asked, &done)?, &equal)?;
            Ok((spans[0].end_seconds, spans.to_vec()))
        })?
        .spans()
        .checked(small.check(&equal)?)
        .record(lab)?;

    for ((name, fewest), waves) in
        KINDS.into_iter().flat_map(|kind| WAVES.map(|waves| (kind, waves)))
    {
        // 3. One wave of the large grid: how long a block takes when the GPU is full.
        let fewest = if lab.emulated() { fewest / 8 } else { fewest };
        let steps = fewest * WAVES[0] / waves;
        let function = lab.module()?.load_function(name)?;
        let room = function
            .occupancy_max_active_blocks_per_multiprocessor(THREADS, 0, None)?;
        let places = room * lab.multiprocessors() as u32;
        let case =
            |case| Case::new(case).with("kind", name).with("waves", waves as usize);
        let mut wave = grid(name, places, steps)?;
        let timed = case("wave")
            .time_on_gpu(lab, &background, |_| wave.launch(&background))?;
        let block = timed.samples.median();
        timed.checked(wave.check(&background)?).record(lab)?;

        for (priority, stream) in [("equal", &equal), ("high", &high)] {
            let case = case("wait").with("priority", priority);
            if lowest == highest {
                lab.skip(case, "this GPU has no priorities");
                continue;
            }
            // 4. The large grid, and while it runs the small one. Events in the small
            //    one's stream note when it was asked for and when it was done.
            let mut large = grid(name, places * waves, steps)?;
            let mut small = grid("compute", 1, SMALL)?;
            let mut turn = 0;
            let case = case.model("block_seconds", block);
            let case = case.model("steps", f64::from(steps));
            // ANCHOR: wait
            let timed = case.time_turns(lab, Clock::CudaEvents, || {
                start.record(&background)?;
                large.launch(&background)?;
                end.record(&background)?;
                turn += 1;
                let phase = f64::from(turn % PHASES) / f64::from(PHASES);
                pause((2.0 + phase) * block);
                asked.record(stream)?;
                small.launch(stream)?;
                done.record(stream)?;
                // ANCHOR_END: wait
                let (asked, done) =
                    (seconds(&start, &asked)?, seconds(&start, &done)?);
                let [wait, run] = small.spans(asked, done, stream)?;
                let large =
                    span("large grid", "kernel 1", [0.0, seconds(&start, &end)?]);
                Ok((wait.end_seconds - asked, vec![large, wait, run]))
            })?;
            let checked = large.check(stream)? + small.check(stream)?;
            timed.spans().checked(checked).record(lab)?;
        }
    }
    Ok(())
}

/// Seconds from one event to another, for which it waits.
fn seconds(from: &CudaEvent, to: &CudaEvent) -> Result<f64> {
    Ok(f64::from(from.elapsed_ms(to)?) * 1e-3)
}

/// Keeps the host busy for this many seconds.
fn pause(seconds: f64) {
    let start = Instant::now();
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
