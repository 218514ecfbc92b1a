//! Which words are read, and the kernels that read and write them.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::{self, value};
use lab::launch::threads;
use lab::{Lab, Result};

pub(crate) const WORD: usize = size_of::<u32>();
pub(crate) const BLOCK: usize = 256;
/// Distance of neighbours in the order `scattered`: another sector for each thread, and
/// odd, so that it leaves out no word of an array whose length is a power of two.
pub(crate) const SCATTERED: usize = 33;

// SAFETY: `read` reads and `write` writes words below `words`, which every array here
// has; `read` writes `count` words, which the output has room for.
lab::kernels! { unsafe "zero-copy" {
    fn read(
        input: CUdeviceptr, output: &mut CudaSlice<u32>,
        words: u32, count: u32, step: u32, reads: u32, jump: u32,
    );
    fn write(output: CUdeviceptr, words: u32, step: u32);
} }

lab::words! {
    /// In which order words are read, and where a word is read again.
    pub(crate) enum Order {
        Apart = "apart",
        Together = "together",
        Scattered = "scattered",
    }
}

/// Which words of an array are read: `count` threads read `reads` words each, `jump` words
/// from one to the next. Neighbouring threads are `step` words apart.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) words: usize,
    pub(crate) count: usize,
    pub(crate) step: usize,
    pub(crate) reads: usize,
    pub(crate) jump: usize,
}

impl Shape {
    /// Every word once.
    pub(crate) fn once(words: usize, step: usize) -> Shape {
        Shape { words, count: words, step, reads: 1, jump: 0 }
    }

    // ANCHOR: orders
    pub(crate) fn in_order(order: Order, words: usize, reads: usize) -> Shape {
        let step = if order == Order::Scattered { SCATTERED } else { 1 };
        // A word that another block has read first, if there is another block: whole
        // blocks on, and so far that 16 reads do not return to the first.
        let blocks = (words / BLOCK / 17).max(1);
        let jump = match order {
            Order::Together => 0,
            Order::Apart | Order::Scattered => blocks * BLOCK * step % words,
        };
        Shape { reads, jump, ..Shape::once(words, step) }
    }
    // ANCHOR_END: orders

    /// What a thread that reads these words returns.
    fn sum(&self, thread: usize) -> u32 {
        let first = thread * self.step;
        let places = (0..self.reads).map(|n| (first + n * self.jump) % self.words);
        places.map(value).fold(0, u32::wrapping_add)
    }
}

/// A stream, the kernels, and what `read` writes.
pub(crate) struct Runner {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) output: CudaSlice<u32>,
    kernels: Kernels,
}

impl Runner {
    pub(crate) fn new(lab: &Lab, words: usize) -> Result<Runner> {
        let stream = lab.context().new_stream()?;
        let output = stream.alloc_zeros(words)?;
        Ok(Runner { stream, output, kernels: Kernels::load(lab)? })
    }

    pub(crate) fn read(&mut self, input: CUdeviceptr, shape: &Shape) -> Result<()> {
        let Shape { words, count, step, reads, jump } = *shape;
        let config = threads(count);
        let [words, count, step, reads, jump] =
            [words, count, step, reads, jump].map(|n| n as u32);
        let (stream, output) = (&self.stream, &mut self.output);
        self.kernels
            .read(stream, config, input, output, words, count, step, reads, jump)
    }

    pub(crate) fn write(&self, output: CUdeviceptr, shape: &Shape) -> Result<()> {
        let (words, step) = (shape.words as u32, shape.step as u32);
        self.kernels.write(&self.stream, threads(shape.words), output, words, step)
    }

    /// Compares every thread's sum.
    pub(crate) fn check(&self, shape: &Shape) -> Result<u64> {
        let sum = |thread| shape.sum(thread);
        check::output("sums", &self.stream, &self.output, shape.count, sum)
    }
}
