//! A GPU's part of the work.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, LaunchConfig};
use lab::launch::blocks;
use lab::{Lab, Result};
use rayon::ThreadPool;
use rayon::prelude::*;

// SAFETY: threads at or past `count` do nothing; others use word i of both, which
// have at least that many.
lab::kernels! { unsafe "stream-overlap" {
    fn chain(
        input: &CudaSlice<u32>, output: &mut CudaSlice<u32>,
        count: usize, steps: u32, factor: u32,
    );
} }

/// The factor of each step of the kernel.
pub(crate) const FACTOR: u32 = 1_664_525;

/// What is to be done with each piece, who issues it, and on how many GPUs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Task {
    pub(crate) up: bool,
    /// Steps of the kernel for each word; without, there is no kernel.
    pub(crate) steps: Option<u32>,
    pub(crate) down: bool,
    /// One host thread issues everything, instead of one for each GPU.
    pub(crate) one_thread: bool,
    /// On one GPU, two, three and so on, instead of one and all.
    pub(crate) every_size: bool,
}

/// A GPU, with room for a piece and its result.
pub(crate) struct Worker {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    input: CudaSlice<u32>,
    output: CudaSlice<u32>,
}

impl Worker {
    pub(crate) fn new(
        lab: &Lab,
        context: &Arc<CudaContext>,
        words: usize,
    ) -> Result<Worker> {
        let stream = context.new_stream()?;
        let (input, output) =
            (stream.alloc_zeros(words)?, stream.alloc_zeros(words)?);
        let kernels = Kernels::of(&lab.module_on(context)?)?;
        Ok(Worker { stream, kernels, input, output })
    }

    // ANCHOR: queue
    /// Issues the work on a piece. Only pageable memory blocks the caller.
    fn queue(&mut self, task: Task, from: &[u32], to: &mut [u32]) -> Result<()> {
        let (stream, words) = (&self.stream, from.len());
        if task.up {
            stream.memcpy_htod(from, &mut self.input.slice_mut(..words))?;
        }
        if let Some(steps) = task.steps {
            let (input, output) = (&self.input, &mut self.output);
            let kernels = &self.kernels;
            kernels.chain(
                stream,
                grid(words),
                input,
                output,
                words,
                steps,
                FACTOR,
            )?;
        }
        if task.down {
            stream.memcpy_dtoh(&self.output.slice(..words), to)?;
        }
        Ok(())
    }
    // ANCHOR_END: queue

    /// Clears input and output.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.stream.memset_zeros(&mut self.input)?;
        self.stream.memset_zeros(&mut self.output)?;
        Ok(self.stream.synchronize()?)
    }
}

/// A thread for each word.
pub(crate) fn grid(words: usize) -> LaunchConfig {
    blocks(words.div_ceil(1024), 1024)
}

// ANCHOR: piece
/// Which of `total` elements are worker i's. The pieces differ by one at most, and
/// together they are all.
pub(crate) fn piece(total: usize, workers: usize, i: usize) -> Range<usize> {
    total * i / workers..total * (i + 1) / workers
}
// ANCHOR_END: piece

// ANCHOR: split
/// Cuts the arrays, gives every worker its pieces, and waits for all of them.
pub(crate) fn split(
    pool: &ThreadPool,
    workers: &mut [Worker],
    task: Task,
    from: &[u32],
    mut to: &mut [u32],
) -> Result<()> {
    let (total, count) = (from.len(), workers.len());
    let mut pieces = vec![];
    for (i, worker) in workers.iter_mut().enumerate() {
        let range = piece(total, count, i);
        let (piece, rest) = to.split_at_mut(range.len());
        pieces.push((worker, &from[range], piece));
        to = rest;
    }
    // ANCHOR: issue
    if task.one_thread {
        for (worker, from, to) in &mut pieces {
            worker.queue(task, from, to)?;
        }
        return pieces
            .iter()
            .try_for_each(|(worker, ..)| Ok(worker.stream.synchronize()?));
    }
    pool.install(|| {
        pieces.into_par_iter().try_for_each(|(worker, from, to)| {
            worker.queue(task, from, to)?;
            Ok(worker.stream.synchronize()?)
        })
    })
    // ANCHOR_END: issue
}
// ANCHOR_END: split
