//! The ways, one after the other: what each queues on all GPUs.

use anyhow::ensure;
use lab::nccl;
use cudarc::driver::{LaunchConfig, PushKernelArg};
use cudarc::nccl::{Comm, ReduceOp, group_end, group_start};
use lab::Result;
use rayon::prelude::*;

use crate::gpus::{Gpus, MOST_TAGGED, THREADS, grid};

impl Gpus {
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
        let vectors = count.div_ceil(4 * gpus);
        for (rank, gpu) in self.each.iter().enumerate() {
            let (next, previous) = ((rank + 1) % gpus, (rank + gpus - 1) % gpus);
            let (rank, gpus) = (rank as u32, gpus as u32);
            let mut launch = gpu.stream.launch_builder(&gpu.ring);
            launch.arg(&gpu.input).arg(&gpu.output).arg(&self.outputs[next]);
            launch.arg(&gpu.flags).arg(&self.flags[next]).arg(&self.flags[previous]);
            launch.arg(&count).arg(&rank).arg(&gpus).arg(&self.slice);
            launch.arg(&self.launches).arg(&gpu.stuck);
            // SAFETY: `ring` takes these; the buffers have `count` elements, there are flags
            // for all blocks, and flags order who writes.
            unsafe { launch.launch(self.grid_for(vectors)) }?;
        }
        Ok(())
    }

    /// Blocks for so many threads, but no more than are resident at once.
    fn grid_for(&self, threads: usize) -> LaunchConfig {
        grid(self.blocks.min(threads.div_ceil(THREADS as usize) as u32))
    }
    // ANCHOR_END: ring

    /// Every GPU sums one chunk, of all GPUs' inputs and into all GPUs' outputs.
    pub(crate) fn direct(&mut self, count: usize) -> Result<()> {
        self.launches += 1;
        let vectors = count.div_ceil(4 * self.each.len());
        for (rank, gpu) in self.each.iter().enumerate() {
            let (rank, gpus) = (rank as u32, self.each.len() as u32);
            let mut launch = gpu.stream.launch_builder(&gpu.direct);
            launch.arg(&self.inputs).arg(&self.outputs).arg(&self.flags);
            launch.arg(&count).arg(&rank).arg(&gpus);
            launch.arg(&self.launches).arg(&gpu.stuck);
            // SAFETY: `direct` takes these; see `ring`.
            unsafe { launch.launch(self.grid_for(vectors)) }?;
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
            // SAFETY: `tagged` takes these; inboxes have room for `count` words from each GPU.
            unsafe { launch.launch(self.grid_for(count)) }?;
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
}
