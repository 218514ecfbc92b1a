//! Batches that a thread of their own makes, while the GPU works on earlier ones.

use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, DevicePtrMut, DeviceRepr, DriverError, PinnedHostSlice,
    ValidAsZeroBits, result,
};

use crate::ring::pinned;
use crate::settle;

/// Sends the GPU batches that a *producer* makes ahead: a thread that fills pinned buffers,
/// *slots*, as long as one is free.
///
/// ```text
///              ┌──────── empty ◄─────────┐
/// producer: fill(slot)           copy engine: done
///              └─► filled ─► next(…) ────┘
/// ```
///
/// ```no_run
/// # use cudarc::driver::CudaContext;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let context = CudaContext::new(0)?;
/// # let stream = context.new_stream()?;
/// # let mut file = std::fs::File::open("samples")?;
/// use std::io::Read;
/// use staging::Loader;
///
/// const BATCH: usize = 4 << 20;
/// let mut batches = Loader::new(&context, 3, BATCH, move |slot| file.read(slot))?;
/// let mut device = stream.alloc_zeros::<u8>(BATCH)?;
/// while batches.next(&stream, &mut device)? > 0 {
///     // Launch what uses the batch, on the same stream.
/// }
/// # Ok(())
/// # }
/// ```
///
/// Batches arrive in the order in which they were made, each once. Dropping a loader waits
/// for the batch that is being made, and for copies that have not ended.
#[derive(Debug)]
pub struct Loader<T> {
    batch: usize,
    /// `None` after the last batch.
    producer: Option<Producer<T>>,
}

/// The producer's thread, and the two ways of the slots between it and the consumer. It
/// ends when either way is closed at the other end.
#[derive(Debug)]
struct Producer<T> {
    empty: Sender<Slot<T>>,
    filled: Receiver<(Slot<T>, usize)>,
    thread: JoinHandle<Result<(), LoadError>>,
}

/// A pinned buffer, and the end of the last copy that used it.
#[derive(Debug)]
struct Slot<T> {
    memory: PinnedHostSlice<T>,
    done: CudaEvent,
}

/// Why there is no next batch.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The driver gave no pinned memory or event, or did not copy.
    #[error("the driver could not load a batch")]
    Driver(#[from] DriverError),
    /// The operating system refused a thread.
    #[error("there is no thread to make batches")]
    Thread(#[from] std::io::Error),
    /// The producer returned this error.
    #[error("a batch could not be made")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The producer panicked, with this message.
    #[error("the producer panicked: {0}")]
    Panicked(String),
}

impl<T: DeviceRepr + ValidAsZeroBits + Send + 'static> Loader<T> {
    /// Starts the producer, which goes on with `fill` while one of `slots` is free. Like
    /// [`Read::read`](std::io::Read::read), `fill` writes the start of what it is handed,
    /// `batch` elements, and returns how many it wrote; none is the end. What it is handed
    /// holds zeros or an earlier batch. Zero slots or elements count as one.
    pub fn new<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        context: &Arc<CudaContext>,
        slots: usize,
        batch: usize,
        mut fill: impl FnMut(&mut [T]) -> Result<usize, E> + Send + 'static,
    ) -> Result<Loader<T>, LoadError> {
        let batch = batch.max(1);
        let (empty, to_fill) = channel();
        let (to_send, filled) = channel();
        for _ in 0..slots.max(1) {
            empty.send(Slot::<T>::new(context, batch)?).expect("`to_fill` is there");
        }
        // ANCHOR: produce
        let produce = move || {
            for mut slot in to_fill {
                slot.done.synchronize()?; // the copy of its last batch
                let count = fill(slot.memory.as_mut_slice()?);
                let count = count.map_err(|e| LoadError::Failed(e.into()))?;
                assert!(count <= batch, "{count} elements do not fit into {batch}");
                if count == 0 || to_send.send((slot, count)).is_err() {
                    break;
                }
            }
            Ok(())
        };
        // ANCHOR_END: produce
        let thread = Builder::new().name("producer".to_owned()).spawn(produce)?;
        Ok(Loader { batch, producer: Some(Producer { empty, filled, thread }) })
    }

    // ANCHOR: next
    /// Waits until the next batch is made, queues its copy to the start of `target` on
    /// `stream`, and returns how many elements it has. Zero means that there are no more,
    /// and so it stays, also after an error. Once no more are made, it may wait for the copy,
    /// too.
    ///
    /// # Panics
    ///
    /// If `target` is shorter than the longest batch.
    pub fn next(
        &mut self,
        stream: &Arc<CudaStream>,
        target: &mut impl DevicePtrMut<T>,
    ) -> Result<usize, LoadError> {
        assert!(target.len() >= self.batch, "the target is shorter than a batch");
        let Some(Producer { empty, filled, .. }) = &self.producer else {
            return Ok(0);
        };
        let Ok((mut slot, count)) = filled.recv() else {
            return self.finish().and(Ok(0));
        };
        if let Err(e) = slot.send(count, stream, target) {
            let _ = settle(stream); // an error is returned already
            drop(slot);
            let _ = self.finish();
            return Err(e.into());
        }
        // A producer that has made its last batch takes no slot back: then the slot is
        // dropped here, after its copy.
        let _ = empty.send(slot);
        Ok(count)
    }
    // ANCHOR_END: next
}

impl<T> Loader<T> {
    /// Stops the producer and returns what it ended with.
    fn finish(&mut self) -> Result<(), LoadError> {
        let Some(Producer { empty, filled, thread }) = self.producer.take() else {
            return Ok(());
        };
        drop((filled, empty)); // it ends at whichever it uses next
        thread.join().unwrap_or_else(|panic| Err(LoadError::Panicked(message(panic))))
    }
}

impl<T> Drop for Loader<T> {
    fn drop(&mut self) {
        let _ = self.finish(); // nobody asks any more
    }
}

impl<T: DeviceRepr + ValidAsZeroBits> Slot<T> {
    /// A slot with room for `count` elements, all zero.
    fn new(context: &Arc<CudaContext>, count: usize) -> Result<Slot<T>, DriverError> {
        let memory = pinned(context, count)?;
        Ok(Slot { memory, done: context.new_event(None)? })
    }

    /// Has the first `count` elements sent.
    fn send(
        &mut self,
        count: usize,
        stream: &Arc<CudaStream>,
        target: &mut impl DevicePtrMut<T>,
    ) -> Result<(), DriverError> {
        let batch = &self.memory.as_slice()?[..count];
        let (device, _written) = target.device_ptr_mut(stream);
        // SAFETY: there is room for the batch at `device`, and nothing touches the slot
        // before `done`.
        unsafe { result::memcpy_htod_async(device, batch, stream.cu_stream()) }?;
        self.done.record(stream)
    }
}

impl<T> Drop for Slot<T> {
    /// The memory stays as long as a copy uses it.
    fn drop(&mut self) {
        if self.done.synchronize().is_err() {
            // Perhaps an error that cudarc has kept from an earlier call: then that was
            // not waiting.
            let _ = self.done.synchronize();
        }
    }
}

fn message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => (*panic.downcast_ref::<&str>().unwrap_or(&"")).to_owned(),
    }
}
