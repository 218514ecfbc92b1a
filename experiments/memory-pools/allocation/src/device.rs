//! What uses the memory: a kernel that writes every word.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, result};
use lab::launch::blocks;
use lab::{Lab, Result, check};

use crate::WORD;
use crate::source::Source;

// SAFETY: `fill` writes `count` words, which the block at that address has.
lab::kernels! { unsafe "allocation" {
    fn fill(words: CUdeviceptr, count: usize, round: u32);
} }

pub(crate) struct User {
    kernels: Kernels,
    pub(crate) stream: Arc<CudaStream>,
}

impl User {
    pub(crate) fn new(lab: &Lab) -> Result<User> {
        let stream = lab.context().new_stream()?;
        Ok(User { kernels: Kernels::load(lab)?, stream })
    }

    pub(crate) fn fill(
        &self,
        address: CUdeviceptr,
        words: usize,
        round: u32,
    ) -> Result<()> {
        let grid = blocks(words.min(1 << 20).div_ceil(1024), 1024);
        self.kernels.fill(&self.stream, grid, address, words, round)
    }

    /// One more round, whose words are all compared before the memory is freed. The last
    /// are filled with another value before: a second fill must stop at its end.
    pub(crate) fn check(&self, source: &mut Source, words: usize) -> Result<u64> {
        const ROUND: u32 = 1 << 31;
        let end = words - words.min(check::GUARD) / 2;
        const CHUNK: usize = 16 << 20;
        let (kind, mut checked) = (source.kind(), 0);
        let mut got = vec![0; CHUNK.min(words)];
        source.once(&self.stream, words, |address| {
            self.fill(address, words, ROUND + 1)?;
            self.fill(address, end, ROUND)?;
            self.stream.synchronize()?;
            for start in (0..words).step_by(CHUNK) {
                let got = &mut got[..CHUNK.min(words - start)];
                // SAFETY: these words lie in the memory, and nothing writes them now.
                unsafe {
                    result::memcpy_dtoh_sync(got, address + (start * WORD) as u64)
                }?;
                checked += check::every_element(kind, got, |i| {
                    let beyond = u32::from(start + i >= end);
                    check::value(start + i).wrapping_add(ROUND + beyond)
                })?;
            }
            Ok(())
        })?;
        Ok(checked)
    }
}
