//! Copies between pageable host memory and the GPU at nearly the speed of pinned memory.
//!
//! A copy engine can only use pinned memory, so bytes of an ordinary `Vec` or slice have
//! to pass through a pinned buffer, and a CPU core has to carry them there. The driver
//! does that with one core. [`Staging`] does it with several: they share a ring of pinned
//! memory, and each takes the next small piece of the copy as soon as it has carried one.
//! Pieces that lie ready side by side go to the GPU as one copy.
//!
//! ```text
//!                 ┌ the caller ┐
//! pageable memory ┼  thread 1  ┼─► pinned ring ─► copy engine ─► GPU
//!                 └  thread 2  ┘       (to the host: the same, backwards)
//! ```
//!
//! ```no_run
//! use cudarc::driver::CudaContext;
//! use staging::{Options, Staging};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = CudaContext::new(0)?;
//! let stream = context.new_stream()?;
//! let mut staging = Staging::new(&context, Options::default())?;
//!
//! let host = vec![1.0f32; 256 << 20];
//! let mut device = stream.alloc_zeros::<f32>(host.len())?;
//! staging.copy_to_device(&stream, &host, &mut device)?;
//! # Ok(())
//! # }
//! ```
//!
//! Both copies return when they are done, so the host's memory is free for use, and no
//! copy is in flight between two calls, whether they succeeded, failed or panicked.
//!
//! Data that has yet to be made need not pass through pageable memory: a [`Loader`] has it
//! made in a slot, by a thread of its own, while the GPU works on what was made before.

#![warn(missing_docs)]

mod awake;
mod loader;
mod ring;
mod stores;

use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use cudarc::driver::{
    CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DriverError, sys,
};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use awake::Awake;
pub use loader::{LoadError, Loader};
use ring::{Direction, Ring};
pub use stores::Stores;
use stores::copy_non_temporal;

/// What a [`Staging`] is made of. It holds `piece_bytes × slots` of pinned memory. Zero
/// `threads`, `piece_bytes` or `slots` count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Host threads that carry bytes, the caller among them.
    pub threads: usize,
    /// The most that a thread carries at a time. The copy engine waits for the first
    /// piece, and each costs the threads a moment. The caller looks after the engine between
    /// two pieces.
    pub piece_bytes: usize,
    /// How many pieces the ring of pinned memory has room for.
    pub slots: usize,
    /// Copies of fewer bytes than this are left to the driver, which is faster if the
    /// threads have to be woken.
    pub staged_from: usize,
    /// How threads write what the copy engine is to fetch.
    pub stores: Stores,
    /// How long after a staged copy the threads stay awake for another one; if zero, not at
    /// all. Waking them costs tens of microseconds. While they are awake they use the time of
    /// their cores, but yield them to other threads. It gains nothing if copies are further
    /// apart than this.
    pub linger: Duration,
}

impl Default for Options {
    /// As many threads as this process has cores, but not more than 16, and a ring of
    /// 64 MiB for pieces of 64 KiB. With one or two threads all copies are left to the
    /// driver, which is faster than one and about as fast as two.
    fn default() -> Options {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = cores.min(16);
        Options {
            threads,
            piece_bytes: 64 << 10,
            slots: 1024,
            staged_from: if threads > 2 { 1 << 20 } else { usize::MAX },
            stores: Stores::default(),
            linger: Duration::from_millis(1),
        }
    }
}

/// Threads and pinned memory to stage copies with; see the [crate's page](crate). Making
/// one costs milliseconds, so keep it and use it again.
///
/// On a thread of another rayon pool, do not hold a lock during a copy: while the copy waits, the
/// thread may run another job of that pool, which may want the same lock.
#[derive(Debug)]
pub struct Staging {
    options: Options,
    pool: ThreadPool,
    ring: Ring,
    awake: Awake,
}

/// Why there is no [`Staging`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The driver refused pinned memory or an event.
    #[error("the driver gave no pinned memory or event to stage copies with")]
    Driver(#[from] DriverError),
    /// The operating system refused a thread.
    #[error("there are no threads to stage copies with")]
    Threads(#[from] ThreadPoolBuildError),
}

impl Staging {
    /// Starts the threads and pins the ring.
    pub fn new(context: &Arc<CudaContext>, options: Options) -> Result<Staging, Error> {
        let threads = options.threads.max(1);
        let (piece_bytes, slots) = (options.piece_bytes.max(1), options.slots.max(1));
        // The caller is one of the threads; for it alone, one of the pool idles.
        let others = (threads - 1).max(1);
        Ok(Staging {
            options: Options { threads, piece_bytes, slots, ..options },
            pool: ThreadPoolBuilder::new().num_threads(others).build()?,
            ring: Ring::new(context, piece_bytes, slots)?,
            awake: Awake::new(),
        })
    }

    /// Copies `source` to the start of `target`, after what is queued on `stream`, and
    /// returns when the copy is done. After an error, `target` holds anything.
    ///
    /// # Panics
    ///
    /// If `target` is shorter than `source`.
    pub fn copy_to_device<T: DeviceRepr>(
        &mut self,
        stream: &Arc<CudaStream>,
        source: &[T],
        target: &mut impl DevicePtrMut<T>,
    ) -> Result<(), DriverError> {
        assert!(target.len() >= source.len(), "the target is shorter than the source");
        if size_of_val(source) < self.options.staged_from {
            let queued = stream.memcpy_htod(source, target);
            return queued.and(settle(stream));
        }
        let (device, _written) = target.device_ptr_mut(stream);
        let source = bytes(source);
        let pieces = source.chunks(self.options.piece_bytes);
        let way = (Direction::ToDevice, device, source.len());
        let stores = self.options.stores;
        self.pass(stream, way, pieces, |piece, slot| stores.copy(slot, piece))
    }

    /// Copies all of `source` to the start of `target`, after what is queued on
    /// `stream`, and returns when the copy is done. After an error, `target` holds
    /// anything.
    ///
    /// # Panics
    ///
    /// If `target` is shorter than `source`.
    pub fn copy_to_host<T: DeviceRepr>(
        &mut self,
        stream: &Arc<CudaStream>,
        source: &impl DevicePtr<T>,
        target: &mut [T],
    ) -> Result<(), DriverError> {
        assert!(target.len() >= source.len(), "the target is shorter than the source");
        let target = &mut target[..source.len()];
        if size_of_val(target) < self.options.staged_from {
            let queued = stream.memcpy_dtoh(source, target);
            return queued.and(settle(stream));
        }
        let (device, _read) = source.device_ptr(stream);
        let target = bytes_mut(target);
        let way = (Direction::ToHost, device, target.len());
        let pieces = target.chunks_mut(self.options.piece_bytes);
        self.pass(stream, way, pieces, |piece, slot| copy_non_temporal(piece, slot))
    }

    /// Passes all pieces through the ring, and waits until the stream has done its work.
    fn pass<Piece: Send>(
        &mut self,
        stream: &CudaStream,
        way: (Direction, sys::CUdeviceptr, usize),
        pieces: impl ExactSizeIterator<Item = Piece> + Send,
        carry: impl Fn(Piece, &mut [MaybeUninit<u8>]) + Sync,
    ) -> Result<(), DriverError> {
        let _settled = Settled(stream);
        stream.context().bind_to_thread()?;
        let helpers = self.options.threads - 1;
        self.ring.pass((&self.pool, helpers), stream, way, pieces, carry)?;
        let linger = self.options.linger;
        if helpers > 0 && !linger.is_zero() {
            self.awake.begin(&self.pool);
        }
        let done = stream.synchronize();
        self.awake.end_after(linger);
        done
    }
}

/// Waits for a stream when the work on it ends, be it in success, error or panic: then
/// the ring and the GPU's memory are their owners' alone.
struct Settled<'a>(&'a CudaStream);

impl Drop for Settled<'_> {
    fn drop(&mut self) {
        // An error was returned already, or comes back at the next call.
        let _ = settle(self.0);
    }
}

/// Waits for a stream, even if there is an error to return: it may be one that cudarc has
/// kept from an earlier call, and then the first try has not waited.
fn settle(stream: &CudaStream) -> Result<(), DriverError> {
    stream.synchronize().inspect_err(|_| _ = stream.synchronize())
}

/// The bytes of a slice, of which those between a type's fields may be uninitialised.
fn bytes<T>(slice: &[T]) -> &[MaybeUninit<u8>] {
    // SAFETY: the same memory for the same time; `MaybeUninit<u8>` allows every byte and
    // every address.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
}

/// The bytes of a slice, to write what is a `T` again.
fn bytes_mut<T: DeviceRepr>(slice: &mut [T]) -> &mut [MaybeUninit<u8>] {
    let (start, bytes) = (slice.as_mut_ptr().cast(), size_of_val(slice));
    // SAFETY: as above, and borrowed alone. What is written are bytes of `T`s that the
    // GPU holds.
    unsafe { std::slice::from_raw_parts_mut(start, bytes) }
}
