//! Memory of a pool, and without one.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DriverError, result, sys};
use pool::driver::DriverPool;

/// Memory of a pool. It is given back in the stream's order, on drop.
pub(crate) fn memory(
    pool: &DriverPool,
    stream: &Arc<CudaStream>,
    words: usize,
) -> Result<CudaSlice<u32>, DriverError> {
    let address = pool.alloc(words * size_of::<u32>(), stream)?;
    // SAFETY: that many words are there. All that uses them is in the stream, and writes
    // before it reads.
    Ok(unsafe { stream.upgrade_device_ptr(address, words) })
}

/// Memory from `cuMemAlloc`, given back by `cuMemFree` on drop.
pub(crate) struct Unpooled(sys::CUdeviceptr);

impl Unpooled {
    pub(crate) fn new(bytes: usize) -> Result<Unpooled, DriverError> {
        // SAFETY: nothing reads it.
        Ok(Unpooled(unsafe { result::malloc_sync(bytes) }?))
    }

    /// Memory of a pool, whose order in a stream nothing relies on, to be given back by
    /// `cuMemFree`, too.
    pub(crate) fn from(memory: CudaSlice<u32>) -> Unpooled {
        Unpooled(memory.leak())
    }
}

impl Drop for Unpooled {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated, and is used no more. An error leaves it
        // allocated until the process ends.
        let _ = unsafe { result::free_sync(self.0) };
    }
}
