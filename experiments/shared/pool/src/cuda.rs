//! CUDA as the [`Device`] of a pool.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::sys::{CUdeviceptr, CUevent_flags, CUresult};
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DriverError, result};

use crate::book::Device;

/// A GPU's context, whose `cuMemAlloc` is where the memory comes from.
#[derive(Debug)]
pub(crate) struct Cuda(pub(crate) Arc<CudaContext>);

/// A piece of memory.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Memory as cudarc's slice, which knows its stream. Only the pool frees it.
    pub(crate) slice: ManuallyDrop<CudaSlice<u8>>,
    /// Where it is; to ask the slice takes longer.
    pub(crate) address: CUdeviceptr,
    /// The other streams that use it, while it is handed out.
    pub(crate) others: Vec<Arc<CudaStream>>,
}

impl Piece {
    /// A piece for use on a stream.
    ///
    /// # Safety
    ///
    /// There are that many bytes at the address, which came from `malloc_sync` and are
    /// in no other piece.
    unsafe fn new(stream: &Arc<CudaStream>, address: CUdeviceptr, bytes: usize) -> Piece {
        // SAFETY: the caller says so; and all bytes are valid, whatever they are.
        let slice = unsafe { stream.upgrade_device_ptr(address, bytes) };
        Piece { slice: ManuallyDrop::new(slice), address, others: vec![] }
    }

    /// Takes the address out. If cudarc tracks uses by events, this lets the stream wait
    /// for them.
    fn leak(self) -> CUdeviceptr {
        ManuallyDrop::into_inner(self.slice).leak()
    }
}

/// Whether the handle means the same stream in all threads.
pub(crate) fn is_one_stream(stream: &CudaStream) -> Result<(), &'static str> {
    /// `CU_STREAM_PER_THREAD`: one handle for another stream in each thread.
    const PER_THREAD: usize = 2;
    if stream.cu_stream() as usize == PER_THREAD {
        return Err("the pool cannot tell per-thread streams apart");
    }
    Ok(())
}

impl Device for Cuda {
    type Stream = Arc<CudaStream>;
    type Memory = Piece;
    type Event = CudaEvent;
    type Error = DriverError;

    #[inline]
    fn name(stream: &Arc<CudaStream>) -> usize {
        Arc::as_ptr(stream) as usize
    }

    fn accept(&self, stream: &Arc<CudaStream>) -> Result<(), &'static str> {
        is_one_stream(stream)?;
        if stream.context().cu_ctx() != self.0.cu_ctx() {
            return Err("the stream is of another GPU than the pool");
        }
        Ok(())
    }

    fn only_handles(stream: &Arc<CudaStream>, handles: usize) -> bool {
        Arc::strong_count(stream) <= handles
    }

    fn allocate(&self, stream: &Arc<CudaStream>, bytes: usize) -> Result<Piece, DriverError> {
        self.0.bind_to_thread()?;
        // SAFETY: the context is current, and the memory is new.
        unsafe { Ok(Piece::new(stream, result::malloc_sync(bytes)?, bytes)) }
    }

    fn is_out_of_memory(error: &DriverError) -> bool {
        error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY
    }

    fn hand_over(&self, memory: Piece, to: &Arc<CudaStream>) -> Piece {
        let (from, bytes) = (memory.slice.stream().clone(), memory.slice.len());
        let address = memory.leak();
        // The new stream waits for what the old one waits for. The streams' own handle of
        // the context knows whether it does, for there may be several of one context.
        let tracked = from.context().is_managing_stream_synchronization();
        if tracked && to.join(&from).is_err() {
            self.0.record_err(from.synchronize());
        }
        // SAFETY: this is the memory that was just taken out of a piece.
        unsafe { Piece::new(to, address, bytes) }
    }

    fn release(&self, memory: Piece) {
        let stream = memory.slice.stream().clone();
        self.0.record_err(self.0.bind_to_thread());
        let address = memory.leak();
        if stream.context().is_managing_stream_synchronization() {
            self.0.record_err(stream.synchronize());
        }
        // SAFETY: it came from `malloc_sync`, is in no other piece, and nothing on any
        // stream uses it.
        self.0.record_err(unsafe { result::free_sync(address) });
    }

    fn record(&self, stream: &Arc<CudaStream>) -> Result<CudaEvent, DriverError> {
        stream.record_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))
    }

    fn is_done(&self, event: &CudaEvent) -> Result<bool, DriverError> {
        event.try_is_complete()
    }

    fn wait(&self, stream: &Arc<CudaStream>, event: &CudaEvent) -> Result<(), DriverError> {
        stream.wait(event)
    }

    fn synchronize(&self, event: &CudaEvent) -> Result<(), DriverError> {
        event.synchronize()
    }
}
