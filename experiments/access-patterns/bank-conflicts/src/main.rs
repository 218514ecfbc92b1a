//! # What do bank conflicts cost, and when are there any?
//!
//! Page: `book/src/access-patterns/bank-conflicts.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | Measured; The trap | columns of tiles with every padding |
//! | [`model`] | Why; Sharing | in how many wavefronts is a read served? |
//! | [`device`] | | the kernels, the launch, the check |
//! | [`sharing`] | Sharing | what if lanes read the same element? |
//!
//! Shared memory has 32 *banks*. Word w, of 4 bytes, is in bank w mod 32, and in one
//! pass each bank can give one word. The hardware serves a warp's read in as many passes
//! as it takes; such a pass is called a *wavefront*. Threads that want the same word
//! share it. Below, a tile of 32 columns and one of 33, with the bank of each element:
//!
//! ```text
//! [32][32]   row 0:  0  1  2 … 31      [32][33]   row 0:  0  1  2 … 31  0
//!            row 1:  0  1  2 … 31                 row 1:  1  2  3 …  0  1
//!            row 2:  0  1  2 … 31                 row 2:  2  3  4 …  1  2
//! ```
//!
//! A column of the first is in one bank: 32 wavefronts. A column of the second touches
//! every bank once: 1 wavefront. The function [`model::wavefronts`] counts them for any
//! pattern.
//!
//! **Prediction:** a multiprocessor serves one wavefront per cycle, whatever the pattern
//! and the width of the reads. So every case here, which is given as many reads as
//! make the same number of wavefronts, takes as long as waiting for that many cycles.

mod device;
mod model;
mod sharing;

use std::array::from_fn;
use std::process::ExitCode;

use lab::launch::blocks;
use lab::{Case, Lab, Result};

use device::{COLUMNS, Reader, Reads, THREADS};
use model::{Pattern, WARP, wavefronts};

const LARGEST_PADDING: usize = 33;
/// Rounds of a pattern that needs one wavefront for a read.
const ROUNDS: usize = 4096;
const QUICK_ROUNDS: usize = 64;

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. The kernels, and an output word for each thread that the GPU runs.
    let mut gpu = Reader::new(lab)?;
    let all_rounds = if lab.emulated() { QUICK_ROUNDS } else { ROUNDS };

    // 2. How long a cycle is: every block waits for as many cycles as each case below
    //    should take.
    let cycles = all_rounds * COLUMNS * THREADS / WARP;
    let Reader { stream, kernels, output, blocks: count } = &mut gpu;
    let config = blocks(*count, THREADS);
    Case::new("clock")
        .with("cycles", cycles)
        .time_on_gpu(lab, stream, |_| kernels.wait(stream, config, output, cycles))?
        .check_device(stream, output, |_| 1u32)?
        .record(lab)?;

    // 3. What to measure, with reads of each width: columns of tiles with every padding,
    //    and patterns in which lanes share elements. And the trap: one warp alone, which
    //    is what a first benchmark has.
    let paddings = 0..=if lab.emulated() { 4 } else { LARGEST_PADDING };
    let mut cases = vec![];
    for access_bytes in [4, 8, 16] {
        let mut add = |case, start| {
            cases.push((case, Reads { access_bytes, start, threads: THREADS }));
        };
        for padding in paddings.clone() {
            add(Case::new("column").with("padding", padding), column(padding));
        }
        for (name, start) in sharing::patterns() {
            add(Case::new(name), start);
        }
    }
    // ANCHOR: trap
    for padding in [0, 1, 2] {
        let case = Case::new("one_warp").with("padding", padding);
        let start = column(padding);
        cases.push((case, Reads { access_bytes: 4, start, threads: WARP }));
    }
    // ANCHOR_END: trap

    for (case, reads) in cases {
        // 4. As many whole rounds as make the same number of wavefronts.
        let wavefronts = wavefronts(&reads.start, reads.access_bytes);
        let rounds = all_rounds / wavefronts;
        let requests = gpu.blocks * reads.threads / WARP * rounds * COLUMNS;
        let case = case
            .with("access_bytes", reads.access_bytes)
            .reads(requests * WARP * reads.access_bytes)
            .model("wavefronts", wavefronts as f64);
        gpu.measure(lab, case, &reads, rounds)?;
    }
    Ok(())
}

/// Lane l reads row l of a tile whose rows have 32 + `padding` elements. All lanes are
/// in the same column at the same time.
fn column(padding: usize) -> Pattern {
    from_fn(|lane| lane * (COLUMNS + padding))
}
