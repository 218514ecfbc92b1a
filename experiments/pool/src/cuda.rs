//! CUDA as the [`Device`] of a pool.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::sys::{CUevent_flags, CUresult};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaSlice, CudaStream, DriverError, result,
};

use crate::ledger::Device;

/// A GPU's context, whose `cuMemAlloc` is where the memory comes from.
#[derive(Debug)]
pub(crate) struct Cuda(pub(crate) Arc<CudaContext>);

/// Memory as cudarc's slice, which knows its stream. Only the pool frees it.
pub(crate) type Memory = ManuallyDrop<CudaSlice<u8>>;

impl Device for Cuda {
    type Stream = Arc<CudaStream>;
    type Memory = Memory;
    type Event = CudaEvent;
    type Error = DriverError;

    fn name(stream: &Arc<CudaStream>) -> usize {
        stream.cu_stream() as usize
    }

    fn only_handles(stream: &Arc<CudaStream>, handles: usize) -> bool {
        Arc::strong_count(stream) <= handles
    }

    fn allocate(
        &self,
        stream: &Arc<CudaStream>,
        bytes: usize,
    ) -> Result<Memory, DriverError> {
        self.0.bind_to_thread()?;
        // SAFETY: the context is current. The slice is as long as the memory, and bytes
        // are valid whatever they are; what is made of them is up to `Pool::alloc`.
        let slice = unsafe {
            let address = result::malloc_sync(bytes)?;
            stream.upgrade_device_ptr(address, bytes)
        };
        Ok(ManuallyDrop::new(slice))
    }

    fn is_out_of_memory(error: &DriverError) -> bool {
        error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY
    }

    fn hand_over(&self, memory: Memory, to: &Arc<CudaStream>) -> Memory {
        let from = memory.stream().clone();
        let bytes = memory.len();
        // If cudarc tracks uses by events, `leak` lets the old stream wait for them.
        let address = ManuallyDrop::into_inner(memory).leak();
        if self.0.is_managing_stream_synchronization() && to.join(&from).is_err() {
            self.0.record_err(from.synchronize());
        }
        // SAFETY: this is the memory that was just taken out of a slice.
        ManuallyDrop::new(unsafe { to.upgrade_device_ptr(address, bytes) })
    }

    fn release(&self, memory: Memory) {
        let stream = memory.stream().clone();
        self.0.record_err(self.0.bind_to_thread());
        // As above, but here the memory has to be idle.
        let address = ManuallyDrop::into_inner(memory).leak();
        if self.0.is_managing_stream_synchronization() {
            self.0.record_err(stream.synchronize());
        }
        // SAFETY: it came from `malloc_sync`, nobody has another slice of it, and nothing
        // on any stream uses it.
        self.0.record_err(unsafe { result::free_sync(address) });
    }

    fn record(&self, stream: &Arc<CudaStream>) -> Result<CudaEvent, DriverError> {
        stream.record_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))
    }

    fn is_done(&self, event: &CudaEvent) -> Result<bool, DriverError> {
        event.try_is_complete()
    }

    fn wait(
        &self,
        stream: &Arc<CudaStream>,
        event: &CudaEvent,
    ) -> Result<(), DriverError> {
        stream.wait(event)
    }

    fn synchronize(&self, event: &CudaEvent) -> Result<(), DriverError> {
        event.synchronize()
    }
}
