//! The GPUs of the machine: their streams and buffers.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr, LaunchConfig,
    PinnedHostSlice,
};
use cudarc::nccl::Comm;
use lab::memory::pinned;
use lab::{Lab, Result};

use crate::limited::Limited;

/// Most GPUs, as in the kernel file.
pub(crate) const MOST_GPUS: usize = 8;
const MOST_BLOCKS: usize = 512;
pub(crate) const MOST_TAGGED: usize = 16384;

/// An address on each GPU.
type OnEach = [CUdeviceptr; MOST_GPUS];

// SAFETY: all buffers have `count` elements, each GPU has access to those of the others,
// there are flags for all blocks, and inboxes for `count` words from each GPU. Events
// order who writes between launches, and flags within them.
lab::kernels! { unsafe "all-reduce" {
    fn fill(input: &mut CudaSlice<f32>, count: usize, gpu: u32);
    fn compare(
        output: &CudaSlice<f32>, count: usize, gpus: u32, wrong: &mut CudaSlice<u64>,
    );
    fn ring_step(
        input: &CudaSlice<f32>, output: &CudaSlice<f32>, next: CUdeviceptr, count: usize,
        rank: u32, gpus: u32, step: u32,
    );
    fn ring(
        input: &CudaSlice<f32>, output: &CudaSlice<f32>, next: CUdeviceptr,
        flags: &CudaSlice<u64>, next_flags: CUdeviceptr, previous_flags: CUdeviceptr,
        count: usize, rank: u32, gpus: u32, slice: usize, launch: u64,
        stuck: &CudaSlice<u32>,
    );
    fn direct(
        inputs: OnEach, outputs: OnEach, flags: OnEach, count: usize,
        rank: u32, gpus: u32, launch: u64, stuck: &CudaSlice<u32>,
    );
    fn tagged(
        input: &CudaSlice<f32>, output: &CudaSlice<f32>, inboxes: OnEach, count: usize,
        rank: u32, gpus: u32, launch: u64, stuck: &CudaSlice<u32>,
    );
} }

/// Threads of a block. A multiprocessor has room for at least this many.
pub(crate) const THREADS: u32 = 512;
/// Bytes that the host adds, at most.
const MOST_STAGED: usize = 256 << 20;

/// One GPU: its stream, its kernels, its buffers.
pub(crate) struct Rank {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    mark: CudaEvent,
    pub(crate) input: CudaSlice<f32>,
    pub(crate) output: CudaSlice<f32>,
    pub(crate) flags: CudaSlice<u64>,
    inbox: CudaSlice<u64>,
    /// Not 0 once a kernel has given up waiting.
    pub(crate) stuck: CudaSlice<u32>,
}

/// All GPUs, and where their buffers lie. The next one after the last is the first.
pub(crate) struct Ranks {
    pub(crate) each: Vec<Rank>,
    pub(crate) comms: Vec<Comm>,
    /// NCCL with a number of blocks, where it is not to choose it.
    pub(crate) limited: Option<Limited>,
    pub(crate) staging: Vec<PinnedHostSlice<f32>>,
    pub(crate) inputs: OnEach,
    pub(crate) outputs: OnEach,
    pub(crate) flags: OnEach,
    pub(crate) inboxes: OnEach,
    /// Blocks of a kernel: one for each multiprocessor. So all are resident at once, and none
    /// waits for one that has no room to start.
    pub(crate) blocks: u32,
    /// Elements that a block of `ring` passes on between two flags.
    pub(crate) slice: usize,
    /// Launches of kernels that wait for each other.
    pub(crate) launches: u64,
}

impl Ranks {
    /// Buffers of `count` elements on each; in pinned memory, of as many as are staged.
    pub(crate) fn new(
        lab: &Lab,
        contexts: &[Arc<CudaContext>],
        count: usize,
    ) -> Result<Ranks> {
        let staged = count.min(MOST_STAGED / size_of::<f32>());
        let mut gpus = Ranks {
            each: vec![],
            comms: vec![],
            limited: None,
            staging: vec![],
            inputs: [0; MOST_GPUS],
            outputs: [0; MOST_GPUS],
            flags: [0; MOST_GPUS],
            inboxes: [0; MOST_GPUS],
            blocks: lab.multiprocessors().min(MOST_BLOCKS) as u32,
            slice: 16 << 10,
            launches: 0,
        };
        for (rank, context) in contexts.iter().enumerate() {
            let stream = context.new_stream()?;
            let mut gpu = Rank {
                kernels: Kernels::of(&lab.module_on(context)?)?,
                mark: context.new_event(None)?,
                input: stream.alloc_zeros(count)?,
                output: stream.alloc_zeros(count)?,
                flags: stream.alloc_zeros(MOST_BLOCKS * (2 + MOST_GPUS))?,
                inbox: stream.alloc_zeros(2 * MOST_GPUS * MOST_TAGGED)?,
                stuck: stream.alloc_zeros(1)?,
                stream,
            };
            let Rank { kernels, stream, input, .. } = &mut gpu;
            kernels.fill(stream, grid(gpus.blocks), input, count, rank as u32)?;
            gpus.inputs[rank] = gpu.input.device_ptr(&gpu.stream).0;
            gpus.outputs[rank] = gpu.output.device_ptr(&gpu.stream).0;
            gpus.flags[rank] = gpu.flags.device_ptr(&gpu.stream).0;
            gpus.inboxes[rank] = gpu.inbox.device_ptr(&gpu.stream).0;
            gpus.each.push(gpu);
            gpus.staging.push(pinned(context, staged, |_| 0.0)?);
        }
        gpus.wait()?;
        Ok(gpus)
    }

    /// Waits for all streams.
    pub(crate) fn wait(&self) -> Result<()> {
        self.each.iter().try_for_each(|gpu| Ok(gpu.stream.synchronize()?))
    }

    /// Lets every stream wait for one other, chosen by `whom(rank)`.
    pub(crate) fn wait_for(&self, whom: impl Fn(usize) -> usize) -> Result<()> {
        for gpu in &self.each {
            gpu.mark.record(&gpu.stream)?;
        }
        for (rank, gpu) in self.each.iter().enumerate() {
            gpu.stream.wait(&self.each[whom(rank)].mark)?;
        }
        Ok(())
    }

    /// Queues `work` on all GPUs, so that the first one's stream sees its start and its end:
    /// the others start when that is here, and it goes on when they are done.
    pub(crate) fn joined(
        &mut self,
        work: impl FnOnce(&mut Ranks) -> Result<()>,
    ) -> Result<()> {
        self.wait_for(|_| 0)?;
        work(self)?;
        for gpu in &self.each[1..] {
            gpu.mark.record(&gpu.stream)?;
            self.each[0].stream.wait(&gpu.mark)?;
        }
        Ok(())
    }

    /// Clears all outputs.
    pub(crate) fn clear(&mut self) -> Result<()> {
        for gpu in &mut self.each {
            gpu.stream.memset_zeros(&mut gpu.output)?;
        }
        self.wait()
    }
}

/// A grid of this many blocks.
pub(crate) fn grid(blocks: u32) -> LaunchConfig {
    lab::launch::blocks(blocks as usize, THREADS as usize)
}
