//! # Up to which size do two kernels run at the same time?
//!
//! Page: `book/src/streams/concurrent-kernels.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | two equal grids, in one stream and in two |
//! | [`grid`] | The experiment | a grid, what it writes, and when it ran |
//!
//! Kernels in two streams may run side by side. But a *multiprocessor* holds only so many
//! threads, 2,048 on most GPUs, and a block that has started stays until it is done. Two
//! grids run side by side as far as there is room for the blocks of both; what has no
//! room waits. Room is not all: blocks that share a multiprocessor share its
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

mod grid;

use std::process::ExitCode;

use lab::launch::blocks;
use lab::{Case, Clock, Lab, Result};

use grid::{Grid, Kernels, THREADS, spans};

/// The kernels, and how often they repeat the rule.
const KERNELS: [(&str, u32); 2] = [("chase", 1 << 10), ("compute", 1 << 13)];
/// Sizes of the grids, in eighths of what fills the GPU.
const EIGHTHS: [usize; 14] = [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 14, 16, 18, 20];

fn main() -> ExitCode {
    lab::run!(Some(grid::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two streams, and the events that tie them together.
    let context = lab.context().clone();
    let (first, second) = (context.new_stream()?, context.new_stream()?);
    let (fork, join) = (context.new_event(None)?, context.new_event(None)?);
    let kernels = Kernels::load(lab)?;

    for (name, steps) in KERNELS {
        // 2. How many blocks fill the GPU: all its threads, or its arithmetic units.
        let steps = if lab.emulated() { steps / 8 } else { steps };
        let function = lab.module()?.load_function(name)?;
        let room = function
            .occupancy_max_active_blocks_per_multiprocessor(THREADS, 0, None)?;
        let each = match name {
            "chase" => room,
            "compute" => 1,
            other => unreachable!("{other}"),
        };
        let full = each as usize * lab.multiprocessors();
        let grid = |blocks| Grid::new(&first, &kernels, name, blocks, steps);
        let case = |case, eighths: usize| {
            let case = Case::new(case).with("kernel", name).with("eighths", eighths);
            case.model("full_blocks", full as f64)
        };

        // 3. One grid that fills half of it: T of the model.
        let mut alone = grid(full / 2)?;
        let timed =
            case("alone", 4).time_on_gpu(lab, &first, |_| alone.launch(&first))?;
        let t = timed.samples.median();
        timed.checked(alone.check(&first)?).record(lab)?;

        // 4. Two grids, queued before they start: the second in the stream of the first, or
        //    in another. And when their blocks ran, in the last turn.
        for (eighths, streams) in EIGHTHS.iter().flat_map(|n| [(*n, 1), (*n, 2)]) {
            let blocks = full * eighths / 8;
            let waves = match streams {
                1 => 2 * blocks.div_ceil(full),
                _ => (2 * blocks).div_ceil(full),
            };
            let mut pair = [grid(blocks)?, grid(blocks)?];
            // ANCHOR: both
            // Either way the second stream begins when the first gets here, and the first
            // goes on when both are done.
            let both = |_| {
                fork.record(&first)?;
                second.wait(&fork)?;
                pair[0].launch(&first)?;
                pair[1].launch(if streams == 1 { &first } else { &second })?;
                join.record(&second)?;
                Ok(first.wait(&join)?)
            };
            // ANCHOR_END: both
            case("pair", eighths)
                .with("streams", streams)
                .model("seconds", waves as f64 * t)
                .time_on_gpu(lab, &first, both)?
                .note(|case, ()| Ok(case.spans(spans(streams, &pair, &first)?)))?
                .checked(pair[0].check(&first)? + pair[1].check(&first)?)
                .record(lab)?;
        }
    }

    // 5. How fine the clock is that the timelines come from.
    let mut step = first.alloc_zeros::<u64>(1)?;
    Case::new("clock_step")
        .time_turns(lab, Clock::CudaEvents, || {
            kernels.clock_step(&first, blocks(1, 1024), &mut step)?;
            Ok((first.clone_dtoh(&step)?[0] as f64 * 1e-9, ()))
        })?
        .record(lab)
}
