//! Copies between pageable host memory and the GPU at nearly the speed of pinned memory.
//!
//! A copy engine can only use pinned memory, so bytes of an ordinary `Vec` or slice have
//! to pass through a pinned buffer, and a CPU core has to carry them there. The driver
//! does that with one core. [`Staging`] does it with several: each thread owns a small
//! ring of pinned buffers, *slots*, and takes the next chunk of the copy as soon as one of
//! them is free.
//!
//! ```text
//!                 ┌ thread 0 ─► slot slot ┐
//! pageable memory ┼ thread 1 ─► slot slot ┼─ copy engine ─► GPU
//!                 └ thread 2 ─► slot slot ┘      (to the host: the same, backwards)
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

mod loader;
mod non_temporal;
mod ring;

use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use cudarc::driver::{
    CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DriverError,
};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

pub use loader::{LoadError, Loader};
pub use non_temporal::copy_non_temporal;
use ring::Ring;

/// What a [`Staging`] is made of. It holds `threads × slots × chunk_bytes` of pinned
/// memory. Zero of any of them counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Host threads that carry bytes.
    pub threads: usize,
    /// The most that a thread carries at a time: the size of a slot. The copy engine
    /// loses some microseconds with each chunk, so small ones do not fill the link.
    pub chunk_bytes: usize,
    /// Slots of each thread. With one, a thread waits for the copy engine after every
    /// chunk; with two, it fills one while the engine empties the other.
    pub slots: usize,
    /// Copies of fewer bytes than this are left to the driver, which is faster than
    /// waking the threads.
    pub staged_from: usize,
}

impl Default for Options {
    /// As many threads as this process has cores, but not more than eight, and two slots
    /// of 4 MiB for each.
    fn default() -> Options {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        Options {
            threads: cores.min(8),
            chunk_bytes: 4 << 20,
            slots: 2,
            staged_from: 4 << 20,
        }
    }
}

/// Threads and pinned memory to stage copies with; see the [crate's page](crate). Making
/// one costs milliseconds, so keep it and use it again.
#[derive(Debug)]
pub struct Staging {
    options: Options,
    pool: ThreadPool,
    rings: Vec<Ring>,
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
    /// Starts the threads and pins their slots.
    pub fn new(
        context: &Arc<CudaContext>,
        options: Options,
    ) -> Result<Staging, Error> {
        let Options { threads, chunk_bytes, slots, staged_from } = options;
        let options = Options {
            threads: threads.max(1),
            chunk_bytes: chunk_bytes.max(1),
            slots: slots.max(1),
            staged_from,
        };
        let ring = |_| Ring::new(context, options.slots, options.chunk_bytes);
        Ok(Staging {
            options,
            pool: ThreadPoolBuilder::new().num_threads(options.threads).build()?,
            rings: (0..options.threads).map(ring).collect::<Result<_, _>>()?,
        })
    }

    // ANCHOR: to_device
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
        assert!(
            target.len() >= source.len(),
            "the target is shorter than the source"
        );
        if size_of_val(source) < self.options.staged_from {
            let queued = stream.memcpy_htod(source, target);
            return queued.and(settle(stream));
        }
        let (device, _written) = target.device_ptr_mut(stream);
        let chunk_bytes = self.chunk_bytes(size_of_val(source));
        let chunks = bytes(source).chunks(chunk_bytes);
        let offsets = (device..).step_by(chunk_bytes);
        let queue = Mutex::new(chunks.zip(offsets));
        self.each_ring(stream, |ring| ring.send(stream, &queue))
    }
    // ANCHOR_END: to_device

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
        assert!(
            target.len() >= source.len(),
            "the target is shorter than the source"
        );
        let target = &mut target[..source.len()];
        if size_of_val(target) < self.options.staged_from {
            let queued = stream.memcpy_dtoh(source, target);
            return queued.and(settle(stream));
        }
        let (device, _read) = source.device_ptr(stream);
        let chunk_bytes = self.chunk_bytes(size_of_val(target));
        let chunks = bytes_mut(target).chunks_mut(chunk_bytes);
        let offsets = (device..).step_by(chunk_bytes);
        let queue = Mutex::new(chunks.zip(offsets));
        self.each_ring(stream, |ring| ring.fetch(stream, &queue))
    }

    // ANCHOR: chunk
    /// How large to make the chunks of a copy. The copy engine waits for the first one,
    /// and it loses some time with each. If c bytes are carried in c / r, the engine
    /// loses l with each chunk, and there are n bytes, then c / r + l n / c is least at
    /// c² = l r n.
    fn chunk_bytes(&self, bytes: usize) -> usize {
        /// l × r: about 3 µs × 11 GB/s.
        const LOST: usize = 32 << 10;
        const PAGE: usize = 4 << 10;
        let best = bytes.saturating_mul(LOST).isqrt().next_multiple_of(PAGE);
        best.clamp(1, self.options.chunk_bytes)
    }
    // ANCHOR_END: chunk

    // ANCHOR: threads
    /// Lets every thread work with a ring, until all have done their work and the stream
    /// has done its. The first error is returned.
    fn each_ring(
        &mut self,
        stream: &CudaStream,
        work: impl Fn(&mut Ring) -> Result<(), DriverError> + Sync,
    ) -> Result<(), DriverError> {
        let _settled = Settled(stream);
        let rings = self.rings.par_iter_mut().with_max_len(1);
        self.pool.install(|| {
            rings.try_for_each(|ring| {
                stream.context().bind_to_thread()?;
                work(ring)
            })
        })?;
        stream.synchronize()
    }
    // ANCHOR_END: threads
}

/// Waits for a stream when the work on it ends, be it in success, error or panic: then
/// the slots and the GPU's memory are their owners' alone.
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

/// The same, to write what is a `T` again.
fn bytes_mut<T: DeviceRepr>(slice: &mut [T]) -> &mut [MaybeUninit<u8>] {
    let (start, bytes) = (slice.as_mut_ptr().cast(), size_of_val(slice));
    // SAFETY: as above, and borrowed alone. What is written are bytes of `T`s that the
    // GPU holds.
    unsafe { std::slice::from_raw_parts_mut(start, bytes) }
}
