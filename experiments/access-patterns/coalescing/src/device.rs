//! The strided and the contiguous array, the kernels that use both, and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::{blocks, threads};
use lab::memory::power_of_two_within;
use lab::{Lab, Result, check};

use crate::STRIDES;
use crate::model::{Kind, Shape, WORD_BYTES};

// SAFETY: `fill` writes `count` words. The others use `count` elements of `contiguous`,
// and of `strided` `count * stride` and `offset` more; `Arrays` has room for that.
lab::kernels! { unsafe "coalescing" {
    fn fill(words: &mut CudaSlice<u32>, count: usize);
    fn access[
        "gather1", "gather2", "gather4", "gather8", "gather16", "gather4_resident",
        "scatter4", "read4", "write4", "idle",
    ](
        strided: &mut CudaSlice<u32>, contiguous: &mut CudaSlice<u32>,
        count: usize, stride: usize, offset: usize,
    );
} }

/// The array that is used with a stride, and the one that is used without.
pub(crate) struct Arrays {
    strided: CudaSlice<u32>,
    contiguous: CudaSlice<u32>,
    kernels: Kernels,
    pub(crate) stream: Arc<CudaStream>,
    /// Threads that the GPU holds at once.
    resident: usize,
    fetch_bytes: usize,
}

impl Arrays {
    pub(crate) fn new(lab: &Lab, most_offset: usize) -> Result<Arrays> {
        let stream = lab.context().new_stream()?;
        let wanted =
            lab.l2_bytes().next_power_of_two() / if lab.emulated() { 4 } else { 1 };
        let stride = STRIDES.into_iter().max().unwrap_or(1);
        let affordable = lab.free_bytes()? / 2 / (WORD_BYTES * (stride + 1));
        let words = wanted.min(power_of_two_within(affordable));
        Ok(Arrays {
            strided: stream.alloc_zeros(words * stride + 4 * most_offset)?,
            contiguous: stream.alloc_zeros(words)?,
            kernels: Kernels::load(lab)?,
            resident: lab.resident_threads()?,
            fetch_bytes: lab.l2_fetch_bytes(),
            stream,
        })
    }

    /// The case that all others vary: element after element, one for each thread.
    pub(crate) fn plain(&self, kind: Kind, access_bytes: usize) -> Shape {
        let count = self.contiguous.len() * WORD_BYTES / access_bytes;
        Shape {
            kind,
            access_bytes,
            is_persistent: false,
            threads: count,
            count,
            stride: 1,
            offset: 0,
            fetch_bytes: self.fetch_bytes,
        }
    }

    /// As many threads as the GPU holds, which take element after element.
    pub(crate) fn persistent(&self) -> Shape {
        let plain = self.plain(Kind::Gather, WORD_BYTES);
        Shape { is_persistent: true, threads: self.resident, ..plain }
    }

    /// Fills the array that the kernel reads and clears the one that it writes.
    pub(crate) fn prepare(&mut self, shape: &Shape) -> Result<()> {
        let (read, written) = match shape.kind {
            Kind::Gather | Kind::Read => (&mut self.strided, &mut self.contiguous),
            Kind::Scatter | Kind::Write => (&mut self.contiguous, &mut self.strided),
        };
        self.stream.memset_zeros(written)?;
        let count = read.len();
        self.kernels.fill(&self.stream, blocks(1024, 1024), read, count)
    }

    pub(crate) fn launch(&mut self, shape: &Shape) -> Result<()> {
        self.launch_kernel(&shape.kernel(), shape)
    }

    pub(crate) fn launch_kernel(
        &mut self,
        kernel: &str,
        shape: &Shape,
    ) -> Result<()> {
        let Shape { threads: started, count, stride, offset, .. } = *shape;
        let (strided, contiguous) = (&mut self.strided, &mut self.contiguous);
        self.kernels.access(
            kernel,
            &self.stream,
            threads(started),
            strided,
            contiguous,
            count,
            stride,
            offset,
        )
    }

    /// Runs a case and compares what it wrote, without timing it.
    pub(crate) fn run_once(&mut self, shape: &Shape) -> Result<u64> {
        self.prepare(shape)?;
        self.launch(shape)?;
        self.check(shape)
    }

    /// `read4` marks what is wrong: every word of an array that holds nothing right.
    pub(crate) fn read_finds_what_is_wrong(&mut self) -> Result<u64> {
        let shape =
            Shape { count: 1000, offset: 1, ..self.plain(Kind::Read, WORD_BYTES) };
        self.stream.memset_zeros(&mut self.strided)?;
        self.stream.memset_zeros(&mut self.contiguous)?;
        self.launch(&shape)?;
        let what = "marks in a cleared array";
        check::output(what, &self.stream, &self.contiguous, shape.count, |_| 1)
    }

    /// Compares every element. What was written with a stride is gathered first; what
    /// `read` marked must be nothing.
    pub(crate) fn check(&mut self, shape: &Shape) -> Result<u64> {
        let Shape { kind, access_bytes, count, stride, offset, .. } = *shape;
        if matches!(kind, Kind::Scatter | Kind::Write) {
            self.stream.memset_zeros(&mut self.contiguous)?;
            // With what is after them, which must not have been written.
            let count = self.contiguous.len().min(count + check::GUARD);
            let kind = Kind::Gather;
            self.launch(&Shape { kind, threads: count, count, ..*shape })?;
        }
        let words = count * access_bytes / WORD_BYTES;
        let words_each = access_bytes.div_ceil(WORD_BYTES);
        let what = format!("{} stride {stride} offset {offset}", shape.kernel());
        // A power of two: divisions would take longer than the copy.
        let (shift, rest) = (words_each.trailing_zeros(), words_each - 1);
        check::output(&what, &self.stream, &self.contiguous, words, |word| {
            let element = (word >> shift) * stride + offset;
            let source = (element << shift) + (word & rest);
            match kind {
                Kind::Gather => check::value(source),
                Kind::Scatter | Kind::Write => check::value(word),
                Kind::Read => 0,
            }
        })
    }
}
