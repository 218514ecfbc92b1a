//! A grid, and what its threads and its first block write.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::blocks;
use lab::timeline::span;
use lab::{Result, Span, check};

// SAFETY: `out` has a place for each thread, `times` two, and the entries of `next`, of
// which there are `entries`, are places in it.
lab::kernels! { unsafe "stream-priorities" {
    fn run["chase", "compute"](
        next: &CudaSlice<u32>, out: &mut CudaSlice<u32>, entries: u32, steps: u32,
        times: &mut CudaSlice<u64>,
    );
} }

pub(crate) const THREADS: u32 = 256;
/// The rule that the kernels repeat: x becomes x * MULTIPLIER, modulo ENTRIES.
const MULTIPLIER: u32 = 25_173;
const ENTRIES: u32 = 1 << 16;

pub(crate) struct Grid<'a> {
    kernels: &'a Kernels,
    name: &'static str,
    blocks: u32,
    steps: u32,
    next: CudaSlice<u32>,
    out: CudaSlice<u32>,
    times: CudaSlice<u64>,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        kernels: &'a Kernels,
        name: &'static str,
        blocks: u32,
        steps: u32,
    ) -> Result<Grid<'a>> {
        let next = (0..ENTRIES).map(|i| i.wrapping_mul(MULTIPLIER) % ENTRIES);
        let next = stream.clone_htod(&next.collect::<Vec<_>>())?;
        let out = stream.alloc_zeros((blocks * THREADS) as usize + check::GUARD)?;
        let times = stream.alloc_zeros(2)?;
        stream.synchronize()?; // from now on any stream may use them
        Ok(Grid { kernels, name, blocks, steps, next, out, times })
    }

    pub(crate) fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let Grid { kernels, name, blocks: count, steps, next, out, times } = self;
        let grid = blocks(*count as usize, THREADS as usize);
        kernels.run(name, stream, grid, next, out, ENTRIES, *steps, times)
    }

    /// The wait from `asked` to the start of the first block, which ended at `done`; and its
    /// run. The block knows how long it ran by another clock.
    pub(crate) fn spans(
        &self,
        asked: f64,
        done: f64,
        stream: &Arc<CudaStream>,
    ) -> Result<[Span; 2]> {
        let times = stream.clone_dtoh(&self.times)?;
        let began = done - (times[1] - times[0]) as f64 * 1e-9;
        let wait = span("small", "wait 2", [asked, began]);
        Ok([wait, span("small", "kernel 2", [began, done])])
    }

    /// Compares what every thread wrote with the rule, repeated.
    pub(crate) fn check(&self, stream: &Arc<CudaStream>) -> Result<u64> {
        let words = (self.blocks * THREADS) as usize;
        let factor = MULTIPLIER.wrapping_pow(self.steps);
        check::output("steps", stream, &self.out, words, |i| {
            let (block, thread) = (i as u32 / THREADS, i as u32 % THREADS);
            factor.wrapping_mul(2 * block + 1) % ENTRIES + thread
        })
    }
}
