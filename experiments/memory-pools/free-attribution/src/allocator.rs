//! The driver's two ways to device memory: for all streams at once, and in the order of a
//! stream.

use std::ptr::null_mut;

use cudarc::driver::{CudaContext, CudaStream, result, sys};
use lab::Result;
use sys::{CUdeviceptr, CUmemPool_attribute as Attribute};

// ANCHOR: allocator
/// Where buffers come from.
pub(crate) enum Allocator {
    MemAlloc,
    Pool(sys::CUmemoryPool),
}

impl Allocator {
    pub(crate) fn alloc(
        &self,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<CUdeviceptr> {
        let (mut buffer, stream) = (0, stream.cu_stream());
        // SAFETY: the driver writes one pointer; pools live as long as the program.
        let status = unsafe {
            match self {
                Allocator::MemAlloc => sys::cuMemAlloc_v2(&raw mut buffer, bytes),
                Allocator::Pool(pool) => sys::cuMemAllocFromPoolAsync(
                    &raw mut buffer,
                    bytes,
                    *pool,
                    stream,
                ),
            }
        };
        status.result()?;
        Ok(buffer)
    }

    pub(crate) fn free(
        &self,
        buffer: CUdeviceptr,
        stream: &CudaStream,
    ) -> Result<()> {
        // SAFETY: `alloc` made the buffer, and nothing is queued on it after this. What is
        // under way on it ends first: `cuMemFree` waits for it, and the other free takes
        // its turn in the stream.
        unsafe {
            match self {
                Allocator::MemAlloc => result::free_sync(buffer)?,
                Allocator::Pool(_) => {
                    result::free_async(buffer, stream.cu_stream())?
                }
            }
        }
        Ok(())
    }

    /// Makes a pool give the driver what it keeps.
    pub(crate) fn give_back(&self) -> Result<()> {
        if let Allocator::Pool(pool) = self {
            // SAFETY: pools live as long as the program.
            unsafe { sys::cuMemPoolTrimTo(*pool, 0) }.result()?;
        }
        Ok(())
    }
    // ANCHOR_END: allocator

    pub(crate) fn pool(
        context: &CudaContext,
        release_threshold: u64,
    ) -> Result<Allocator> {
        let mut pool = null_mut();
        // SAFETY: zeros are valid, and mean the defaults, for every field.
        let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType =
            sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ =
            sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = context.ordinal() as i32;
        let attribute = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let value = (&raw const release_threshold).cast_mut().cast();
        // SAFETY: the driver reads the properties, writes one handle, and reads a number.
        unsafe {
            sys::cuMemPoolCreate(&raw mut pool, &raw const properties).result()?;
            sys::cuMemPoolSetAttribute(pool, attribute, value).result()?;
        }
        Ok(Allocator::Pool(pool))
    }
}
