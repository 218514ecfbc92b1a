//! A GPU's part of the work.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use lab::Result;
use rayon::ThreadPool;
use rayon::prelude::*;

const BLOCK: usize = 1024;
const FACTOR: u32 = 1_664_525;

/// What is to be done with each piece, and who calls for it.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub(crate) up: bool,
    /// Steps of the kernel for each word; without, there is no kernel.
    pub(crate) steps: Option<u32>,
    pub(crate) down: bool,
    /// One host thread calls for everything, instead of one for each GPU.
    pub(crate) one_thread: bool,
}

impl Task {
    pub(crate) fn new(up: bool, steps: Option<u32>, down: bool) -> Task {
        Task { up, steps, down, one_thread: false }
    }
}

/// A GPU, with room for a piece and its result.
pub(crate) struct Worker {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) chain: CudaFunction,
    input: CudaSlice<u32>,
    output: CudaSlice<u32>,
}

impl Worker {
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        chain: CudaFunction,
        words: usize,
    ) -> Result<Worker> {
        let stream = context.new_stream()?;
        let (input, output) =
            (stream.alloc_zeros(words)?, stream.alloc_zeros(words)?);
        Ok(Worker { stream, chain, input, output })
    }

    // ANCHOR: queue
    /// Calls for the work on a piece. Only pageable memory keeps the caller waiting.
    fn queue(&mut self, task: Task, from: &[u32], to: &mut [u32]) -> Result<()> {
        let (stream, words) = (&self.stream, from.len());
        if task.up {
            stream.memcpy_htod(from, &mut self.input.slice_mut(..words))?;
        }
        if let Some(steps) = task.steps {
            let (input, output) = (&self.input, &mut self.output);
            launch(stream, &self.chain, input, output, words, steps)?;
        }
        if task.down {
            stream.memcpy_dtoh(&self.output.slice(..words), to)?;
        }
        Ok(())
    }
    // ANCHOR_END: queue

    /// Clears what there is.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.stream.memset_zeros(&mut self.input)?;
        self.stream.memset_zeros(&mut self.output)?;
        Ok(self.stream.synchronize()?)
    }
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
}
// ANCHOR_END: split

/// Starts the kernel on the first `words` of the arrays.
pub(crate) fn launch(
    stream: &Arc<CudaStream>,
    chain: &CudaFunction,
    input: &CudaSlice<u32>,
    output: &mut CudaSlice<u32>,
    words: usize,
    steps: u32,
) -> Result<()> {
    let config = LaunchConfig {
        grid_dim: (words.div_ceil(BLOCK) as u32, 1, 1),
        block_dim: (BLOCK as u32, 1, 1),
        shared_mem_bytes: 0,
    };
    let mut launch = stream.launch_builder(chain);
    launch.arg(input).arg(output).arg(&words).arg(&steps).arg(&FACTOR);
    // SAFETY: the kernel takes (in, out, count, steps, factor), and both arrays have at
    // least `words` words.
    unsafe { launch.launch(config) }?;
    Ok(())
}

/// What the kernel makes of a word: all steps at once are a product and a sum.
pub(crate) fn after(steps: u32) -> impl Fn(u32) -> u32 {
    let (factor, summand) = (0..steps).fold((1u32, 0u32), |(f, s), _| {
        (f.wrapping_mul(FACTOR), s.wrapping_mul(FACTOR).wrapping_add(1))
    });
    move |x| x.wrapping_mul(factor).wrapping_add(summand)
}
