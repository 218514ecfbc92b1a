//! One block, and how long it takes to agree: its threads make one number of theirs, and
//! begin again from that, so that nothing is done ahead.

use cudarc::driver::CudaSlice;
use lab::check::{self, value};
use lab::launch::blocks;
use lab::{Case, Lab, Result};

use crate::device::Words;

// SAFETY: the kernel writes a word for each thread of its one block, which has at most 1024.
lab::kernels! { unsafe "reductions-redux" {
    fn alone_redux(out: &mut CudaSlice<u32>, rounds: u32);
} }

lab::words! {
    /// How the threads agree; in the kernels' names.
    pub(crate) enum Way {
        Tree = "tree",
        Atomics = "atomics",
        Shuffles = "shuffles",
        Redux = "redux",
        Ballots = "ballots",
        Barrier = "barrier",
    }
}

/// Threads of the block.
const BLOCKS: [usize; 3] = [64, 256, 1024];

pub(crate) fn measure(lab: &mut Lab, words: &mut Words) -> Result<()> {
    let rounds = if lab.emulated() { 8 } else { 1000 };
    let module = lab.load(KERNEL)?;
    for way in Way::ALL {
        for threads in BLOCKS {
            let case = Case::new("alone").with("way", way).with("block", threads);
            let redux = match (&module, way) {
                (None, Way::Redux) => {
                    lab.skip(
                        case,
                        "this GPU does not add up a warp in one instruction",
                    );
                    continue;
                }
                (Some(module), Way::Redux) => Some(Kernels::of(module)?),
                _ => None,
            };
            words.clear()?;
            let Words { stream, kernels, out, .. } = &mut *words;
            let (grid, name) = (blocks(1, threads), format!("alone_{}", way.name()));
            let timed = case.time_on_gpu(lab, stream, |_| match &redux {
                Some(redux) => redux.alone_redux(stream, grid, out, rounds),
                None => kernels.alone(&name, stream, grid, out, rounds),
            })?;
            let expected = agreed(way, threads, rounds);
            let checked =
                check::output(&name, stream, out, threads, |i| expected[i])?;
            timed.per(rounds as usize).checked(checked).record(lab)?;
        }
    }
    Ok(())
}

/// The threads' words after so many rounds.
fn agreed(way: Way, threads: usize, rounds: u32) -> Vec<u32> {
    let mut words: Vec<u32> = (0..threads).map(value).collect();
    for _ in 0..rounds {
        let answer = match way {
            Way::Ballots | Way::Barrier => words.iter().map(|word| word >> 31).sum(),
            _ => words.iter().fold(0u32, |sum, word| sum.wrapping_add(*word)),
        };
        for word in &mut words {
            *word = word.wrapping_add(answer).wrapping_mul(2_246_822_519);
        }
    }
    words
}
