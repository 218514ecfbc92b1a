//! Where memory comes from.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, result};
use lab::Result;
use pool::driver::{DriverPool, properties};
use pool::{Options, Pool};

const WORD: usize = size_of::<u32>();

pub(crate) enum Source {
    Direct,
    /// A pool of the driver's, and its release threshold.
    Driver(DriverPool, u64),
    Chapter(ChaptersPool),
    Workbook(Pool),
    Kept(CudaSlice<u32>),
}

/// Sources of every kind but `Kept`, which have no memory yet.
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
    fn drivers_pool(stream: &CudaStream, threshold: u64) -> Result<Source> {
        let pool = DriverPool::new(&properties(stream.context()))?;
        pool.set_threshold(threshold)?;
        Ok(Source::Driver(pool, threshold))
    }

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
    /// Allocates memory, lets `work` have it, and frees it.
    pub(crate) fn once(
        &mut self,
        stream: &Arc<CudaStream>,
        words: usize,
        work: impl FnOnce(CUdeviceptr) -> Result<()>,
    ) -> Result<()> {
        let bytes = words * WORD;
        match self {
            // SAFETY: `work` is what uses the memory; `cuMemFree` waits for it.
            Source::Direct => unsafe {
                let address = result::malloc_sync(bytes)?;
                work(address)?;
                Ok(result::free_sync(address)?)
            },
            Source::Driver(pool, _) => {
                let address = pool.alloc(bytes, stream)?;
                work(address)?;
                // SAFETY: what `work` queued on this stream comes before the free.
                Ok(unsafe { pool.free(address, stream) }?)
            }
            Source::Chapter(pool) => {
                let mut buffer = pool.alloc(stream, words)?;
                work(buffer.device_ptr_mut(stream).0)?;
                pool.free(buffer);
                Ok(())
            }
            Source::Workbook(pool) => {
                // SAFETY: `work` writes the words before anything reads them.
                let buffer = unsafe { pool.alloc::<u32>(stream, words) }?;
                work(buffer.address())
            }
            Source::Kept(buffer) => work(buffer.device_ptr_mut(stream).0),
        }
    }
    // ANCHOR_END: once

    pub(crate) fn can_be_emptied(&self) -> bool {
        matches!(self, Source::Driver(_, 1..) | Source::Workbook(_))
    }

    /// Lets a pool give back what it holds.
    pub(crate) fn empty(&mut self, stream: &CudaStream) -> Result<()> {
        stream.synchronize()?;
        match self {
            Source::Driver(pool, _) => pool.trim()?,
            Source::Chapter(pool) => pool.free.clear(),
            Source::Workbook(pool) => pool.trim(0),
            Source::Direct | Source::Kept(_) => {}
        }
        Ok(stream.synchronize()?)
    }

    /// Bytes of the GPU's memory that are taken, though nothing uses them.
    pub(crate) fn held_bytes(&self) -> Result<usize> {
        Ok(match self {
            Source::Direct | Source::Kept(_) => 0,
            Source::Driver(pool, _) => pool.reserved_bytes()? as usize,
            Source::Chapter(pool) => {
                pool.free.values().flatten().map(CudaSlice::num_bytes).sum()
            }
            Source::Workbook(pool) => pool.stats().held_bytes,
        })
    }
}

// ANCHOR: chapter
/// The chapter's pool, in today's cudarc: free buffers of each size.
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

    fn free(&mut self, buffer: CudaSlice<u32>) {
        self.free.entry(buffer.len()).or_default().push(buffer);
    }
}
// ANCHOR_END: chapter
