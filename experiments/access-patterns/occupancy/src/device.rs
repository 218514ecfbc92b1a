//! The kernels, what they write, and how a multiprocessor is given few blocks.

use std::sync::Arc;

use anyhow::ensure;
use cudarc::driver::sys::CUdevice_attribute_enum as Attribute;
use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};
use lab::launch::{allow_shared, blocks};
use lab::{Lab, Result, check};

use crate::{THREADS, WARPS};

// SAFETY: `fill` writes `count` words, `read` and `hashes` use the first `count` elements
// of `words`. `out` has a word for each thread that a multiprocessor can hold, and
// `spans` three numbers for each block of such a launch.
lab::kernels! { unsafe "occupancy" {
    fn fill(words: &mut CudaSlice<u32>, count: usize);
    fn read["read_1x4", "read_4x4", "read_1x16", "read_4x16"](
        words: &CudaSlice<u32>, out: &mut CudaSlice<u32>, count: usize,
    );
    fn multiply["multiply_1", "multiply_4"](
        out: &mut CudaSlice<u32>, spans: &mut CudaSlice<u64>, turns: u32,
    );
    fn hashes["hashes_1", "hashes_2", "hashes_3", "hashes_4", "hashes_6", "hashes_8"](
        words: &CudaSlice<u32>, out: &mut CudaSlice<u32>, count: usize,
    );
} }

/// What all launches need, and what the driver says of a multiprocessor.
pub(crate) struct Bench {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    /// A word for each thread, and room to see what was written past them.
    pub(crate) out: CudaSlice<u32>,
    /// Of each block: its multiprocessor, and on that one's clock its begin and its end.
    pub(crate) spans: CudaSlice<u64>,
    module: Arc<cudarc::driver::CudaModule>,
    multiprocessors: usize,
    /// Warps that a multiprocessor can hold.
    most_warps: usize,
    shared_bytes: usize,
    /// What the system takes of it for each block, and what a block may have at most.
    reserved_bytes: usize,
    block_bytes: usize,
}

impl Bench {
    pub(crate) fn new(lab: &Lab) -> Result<Bench> {
        let (stream, threads) =
            (lab.context().new_stream()?, lab.resident_threads()?);
        let ask = |attribute| -> Result<usize> {
            Ok(lab.context().attribute(attribute)?.try_into()?)
        };
        Ok(Bench {
            kernels: Kernels::load(lab)?,
            out: stream.alloc_zeros(threads + check::GUARD)?,
            spans: stream.alloc_zeros(3 * threads / THREADS)?,
            module: lab.module()?.clone(),
            multiprocessors: lab.multiprocessors(),
            most_warps: threads / lab.multiprocessors() / 32,
            shared_bytes: ask(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )?,
            reserved_bytes: ask(
                Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
            )?,
            block_bytes: ask(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )?,
            stream,
        })
    }

    // ANCHOR: grid
    /// A launch of which every multiprocessor holds exactly so many blocks, all at once:
    /// they ask for so much shared memory that there is no room for one more. `None` if
    /// it cannot hold so many.
    pub(crate) fn grid(
        &self,
        kernel: &str,
        count: usize,
    ) -> Result<Option<LaunchConfig>> {
        if count * WARPS > self.most_warps {
            return Ok(None);
        }
        let each =
            (self.shared_bytes / count - self.reserved_bytes).min(self.block_bytes);
        let mut grid = blocks(count * self.multiprocessors, THREADS);
        grid.shared_mem_bytes = (each / 1024 * 1024) as u32;
        let held = self.held(kernel, &grid)?;
        ensure!(
            held == count,
            "a multiprocessor holds {held} blocks of {kernel}, and should hold {count}"
        );
        Ok(Some(grid))
    }

    /// Blocks of such a launch that a multiprocessor holds, says the driver.
    pub(crate) fn held(&self, kernel: &str, grid: &LaunchConfig) -> Result<usize> {
        let function = self.module.load_function(kernel)?;
        allow_shared(&function, grid)?;
        let (threads, bytes) = (grid.block_dim.0, grid.shared_mem_bytes as usize);
        let held = function
            .occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None)?;
        Ok(held as usize)
    }
    // ANCHOR_END: grid

    /// The occupancy with so many warps on a multiprocessor.
    pub(crate) fn share(&self, warps: usize) -> f64 {
        warps as f64 / self.most_warps as f64
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        Ok(self.stream.memset_zeros(&mut self.out)?)
    }
}
