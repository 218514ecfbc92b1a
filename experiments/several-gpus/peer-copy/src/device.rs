//! A GPU that sends and receives.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr, LaunchConfig,
};
use lab::launch::blocks;
use lab::{Lab, Result};

pub(crate) const WORD: usize = size_of::<u32>();
const WARP: u32 = 32;
const BLOCK: u32 = 256;
/// Words of a GPU's source, at most: no two GPUs have the same.
const APART: usize = 1 << 28;

// SAFETY: the first three use `count` elements of each memory, to which the stream's GPU
// has access; `tie` writes a word of each of `count` lines, and `chase` stays in them.
lab::kernels! { unsafe "peer-copy" {
    fn copy["copy16", "copy4"](from: CUdeviceptr, to: CUdeviceptr, count: usize);
    fn fill(memory: CUdeviceptr, count: usize, first: u32);
    fn differ(
        memory: CUdeviceptr, count: usize, first: u32, wrong: &mut CudaSlice<u32>,
    );
    fn tie(order: &CudaSlice<u32>, count: u32, memory: CUdeviceptr);
    fn chase(memory: CUdeviceptr, place: &mut CudaSlice<u32>, hops: u32);
} }

/// A GPU with a stream, a source and a target.
pub(crate) struct Peer {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) bytes: usize,
    /// What is sent, from the pool that cudarc allocates from.
    pub(crate) source: CUdeviceptr,
    pub(crate) target: CUdeviceptr,
    _memory: [CudaSlice<u32>; 2],
    /// Threads that it holds, and multiprocessors that hold them.
    pub(crate) threads: u32,
    pub(crate) multiprocessors: u32,
    pub(crate) kernels: Kernels,
    pub(crate) event: CudaEvent,
}

impl Peer {
    pub(crate) fn new(
        lab: &Lab,
        context: &Arc<CudaContext>,
        bytes: usize,
    ) -> Result<Peer> {
        use cudarc::driver::sys::CUdevice_attribute_enum::*;
        let stream = context.new_stream()?;
        let memory = [
            stream.alloc_zeros::<u32>(bytes / WORD)?,
            stream.alloc_zeros(bytes / WORD)?,
        ];
        let [source, target] =
            [0, 1].map(|i: usize| memory[i].device_ptr(&stream).0);
        let attribute = |name| context.attribute(name).map(|value| value as u32);
        let multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let each = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        let gpu = Peer {
            context: context.clone(),
            bytes,
            source,
            target,
            _memory: memory,
            threads: each * multiprocessors,
            multiprocessors,
            kernels: Kernels::of(&lab.module_on(context)?)?,
            event: context.new_event(None)?,
            stream,
        };
        gpu.fill(gpu.source, bytes)?;
        Ok(gpu)
    }

    pub(crate) fn number(&self) -> usize {
        self.context.ordinal()
    }

    /// The first of the words that only this GPU's source has.
    pub(crate) fn first(&self) -> u32 {
        (1 + self.number() * APART) as u32
    }

    /// `threads` threads, evenly over the multiprocessors.
    pub(crate) fn grid(&self, threads: u32) -> LaunchConfig {
        let block = (threads / self.multiprocessors).clamp(WARP, BLOCK);
        blocks(threads.div_ceil(block) as usize, block as usize)
    }

    /// Fills memory like this GPU's source.
    pub(crate) fn fill(&self, memory: CUdeviceptr, bytes: usize) -> Result<()> {
        let (words, first) = (bytes / WORD, self.first());
        let (stream, grid) = (&self.stream, self.grid(self.threads));
        self.kernels.fill(stream, grid, memory, words, first)?;
        Ok(self.stream.synchronize()?)
    }
}
