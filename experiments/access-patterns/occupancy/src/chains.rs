//! How many warps does it take to keep the units busy, where threads wait for nothing but
//! their own results?

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
            let mut cycles = bench.stream.clone_dtoh(&bench.cycles)?;
            bench.stream.synchronize()?;
            cycles.truncate(grid.grid_dim.0 as usize);
            cycles.sort_unstable();
            let steps = (count * THREADS * TURN * turns as usize) as f64;
            let rate = steps / cycles[cycles.len() / 2] as f64;
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

impl Bench {
    fn multiply(
        &mut self,
        kernel: &str,
        grid: cudarc::driver::LaunchConfig,
        turns: u32,
    ) -> Result<()> {
        let Bench { stream, kernels, out, cycles, .. } = self;
        kernels.multiply(kernel, stream, grid, out, cycles, turns)
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
