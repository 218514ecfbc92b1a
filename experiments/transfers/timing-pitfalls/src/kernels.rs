//! The kernels of 6, 7 and 8, what they read, and what they must find.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView};
use lab::Result;
use lab::check::value;
use lab::launch::blocks;

// SAFETY: `fill` writes `count` words. `sum` reads `count` vectors of 4 words, and writes
// a word for each thread. `gather` writes `count` words, and reads every `stride`-th word
// of `count * stride`. The callers' buffers have room for that.
lab::kernels! { unsafe "timing-pitfalls" {
    fn fill(out: &mut CudaSlice<u32>, count: usize);
    fn sum(
        input: &CudaView<'_, u32>, sums: &mut CudaSlice<u32>, count: usize, passes: u32,
    );
    fn gather(
        input: &CudaSlice<u32>, out: &mut CudaSlice<u32>, count: usize, stride: usize,
    );
} }

/// Device memory in which all words differ.
pub(crate) fn filled(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    words: usize,
) -> Result<CudaSlice<u32>> {
    // SAFETY: `fill` writes every word before anything reads one.
    let mut memory = unsafe { stream.alloc::<u32>(words) }?;
    kernels.fill(stream, blocks(1024, 1024), &mut memory, words)?;
    Ok(memory)
}

/// What `thread` of `all` threads sums up in one pass over `count` vectors, from word
/// `first` on.
pub(crate) fn sum_of(thread: usize, all: usize, first: usize, count: usize) -> u32 {
    let read = (thread..count).step_by(all);
    let words = read.flat_map(|vector| 4 * vector..4 * vector + 4);
    words.fold(0, |sum, i| sum.wrapping_add(value(first + i)))
}
