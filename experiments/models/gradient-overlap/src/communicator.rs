//! What sums over all GPUs: a communicator of NCCL, or our own kernel.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, CudaStream};
use cudarc::nccl::sys::ncclDataType_t::ncclFloat32;
use cudarc::nccl::sys::ncclRedOp_t::ncclSum;
use cudarc::nccl::{group_end, group_start, result, sys};
use lab::{Case, Result, nccl};

/// Most GPUs, as in the kernel file.
pub(crate) const MOST_GPUS: usize = 8;

// SAFETY: each GPU has access to the gradients of all others, which have `first + count`
// elements at least.
lab::kernels! { unsafe "gradient-overlap" {
    fn sum(
        gradients: [CUdeviceptr; MOST_GPUS], first: usize, count: usize, rank: u32, gpus: u32,
    );
} }

/// A stream that each GPU has: one for products, and one for what runs beside them.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stream {
    Products,
    Beside,
}

/// Most blocks of threads that a call of NCCL takes, where that is limited.
const FEW_BLOCKS: [usize; 7] = [16, 12, 8, 6, 5, 4, 2];

/// How gradients are summed.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    pub(crate) stream: Stream,
    pub(crate) layers_per_call: usize,
    /// Most blocks of threads that a call takes; `None` leaves that to NCCL.
    pub(crate) most_blocks: Option<usize>,
}

impl Sums {
    /// Calls without a limit.
    pub(crate) fn new(stream: Stream, layers_per_call: usize) -> Sums {
        Sums { stream, layers_per_call, most_blocks: None }
    }

    /// Calls beside the products with each of the limits.
    pub(crate) fn limited(layers_per_call: usize) -> [Sums; FEW_BLOCKS.len()] {
        let sums = Sums::new(Stream::Beside, layers_per_call);
        FEW_BLOCKS.map(|most| Sums { most_blocks: Some(most), ..sums })
    }

    /// Calls in either stream, and with each of the limits.
    pub(crate) fn all(layers_per_call: usize) -> impl Iterator<Item = Sums> {
        let free = [Stream::Products, Stream::Beside];
        let free = free.map(|stream| Sums::new(stream, layers_per_call));
        free.into_iter().chain(Sums::limited(layers_per_call))
    }

    /// The case with the parameters of these calls.
    pub(crate) fn describe(&self, case: Case, layer_bytes: usize) -> Case {
        let case = case.with("call_bytes", self.layers_per_call * layer_bytes);
        match self.most_blocks {
            Some(most) => case.with("most_blocks", most),
            None => case,
        }
    }
}

/// A communicator of NCCL, for calls in one of the streams.
pub(crate) struct Communicator {
    pub(crate) stream: Stream,
    /// Most blocks of threads that a call takes on each GPU; `None` leaves that to NCCL.
    pub(crate) most_blocks: Option<usize>,
    /// NCCL's handles, one for each GPU.
    handles: Vec<sys::ncclComm_t>,
}

impl Communicator {
    pub(crate) fn new(
        contexts: &[Arc<CudaContext>],
        stream: Stream,
        most_blocks: Option<usize>,
    ) -> Result<Communicator> {
        let undefined = c_int::MIN;
        // SAFETY: a C structure of numbers and pointers, and the size says that NCCL reads
        // only those that are set here: what NCCL 2.17 knew.
        let mut config = sys::ncclConfig_t {
            size: offset_of!(sys::ncclConfig_t, trafficClass),
            magic: 0xcafe_beef,
            version: 21_700,
            blocking: undefined,
            cgaClusterSize: undefined,
            minCTAs: undefined,
            maxCTAs: most_blocks.map_or(undefined, |blocks| blocks as c_int),
            splitShare: undefined,
            ..unsafe { std::mem::zeroed() }
        };
        let count = contexts.len();
        let id = nccl::check("find a name for the group", result::get_uniqueid())?;
        let handles = vec![null_mut(); count];
        let mut communicator = Communicator { stream, most_blocks, handles };
        nccl::check("begin a group", group_start())?;
        let handles = communicator.handles.iter_mut();
        for ((rank, context), handle) in contexts.iter().enumerate().zip(handles) {
            context.bind_to_thread()?;
            let (count, rank) = (count as c_int, rank as c_int);
            // SAFETY: both places live until the group has ended; if a call fails before, it
            // never starts.
            let joined = unsafe {
                result::comm_init_rank_config(
                    handle,
                    count,
                    id,
                    rank,
                    &raw mut config,
                )
            };
            nccl::check("join the GPUs", joined)?;
        }
        nccl::check("join the GPUs", group_end())?;
        Ok(communicator)
    }

    /// Queues what one GPU does for the sum of `count` floats over all: it has its own at
    /// `address`, and gets the sums there.
    ///
    /// # Safety
    ///
    /// The floats must be there until the stream has come so far.
    pub(crate) unsafe fn sum(
        &self,
        rank: usize,
        address: CUdeviceptr,
        count: usize,
        stream: &CudaStream,
    ) -> Result<()> {
        let (place, comm) = (address as *mut c_void, self.handles[rank]);
        let stream = stream.cu_stream().cast();
        // SAFETY: the caller's word for the floats; the communicator lives.
        let queued = unsafe {
            result::all_reduce(
                place,
                place,
                count,
                ncclFloat32,
                ncclSum,
                comm,
                stream,
            )
        };
        nccl::check("queue an all-reduce", queued)?;
        Ok(())
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        for comm in self.handles.iter().filter(|comm| !comm.is_null()) {
            // SAFETY: NCCL made it, and nothing uses it any more. What an error may have left
            // queued on it ends here. An error of this call has no remedy.
            let _ = unsafe { result::comm_abort(*comm) };
        }
    }
}
