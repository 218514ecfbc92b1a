//! The kernels, and which words they read.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use lab::check::{self, value};
use lab::launch::threads;
use lab::{Case, Lab, Result};

use crate::memory::{Advice, WORD_BYTES};

// SAFETY: `gather` reads `count` words of `input`, `stride` words from one to the next,
// and writes as many; `add_one` changes `count` words. The memory is at least as long.
lab::kernels! { unsafe "unified-memory" {
    fn gather(
        input: CUdeviceptr, output: &mut CudaSlice<u32>, count: usize, stride: usize,
    );
    fn add_one(data: CUdeviceptr, count: usize);
} }

/// Which words a kernel reads: `count` of them, `stride` words from one to the next.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub(crate) count: usize,
    pub(crate) stride: usize,
}

impl Places {
    /// A case of these words.
    pub(crate) fn case(&self, name: &str, advice: Advice) -> Case {
        Case::new(name)
            .with("advice", advice)
            .with("stride_bytes", self.stride * WORD_BYTES)
            .with("words", self.count)
            .reads(self.count * WORD_BYTES)
    }
}

/// A stream, the kernels, and the words that one of them has read.
pub(crate) struct Runner {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    output: CudaSlice<u32>,
}

impl Runner {
    pub(crate) fn new(lab: &Lab, words: usize) -> Result<Runner> {
        let stream = lab.context().new_stream()?;
        let output = stream.alloc_zeros(words)?;
        Ok(Runner { stream, kernels: Kernels::load(lab)?, output })
    }

    /// Reads words of managed or device memory, waits for the end, and returns the memory.
    pub(crate) fn read<M: DevicePtr<u32>>(
        &mut self,
        memory: M,
        Places { count, stride }: Places,
    ) -> Result<M> {
        assert!(count * stride <= memory.len() && count <= self.output.len());
        let (stream, output) = (&self.stream, &mut self.output);
        let (input, ordered) = memory.device_ptr(stream);
        self.kernels.gather(stream, threads(count), input, output, count, stride)?;
        drop(ordered);
        stream.synchronize()?;
        Ok(memory)
    }

    /// Compares what was read last with what the words should be, and clears it.
    pub(crate) fn check(
        &mut self,
        Places { count, stride }: Places,
        word: impl Fn(usize) -> u32 + Sync,
    ) -> Result<u64> {
        let expected = |i| word(i * stride);
        let checked =
            check::output("read", &self.stream, &self.output, count, expected)?;
        self.stream.memset_zeros(&mut self.output)?;
        Ok(checked)
    }

    /// Adds one to every word, waits for the end, and returns the memory.
    pub(crate) fn add_one<M: DevicePtr<u32>>(&self, memory: M) -> Result<M> {
        let (data, ordered) = memory.device_ptr(&self.stream);
        let count = memory.len();
        self.kernels.add_one(&self.stream, threads(count), data, count)?;
        drop(ordered);
        self.stream.synchronize()?;
        Ok(memory)
    }
}

/// Word i after the kernel `add_one`.
pub(crate) fn plus_one(i: usize) -> u32 {
    value(i).wrapping_add(1)
}

/// The host reads all words.
pub(crate) fn sum(words: &[u32]) -> u32 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}
