//! A pool of the driver's, with a largest size.

use std::ptr::null_mut;

use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use lab::Result;
use sys::{CUdeviceptr, CUmemPool_attribute as Attribute};

// ANCHOR: pool
/// A pool of the driver's.
pub(crate) struct Pool(sys::CUmemoryPool);

// SAFETY: it is a handle, and the driver may be called with it from any thread.
unsafe impl Sync for Pool {}

impl Pool {
    pub(crate) fn new(
        context: &CudaContext,
        most_bytes: usize,
        kind: &str,
    ) -> Result<Pool> {
        let mut pool = Pool(null_mut());
        // SAFETY: zeros are valid, and mean the defaults, for every field.
        let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType =
            sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ =
            sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = context.ordinal() as i32;
        properties.maxSize = most_bytes;
        // SAFETY: the driver reads the properties and writes one handle.
        unsafe { sys::cuMemPoolCreate(&raw mut pool.0, &raw const properties) }
            .result()?;
        if kind == "keeping" {
            pool.set(Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, u64::MAX)?;
        }
        if kind == "strict" {
            pool.set(
                Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
                0,
            )?;
        }
        Ok(pool)
    }

    /// A buffer in the order of the stream; `None` if there is no memory for it.
    pub(crate) fn alloc(
        &self,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<Option<CUdeviceptr>> {
        let mut buffer = 0;
        // SAFETY: the driver writes one pointer; the pool lives.
        let status = unsafe {
            sys::cuMemAllocFromPoolAsync(
                &raw mut buffer,
                bytes,
                self.0,
                stream.cu_stream(),
            )
        };
        match status.result() {
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
            done => Ok(done.map(|()| Some(buffer))?),
        }
    }

    pub(crate) fn free(
        &self,
        buffer: CUdeviceptr,
        stream: &CudaStream,
    ) -> Result<()> {
        // SAFETY: `alloc` made the buffer, and nothing is queued on it after this.
        Ok(unsafe { result::free_async(buffer, stream.cu_stream()) }?)
    }
    // ANCHOR_END: pool

    /// Makes the pool give the driver what it keeps.
    pub(crate) fn give_back(&self) -> Result<()> {
        // SAFETY: the pool lives.
        Ok(unsafe { sys::cuMemPoolTrimTo(self.0, 0) }.result()?)
    }

    fn set(&self, attribute: Attribute, value: u64) -> Result<()> {
        let value = (&raw const value).cast_mut().cast();
        // SAFETY: the driver reads one number, of 32 bits or of 64; the pool lives.
        Ok(unsafe { sys::cuMemPoolSetAttribute(self.0, attribute, value) }
            .result()?)
    }

    pub(crate) fn bytes(&self, attribute: Attribute) -> Option<u64> {
        let mut bytes = 0u64;
        // SAFETY: the driver writes one number of 64 bits; the pool lives.
        unsafe {
            sys::cuMemPoolGetAttribute(self.0, attribute, (&raw mut bytes).cast())
        }
        .result()
        .ok()?;
        Some(bytes)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the pool is not used any more. What is still allocated from it keeps it
        // alive.
        _ = unsafe { sys::cuMemPoolDestroy(self.0) };
    }
}
