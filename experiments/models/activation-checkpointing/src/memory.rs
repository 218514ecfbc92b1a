//! Memory for activations, and how much of it is in use.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::{Lab, MemoryReading, Result};
use pool::driver::DriverPool;

/// The pool of the driver that activations come from, and what it gives while it is
/// watched.
pub(crate) struct Memory {
    pool: ManuallyDrop<DriverPool>,
    watched: RefCell<Option<Watched>>,
}

struct Watched {
    begun: Instant,
    /// What was in use before: weights and their gradients.
    before_bytes: u64,
    readings: Vec<MemoryReading>,
}

impl Memory {
    pub(crate) fn new(lab: &Lab) -> Result<Memory> {
        let pool = DriverPool::of_the_gpu(lab.context())?;
        pool.set_threshold(u64::MAX)?; // keep what is freed for the next step
        Ok(Memory { pool, watched: None.into() })
    }

    /// Memory for numbers that a kernel is about to write.
    pub(crate) fn activation(
        &self,
        stream: &Arc<CudaStream>,
        numbers: usize,
    ) -> Result<CudaSlice<f32>> {
        self.read(stream)?;
        // SAFETY: each kernel writes every element of what it is given, before any reads.
        let memory = unsafe { stream.alloc(numbers) }?;
        self.read(stream)?;
        Ok(memory)
    }

    /// From now on, reads what is in use before and after each activation is made.
    pub(crate) fn watch(&self, stream: &CudaStream) -> Result<()> {
        stream.synchronize()?;
        let before_bytes = self.pool.used_bytes()?;
        let watched =
            Watched { begun: Instant::now(), before_bytes, readings: vec![] };
        self.watched.replace(Some(watched));
        Ok(())
    }

    /// Notes what is in use, if it has changed, when all that was queued is done.
    fn read(&self, stream: &CudaStream) -> Result<()> {
        if let Some(watched) = &mut *self.watched.borrow_mut() {
            stream.synchronize()?;
            let bytes = self.pool.used_bytes()?.saturating_sub(watched.before_bytes);
            let microseconds = watched.begun.elapsed().as_micros();
            let seconds = microseconds as f64 * 1e-6;
            if watched.readings.last().is_none_or(|last| last.bytes != bytes) {
                watched.readings.push(MemoryReading { seconds, bytes });
            }
        }
        Ok(())
    }

    /// Ends the watch, and gives what was read.
    pub(crate) fn end(&self, stream: &CudaStream) -> Result<Vec<MemoryReading>> {
        self.read(stream)?;
        Ok(self.watched.take().map(|watched| watched.readings).unwrap_or_default())
    }
}
