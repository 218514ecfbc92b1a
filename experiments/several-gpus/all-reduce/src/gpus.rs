//! The GPUs of the machine: their streams and buffers, and how results are compared.

use std::sync::Arc;

use anyhow::ensure;
use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr,
    LaunchConfig, PinnedHostSlice, PushKernelArg,
};
use cudarc::nccl::Comm;
use lab::{Lab, Result};

/// As in the kernel file.
pub(crate) const MOST_GPUS: usize = 8;
const MOST_BLOCKS: usize = 512;
pub(crate) const MOST_TAGGED: usize = 16384;

/// Threads of a block. A multiprocessor has room for so many at least.
pub(crate) const THREADS: u32 = 512;
/// Bytes that the host adds, at most.
const MOST_STAGED: usize = 256 << 20;

/// One GPU: its stream, its kernels, its buffers.
pub(crate) struct Gpu {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) ring_step: CudaFunction,
    pub(crate) ring: CudaFunction,
    pub(crate) direct: CudaFunction,
    pub(crate) tagged: CudaFunction,
    compare: CudaFunction,
    mark: CudaEvent,
    pub(crate) input: CudaSlice<f32>,
    pub(crate) output: CudaSlice<f32>,
    pub(crate) flags: CudaSlice<u64>,
    inbox: CudaSlice<u64>,
    /// Not 0 once a kernel has given up waiting.
    pub(crate) stuck: CudaSlice<u32>,
}

/// All GPUs, and where their buffers lie. The next one after the last is the first.
pub(crate) struct Gpus {
    pub(crate) each: Vec<Gpu>,
    pub(crate) comms: Vec<Comm>,
    pub(crate) staging: Vec<PinnedHostSlice<f32>>,
    pub(crate) inputs: [u64; MOST_GPUS],
    pub(crate) outputs: [u64; MOST_GPUS],
    pub(crate) flags: [u64; MOST_GPUS],
    pub(crate) inboxes: [u64; MOST_GPUS],
    /// Blocks of a kernel: one for each multiprocessor. So all are resident at once, and none
    /// waits for one that has no room to start.
    pub(crate) blocks: u32,
    /// Elements that a block of `ring` passes on between two flags.
    pub(crate) slice: usize,
    /// Launches of kernels that wait for each other.
    pub(crate) launches: u64,
}

impl Gpus {
    /// Buffers of `count` elements on each; in pinned memory, of as many as are staged.
    pub(crate) fn new(
        lab: &Lab,
        contexts: &[Arc<CudaContext>],
        count: usize,
    ) -> Result<Gpus> {
        let staged = count.min(MOST_STAGED / size_of::<f32>());
        let multiprocessors = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let blocks = lab.context().attribute(multiprocessors)? as u32;
        let mut gpus = Gpus {
            each: vec![],
            comms: vec![],
            staging: vec![],
            inputs: [0; MOST_GPUS],
            outputs: [0; MOST_GPUS],
            flags: [0; MOST_GPUS],
            inboxes: [0; MOST_GPUS],
            blocks: blocks.min(MOST_BLOCKS as u32),
            slice: 16 << 10,
            launches: 0,
        };
        for (rank, context) in contexts.iter().enumerate() {
            let stream = context.new_stream()?;
            let module = lab.module_on(context)?;
            let mut gpu = Gpu {
                ring_step: module.load_function("ring_step")?,
                ring: module.load_function("ring")?,
                direct: module.load_function("direct")?,
                tagged: module.load_function("tagged")?,
                compare: module.load_function("compare")?,
                mark: context.new_event(None)?,
                input: stream.alloc_zeros(count)?,
                output: stream.alloc_zeros(count)?,
                flags: stream.alloc_zeros(MOST_BLOCKS * (2 + MOST_GPUS))?,
                inbox: stream.alloc_zeros(2 * MOST_GPUS * MOST_TAGGED)?,
                stuck: stream.alloc_zeros(1)?,
                stream,
            };
            let fill = module.load_function("fill")?;
            let number = rank as u32;
            let mut launch = gpu.stream.launch_builder(&fill);
            launch.arg(&mut gpu.input).arg(&count).arg(&number);
            // SAFETY: `fill` takes (input, count, gpu), and the input has `count` elements.
            unsafe { launch.launch(grid(blocks)) }?;
            gpus.inputs[rank] = gpu.input.device_ptr(&gpu.stream).0;
            gpus.outputs[rank] = gpu.output.device_ptr(&gpu.stream).0;
            gpus.flags[rank] = gpu.flags.device_ptr(&gpu.stream).0;
            gpus.inboxes[rank] = gpu.inbox.device_ptr(&gpu.stream).0;
            gpus.each.push(gpu);
            // SAFETY: every element is written before it is read.
            let staging = unsafe { context.alloc_pinned_with_flags(staged, 0) }?;
            gpus.staging.push(staging);
        }
        gpus.wait()?;
        Ok(gpus)
    }

    /// Bytes that the host can add.
    pub(crate) fn staged(&self) -> usize {
        self.staging[0].num_bytes()
    }

    pub(crate) fn first_stream(&self) -> Arc<CudaStream> {
        self.each[0].stream.clone()
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
        work: impl FnOnce(&mut Gpus) -> Result<()>,
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

    /// Compares every element of every output with the sum, on the GPU that has it.
    /// Returns how many elements there are, and how many are wrong.
    pub(crate) fn compare(&mut self, count: usize) -> Result<(u64, u64)> {
        let (mut wrong, gpus) = (0, self.each.len());
        for gpu in &self.each {
            let mut found = gpu.stream.alloc_zeros::<u64>(1)?;
            let gpus = gpus as u32;
            let mut launch = gpu.stream.launch_builder(&gpu.compare);
            launch.arg(&gpu.output).arg(&count).arg(&gpus).arg(&mut found);
            // SAFETY: `compare` takes these; the output has `count` elements.
            unsafe { launch.launch(grid(2 * self.blocks)) }?;
            wrong += gpu.stream.clone_dtoh(&found)?[0];
            let stuck = gpu.stream.clone_dtoh(&gpu.stuck)?[0];
            ensure!(
                stuck == 0,
                "a GPU waited for another for two seconds, and gave up"
            );
        }
        Ok(((count * gpus) as u64, wrong))
    }

    /// The same; wrong elements are an error.
    pub(crate) fn check(&mut self, method: &str, count: usize) -> Result<u64> {
        let (elements, wrong) = self.compare(count)?;
        ensure!(wrong == 0, "{method}: {wrong} of {elements} elements are wrong");
        Ok(elements)
    }

    /// What all GPUs have now.
    pub(crate) fn outputs(&self, count: usize) -> Result<Vec<Vec<f32>>> {
        let output = |gpu: &Gpu| gpu.stream.clone_dtoh(&gpu.output.slice(..count));
        Ok(self.each.iter().map(output).collect::<Result<_, _>>()?)
    }
}

pub(crate) fn grid(blocks: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks, 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}
