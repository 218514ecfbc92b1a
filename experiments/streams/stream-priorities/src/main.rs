//! # How long does an urgent kernel wait behind a large one?
//!
//! A large grid keeps the GPU full: when one of its blocks ends, the next takes its place.
//! A small kernel that comes now, in a stream of its own, needs a place too. A stream has a
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
//! block's time, as it comes at any time, and twice as long behind blocks of twice the time.
//! Then it runs as fast as alone.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUdevice_attribute, CUevent_flags};
use cudarc::driver::{
    CudaEvent, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
    result,
};
use lab::{Case, Clock, Kernel, Lab, Result, Span, check};
use record::Statistics;

const KERNEL: Kernel = Kernel {
    name: "stream-priorities",
    source: include_str!("../../../../kernels/stream-priorities.cu"),
    ptx: include_str!("../../../../kernels/ptx/stream-priorities.ptx"),
};

const THREADS: u32 = 256;
/// The rule that the kernels repeat: x becomes x * MULTIPLIER, modulo ENTRIES.
const MULTIPLIER: u32 = 25_173;
const ENTRIES: u32 = 1 << 16;
/// Kinds of large grids, and the fewest steps of a block: about 20 µs.
const KINDS: [(&str, u32); 2] = [("chase", 1 << 7), ("compute", 1 << 10)];
/// How many waves of blocks a large grid has. With fewer, each block takes longer.
const WAVES: [u32; 5] = [128, 64, 32, 16, 8];
/// Steps of the small kernel.
const SMALL: u32 = 1 << 8;
/// The small kernel comes at so many different times after the start of a wave.
const PHASES: u32 = 8;

fn main() -> ExitCode {
    let question = "How long does an urgent kernel wait behind a large one?";
    lab::run("stream-priorities", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Streams: the large grid's has the lowest priority, the small one's that or the
    //    highest.
    let (lowest, highest) = result::stream::get_priority_range()?;
    let context = lab.context();
    let stream = |priority| context.new_stream_with_priority(priority);
    let (background, equal, high) =
        (stream(lowest)?, stream(lowest)?, stream(highest)?);
    let event = || context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
    let (start, asked, done, end) = (event()?, event()?, event()?, event()?);
    let grid = |lab: &Lab, name, blocks, steps| {
        Grid::new(&background, lab.module()?.load_function(name)?, blocks, steps)
    };

    // 2. The small kernel on an idle GPU: what it waits for is its launch.
    let mut small = grid(lab, "compute", 1, SMALL)?;
    let (samples, spans) = lab.time_turns(Clock::CudaEvents, || {
        asked.record(&equal)?;
        small.launch(&equal)?;
        done.record(&equal)?;
        let spans = small.spans(0.0, seconds(&asked, &done)?, &equal)?;
        Ok((spans[0].end_seconds, spans))
    })?;
    let checked = small.check(&equal)?;
    let idle =
        Case::new("idle").model("steps", f64::from(SMALL)).spans(spans.to_vec());
    lab.record(idle.checked(checked).samples(samples))?;

    for ((name, fewest), waves) in
        KINDS.into_iter().flat_map(|kind| WAVES.map(|waves| (kind, waves)))
    {
        // 3. One wave of the large grid: how long a block takes when the GPU is full.
        let fewest = if lab.quick() { fewest / 8 } else { fewest };
        let steps = fewest * WAVES[0] / waves;
        let function = lab.module()?.load_function(name)?;
        let room = function
            .occupancy_max_active_blocks_per_multiprocessor(THREADS, 0, None)?;
        let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let places = room * lab.context().attribute(count)? as u32;
        let mut wave = grid(lab, name, places, steps)?;
        let samples = lab.time_on_gpu(&background, |_| wave.launch(&background))?;
        let block = Statistics::of(&samples.seconds).map_or(0.0, |s| s.median);
        let checked = wave.check(&background)?;
        let case =
            |case| Case::new(case).with("kind", name).with("waves", waves as usize);
        lab.record(case("wave").checked(checked).samples(samples))?;

        for (priority, stream) in [("equal", &equal), ("high", &high)] {
            let case = case("wait").with("priority", priority);
            if lowest == highest {
                lab.skip(case, "this GPU has no priorities");
                continue;
            }
            // 4. The large grid, and while it runs the small one. Events in the small
            //    one's stream note when it was asked for and when it was done.
            let mut large = grid(lab, name, places * waves, steps)?;
            let mut small = grid(lab, "compute", 1, SMALL)?;
            let mut turn = 0;
            // ANCHOR: wait
            let (samples, spans) = lab.time_turns(Clock::CudaEvents, || {
                start.record(&background)?;
                large.launch(&background)?;
                end.record(&background)?;
                turn += 1;
                let phase = f64::from(turn % PHASES) / f64::from(PHASES);
                pause(
                    Duration::try_from_secs_f64((2.0 + phase) * block)
                        .unwrap_or_default(),
                );
                asked.record(stream)?;
                small.launch(stream)?;
                done.record(stream)?;
                // ANCHOR_END: wait
                let (asked, done) =
                    (seconds(&start, &asked)?, seconds(&start, &done)?);
                let [wait, run] = small.spans(asked, done, stream)?;
                let whole = Span {
                    lane: "large grid".to_owned(),
                    label: "kernel 1".to_owned(),
                    start_seconds: 0.0,
                    end_seconds: seconds(&start, &end)?,
                };
                Ok((wait.end_seconds - asked, vec![whole, wait, run]))
            })?;
            let checked = large.check(stream)? + small.check(stream)?;
            let case = case.model("block_seconds", block);
            let case = case.model("steps", f64::from(steps)).spans(spans);
            lab.record(case.checked(checked).samples(samples))?;
        }
    }
    Ok(())
}

/// From one event to another, for which it waits.
fn seconds(from: &CudaEvent, to: &CudaEvent) -> Result<f64> {
    Ok(f64::from(from.elapsed_ms(to)?) * 1e-3)
}

/// Keeps the host busy for `time`.
fn pause(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// A grid, and what its threads and its first block write.
struct Grid {
    function: CudaFunction,
    blocks: u32,
    steps: u32,
    next: CudaSlice<u32>,
    out: CudaSlice<u32>,
    times: CudaSlice<u64>,
}

impl Grid {
    fn new(
        stream: &Arc<CudaStream>,
        function: CudaFunction,
        blocks: u32,
        steps: u32,
    ) -> Result<Grid> {
        let next = (0..ENTRIES).map(|i| i.wrapping_mul(MULTIPLIER) % ENTRIES);
        let next = stream.clone_htod(&next.collect::<Vec<_>>())?;
        let out = stream.alloc_zeros((blocks * THREADS) as usize)?;
        let times = stream.alloc_zeros(2)?;
        stream.synchronize()?; // from now on any stream may use them
        Ok(Grid { function, blocks, steps, next, out, times })
    }

    fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&self.next).arg(&mut self.out).arg(&ENTRIES).arg(&self.steps);
        launch.arg(&mut self.times);
        let config = LaunchConfig {
            grid_dim: (self.blocks, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernels take (next, out, entries, steps, times). `out` has a place for
        // each thread, `times` two, and the entries of `next` are places in it.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    /// The wait from `asked` to the start of the first block, which ended at `done`; and its
    /// run. The block knows how long it ran by another clock.
    fn spans(
        &self,
        asked: f64,
        done: f64,
        stream: &Arc<CudaStream>,
    ) -> Result<[Span; 2]> {
        let times = stream.clone_dtoh(&self.times)?;
        let began = done - (times[1] - times[0]) as f64 * 1e-9;
        let span = |label: &str, start_seconds, end_seconds| Span {
            lane: "small".to_owned(),
            label: label.to_owned(),
            start_seconds,
            end_seconds,
        };
        Ok([span("wait 2", asked, began), span("kernel 2", began, done)])
    }

    /// Compares what every thread wrote with the rule, repeated.
    fn check(&self, stream: &Arc<CudaStream>) -> Result<u64> {
        let got = stream.clone_dtoh(&self.out)?;
        let factor = MULTIPLIER.wrapping_pow(self.steps);
        check::every_element("steps", &got, |i| {
            let (block, thread) = (i as u32 / THREADS, i as u32 % THREADS);
            factor.wrapping_mul(2 * block + 1) % ENTRIES + thread
        })
    }
}
