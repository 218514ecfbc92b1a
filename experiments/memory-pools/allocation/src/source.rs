//! Where memory comes from.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::result::{self, mem_pool};
use cudarc::driver::sys::{
    self, CUdeviceptr, CUmemAllocationType, CUmemLocationType,
    CUmemPool_attribute as Attribute,
};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut};
use lab::Result;
use pool::{Options, Pool};

const WORD: usize = size_of::<u32>();

/// Where memory comes from.
pub(crate) enum Source {
    Direct,
    /// A pool of the driver's, and its release threshold.
    Driver(sys::CUmemoryPool, u64),
    Chapter(ChaptersPool),
    Workbook(Pool),
    Kept(CudaSlice<u32>),
}

/// One of each, that have no memory yet.
pub(crate) fn sources(stream: &CudaStream) -> Result<[Source; 5]> {
    Ok([
        Source::Direct,
        Source::drivers_pool(stream, 0)?,
        Source::drivers_pool(stream, u64::MAX)?,
        Source::Chapter(ChaptersPool::default()),
        Source::Workbook(Pool::new(stream.context(), Options::default())),
    ])
}

pub(crate) fn kept(stream: &Arc<CudaStream>, words: usize) -> Result<Source> {
    Ok(Source::Kept(stream.alloc_zeros(words)?))
}

impl Source {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Source::Direct => "direct",
            Source::Driver(_, 0) => "returning_pool",
            Source::Driver(..) => "keeping_pool",
            Source::Chapter(_) => "chapter_pool",
            Source::Workbook(_) => "workbook_pool",
            Source::Kept(_) => "kept",
        }
    }

    // ANCHOR: once
    /// Asks for memory, lets `work` have it, and gives it back.
    pub(crate) fn once(
        &mut self,
        stream: &Arc<CudaStream>,
        words: usize,
        work: impl FnOnce(CUdeviceptr) -> Result<()>,
    ) -> Result<()> {
        let (bytes, queue) = (words * WORD, stream.cu_stream());
        match self {
            // SAFETY: `work` is what uses the memory; `cuMemFree` waits for it.
            Source::Direct => unsafe {
                let address = result::malloc_sync(bytes)?;
                work(address)?;
                Ok(result::free_sync(address)?)
            },
            // SAFETY: what `work` queues on this stream comes before the free.
            Source::Driver(pool, _) => unsafe {
                let address = mem_pool::alloc_async(*pool, bytes, queue)?;
                work(address)?;
                Ok(result::free_async(address, queue)?)
            },
            Source::Chapter(pool) => {
                let mut buffer = pool.alloc(stream, words)?;
                work(buffer.device_ptr_mut(stream).0)?;
                pool.free(buffer);
                Ok(())
            }
            Source::Workbook(pool) => {
                // SAFETY: `work` writes the words before anybody reads them.
                let mut buffer = unsafe { pool.alloc::<u32>(stream, words) }?;
                work(buffer.view_mut().device_ptr_mut(stream).0)
            }
            Source::Kept(buffer) => work(buffer.device_ptr_mut(stream).0),
        }
    }
    // ANCHOR_END: once

    // ANCHOR: drivers
    /// A pool of the driver's for the stream's GPU.
    pub(crate) fn drivers_pool(
        stream: &CudaStream,
        threshold: u64,
    ) -> Result<Source> {
        // SAFETY: zeros are valid in all fields, and reserved ones have to be zero.
        let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = stream.context().ordinal() as i32;
        let mut threshold_bytes = threshold;
        let release = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the properties are whole, and this attribute is a number of 64 bits.
        let pool = unsafe {
            let pool = mem_pool::create(&properties)?;
            mem_pool::set_attribute(
                pool,
                release,
                (&raw mut threshold_bytes).cast(),
            )?;
            pool
        };
        Ok(Source::Driver(pool, threshold))
    }
    // ANCHOR_END: drivers

    pub(crate) fn can_be_emptied(&self) -> bool {
        matches!(self, Source::Driver(_, 1..) | Source::Workbook(_))
    }

    /// Lets a pool give back what it holds.
    pub(crate) fn empty(&mut self, stream: &CudaStream) -> Result<()> {
        stream.synchronize()?;
        match self {
            // SAFETY: it is a pool.
            Source::Driver(pool, _) => unsafe { mem_pool::trim_to(*pool, 0) }?,
            Source::Chapter(pool) => pool.free.clear(),
            Source::Workbook(pool) => pool.trim(0),
            Source::Direct | Source::Kept(_) => {}
        }
        Ok(stream.synchronize()?)
    }

    /// Bytes of the GPU's memory that are taken, though nobody uses them.
    pub(crate) fn held_bytes(&self) -> Result<usize> {
        Ok(match self {
            Source::Direct => 0,
            Source::Driver(pool, _) => {
                let (mut bytes, reserved) =
                    (0u64, Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
                // SAFETY: this attribute is a number of 64 bits.
                unsafe {
                    mem_pool::get_attribute(*pool, reserved, (&raw mut bytes).cast())
                }?;
                bytes as usize
            }
            Source::Chapter(pool) => {
                pool.free.values().flatten().map(CudaSlice::num_bytes).sum()
            }
            Source::Workbook(pool) => pool.stats().held_bytes,
            Source::Kept(buffer) => buffer.num_bytes(),
        })
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Source::Driver(pool, _) = self {
            // SAFETY: it is a pool, and all its memory was given back.
            let destroyed = unsafe { mem_pool::destroy(*pool) };
            destroyed.expect("a pool of the driver's can be destroyed");
        }
    }
}

// ANCHOR: chapter
/// The chapter's pool, in today's cudarc.
#[derive(Default)]
pub(crate) struct ChaptersPool {
    free: HashMap<usize, Vec<CudaSlice<u32>>>,
}

impl ChaptersPool {
    pub(crate) fn alloc(
        &mut self,
        stream: &Arc<CudaStream>,
        size: usize,
    ) -> Result<CudaSlice<u32>> {
        if let Some(buffers) = self.free.get_mut(&size)
            && let Some(buffer) = buffers.pop()
        {
            return Ok(buffer);
        }
        Ok(stream.alloc_zeros(size)?)
    }

    pub(crate) fn free(&mut self, buffer: CudaSlice<u32>) {
        self.free.entry(buffer.len()).or_default().push(buffer);
    }
}
// ANCHOR_END: chapter
