//! Device memory to use again: a pool with size classes, ordered by streams.
//!
//! Asking the driver for memory costs microseconds to milliseconds; a [`Pool`] hands out
//! what it has, in some nanoseconds and without a call of the driver.
//!
//! ```text
//!             512 B   1 KiB  …   4 MiB  …      size classes, eight to a doubling
//! stream 1    ■■      ■          ■■■
//! stream 2            ■■                       free blocks, by the stream that used them
//! ```
//!
//! A [`Buffer`] that is dropped goes back to the pool at once, while the GPU may still
//! have work queued that uses it. That is safe on the same stream, where the next use
//! comes after the last one. Another stream gets the block only when an event, recorded
//! behind everything that is queued on the first stream, is done, or it is made to wait
//! for that event.
//!
//! ```no_run
//! use cudarc::driver::CudaContext;
//! use pool::{Options, Pool};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = CudaContext::new(0)?;
//! let stream = context.new_stream()?;
//! let pool = Pool::new(&context, Options { cap_bytes: 8 << 30 });
//!
//! for round in 0..1000 {
//!     let mut sums = pool.alloc_zeros::<f32>(&stream, 1_000_000)?;
//!     stream.memcpy_htod(&[round as f32], &mut sums.view_mut().slice_mut(..1))?;
//! } // the memory goes back to the pool, and serves the next round
//! assert_eq!(pool.stats().allocated, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What it does when there is no free block
//!
//! In this order: a block that another stream is done with; new memory from the driver,
//! up to the cap; a block that another stream is not done with, for which the GPU waits;
//! new memory after free blocks of other sizes were given back, for which the host waits.
//! An error comes after all that, and leaves the pool as usable as before.
//!
//! # Threads
//!
//! A pool can be used by several threads. Each has a *shelf* in it: a thread that has given a
//! block back finds it there again, by one atomic exchange and without a lock. Everything else
//! is in the book, which one mutex guards; so is a buffer that another thread drops. A thread
//! that asks the driver for memory, or waits to give some back, holds the mutex meanwhile. What
//! lies on the shelves of other threads, alive or not, is fetched when memory is short.
//!
//! A buffer borrows its pool. One that has to live beside its pool in a structure needs a
//! pool that lives forever, such as a leaked box or a static.
//!
//! # What it does not do
//!
//! It does not split blocks or join them. Sizes are rounded up to whole 512 bytes, above
//! 1 MiB to whole 2 MiB, and then by at most an eighth more; and blocks of other sizes are
//! given back only when memory is short. It knows nothing of stream
//! capture: do not use it on a stream that is being captured into a graph.

#![warn(missing_docs)]

pub mod book;
mod class;
mod cuda;
pub mod driver;
pub mod shelves;
mod threads;

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaContext, CudaStream, CudaView, CudaViewMut, DeviceRepr, DriverError, ValidAsZeroBits,
};

use book::Boxed;
pub use book::Stats;
pub use class::Class;
use cuda::{Cuda, Piece};
use shelves::Shelves;

/// Why there is no buffer.
pub type Error = book::Error<DriverError>;

/// What a [`Pool`] may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes that it holds, handed out or free.
    pub cap_bytes: usize,
}

impl Default for Options {
    /// No cap.
    fn default() -> Options {
        Options { cap_bytes: usize::MAX }
    }
}

/// A pool of device memory; see the [crate's page](crate).
///
/// When it is dropped, it waits for the streams that use its free blocks and gives them
/// to the driver. Buffers borrow their pool, so none is left then.
pub struct Pool {
    shelves: Shelves<Cuda>,
}

impl Pool {
    /// An empty pool.
    pub fn new(context: &Arc<CudaContext>, options: Options) -> Pool {
        Pool { shelves: Shelves::new(Cuda(context.clone()), options.cap_bytes) }
    }

    /// A buffer of `len` elements for use on `stream`. It holds whatever was left in it.
    /// Streams are told apart by their `Arc`: give the same one each time.
    ///
    /// # Safety
    ///
    /// As for cudarc's `alloc`: the elements are unset, and may be invalid as a `T`.
    #[inline]
    pub unsafe fn alloc<T: DeviceRepr>(
        &self,
        stream: &Arc<CudaStream>,
        len: usize,
    ) -> Result<Buffer<'_, T>, Error> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(Error::TooLarge)?;
        let block = self.shelves.take(threads::this(), stream, bytes)?;
        Ok(Buffer { block: ManuallyDrop::new(block), len, pool: self, elements: PhantomData })
    }

    /// A buffer of `len` elements for use on `stream`, which are set to zero there.
    pub fn alloc_zeros<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        stream: &Arc<CudaStream>,
        len: usize,
    ) -> Result<Buffer<'_, T>, Error> {
        // SAFETY: zeros are valid, and the stream writes them before anything else.
        let mut buffer = unsafe { self.alloc::<T>(stream, len) }?;
        stream.memset_zeros(&mut buffer.view_mut())?;
        Ok(buffer)
    }

    /// Gives free blocks back to the driver until the pool holds at most `keep_bytes`, or
    /// has no free block. Waits for the streams that use them.
    pub fn trim(&self, keep_bytes: usize) {
        self.shelves.shrink(keep_bytes);
    }

    /// What it holds, and what it has done.
    pub fn stats(&self) -> Stats {
        self.shelves.stats()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// Elements in the GPU's memory that came from a [`Pool`], and go back when this is
/// dropped, even if the GPU still has to work with them.
///
/// It is for use on the stream that it was made for. Before anything is queued on another
/// stream that uses it, say so with [`also_used_on`](Buffer::also_used_on).
pub struct Buffer<'pool, T> {
    block: ManuallyDrop<Boxed<Piece>>,
    len: usize,
    pool: &'pool Pool,
    elements: PhantomData<T>,
}

impl<T: DeviceRepr> Buffer<'_, T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream that it was made for.
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.block.memory.slice.stream()
    }

    /// The address, for a call of the driver itself. Such a call is for the buffer's own
    /// stream, or one that it is also used on.
    pub fn address(&self) -> CUdeviceptr {
        self.block.memory.address
    }

    /// The elements, for cudarc's copies and launches to read.
    pub fn view(&self) -> CudaView<'_, T> {
        // SAFETY: the buffer was made for elements of this type.
        let view = unsafe { self.block.memory.slice.transmute(self.len) };
        view.expect("a block is large enough for its buffer")
    }

    /// The elements, for cudarc's copies and launches to write.
    pub fn view_mut(&mut self) -> CudaViewMut<'_, T> {
        // SAFETY: as above.
        let view = unsafe { self.block.memory.slice.transmute_mut(self.len) };
        view.expect("a block is large enough for its buffer")
    }

    /// Lets another stream use the buffer too. What is queued there from now on comes
    /// after what is queued on the buffer's own stream now; and when the buffer has been
    /// dropped, nobody gets its memory before this stream has done what was queued on it
    /// until then. What is queued on the buffer's own stream later does not wait for it.
    pub fn also_used_on(&mut self, stream: &Arc<CudaStream>) -> Result<(), Error> {
        cuda::is_one_stream(stream).map_err(Error::Stream)?;
        stream.join(self.stream())?;
        let others = &mut self.block.memory.others;
        if !others.contains(stream) {
            others.push(stream.clone());
        }
        Ok(())
    }
}

impl<T> Drop for Buffer<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the only place that takes the block, and nothing comes after.
        let mut block = unsafe { ManuallyDrop::take(&mut self.block) };
        if block.memory.others.is_empty() {
            self.pool.shelves.give(threads::this(), block);
        } else {
            let others = std::mem::take(&mut block.memory.others);
            self.pool.shelves.give_after(block, &others);
        }
    }
}

impl<T> fmt::Debug for Buffer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).finish_non_exhaustive()
    }
}
