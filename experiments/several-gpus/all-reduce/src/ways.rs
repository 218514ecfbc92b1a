//! The ways, one after the other: what each queues on all GPUs.

use anyhow::ensure;
use cudarc::driver::LaunchConfig;
use cudarc::nccl::{Comm, ReduceOp, group_end, group_start};
use lab::{Result, nccl};
use rayon::prelude::*;

use crate::device::{MOST_TAGGED, Ranks, THREADS, grid};

lab::words! {
    /// A way to sum what all GPUs have.
    pub(crate) enum Method {
        RingOfLaunches = "ring_of_launches",
        Ring = "ring",
        Direct = "direct",
        Tagged = "tagged",
        Nccl = "nccl",
        Host = "host",
    }
}

impl Method {
    /// Queues it on all GPUs, for this many elements.
    pub(crate) fn queue(self, gpus: &mut Ranks, count: usize) -> Result<()> {
        match self {
            Method::RingOfLaunches => gpus.ring_of_launches(count),
            Method::Ring => gpus.ring(count),
            Method::Direct => gpus.direct(count),
            Method::Tagged => gpus.tagged(count),
            Method::Nccl => match &gpus.limited {
                Some(limited) => limited.all_reduce(gpus, count),
                None => gpus.nccl(count),
            },
            Method::Host => gpus.on_host(count),
        }
    }

    /// Whether `count` elements are no more than it can take.
    pub(crate) fn takes(self, gpus: &Ranks, count: usize) -> bool {
        match self {
            Method::Tagged => count <= MOST_TAGGED,
            Method::Host => count <= gpus.staging[0].len(),
            Method::RingOfLaunches
            | Method::Ring
            | Method::Direct
            | Method::Nccl => true,
        }
    }
}

impl Ranks {
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
                gpu.kernels.ring_step(
                    &gpu.stream,
                    grid(2 * self.blocks),
                    &gpu.input,
                    &gpu.output,
                    next,
                    count,
                    rank,
                    gpus,
                    step,
                )?;
            }
            self.wait_for(|rank| (rank + gpus - 1) % gpus)?;
        }
        Ok(())
    }
    // ANCHOR_END: steps

    /// The ring, one launch for each GPU.
    pub(crate) fn ring(&mut self, count: usize) -> Result<()> {
        self.launches += 1;
        let gpus = self.each.len();
        let vectors = count.div_ceil(4 * gpus);
        for (rank, gpu) in self.each.iter().enumerate() {
            let (next, previous) = ((rank + 1) % gpus, (rank + gpus - 1) % gpus);
            let (rank, gpus) = (rank as u32, gpus as u32);
            gpu.kernels.ring(
                &gpu.stream,
                self.grid_for(vectors),
                &gpu.input,
                &gpu.output,
                self.outputs[next],
                &gpu.flags,
                self.flags[next],
                self.flags[previous],
                count,
                rank,
                gpus,
                self.slice,
                self.launches,
                &gpu.stuck,
            )?;
        }
        Ok(())
    }

    /// Blocks for this many threads, but no more than are resident at once.
    fn grid_for(&self, threads: usize) -> LaunchConfig {
        grid(self.blocks.min(threads.div_ceil(THREADS as usize) as u32))
    }

    /// Every GPU sums one chunk, of all GPUs' inputs and into all GPUs' outputs.
    pub(crate) fn direct(&mut self, count: usize) -> Result<()> {
        self.launches += 1;
        let vectors = count.div_ceil(4 * self.each.len());
        for (rank, gpu) in self.each.iter().enumerate() {
            gpu.kernels.direct(
                &gpu.stream,
                self.grid_for(vectors),
                self.inputs,
                self.outputs,
                self.flags,
                count,
                rank as u32,
                self.each.len() as u32,
                self.launches,
                &gpu.stuck,
            )?;
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
            gpu.kernels.tagged(
                &gpu.stream,
                self.grid_for(count),
                &gpu.input,
                &gpu.output,
                self.inboxes,
                count,
                rank as u32,
                self.each.len() as u32,
                self.launches,
                &gpu.stuck,
            )?;
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
    /// NCCL's. One thread's calls for several GPUs go between a group's start and end.
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
