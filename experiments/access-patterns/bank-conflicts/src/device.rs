//! The kernels, their launch, and the check of what they read.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::value;
use lab::launch::blocks;
use lab::{Case, Lab, Result};

use crate::model::{Pattern, WARP, WORD_BYTES};

// SAFETY: every kernel writes one word of `out` for each thread. `read` has a tile of 32
// rows of 65 elements, which is what the largest padding needs, and more than the other
// patterns do; it takes 32 words of `start`.
lab::kernels! { unsafe "bank-conflicts" {
    fn wait(out: &mut CudaSlice<u32>, cycles: usize);
    fn read["read4", "read8", "read16"](
        start: &CudaSlice<u32>, out: &mut CudaSlice<u32>, rounds: u32, step: u32,
    );
} }

/// Reads of each thread in one round: a row of the tile.
pub(crate) const COLUMNS: usize = 32;
/// Threads of a block. Enough warps that one of them always has a read to make.
pub(crate) const THREADS: usize = 1024;

/// One case: every warp reads `access_bytes` in each lane, from `start` on.
pub(crate) struct Reads {
    pub(crate) access_bytes: usize,
    pub(crate) start: Pattern,
    pub(crate) threads: usize,
}

/// One block for each multiprocessor, and an output word for each thread.
pub(crate) struct Reader {
    pub(crate) blocks: usize,
    pub(crate) output: CudaSlice<u32>,
    pub(crate) kernels: Kernels,
    pub(crate) stream: Arc<CudaStream>,
}

impl Reader {
    pub(crate) fn new(lab: &Lab) -> Result<Reader> {
        let stream = lab.context().new_stream()?;
        let blocks = lab.multiprocessors();
        let output = stream.alloc_zeros(blocks * THREADS)?;
        Ok(Reader { blocks, output, kernels: Kernels::load(lab)?, stream })
    }

    /// Times and records a case. Every thread must have summed what its lane reads, so
    /// many `rounds`.
    pub(crate) fn measure(
        &mut self,
        lab: &mut Lab,
        case: Case,
        reads: &Reads,
        rounds: usize,
    ) -> Result<()> {
        let Reader { blocks: count, output, kernels, stream } = self;
        let name = format!("read{}", reads.access_bytes);
        let config = blocks(*count, reads.threads);
        let start = stream.clone_htod(&reads.start.map(|element| element as u32))?;
        let words_each = reads.access_bytes / WORD_BYTES;
        let sums = reads.start.map(|element| {
            let words = element * words_each..(element + COLUMNS) * words_each;
            let round = words.map(value).fold(0, u32::wrapping_add);
            round.wrapping_mul(rounds as u32)
        });
        stream.memset_zeros(output)?;
        case.time_on_gpu(lab, stream, |_| {
            kernels.read(&name, stream, config, &start, output, rounds as u32, 0)
        })?
        .check_device(stream, &output.slice(..*count * reads.threads), |thread| {
            sums[thread % WARP]
        })?
        .record(lab)
    }
}
