//! A grid of one of the kernels, and what its threads and blocks write.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::blocks;
use lab::timeline::span;
use lab::{Result, Span, check};

// SAFETY: `out` has a place for each thread, `times` for each block. Entries of `next` are
// places in it; so are twice the blocks' numbers, which are few. `clock_step` writes one
// number.
lab::kernels! { unsafe "concurrent-kernels" {
    fn run["chase", "compute"](
        next: &CudaSlice<u32>, out: &mut CudaSlice<u32>,
        steps: u32, times: &mut CudaSlice<[u64; 2]>,
    );
    fn clock_step(smallest: &mut CudaSlice<u64>);
} }

pub(crate) const THREADS: u32 = 256;
/// The rule that both kernels repeat: x becomes x * MULTIPLIER; in the table of `chase`
/// modulo ENTRIES.
const MULTIPLIER: u32 = 25_173;
const ENTRIES: u32 = 1 << 16;

pub(crate) struct Grid<'a> {
    kernels: &'a Kernels,
    name: &'static str,
    blocks: usize,
    steps: u32,
    next: CudaSlice<u32>,
    out: CudaSlice<u32>,
    times: CudaSlice<[u64; 2]>,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        kernels: &'a Kernels,
        name: &'static str,
        blocks: usize,
        steps: u32,
    ) -> Result<Grid<'a>> {
        let next = (0..ENTRIES).map(|i| i.wrapping_mul(MULTIPLIER) % ENTRIES);
        let next = stream.clone_htod(&next.collect::<Vec<_>>())?;
        let out = stream.alloc_zeros(blocks * THREADS as usize + check::GUARD)?;
        let times = stream.alloc_zeros(blocks)?;
        stream.synchronize()?; // from now on any stream may use it
        Ok(Grid { kernels, name, blocks, steps, next, out, times })
    }

    pub(crate) fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let Grid { kernels, name, blocks: count, steps, next, out, times } = self;
        let grid = blocks(*count, THREADS as usize);
        kernels.run(name, stream, grid, next, out, *steps, times)
    }

    /// Compares what every thread wrote with the rule, repeated.
    pub(crate) fn check(&self, stream: &Arc<CudaStream>) -> Result<u64> {
        let words = self.blocks * THREADS as usize;
        let factor = MULTIPLIER.wrapping_pow(self.steps);
        let repeated = |x: usize| factor.wrapping_mul(x as u32);
        check::output(self.name, stream, &self.out, words, |i| match self.name {
            "chase" => {
                let (block, thread) = (i / THREADS as usize, i as u32 % THREADS);
                repeated(2 * block + 1) % ENTRIES * THREADS + thread
            }
            "compute" => {
                (0..8).map(|k| repeated(8 * i + k)).fold(0, u32::wrapping_add)
            }
            other => unreachable!("{other}"),
        })
    }

    /// When its first block began and its last one ended, in nanoseconds.
    fn ran(&self, stream: &Arc<CudaStream>) -> Result<[u64; 2]> {
        let times = stream.clone_dtoh(&self.times)?.into_iter();
        let outer = |[low, high]: [u64; 2], [began, ended]: [u64; 2]| {
            [low.min(began), high.max(ended)]
        };
        Ok(times.fold([u64::MAX, 0], outer))
    }
}

/// When two grids ran, from the start of the first block on.
pub(crate) fn spans(
    streams: usize,
    pair: &[Grid; 2],
    stream: &Arc<CudaStream>,
) -> Result<Vec<Span>> {
    let times = [pair[0].ran(stream)?, pair[1].ran(stream)?];
    let zero = times[0][0].min(times[1][0]);
    let seconds = |time: u64| (time - zero) as f64 * 1e-9;
    let spans = (1..).zip(times).map(|(n, times)| {
        let lane = format!("stream {}", streams.min(n));
        span(lane, format!("kernel {n}"), times.map(seconds))
    });
    Ok(spans.collect())
}
