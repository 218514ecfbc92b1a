//! # What do bank conflicts cost, and when are there any?
//!
//! Shared memory lies in 32 *banks*. Word w, of 4 bytes, is in bank w mod 32, and in one
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
//! A column of the first lies in one bank: 32 wavefronts. A column of the second touches
//! every bank once: 1 wavefront. The function [`wavefronts`] counts them for any pattern.
//!
//! **Prediction:** a multiprocessor serves one wavefront per cycle, whatever the pattern
//! and the width of the reads. So every case here, which is given as many reads as
//! make the same number of wavefronts, takes as long as waiting for that many cycles.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
    sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
};
use lab::{Case, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "bank-conflicts",
    source: include_str!("../../../../kernels/bank-conflicts.cu"),
    ptx: include_str!("../../../../kernels/ptx/bank-conflicts.ptx"),
};

const WARP: usize = 32;
const BANKS: usize = 32;
const WORD_BYTES: usize = 4;
/// Reads of each thread in one round: a row of the tile.
const COLUMNS: usize = 32;
const LARGEST_PADDING: usize = 33;
/// Threads of a block. Enough warps that one of them always has a read to make.
const THREADS: usize = 1024;
/// Rounds of a pattern that needs one wavefront for a read.
const ROUNDS: usize = 4096;
const QUICK_ROUNDS: usize = 64;

fn main() -> ExitCode {
    let question = "What do bank conflicts cost, and when are there any?";
    lab::run("bank-conflicts", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernels: one for each width of read.
    let stream = lab.context().new_stream()?;
    let wait = lab.module()?.load_function("wait")?;
    let mut widths = Vec::new();
    for access_bytes in [4, 8, 16] {
        let name = format!("read{access_bytes}");
        widths.push((access_bytes, lab.module()?.load_function(&name)?));
    }

    // 2. One block for each multiprocessor, and an output word for each thread.
    let count = lab.context().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let blocks = count as usize;
    let mut output = stream.alloc_zeros::<u32>(blocks * THREADS)?;

    // ANCHOR: clock
    // 3. How long a cycle is: every block waits for as many cycles as each case below
    //    should take.
    let all_rounds = if lab.quick() { QUICK_ROUNDS } else { ROUNDS };
    let cycles = all_rounds * COLUMNS * THREADS / WARP;
    let samples = lab.time_on_gpu(&stream, |_| {
        let mut launch = stream.launch_builder(&wait);
        launch.arg(&mut output).arg(&cycles);
        // SAFETY: the kernel takes (out, cycles) and writes one word for each thread.
        unsafe { launch.launch(one_block_each(blocks, THREADS)) }?;
        Ok(())
    })?;
    // ANCHOR_END: clock
    let checked =
        check::every_element("clock", &stream.clone_dtoh(&output)?, |_| 1)?;
    let case = Case::new("clock").with("cycles", cycles);
    lab.record(case.checked(checked).samples(samples))?;

    // 4. What to measure: columns of tiles with every padding, and other patterns. A
    //    pattern says at which element each lane of a warp starts.
    let paddings = 0..=if lab.quick() { 4 } else { LARGEST_PADDING };
    let mut cases = Vec::new();
    for (access_bytes, read) in &widths {
        let mut add = |case: Case, start: Pattern| {
            let access_bytes = *access_bytes;
            let case = case.with("access_bytes", access_bytes);
            let reads = Reads { access_bytes, start, threads: THREADS };
            cases.push((case, reads, read));
        };
        for padding in paddings.clone() {
            add(Case::new("column").with("padding", padding), column(padding));
        }
        for (name, start) in patterns() {
            add(Case::new(name), start);
        }
    }

    // ANCHOR: trap
    //    And the trap: one warp alone, which is what a first benchmark has.
    let (access_bytes, read) = &widths[0];
    for padding in [0, 1, 2, 4, 8, 16] {
        let access_bytes = *access_bytes;
        let case = Case::new("one_warp").with("access_bytes", access_bytes);
        let reads = Reads { access_bytes, start: column(padding), threads: WARP };
        cases.push((case.with("padding", padding), reads, read));
    }
    // ANCHOR_END: trap

    for (case, reads, read) in cases {
        // 5. Time it, with as many whole rounds as make the same number of wavefronts.
        let wavefronts = wavefronts(&reads.start, reads.access_bytes);
        let rounds = all_rounds / wavefronts;
        let start = stream.clone_htod(&reads.start.map(|element| element as u32))?;
        stream.memset_zeros(&mut output)?;
        let samples = lab.time_on_gpu(&stream, |_| {
            reads.launch(&stream, read, &start, &mut output, blocks, rounds)
        })?;
        let checked = reads.check(&stream, &output, blocks, rounds)?;

        // 6. Record what the threads asked for, and what the model says.
        let requests = blocks * reads.threads / WARP * rounds * COLUMNS;
        let case = case
            .reads(requests * WARP * reads.access_bytes)
            .model("wavefronts", wavefronts as f64)
            .checked(checked)
            .samples(samples);
        lab.record(case)?;
    }
    Ok(())
}

/// The element at which each lane of a warp starts to read.
type Pattern = [usize; WARP];

fn pattern(element_of: impl FnMut(usize) -> usize) -> Pattern {
    let mut lanes = [0; WARP];
    for (start, element) in lanes.iter_mut().zip((0..WARP).map(element_of)) {
        *start = element;
    }
    lanes
}

/// Lane l reads row l of a tile whose rows have 32 + `padding` elements. All lanes are
/// in the same column at the same time.
fn column(padding: usize) -> Pattern {
    pattern(|lane| lane * (COLUMNS + padding))
}

// ANCHOR: patterns
fn patterns() -> [(&'static str, Pattern); 5] {
    let mut random = 1u32;
    [
        ("row", pattern(|lane| lane)),
        ("broadcast", pattern(|_| 0)),
        // Both read 16 different elements, each of them in two lanes: in neighbours,
        // or in lanes that are half a warp apart.
        ("neighbours_share", pattern(|lane| lane / 2)),
        ("halves_share", pattern(|lane| lane % 16)),
        (
            "random",
            pattern(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                random as usize >> 21
            }),
        ),
    ]
}
// ANCHOR_END: patterns

// ANCHOR: model
/// The model: in how many wavefronts a warp's read is served.
fn wavefronts(start: &Pattern, access_bytes: usize) -> usize {
    // One wavefront gives 32 words. So a warp that reads two words in each lane is
    // served by halves, and one that reads four words by quarters …
    let mut groups = access_bytes / WORD_BYTES;
    // … or by groups of twice as many lanes, if the lanes share their elements in
    // pairs: each with the lane beside it, or each with the lane two away (lane ^ 2).
    // (Stores never are.)
    let shared =
        |distance| (0..WARP).all(|lane| start[lane] == start[lane ^ distance]);
    if groups > 1 && (shared(1) || shared(2)) {
        groups /= 2;
    }
    // A group takes as many wavefronts as there are words in its fullest bank.
    let lanes_each = WARP / groups;
    start.chunks(lanes_each).map(|lanes| fullest_bank(lanes, access_bytes)).sum()
}

/// The largest number of different words that `lanes` want of one bank.
fn fullest_bank(lanes: &[usize], access_bytes: usize) -> usize {
    let words_each = access_bytes / WORD_BYTES;
    let words = lanes.iter().flat_map(|element| {
        (0..words_each).map(move |word| element * words_each + word)
    });
    let mut wanted = [0; BANKS];
    for word in words.collect::<BTreeSet<_>>() {
        wanted[word % BANKS] += 1;
    }
    wanted.into_iter().max().unwrap_or(0)
}
// ANCHOR_END: model

/// One case: every warp reads `access_bytes` in each lane, from `start` on.
struct Reads {
    access_bytes: usize,
    start: Pattern,
    threads: usize,
}

impl Reads {
    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        read: &CudaFunction,
        start: &CudaSlice<u32>,
        output: &mut CudaSlice<u32>,
        blocks: usize,
        rounds: usize,
    ) -> Result<()> {
        let (rounds, step) = (rounds as u32, 0u32);
        let mut launch = stream.launch_builder(read);
        launch.arg(start).arg(output).arg(&rounds).arg(&step);
        // SAFETY: the kernel takes (start, out, rounds, step). Its tile has 32 rows of
        // 65 elements, which is what the largest padding needs, and more than the
        // other patterns do; the output has a word for each thread.
        unsafe { launch.launch(one_block_each(blocks, self.threads)) }?;
        Ok(())
    }

    /// Every thread must have summed what its lane reads, `rounds` times.
    fn check(
        &self,
        stream: &Arc<CudaStream>,
        output: &CudaSlice<u32>,
        blocks: usize,
        rounds: usize,
    ) -> Result<u64> {
        let words_each = self.access_bytes / WORD_BYTES;
        let sums = self.start.map(|element| {
            let words = element * words_each..(element + COLUMNS) * words_each;
            let value = |word: usize| (word as u32).wrapping_mul(2_654_435_761);
            let round = words.map(value).fold(0, u32::wrapping_add);
            round.wrapping_mul(rounds as u32)
        });
        let got = stream.clone_dtoh(&output.slice(..blocks * self.threads))?;
        check::every_element("read", &got, |thread| sums[thread % WARP])
    }
}

fn one_block_each(blocks: usize, threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks as u32, 1, 1),
        block_dim: (threads as u32, 1, 1),
        shared_mem_bytes: 0,
    }
}
