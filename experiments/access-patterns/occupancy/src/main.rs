//! # How many warps does a kernel need?
//!
//! Page: `book/src/access-patterns/occupancy.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | how fast is memory read by few warps, and by many? |
//! | [`chains`] | Warps that wait for themselves | how many warps does arithmetic need? |
//! | [`registers`] | Registers | what if there are more blocks, and fewer registers? |
//! | [`device`] | The experiment | how is a multiprocessor given few blocks? |
//!
//! A multiprocessor holds many warps, so that some are ready while others wait. How many
//! it holds, of those that it could, is the *occupancy* of a kernel. Blocks of a launch
//! share its registers and its shared memory: so a launch that asks for all the shared
//! memory for each block has one on each multiprocessor, and one that asks for half of it
//! has two.
//!
//! ```text
//! 1 block:    |======== 227 KiB ========|      4 of 64 warps
//! 2 blocks:   |== 113 ==||== 113 KiB ===|      8
//! 16 blocks:  |13||13||13||13||13||13| …      64
//! ```
//!
//! **Prediction:** with 16 bytes in flight for each thread the memory is busy from half
//! of the warps on, with four times as many from an eighth on: bytes in flight decide, not
//! warps.

mod chains;
mod device;
mod registers;

use std::process::ExitCode;

use cudarc::driver::CudaSlice;
use lab::check;
use lab::launch::threads;
use lab::{Case, Ceiling, Lab, Result, memory};

use device::{Bench, KERNEL};

/// Threads of a block.
const THREADS: usize = 128;
const WARPS: usize = THREADS / 32;
/// Blocks on a multiprocessor.
const BLOCKS: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
const WORD_BYTES: usize = 4;
const MOST_WORDS: usize = 256 << 20;

/// How many loads a thread asks for before it waits, and the bytes of each.
const VERSIONS: [(usize, usize); 4] = [(1, 4), (4, 4), (1, 16), (4, 16)];

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. An array that is much larger than the L2 cache, and a word for each thread.
    let mut bench = Bench::new(lab)?;
    let most = if lab.emulated() { 1 << 18 } else { MOST_WORDS };
    let free = memory::power_of_two_within(lab.free_bytes()? / 2);
    let count = most.min(free / WORD_BYTES);
    let mut words = bench.stream.alloc_zeros(count)?;
    let grid = threads(1 << 20);
    bench.kernels.fill(&bench.stream, grid, &mut words, count)?;

    for (loads, element_bytes) in VERSIONS {
        let version = format!("{loads}x{element_bytes}");
        let kernel = format!("read_{version}");
        let elements = count * WORD_BYTES / element_bytes;

        // 2. A size that no block divides, and few blocks.
        let some = check::ragged(elements);
        bench.clear()?;
        bench.read(&kernel, lab::launch::blocks(7, 96), &words, some)?;
        bench.check_sums(7 * 96, element_bytes, some)?;

        // ANCHOR: sweep
        // 3. From one block on each multiprocessor to as many as it holds. Each thread
        //    goes on to further elements, so no block has to be started meanwhile.
        for blocks in BLOCKS {
            let warps = blocks * WARPS;
            let case = Case::new("read")
                .with("warps", warps)
                .with("loads", version.as_str())
                .with("in_flight_bytes", warps * 32 * element_bytes * loads);
            let Some(grid) = bench.grid(&kernel, blocks)? else {
                lab.skip(
                    case,
                    format!("a multiprocessor holds fewer than {warps} warps"),
                );
                continue;
            };
            bench.clear()?;
            let timed = case
                .reads(count * WORD_BYTES)
                .ceiling(Ceiling::DeviceMemory)
                .footprint(count * WORD_BYTES, lab.l2_bytes())
                .model("occupancy_percent", bench.share(warps))
                .time_on_gpu(lab, &bench.stream.clone(), |_| {
                    bench.read(&kernel, grid, &words, elements)
                })?;
            let threads = blocks * THREADS * lab.multiprocessors();
            let checked = bench.check_sums(threads, element_bytes, elements)?;
            timed.checked(checked).record(lab)?;
        }
        // ANCHOR_END: sweep
    }

    chains::measure(lab, &mut bench)?;
    registers::measure(lab, &mut bench, &words)
}

impl Bench {
    fn read(
        &mut self,
        kernel: &str,
        grid: cudarc::driver::LaunchConfig,
        words: &CudaSlice<u32>,
        elements: usize,
    ) -> Result<()> {
        let Bench { stream, kernels, out, .. } = self;
        kernels.read(kernel, stream, grid, words, out, elements)
    }

    /// Compares what each of so many threads has added up.
    fn check_sums(
        &self,
        threads: usize,
        element_bytes: usize,
        elements: usize,
    ) -> Result<u64> {
        let width = element_bytes / WORD_BYTES;
        check::output("sum", &self.stream, &self.out, threads, |thread| {
            let of_thread = (thread..elements).step_by(threads);
            let count = of_thread.len();
            // Of its elements' indices, and of its words'.
            let sum =
                count * thread + threads * (count * count.saturating_sub(1) / 2);
            let sum = width * width * sum + count * (width * (width - 1) / 2);
            check::value(sum)
        })
    }
}
