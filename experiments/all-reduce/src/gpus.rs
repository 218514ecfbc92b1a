//! The GPUs of the machine, and what each way queues on them.

use std::sync::Arc;

use anyhow::ensure;
use collectives::nccl;
use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr,
    LaunchConfig, PinnedHostSlice, PushKernelArg,
};
use cudarc::nccl::{Comm, ReduceOp, group_end, group_start};
use lab::{Lab, Result};
use rayon::prelude::*;

/// As in the kernel file.
pub(crate) const MOST_GPUS: usize = 8;
const MOST_BLOCKS: usize = 512;
pub(crate) const MOST_TAGGED: usize = 16384;
const THREADS: u32 = 512;
/// Elements that a block passes on between two flags.
const SLICE: usize = 16 << 10;

/// Bytes of a vector that are added on the host, at most.
const MOST_STAGED: usize = 256 << 20;

/// One GPU: its stream, its kernels, its buffers.
struct Gpu {
    stream: Arc<CudaStream>,
    ring_step: CudaFunction,
    ring: CudaFunction,
    direct: CudaFunction,
    tagged: CudaFunction,
    compare: CudaFunction,
    mark: CudaEvent,
    input: CudaSlice<f32>,
    output: CudaSlice<f32>,
    flags: CudaSlice<u64>,
    inbox: CudaSlice<u64>,
    stuck: CudaSlice<u32>,
}

/// All GPUs, and where their buffers lie. The next one after the last is the first.
pub(crate) struct Gpus {
    each: Vec<Gpu>,
    comms: Vec<Comm>,
    staging: Vec<PinnedHostSlice<f32>>,
    inputs: [u64; MOST_GPUS],
    outputs: [u64; MOST_GPUS],
    flags: [u64; MOST_GPUS],
    inboxes: [u64; MOST_GPUS],
    /// One for each multiprocessor: so all blocks of a kernel are resident at once, and none
    /// waits for one that has no room to start.
    blocks: u32,
    launches: u64,
}

impl Gpus {
    /// Buffers of `count` elements on each, and in pinned memory as many as will be staged.
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

    /// Elements that the host can add.
    pub(crate) fn staged(&self) -> usize {
        self.staging[0].len()
    }

    pub(crate) fn first_stream(&self) -> Arc<CudaStream> {
        self.each[0].stream.clone()
    }

    /// Waits for all streams.
    pub(crate) fn wait(&self) -> Result<()> {
        self.each.iter().try_for_each(|gpu| Ok(gpu.stream.synchronize()?))
    }

    /// Lets every stream wait for one other, chosen by `whom(rank)`.
    fn wait_for(&self, whom: impl Fn(usize) -> usize) -> Result<()> {
        for gpu in &self.each {
            gpu.mark.record(&gpu.stream)?;
        }
        for (rank, gpu) in self.each.iter().enumerate() {
            gpu.stream.wait(&self.each[whom(rank)].mark)?;
        }
        Ok(())
    }

    // ANCHOR: joined
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
    // ANCHOR_END: joined

    // ANCHOR: steps
    /// The ring, one launch for each step and GPU. No GPU takes a step before the one that
    /// sends to it has taken the step before.
    pub(crate) fn ring_of_launches(&mut self, count: usize) -> Result<()> {
        let gpus = self.each.len();
        self.wait_for(|rank| (rank + 1) % gpus)?; // its output is free
        for step in 0..2 * gpus - 2 {
            for (rank, gpu) in self.each.iter().enumerate() {
                let next = self.outputs[(rank + 1) % gpus];
                let (rank, gpus, step) = (rank as u32, gpus as u32, step as u32);
                let mut launch = gpu.stream.launch_builder(&gpu.ring_step);
                launch.arg(&gpu.input).arg(&gpu.output).arg(&next).arg(&count);
                launch.arg(&rank).arg(&gpus).arg(&step);
                // SAFETY: `ring_step` takes these; all three buffers have `count` elements,
                // this GPU has access to `next`, and events order who writes.
                unsafe { launch.launch(grid(2 * self.blocks)) }?;
            }
            self.wait_for(|rank| (rank + gpus - 1) % gpus)?;
        }
        Ok(())
    }
    // ANCHOR_END: steps

    // ANCHOR: ring
    /// The ring, one launch for each GPU.
    pub(crate) fn ring(&mut self, count: usize) -> Result<()> {
        self.launches += 1;
        let gpus = self.each.len();
        for (rank, gpu) in self.each.iter().enumerate() {
            let (next, previous) = ((rank + 1) % gpus, (rank + gpus - 1) % gpus);
            let (rank, gpus) = (rank as u32, gpus as u32);
            let mut launch = gpu.stream.launch_builder(&gpu.ring);
            launch.arg(&gpu.input).arg(&gpu.output).arg(&self.outputs[next]);
            launch.arg(&gpu.flags).arg(&self.flags[next]).arg(&self.flags[previous]);
            launch.arg(&count).arg(&rank).arg(&gpus).arg(&SLICE);
            launch.arg(&self.launches).arg(&gpu.stuck);
            // SAFETY: `ring` takes these; the buffers have `count` elements, there are flags
            // for all blocks, and flags order who writes.
            unsafe { launch.launch(grid(self.blocks_for(count))) }?;
        }
        Ok(())
    }

    /// Blocks for a chunk: one for each multiprocessor, so that all are resident at once and
    /// none waits for one that has no room to start; fewer for a message that is so small
    /// that some would have nothing to do.
    fn blocks_for(&self, count: usize) -> u32 {
        let vectors = count.div_ceil(4 * self.each.len());
        self.blocks.min(vectors.div_ceil(THREADS as usize) as u32)
    }
    // ANCHOR_END: ring

    /// Every GPU sums one chunk, of all GPUs' inputs and into all GPUs' outputs.
    pub(crate) fn direct(&mut self, count: usize) -> Result<()> {
        self.launches += 1;
        for (rank, gpu) in self.each.iter().enumerate() {
            let (rank, gpus) = (rank as u32, self.each.len() as u32);
            let mut launch = gpu.stream.launch_builder(&gpu.direct);
            launch.arg(&self.inputs).arg(&self.outputs).arg(&self.flags);
            launch.arg(&count).arg(&rank).arg(&gpus);
            launch.arg(&self.launches).arg(&gpu.stuck);
            // SAFETY: `direct` takes these; see `ring`.
            unsafe { launch.launch(grid(self.blocks_for(count))) }?;
        }
        Ok(())
    }

    /// Every GPU sends all its elements to all others, each with a flag of its own.
    pub(crate) fn tagged(&mut self, count: usize) -> Result<()> {
        ensure!(
            count <= MOST_TAGGED,
            "the inboxes are too small for {count} elements"
        );
        self.launches += 1;
        for (rank, gpu) in self.each.iter().enumerate() {
            let (rank, gpus) = (rank as u32, self.each.len() as u32);
            let mut launch = gpu.stream.launch_builder(&gpu.tagged);
            launch.arg(&gpu.input).arg(&gpu.output).arg(&self.inboxes);
            launch.arg(&count).arg(&rank).arg(&gpus);
            launch.arg(&self.launches).arg(&gpu.stuck);
            let blocks = self.blocks.min(count.div_ceil(THREADS as usize) as u32);
            // SAFETY: `tagged` takes these; see `ring`.
            unsafe { launch.launch(grid(blocks)) }?;
        }
        Ok(())
    }

    /// Has NCCL find out how the GPUs are linked.
    pub(crate) fn join_nccl(&mut self) -> Result<()> {
        let streams = self.each.iter().map(|gpu| gpu.stream.clone()).collect();
        self.comms = nccl::check("join the GPUs", Comm::from_devices(streams))?;
        Ok(())
    }

    // ANCHOR: nccl
    /// NCCL's. The calls of one thread for several GPUs belong between two others.
    pub(crate) fn nccl(&mut self, count: usize) -> Result<()> {
        nccl::check("begin a group", group_start())?;
        for (gpu, comm) in self.each.iter_mut().zip(&self.comms) {
            let input = gpu.input.slice(..count);
            let mut output = gpu.output.slice_mut(..count);
            let queued = comm.all_reduce(&input, &mut output, &ReduceOp::Sum);
            nccl::check("queue an all-reduce", queued)?;
        }
        nccl::check("start an all-reduce", group_end())?;
        Ok(())
    }
    // ANCHOR_END: nccl

    // ANCHOR: host
    /// Down to pinned memory, added there by all cores, and up again. Waits for the end.
    pub(crate) fn on_host(&mut self, count: usize) -> Result<()> {
        const PART: usize = 16 << 10;
        for (gpu, staging) in self.each.iter().zip(&mut self.staging) {
            let staging = &mut staging.as_mut_slice()?[..count];
            gpu.stream.memcpy_dtoh(&gpu.input.slice(..count), staging)?;
        }
        self.wait()?;
        let mut staged = self.staging.iter_mut().map(|s| s.as_mut_slice());
        let sum = &mut staged.next().expect("there are at least two")?[..count];
        let others: Vec<_> = staged.collect::<Result<_, _>>()?;
        sum.par_chunks_mut(PART).enumerate().for_each(|(n, part)| {
            for other in &others {
                for (sum, value) in part.iter_mut().zip(&other[n * PART..]) {
                    *sum += value;
                }
            }
        });
        for gpu in &mut self.each {
            gpu.stream.memcpy_htod(sum, &mut gpu.output.slice_mut(..count))?;
        }
        self.wait()
    }
    // ANCHOR_END: host

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

fn grid(blocks: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks, 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}
