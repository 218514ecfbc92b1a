//! One block on each multiprocessor, whose threads do one kind of arithmetic; what each of
//! them must end with, and how many cycles it took.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::blocks;
use lab::{Case, Lab, Result, check};

/// Steps in a turn of the kernels' loop, of all chains of a thread together.
const TURN: u32 = 128;

// SAFETY: `out` has a word for each thread that is started, and `cycles` one for each block.
lab::kernels! { unsafe "device-report" {
    fn issue[
        "fma1", "fma2", "fma4", "fma8", "fma_f64", "fma_f16x2", "mad_u32", "add_u32",
        "rotate_u32",
    ](
        out: &mut CudaSlice<u32>,
        cycles: &mut CudaSlice<u64>,
        turns: u32,
        factor: u32,
        addend: u32,
    );
} }

/// A kind of arithmetic.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) kernel: &'static str,
    /// Chains of steps that a thread does beside each other.
    pub(crate) chains: u32,
    /// Operations in a step. A multiplication with an addition is one.
    pub(crate) per_step: u32,
    pub(crate) factor: u32,
    pub(crate) addend: u32,
    /// Where a chain that starts from a number is after so many steps, in bits.
    pub(crate) after: fn(u32, u32) -> u32,
}

impl Operation {
    /// What a thread must write after this many turns, for each lane of its warp.
    fn expected(&self, turns: u32) -> Vec<u32> {
        let steps = turns * TURN / self.chains;
        let word = |lane: u32| {
            let ends =
                (0..self.chains).map(|chain| (self.after)(lane + chain, steps));
            ends.fold(0, |word: u32, end| word.wrapping_mul(31).wrapping_add(end))
        };
        (0..32).map(word).collect()
    }
}

/// Stream, kernels, and memory for the results.
pub(crate) struct Bench {
    stream: Arc<CudaStream>,
    kernels: Kernels,
    multiprocessors: usize,
    out: CudaSlice<u32>,
    cycles: CudaSlice<u64>,
}

impl Bench {
    /// Room for blocks of up to 1024 threads.
    pub(crate) fn new(lab: &Lab) -> Result<Bench> {
        let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
        let multiprocessors = lab.multiprocessors();
        let out = stream.alloc_zeros(1024 * multiprocessors)?;
        let cycles = stream.alloc_zeros(multiprocessors)?;
        Ok(Bench { stream, kernels, multiprocessors, out, cycles })
    }

    /// Times `turns` turns by `threads` threads on each multiprocessor, and compares what
    /// every one of them ends with.
    pub(crate) fn measure(
        &mut self,
        lab: &mut Lab,
        case: Case,
        operation: Operation,
        threads: usize,
        turns: u32,
    ) -> Result<()> {
        let Operation { kernel, chains, per_step, factor, addend, .. } = operation;
        let Bench { stream, kernels, multiprocessors, out, cycles } = self;
        let config = blocks(*multiprocessors, threads);
        stream.memset_zeros(out)?;
        let timed = case
            .with("threads", threads)
            .with("chains", chains as usize)
            .time_on_gpu(lab, stream, |_| {
                kernels.issue(
                    kernel, stream, config, out, cycles, turns, factor, addend,
                )
            })?;

        let expected = operation.expected(turns);
        let written = out.slice(..threads * *multiprocessors);
        let timed =
            timed.check_device(stream, &written, |i| expected[i % threads % 32])?;

        let cycles = stream.clone_dtoh(cycles)?;
        stream.synchronize()?;
        let steps = u64::from(turns * TURN * per_step) * threads as u64;
        with_rate(timed, cycles, steps)?.record(lab)
    }

    /// Compares what blocks write that no warp divides, after an odd number of turns.
    pub(crate) fn check_ragged(&mut self, operation: Operation) -> Result<()> {
        let Operation { kernel, factor, addend, .. } = operation;
        let Bench { stream, kernels, multiprocessors, out, cycles } = self;
        let (threads, turns) = (check::ragged(1024), 1);
        let config = blocks(*multiprocessors, threads);
        stream.memset_zeros(out)?;
        kernels.issue(kernel, stream, config, out, cycles, turns, factor, addend)?;
        let got = stream.clone_dtoh(out)?;
        stream.synchronize()?;
        let (expected, count) =
            (operation.expected(turns), threads * *multiprocessors);
        check::every_element(kernel, &got, |i| match i < count {
            true => expected[i % threads % 32],
            false => 0,
        })?;
        Ok(())
    }
}

/// Adds how many operations a multiprocessor did in a cycle, by its own clock; nothing where
/// no time was taken.
pub(crate) fn with_rate(
    timed: lab::Timed,
    mut cycles: Vec<u64>,
    operations: u64,
) -> Result<lab::Timed> {
    if timed.samples.seconds.is_empty() {
        return Ok(timed);
    }
    cycles.sort_unstable();
    let median = cycles[cycles.len() / 2] as f64;
    timed.note(|case, ()| {
        let case =
            case.model("cycles", median).model("operations", operations as f64);
        Ok(case.model("operations_per_cycle", operations as f64 / median))
    })
}
