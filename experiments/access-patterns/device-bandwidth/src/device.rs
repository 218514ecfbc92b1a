//! The three arrays, the kernels that move them, and the checks.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, PinnedHostSlice};
use lab::check::{every_element, untouched, value};
use lab::launch::{blocks, threads};
use lab::{Case, Ceiling, Lab, Result, memory};

// SAFETY: the kernels use the first `count` elements of each array. `read` writes a word
// for each thread; its threads are fewer than the words of an array. `next` is one word.
lab::kernels! { unsafe "device-bandwidth" {
    fn walk[
        "read_4x1", "read_16x1", "read_16x4", "write_4x1", "write_16x1", "write_16x4",
        "copy_4x1", "copy_4x4", "copy_16x1", "copy_16x4",
        "triad_4x1", "triad_16x1", "triad_16x4",
    ](
        a: &CudaSlice<u32>, b: &CudaSlice<u32>, out: &mut CudaSlice<u32>,
        factor: u32, count: usize, passes: u32, shift: u32,
    );
    fn empty();
    fn copy_queue(
        a: &CudaSlice<u32>, out: &mut CudaSlice<u32>, count: usize,
        next: &mut CudaSlice<u32>,
    );
} }

const WORD_BYTES: usize = 4;
const LARGEST_ARRAY: usize = 4 << 30;
/// Arrays are read back and checked piece by piece.
const PIECE: usize = 256 << 20;
/// Word i of an array holds i times a factor, and all words of an array differ.
pub(crate) const FACTOR: u32 = 2_654_435_761; // as of `value`
const FACTOR_OF_B: u32 = 2_246_822_519;
pub(crate) const FACTOR_OF_TRIAD: u32 =
    FACTOR.wrapping_add(FACTOR_OF_B.wrapping_mul(3));

/// Elements of 16 bytes: a number that no tile divides.
pub(crate) const RAGGED_COUNT: usize = 100_003;

/// One version of one operation, and how the blocks of a launch share `bytes` of each
/// array. A version is the bytes of an element and the elements of each thread; `factor`
/// is that of what is written, or 0 if nothing is.
pub(crate) struct Walk {
    pub(crate) kernel: String,
    pub(crate) version: (usize, usize),
    pub(crate) factor: u32,
    pub(crate) bytes: usize,
    pub(crate) threads: usize,
    pub(crate) blocks: usize,
}

/// The arrays that are moved, all equally long.
pub(crate) struct Arrays {
    pub(crate) a: CudaSlice<u32>,
    pub(crate) b: CudaSlice<u32>,
    pub(crate) out: CudaSlice<u32>,
    /// The length of each array.
    pub(crate) bytes: usize,
    pub(crate) kernels: Kernels,
    pub(crate) stream: Arc<CudaStream>,
    back: PinnedHostSlice<u32>,
    l2_bytes: usize,
}

impl Arrays {
    pub(crate) fn new(lab: &Lab) -> Result<Arrays> {
        let stream = lab.context().new_stream()?;
        let wanted = if lab.quick() { PIECE } else { LARGEST_ARRAY };
        let affordable = memory::power_of_two_within(lab.free_bytes()? / 4);
        let bytes = wanted.min(affordable);
        let new_array = || stream.alloc_zeros(bytes / WORD_BYTES);
        let (mut a, mut b, out) = (new_array()?, new_array()?, new_array()?);
        let back = memory::pinned(lab.context(), PIECE / WORD_BYTES, |_| 0)?;
        let kernels = Kernels::load(lab)?;
        let (name, n, grid) = ("write_16x4", bytes / 16, threads(bytes / 64));
        for (words, factor) in [(&mut a, FACTOR), (&mut b, FACTOR_OF_B)] {
            kernels.walk(name, &stream, grid, &out, &out, words, factor, n, 1, 0)?;
        }
        let l2_bytes = lab.l2_bytes();
        Ok(Arrays { a, b, out, bytes, kernels, stream, back, l2_bytes })
    }

    /// A case that reads and writes as many whole arrays as this.
    pub(crate) fn case(&self, name: &str, reads: usize, writes: usize) -> Case {
        self.case_of(self.bytes, name, reads, writes)
    }

    /// A case that reads and writes the first `bytes` of so many arrays.
    pub(crate) fn case_of(
        &self,
        bytes: usize,
        name: &str,
        reads: usize,
        writes: usize,
    ) -> Case {
        let all = (reads + writes) * bytes;
        Case::new(name)
            .with("bytes", all)
            .reads(reads * bytes)
            .writes(writes * bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(all, self.l2_bytes)
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        Ok(self.stream.memset_zeros(&mut self.out)?)
    }

    pub(crate) fn launch(&mut self, walk: &Walk) -> Result<()> {
        let Arrays { a, b, out, kernels, stream, .. } = self;
        let grid = blocks(walk.blocks, walk.threads);
        let count = walk.bytes / walk.version.0;
        kernels.walk(&walk.kernel, stream, grid, a, b, out, FACTOR, count, 1, 0)
    }

    /// Checks and times a `launch`, which is given a number of words: it uses the first of
    /// each array, and makes those of `out` their index times `factor`.
    pub(crate) fn measure(
        &mut self,
        lab: &mut Lab,
        case: Case,
        factor: u32,
        mut launch: impl FnMut(&mut Arrays, usize) -> Result<()>,
    ) -> Result<()> {
        let (stream, words) = (self.stream.clone(), self.out.len());
        self.clear()?;
        launch(self, RAGGED_COUNT * 4)?;
        self.check_words(RAGGED_COUNT * 4, factor)?;
        self.clear()?;
        let timed = case.time_on_gpu(lab, &stream, |_| launch(self, words))?;
        timed.checked(self.check_words(words, factor)?).record(lab)
    }

    /// Every word must be what the operation makes of `a` and `b`.
    pub(crate) fn check(&mut self, walk: &Walk) -> Result<u64> {
        match walk.factor {
            0 => self.check_sums(walk),
            factor => self.check_words(walk.bytes / WORD_BYTES, factor),
        }
    }

    /// The first `words` of `out` must be their index times `factor`.
    pub(crate) fn check_words(&mut self, words: usize, factor: u32) -> Result<u64> {
        untouched("out", &self.stream, &self.out, words)?;
        let mut checked = 0;
        for start in (0..words).step_by(PIECE / WORD_BYTES) {
            let end = words.min(start + PIECE / WORD_BYTES);
            let back = &mut self.back.as_mut_slice()?[..end - start];
            self.stream.memcpy_dtoh(&self.out.slice(start..end), back)?;
            self.stream.synchronize()?;
            checked += every_element("out", back, |i| {
                ((start + i) as u32).wrapping_mul(factor)
            })?;
        }
        Ok(checked)
    }

    /// Every thread must have added up the words of its elements.
    fn check_sums(&self, walk: &Walk) -> Result<u64> {
        let Walk { version: (element_bytes, loads), threads, blocks, .. } = *walk;
        let got = self.stream.clone_dtoh(&self.out.slice(..blocks * threads))?;
        let count = walk.bytes / element_bytes;
        let (words_each, tile) = (element_bytes / WORD_BYTES, loads * threads);
        every_element("sum", &got, |i| {
            let (block, thread) = (i / threads, i % threads);
            let tiles = (block * tile..count).step_by(blocks * tile);
            let starts = tiles.flat_map(|at| (at..at + tile).step_by(threads));
            let elements = starts.map(|start| start + thread).filter(|e| *e < count);
            let words = elements.flat_map(|e| e * words_each..(e + 1) * words_each);
            words.map(value).fold(0, u32::wrapping_add)
        })
    }
}
