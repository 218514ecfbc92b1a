//! How many warps does it take to keep the units busy, where threads wait for nothing but
//! their own results?

use std::collections::BTreeMap;

use lab::launch::blocks;
use lab::{Case, Lab, Result, check};

use crate::device::Bench;
use crate::{BLOCKS, THREADS, WARPS};

/// The kernels, and how many rows of steps a thread has that do not need each other.
const KERNELS: [(&str, usize); 2] = [("multiply_1", 1), ("multiply_4", 4)];
/// Steps of a turn, of all rows together.
const TURN: usize = 128;
/// Multiply-adds that a multiprocessor does in a cycle.
const PER_CYCLE: &str = "operations_per_cycle";

pub(crate) fn measure(lab: &mut Lab, bench: &mut Bench) -> Result<()> {
    let turns = if lab.emulated() { 2 } else { 128 };
    for (kernel, chains) in KERNELS {
        // 1. Blocks that no warp divides, and an odd number of turns.
        bench.clear()?;
        bench.multiply(kernel, blocks(7, 61), 1)?;
        bench.check_multiplied(7 * 61, 61, chains, 1)?;

        // 2. From one block on each multiprocessor to as many as it holds.
        for count in BLOCKS {
            let warps = count * WARPS;
            let case =
                Case::new("multiply").with("warps", warps).with("chains", chains);
            let Some(grid) = bench.grid(kernel, count)? else {
                let why = format!("a multiprocessor holds fewer than {warps} warps");
                lab.skip(case, why);
                continue;
            };
            bench.clear()?;
            let timed = case
                .model("occupancy_percent", bench.share(warps))
                .time_on_gpu(lab, &bench.stream.clone(), |_| {
                    bench.multiply(kernel, grid, turns)
                })?;
            let all = grid.grid_dim.0 as usize * THREADS;
            let checked =
                bench.check_multiplied(all, THREADS, chains, turns as usize)?;

            // 3. By the multiprocessors' own count of cycles: no clock matters.
            let spans = bench.stream.clone_dtoh(&bench.spans)?;
            bench.stream.synchronize()?;
            let cycles = cycles(&spans[..3 * grid.grid_dim.0 as usize]);
            let rate = (count * THREADS * TURN * turns as usize) as f64 / cycles;
            let timed = timed.checked(checked);
            let timed = match lab.emulated() {
                true => timed, // it has no clock
                false => timed.note(|case, ()| Ok(case.model(PER_CYCLE, rate)))?,
            };
            timed.record(lab)?;
        }
    }
    Ok(())
}

/// Cycles from the first block's begin to the last one's end, on the median multiprocessor. The
/// blocks of one are not served in turn: some may end long before the others.
fn cycles(spans: &[u64]) -> f64 {
    let mut all = BTreeMap::new();
    for span in spans.chunks_exact(3) {
        let (begin, end) = all.entry(span[0]).or_insert((span[1], span[2]));
        (*begin, *end) = (span[1].min(*begin), span[2].max(*end));
    }
    let mut cycles: Vec<_> =
        all.values().map(|(begin, end)| end.wrapping_sub(*begin)).collect();
    cycles.sort_unstable();
    cycles[cycles.len() / 2] as f64
}

impl Bench {
    fn multiply(
        &mut self,
        kernel: &str,
        grid: cudarc::driver::LaunchConfig,
        turns: u32,
    ) -> Result<()> {
        let Bench { stream, kernels, out, spans, .. } = self;
        kernels.multiply(kernel, stream, grid, out, spans, turns)
    }

    /// Compares what all threads end with: the 32 of a warp begin with different numbers.
    fn check_multiplied(
        &self,
        all: usize,
        threads: usize,
        chains: usize,
        turns: usize,
    ) -> Result<u64> {
        let end = |start: usize| {
            let steps = turns * TURN / chains;
            (0..steps).fold(start as f32, |x, _| x.mul_add(1.0001, 1.0))
        };
        let ends: Vec<u32> =
            (0..32 + chains).map(|start| end(start).to_bits()).collect();
        let word = |lane: usize| {
            let of_thread = ends[lane..lane + chains].iter();
            of_thread
                .fold(0u32, |word, end| word.wrapping_mul(31).wrapping_add(*end))
        };
        check::output("multiplied", &self.stream, &self.out, all, |i| {
            word(i % threads % 32)
        })
    }
}
