//! What if a kernel is to have more blocks on a multiprocessor than its registers allow?
//!
//! The compiler then keeps numbers in *local memory*, which is device memory behind the
//! caches. PTX has as many registers as it likes: only the driver's compiler knows.

use cudarc::driver::CudaSlice;
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use lab::launch::blocks;
use lab::{Case, Lab, Result, check};

use crate::device::Bench;

/// Threads of a block, as in the kernels' launch bounds.
const THREADS: usize = 256;
/// The blocks on a multiprocessor that the kernels promise.
const PROMISED: [usize; 6] = [1, 2, 3, 4, 6, 8];
const MOST_WORDS: usize = 16 << 20;
/// Hashes of a word.
const HASHES: usize = 64;

pub(crate) fn measure(
    lab: &mut Lab,
    bench: &mut Bench,
    words: &CudaSlice<u32>,
) -> Result<()> {
    let most = if lab.emulated() { 1 << 13 } else { MOST_WORDS };
    let count = most.min(words.len());
    for promised in PROMISED {
        let kernel = format!("hashes_{promised}");
        // A number of words that no block divides, and one fewer than there are threads.
        for some in [check::ragged(count), 7 * 96 - 1] {
            bench.clear()?;
            bench.hash(&kernel, blocks(7, 96), words, some)?;
            bench.check_hashes(7 * 96, some)?;
        }

        // ANCHOR: attributes
        // What the driver's compiler has made of it: registers, and bytes of local memory
        // for each thread; and how many blocks a multiprocessor can hold of that.
        let function = lab.module()?.load_function(&kernel)?;
        let registers =
            function.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        let local_bytes =
            function.get_attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
        let held = bench.held(&kernel, &blocks(1, THREADS))?;
        // ANCHOR_END: attributes

        let grid = blocks(held * lab.multiprocessors(), THREADS);
        let warps = held * THREADS / 32;
        bench.clear()?;
        let timed = Case::new("hashes")
            .with("promised", promised)
            .reads(count * size_of::<u32>())
            .model("registers", registers.into())
            .model("local_bytes", local_bytes.into())
            .model("warps", warps as f64)
            .model("occupancy_percent", bench.share(warps))
            .time_on_gpu(lab, &bench.stream.clone(), |_| {
                bench.hash(&kernel, grid, words, count)
            })?;
        let checked =
            bench.check_hashes(grid.grid_dim.0 as usize * THREADS, count)?;
        timed.checked(checked).record(lab)?;
    }
    Ok(())
}

impl Bench {
    fn hash(
        &mut self,
        kernel: &str,
        grid: cudarc::driver::LaunchConfig,
        words: &CudaSlice<u32>,
        count: usize,
    ) -> Result<()> {
        let Bench { stream, kernels, out, .. } = self;
        kernels.hashes(kernel, stream, grid, words, out, count)
    }

    /// Compares what each of so many threads makes of its 64 sums.
    fn check_hashes(&self, threads: usize, count: usize) -> Result<u64> {
        check::output("hashes", &self.stream, &self.out, threads, |thread| {
            let mut sums = [0u32; HASHES];
            for i in (thread..count).step_by(threads) {
                let (word, mut hash) = (check::value(i), 2_166_136_261u32);
                for sum in &mut sums {
                    hash = (hash ^ word).wrapping_mul(16_777_619);
                    *sum = sum.wrapping_add(hash);
                }
            }
            sums.iter().fold(0, |all, sum| all.wrapping_mul(31).wrapping_add(*sum))
        })
    }
}
