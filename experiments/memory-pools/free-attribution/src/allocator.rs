//! The driver's two ways to get device memory: for all streams at once, and in the order of a
//! stream.

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, result};
use lab::Result;
use pool::driver::DriverPool;

pub(crate) enum Allocator {
    MemAlloc,
    Pool(DriverPool),
}

impl Allocator {
    pub(crate) fn alloc(
        &self,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<CUdeviceptr> {
        Ok(match self {
            // SAFETY: nothing reads the buffer before the work has written it.
            Allocator::MemAlloc => unsafe { result::malloc_sync(bytes) }?,
            Allocator::Pool(pool) => pool.alloc(bytes, stream)?,
        })
    }

    pub(crate) fn free(
        &self,
        buffer: CUdeviceptr,
        stream: &CudaStream,
    ) -> Result<()> {
        // SAFETY: `alloc` made the buffer, and nothing is queued on it after this. What is
        // in flight on it ends first: `cuMemFree` waits for it, and the other free takes
        // its turn in the stream.
        unsafe {
            match self {
                Allocator::MemAlloc => result::free_sync(buffer)?,
                Allocator::Pool(pool) => pool.free(buffer, stream)?,
            }
        }
        Ok(())
    }

    /// Makes a pool give the driver what it keeps.
    pub(crate) fn give_back(&self) -> Result<()> {
        match self {
            Allocator::MemAlloc => Ok(()),
            Allocator::Pool(pool) => Ok(pool.trim()?),
        }
    }
}
