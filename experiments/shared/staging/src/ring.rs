//! What one thread works with: a few pinned buffers, used in turn.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, DeviceRepr, DriverError, PinnedHostSlice,
    ValidAsZeroBits, result, sys,
};

use crate::copy_non_temporal;

/// Pinned buffers of one size.
#[derive(Debug)]
pub(crate) struct Ring {
    slots: Vec<Slot<u8>>,
}

/// A pinned buffer, and the end of the last copy that used it.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    pub(crate) memory: PinnedHostSlice<T>,
    pub(crate) done: CudaEvent,
}

/// Chunks of host memory that are not taken yet, each with its address on the GPU.
type Queue<Chunks> = Mutex<Chunks>;

/// The next chunk, if there is one.
fn next<Chunks: Iterator>(queue: &Queue<Chunks>) -> Option<Chunks::Item> {
    // Nobody can panic between lock and unlock.
    queue.lock().unwrap_or_else(PoisonError::into_inner).next()
}

impl Ring {
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        slots: usize,
        bytes: usize,
    ) -> Result<Ring, DriverError> {
        let slots = (0..slots).map(|_| Slot::new(context, bytes));
        Ok(Ring { slots: slots.collect::<Result<_, _>>()? })
    }

    // ANCHOR: send
    /// Carries chunks into slots, and has them sent, until the queue is empty.
    pub(crate) fn send<'a>(
        &mut self,
        stream: &CudaStream,
        queue: &Queue<
            impl Iterator<Item = (&'a [MaybeUninit<u8>], sys::CUdeviceptr)>,
        >,
    ) -> Result<(), DriverError> {
        let mut turn = 0;
        while let Some((chunk, device)) = next(queue) {
            let count = self.slots.len();
            let slot = &mut self.slots[turn % count];
            turn += 1;
            slot.done.synchronize()?; // its last chunk has been sent
            let staged = slot.bytes(chunk.len())?;
            staged.copy_from_slice(chunk);
            // SAFETY: there is room for the chunk at `device`, and nothing touches the
            // slot before `done`.
            unsafe {
                result::memcpy_htod_async(device, staged, stream.cu_stream())
            }?;
            slot.done.record(stream)?;
        }
        Ok(())
    }
    // ANCHOR_END: send

    // ANCHOR: fetch
    /// Has slots filled, and carries their chunks to where they belong, until the queue
    /// is empty.
    pub(crate) fn fetch<'a>(
        &mut self,
        stream: &CudaStream,
        queue: &Queue<
            impl Iterator<Item = (&'a mut [MaybeUninit<u8>], sys::CUdeviceptr)>,
        >,
    ) -> Result<(), DriverError> {
        let mut free: VecDeque<_> = self.slots.iter_mut().collect();
        let mut filling = VecDeque::with_capacity(free.len());
        loop {
            // Keep the copy engine busy with every slot that is free …
            while let Some(slot) = free.pop_front() {
                let Some((chunk, device)) = next(queue) else { break };
                let staged = slot.bytes(chunk.len())?;
                // SAFETY: the chunk's bytes are at `device`, and nothing touches the
                // slot before `done`.
                unsafe {
                    result::memcpy_dtoh_async(staged, device, stream.cu_stream())
                }?;
                slot.done.record(stream)?;
                filling.push_back((slot, chunk));
            }
            // … and empty the one that has been filled first.
            let Some((slot, chunk)) = filling.pop_front() else { return Ok(()) };
            slot.done.synchronize()?;
            let staged = slot.bytes(chunk.len())?;
            // SAFETY: the copy engine has written all of them.
            copy_non_temporal(unsafe { staged.assume_init_ref() }, chunk);
            free.push_back(slot);
        }
    }
    // ANCHOR_END: fetch
}

impl<T: DeviceRepr + ValidAsZeroBits> Slot<T> {
    /// With room for `count` elements, all zero.
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        count: usize,
    ) -> Result<Slot<T>, DriverError> {
        // Not write-combined: the CPU reads the slots of copies to the host.
        // SAFETY: nothing reads the memory before it is zeroed.
        let mut memory = unsafe { context.alloc_pinned_with_flags::<T>(count, 0) }?;
        // SAFETY: that many elements, and zeros are valid ones.
        unsafe { memory.as_mut_ptr()?.write_bytes(0, count) };
        Ok(Slot { memory, done: context.new_event(None)? })
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

impl Slot<u8> {
    /// The first bytes of the buffer. No copy may be using them.
    fn bytes(
        &mut self,
        count: usize,
    ) -> Result<&mut [MaybeUninit<u8>], DriverError> {
        assert!(count <= self.memory.len());
        let start = self.memory.as_mut_ptr()?.cast();
        // SAFETY: the buffer is at least that long, and borrowed with `self`.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, count) })
    }
}
