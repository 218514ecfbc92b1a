//! How gradients are summed over all GPUs: by NCCL, or by our own kernel.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, CudaStream};
use cudarc::nccl::sys::ncclDataType_t::ncclFloat32;
use cudarc::nccl::sys::ncclRedOp_t::ncclSum;
use cudarc::nccl::{group_end, group_start, result, sys};
use lab::{Result, nccl};

use crate::gpus::{BESIDE, Gpu, Gpus, PRODUCTS};

/// As in the kernel file.
pub(crate) const MOST_GPUS: usize = 8;

// SAFETY: each GPU has access to the gradients of all others, which have `first + count`
// elements at least.
lab::kernels! { unsafe "gradient-overlap" {
    fn sum(
        gradients: [CUdeviceptr; MOST_GPUS], first: usize, count: usize, rank: u32, gpus: u32,
    );
} }

/// How gradients are summed.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    /// In which stream.
    pub(crate) which: usize,
    /// Of how many layers in a call.
    pub(crate) call: usize,
    /// Which of the communicators sum.
    pub(crate) comms: usize,
}

impl Sums {
    /// By one of the communicators: each stream has one, and the others are for the second.
    pub(crate) fn by(comms: usize, call: usize) -> Sums {
        Sums { which: comms.min(BESIDE), call, comms }
    }
}

/// NCCL's communicators, one on each GPU.
pub(crate) struct Comms(Vec<sys::ncclComm_t>);

impl Comms {
    /// A call takes at most so many blocks of threads on each GPU, or as many as NCCL likes.
    pub(crate) fn new<'a>(
        contexts: impl ExactSizeIterator<Item = &'a Arc<CudaContext>>,
        most_blocks: Option<usize>,
    ) -> Result<Comms> {
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
        let mut comms = Comms(vec![null_mut(); count]);
        nccl::check("begin a group", group_start())?;
        for ((rank, context), comm) in contexts.enumerate().zip(&mut comms.0) {
            context.bind_to_thread()?;
            let (count, rank) = (count as c_int, rank as c_int);
            // SAFETY: both places live until the group has ended; if a call fails before, it
            // never starts.
            let joined = unsafe {
                result::comm_init_rank_config(comm, count, id, rank, &raw mut config)
            };
            nccl::check("join the GPUs", joined)?;
        }
        nccl::check("join the GPUs", group_end())?;
        Ok(comms)
    }

    /// Queues what one GPU does for the sum of `count` floats over all: it has its own at
    /// `address`, and gets the sums there.
    ///
    /// # Safety
    ///
    /// The floats must be there until the stream has come so far.
    unsafe fn sum(
        &self,
        rank: usize,
        address: CUdeviceptr,
        count: usize,
        stream: &CudaStream,
    ) -> Result<()> {
        let (place, comm) = (address as *mut c_void, self.0[rank]);
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

impl Drop for Comms {
    fn drop(&mut self) {
        for comm in self.0.iter().filter(|comm| !comm.is_null()) {
            // SAFETY: NCCL made it, and nobody uses it any more. What an error may have left
            // queued on it ends here. An error of this call has no remedy.
            let _ = unsafe { result::comm_abort(*comm) };
        }
    }
}

impl Gpus {
    // ANCHOR: all_reduce
    /// Sums the gradients of these layers over all GPUs, in either of their streams. Beside the
    /// products it begins as soon as all gradients are there that have been queued so far.
    pub(crate) fn all_reduce(
        &mut self,
        layers: Range<usize>,
        Sums { which, comms, .. }: Sums,
    ) -> Result<()> {
        for Gpu { streams, marks, .. } in
            self.each.iter().filter(|_| which == BESIDE)
        {
            marks[PRODUCTS].record(&streams[PRODUCTS])?;
            streams[BESIDE].wait(&marks[PRODUCTS])?;
        }
        let place = self.shape.of(&layers);
        let Some(comms) = self.comms.get(comms) else {
            return self.launch_sums(place, which);
        };
        nccl::check("begin a group", group_start())?;
        for (rank, gpu) in self.each.iter().enumerate() {
            let first =
                self.gradients[rank] + (place.start * size_of::<f32>()) as u64;
            // SAFETY: so many gradients are there, and stay as long as the stream.
            unsafe { comms.sum(rank, first, place.len(), &gpu.streams[which]) }?;
        }
        nccl::check("start an all-reduce", group_end())?;
        Ok(())
    }
    // ANCHOR_END: all_reduce

    /// The same with our kernel. Every GPU reads all others' gradients, and so waits for them.
    fn launch_sums(&self, place: Range<usize>, which: usize) -> Result<()> {
        for gpu in &self.each {
            gpu.marks[which].record(&gpu.streams[which])?;
        }
        let count = self.each.len();
        for (rank, gpu) in self.each.iter().enumerate() {
            let stream = &gpu.streams[which];
            self.each
                .iter()
                .try_for_each(|other| stream.wait(&other.marks[which]))?;
            let grid = lab::launch::threads(place.len().div_ceil(count));
            let (rank, gpus, first) = (rank as u32, count as u32, place.start);
            gpu.kernels.sum(
                stream,
                grid,
                self.gradients,
                first,
                place.len(),
                rank,
                gpus,
            )?;
        }
        Ok(())
    }
}
