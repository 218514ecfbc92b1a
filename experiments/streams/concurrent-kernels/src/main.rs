//! # Up to which size do two kernels run at the same time?
//!
//! Kernels in two streams may run side by side. But a *multiprocessor* holds only so many
//! threads, 2,048 on most GPUs, and a block that has started stays until it is done. Two
//! grids run side by side as far as there is room for the blocks of both; what has no
//! room waits. And room is not all: blocks that share a multiprocessor share its
//! arithmetic units.
//!
//! ```text
//! both grids fit    stream 1  ████████████
//!                   stream 2  ████████████
//! one fits          stream 1  ████████████
//!                   stream 2              ████████████
//! ```
//!
//! Two kernels show it. The blocks of `chase` wait for memory nearly all the time and do
//! not disturb each other; one block of `compute` keeps a whole multiprocessor busy.
//!
//! **Prediction:** let u be the size of a grid over what fills the GPU: all room for
//! threads with `chase`, one block on each multiprocessor with `compute`. If a small grid
//! takes T, two in one stream take 2 · ceil(u) · T and two in two streams ceil(2u) · T. So
//! two streams halve the time up to u = ½, and beyond they save at most the idle end of a
//! grid.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{
    CudaEvent, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use lab::{Case, Clock, Kernel, Lab, Result, Span, check};
use record::Statistics;

const KERNEL: Kernel = Kernel {
    name: "concurrent-kernels",
    source: include_str!("../../../../kernels/concurrent-kernels.cu"),
    ptx: include_str!("../../../../kernels/ptx/concurrent-kernels.ptx"),
};

const THREADS: u32 = 256;
/// The rule that both kernels repeat: x becomes x * MULTIPLIER; in the table of `chase`
/// modulo ENTRIES.
const MULTIPLIER: u32 = 25_173;
const ENTRIES: u32 = 1 << 16;
/// The kernels, and how often they repeat the rule.
const KERNELS: [(&str, u32); 2] = [("chase", 1 << 10), ("compute", 1 << 13)];
/// Sizes of the grids, in eighths of what fills the GPU.
const EIGHTHS: [usize; 14] = [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 14, 16, 18, 20];

fn main() -> ExitCode {
    let question = "Up to which size do two kernels run at the same time?";
    lab::run("concurrent-kernels", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two streams, and the events that tie them together.
    let lanes = Lanes::new(lab)?;
    for (name, steps) in KERNELS {
        let steps = if lab.quick() { steps / 8 } else { steps };
        grids(lab, &lanes, name, steps)?;
    }

    // 6. How fine the clock is that the timelines come from.
    let stream = &lanes.streams[0];
    let function = lab.module()?.load_function("clock_step")?;
    let mut step = stream.alloc_zeros::<u64>(1)?;
    let (samples, ()) = lab.time_turns(Clock::CudaEvents, || {
        let mut launch = stream.launch_builder(&function);
        launch.arg(&mut step);
        // SAFETY: the kernel takes a pointer to one number.
        unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }?;
        Ok((stream.clone_dtoh(&step)?[0] as f64 * 1e-9, ()))
    })?;
    lab.record(Case::new("clock_step").samples(samples))
}

/// Two equal grids of the kernel `name`, of more and more blocks.
fn grids(lab: &mut Lab, lanes: &Lanes, name: &str, steps: u32) -> Result<()> {
    // 2. How many blocks fill the GPU: all its threads, or its arithmetic units.
    let function = lab.module()?.load_function(name)?;
    let room =
        function.occupancy_max_active_blocks_per_multiprocessor(THREADS, 0, None)?;
    let each = if name == "chase" { room } else { 1 };
    let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    let full = (each as i32 * lab.context().attribute(count)?) as usize;
    let stream = &lanes.streams[0];
    let grid = |blocks| Grid::new(stream, &function, name, blocks, steps);
    let case = |case, eighths: usize| {
        let case = Case::new(case).with("kernel", name).with("eighths", eighths);
        case.model("full_blocks", full as f64)
    };

    // 3. One grid that fills half of it: T of the model.
    let mut alone = grid(full / 2)?;
    let samples = lab.time_on_gpu(stream, |_| alone.launch(stream))?;
    let t = Statistics::of(&samples.seconds).map_or(0.0, |s| s.median);
    let checked = alone.check(stream)?;
    lab.record(case("alone", 4).checked(checked).samples(samples))?;

    for eighths in EIGHTHS {
        let blocks = full * eighths / 8;
        for streams in [1, 2] {
            let case = case("pair", eighths).with("streams", streams);
            // 4. Two grids, queued before they start, in one stream or in two.
            let mut pair = [grid(blocks)?, grid(blocks)?];
            let samples = lab.time_on_gpu(stream, |_| {
                lanes.both(streams, |which, stream| pair[which].launch(stream))
            })?;
            let waves = match streams {
                1 => 2 * blocks.div_ceil(full),
                _ => (2 * blocks).div_ceil(full),
            };
            let checked = pair[0].check(stream)? + pair[1].check(stream)?;
            let case = case.model("seconds", waves as f64 * t).checked(checked);
            // 5. When the blocks ran, in the last turn.
            let case = case.spans(spans(streams, &pair, stream)?);
            lab.record(case.samples(samples))?;
        }
    }
    Ok(())
}

/// Two streams, and events between them.
struct Lanes {
    streams: [Arc<CudaStream>; 2],
    fork: CudaEvent,
    join: CudaEvent,
}

impl Lanes {
    fn new(lab: &Lab) -> Result<Lanes> {
        let context = lab.context();
        let event = || context.new_event(None);
        Ok(Lanes {
            streams: [context.new_stream()?, context.new_stream()?],
            fork: event()?,
            join: event()?,
        })
    }

    // ANCHOR: both
    /// Queues work 0 in the first stream, and work 1 in the first or the second. Either
    /// way the second stream begins when the first gets here, and the first goes on when
    /// both are done.
    fn both(
        &self,
        streams: usize,
        mut work: impl FnMut(usize, &Arc<CudaStream>) -> Result<()>,
    ) -> Result<()> {
        let [first, second] = &self.streams;
        self.fork.record(first)?;
        second.wait(&self.fork)?;
        work(0, first)?;
        work(1, if streams == 1 { first } else { second })?;
        self.join.record(second)?;
        Ok(first.wait(&self.join)?)
    }
    // ANCHOR_END: both
}

/// A grid of one of the kernels, and what its threads and blocks write.
struct Grid<'a> {
    function: &'a CudaFunction,
    name: &'a str,
    blocks: usize,
    steps: u32,
    next: CudaSlice<u32>,
    out: CudaSlice<u32>,
    times: CudaSlice<[u64; 2]>,
}

impl<'a> Grid<'a> {
    fn new(
        stream: &Arc<CudaStream>,
        function: &'a CudaFunction,
        name: &'a str,
        blocks: usize,
        steps: u32,
    ) -> Result<Grid<'a>> {
        let next = (0..ENTRIES).map(|i| i.wrapping_mul(MULTIPLIER) % ENTRIES);
        let grid = Grid {
            function,
            name,
            blocks,
            steps,
            next: stream.clone_htod(&next.collect::<Vec<_>>())?,
            out: stream.alloc_zeros(blocks * THREADS as usize)?,
            times: stream.alloc_zeros(blocks)?,
        };
        stream.synchronize()?; // from now on any stream may use it
        Ok(grid)
    }

    fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let mut launch = stream.launch_builder(self.function);
        launch.arg(&self.next).arg(&mut self.out);
        launch.arg(&self.steps).arg(&mut self.times);
        let config = LaunchConfig {
            grid_dim: (self.blocks as u32, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernels take (next, out, steps, times); `out` has a place for each
        // thread, `times` for each block. Entries of `next` are places in it; so are twice
        // the blocks' numbers, which are few.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    /// Compares what every thread wrote with the rule, repeated.
    fn check(&self, stream: &Arc<CudaStream>) -> Result<u64> {
        let got = stream.clone_dtoh(&self.out)?;
        let factor = MULTIPLIER.wrapping_pow(self.steps);
        let repeated = |x: usize| factor.wrapping_mul(x as u32);
        check::every_element(self.name, &got, |i| match self.name {
            "chase" => {
                let (block, thread) = (i / THREADS as usize, i as u32 % THREADS);
                repeated(2 * block + 1) % ENTRIES * THREADS + thread
            }
            _ => (0..8).map(|k| repeated(8 * i + k)).fold(0, u32::wrapping_add),
        })
    }

    /// When its first block began and its last one ended, in nanoseconds.
    fn ran(&self, stream: &Arc<CudaStream>) -> Result<(u64, u64)> {
        let times = stream.clone_dtoh(&self.times)?.into_iter();
        let outer = |(low, high): (u64, u64), [began, ended]: [u64; 2]| {
            (low.min(began), high.max(ended))
        };
        Ok(times.fold((u64::MAX, 0), outer))
    }
}

/// When two grids ran, from the start of the first block on.
fn spans(
    streams: usize,
    pair: &[Grid; 2],
    stream: &Arc<CudaStream>,
) -> Result<Vec<Span>> {
    let times = [pair[0].ran(stream)?, pair[1].ran(stream)?];
    let zero = times[0].0.min(times[1].0);
    let seconds = |time: u64| (time - zero) as f64 * 1e-9;
    let span = |(which, (began, ended))| Span {
        lane: format!("stream {}", streams.min(which + 1)),
        label: format!("kernel {}", which + 1),
        start_seconds: seconds(began),
        end_seconds: seconds(ended),
    };
    Ok(times.into_iter().enumerate().map(span).collect())
}
