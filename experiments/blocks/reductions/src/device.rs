//! The words, the kernels that add them up, and the checks.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::{self, GUARD, value};
use lab::launch::{blocks, threads};
use lab::{Case, Ceiling, Lab, Result};

// SAFETY: the kernels read the first `count` words. `sum_none` and `alone` write a word for
// each thread, `fill` the first `count` words, all others word 0. Threads are a multiple of
// 32 in each block, at most 1024, and never more than `out` has words.
lab::kernels! { unsafe "reductions" {
    fn fill(out: &mut CudaSlice<u32>, count: u32);
    fn total[
        "sum_none", "sum_thread", "sum_plain", "sum_warp", "sum_block", "sum_tree",
        "count_thread", "count_plain", "count_ballot", "count_block",
    ](
        words: &CudaSlice<u32>, out: &mut CudaSlice<u32>, count: u32, zero: u32,
    );
    fn alone[
        "alone_shuffles", "alone_tree", "alone_atomics", "alone_barrier",
        "alone_ballots",
    ](
        out: &mut CudaSlice<u32>, rounds: u32,
    );
} }

/// Threads of a block.
const THREADS: usize = 256;
const WORD_BYTES: usize = 4;

lab::words! {
    /// How the words become one number; the kernels' names.
    pub(crate) enum Total {
        SumNone = "sum_none",
        SumThread = "sum_thread",
        SumPlain = "sum_plain",
        SumWarp = "sum_warp",
        SumBlock = "sum_block",
        SumTree = "sum_tree",
        CountThread = "count_thread",
        CountPlain = "count_plain",
        CountBallot = "count_ballot",
        CountBlock = "count_block",
    }
}

impl Total {
    /// What the first `count` words become.
    fn of(self, count: usize) -> u32 {
        let words = (0..count).map(value);
        match self {
            Total::CountThread
            | Total::CountPlain
            | Total::CountBallot
            | Total::CountBlock => words.map(|word| word >> 31).sum(),
            _ => words.fold(0, u32::wrapping_add),
        }
    }
}

/// The words, and what they become.
pub(crate) struct Words {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    words: CudaSlice<u32>,
    pub(crate) out: CudaSlice<u32>,
    /// How many words there are.
    pub(crate) count: usize,
}

impl Words {
    pub(crate) fn new(lab: &Lab, count: usize) -> Result<Words> {
        let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
        let mut words = stream.alloc_zeros(count)?;
        kernels.fill(&stream, threads(1 << 20), &mut words, count as u32)?;
        let out = stream.alloc_zeros(count + GUARD)?;
        Ok(Words { stream, kernels, words, out, count })
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        Ok(self.stream.memset_zeros(&mut self.out)?)
    }

    fn launch(&mut self, total: Total, grid: usize, count: usize) -> Result<()> {
        let Words { kernels, stream, words, out, .. } = self;
        let grid = blocks(grid, THREADS);
        kernels.total(total.name(), stream, grid, words, out, count as u32, 0)
    }

    /// Checks a total of words that no grid divides, times one of all, `each` of them for
    /// each thread, and checks the sum of all turns, since none of them clears the total.
    pub(crate) fn measure(
        &mut self,
        lab: &mut Lab,
        case: Case,
        total: Total,
        each: usize,
    ) -> Result<()> {
        let (grid, some) =
            (self.count / (each * THREADS), check::ragged(self.count));
        self.clear()?;
        self.launch(total, grid, some)?;
        self.check(total, grid, some, 1)?;

        self.clear()?;
        let grid = self.count / (each * THREADS);
        let (stream, count, mut turns) = (self.stream.clone(), self.count, 0);
        let written = if total == Total::SumNone { grid * THREADS } else { 1 };
        let timed = case
            .with("total", total)
            .with("words_each", each)
            .reads(count * WORD_BYTES)
            .writes(written * WORD_BYTES)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(count * WORD_BYTES, lab.l2_bytes())
            .time_on_gpu(lab, &stream, |_| {
                turns += 1;
                self.launch(total, grid, count)
            })?;
        timed.checked(self.check(total, grid, count, turns)?).record(lab)
    }

    fn check(
        &self,
        total: Total,
        grid: usize,
        count: usize,
        turns: u32,
    ) -> Result<u64> {
        let name = total.name();
        if total != Total::SumNone {
            let all = total.of(count).wrapping_mul(turns);
            return check::output(name, &self.stream, &self.out, 1, |_| all);
        }
        let threads = grid * THREADS;
        check::output(name, &self.stream, &self.out, threads, |thread| {
            (thread..count).step_by(threads).map(value).fold(0, u32::wrapping_add)
        })
    }
}
