//! A GPU, and a job for it.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use lab::launch::threads;
use lab::timeline::Timeline;
use lab::{Lab, Result};

/// The factor of each step of the kernel.
pub(crate) const FACTOR: u32 = 1_664_525;

// SAFETY: threads at or past `count` do nothing; others use word i of both, which
// have at least that many.
lab::kernels! { unsafe "stream-overlap" {
    fn chain(
        input: &CudaSlice<u32>, output: &mut CudaSlice<u32>,
        count: usize, steps: u32, factor: u32,
    );
} }

/// A piece of work: `steps` steps for every word of `from`.
pub(crate) struct Job<'a> {
    pub(crate) label: String,
    pub(crate) steps: u32,
    pub(crate) from: &'a [u32],
    pub(crate) to: &'a mut [u32],
}

/// A GPU with room for one job.
pub(crate) struct Worker {
    lane: String,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    pub(crate) input: CudaSlice<u32>,
    pub(crate) output: CudaSlice<u32>,
    pub(crate) line: Timeline,
}

impl Worker {
    pub(crate) fn new(
        lab: &Lab,
        context: &Arc<CudaContext>,
        words: usize,
    ) -> Result<Worker> {
        let stream = context.new_stream()?;
        Ok(Worker {
            lane: format!("GPU {}", context.ordinal()),
            kernels: Kernels::of(&lab.module_on(context)?)?,
            input: stream.alloc_zeros(words)?,
            output: stream.alloc_zeros(words)?,
            line: Timeline::new(context)?,
            stream,
        })
    }

    // ANCHOR: job
    /// Does a job: copy in, kernel, copy out. The calls go to this GPU, whichever
    /// thread makes them: cudarc makes its context current in that thread.
    pub(crate) fn run(&mut self, job: Job) -> Result<()> {
        let Worker { stream, input, output, .. } = self;
        let words = job.from.len();
        self.line.gpu(&self.lane, &job.label, stream, || {
            stream.memcpy_htod(job.from, &mut input.slice_mut(..words))?;
            let (grid, steps) = (threads(words), job.steps);
            self.kernels.chain(stream, grid, input, output, words, steps, FACTOR)?;
            Ok(stream.memcpy_dtoh(&output.slice(..words), job.to)?)
        })?;
        Ok(stream.synchronize()?)
    }
    // ANCHOR_END: job
}
