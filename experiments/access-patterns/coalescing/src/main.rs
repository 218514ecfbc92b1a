//! # What does it cost when neighbouring threads use addresses far from each other?
//!
//! Page: `book/src/access-patterns/coalescing.md`. Its sections show each file,
//! or what it measures, except for two that have pages of their own there,
//! `memory-fetches.md` and `bytes-in-flight.md`:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | strided accesses, four kinds of kernel |
//! | [`model`] | The model | how many bytes have to move? |
//! | [`device`] | | the two arrays, the kernels, the check |
//! | [`fetches`] | | is it the bytes that the L2 cache fetches? |
//! | [`widths`] | | what do wider elements change, and persistent threads? |
//! | [`offsets`] | Offsets | what does a shifted warp cost? |
//! | [`skipping`] | The trap | how does a benchmark of strides lie? |
//!
//! Threads run in *warps* of 32, which run one instruction together. When it is a load
//! or a store, the hardware gathers the 32 addresses into one *request*, which moves
//! every *sector* (32 bytes, aligned) that any of them touches. Below, a box is a sector
//! of 8 floats and a digit the thread that uses one:
//!
//! ```text
//! stride 1:  |01234567|89abcdef|…   8 of 8 floats used
//! stride 2:  |0.1.2.3.|4.5.6.7.|…   4 of 8
//! stride 8:  |0.......|1.......|…   1 of 8: each thread has a sector to itself
//! ```
//!
//! **Prediction:** time follows the bytes that move, not the bytes that are asked for.
//! At stride 1 `gather` moves 4 bytes in and 4 out for each element, at stride 8 it moves
//! 32 in and 4 out. So at stride 1 the useful bytes reach the memory's peak, at stride 8
//! they reach 8/36 = 22% of it, and there they stay, however large the stride.
//! `scatter` touches as many sectors, so it is as fast as `gather`.

mod device;
mod fetches;
mod model;
mod offsets;
mod skipping;
mod widths;

use std::process::ExitCode;

use lab::{Case, Lab, Result, check};

use device::Arrays;
use model::{Kind, Shape, WORD_BYTES};

const STRIDES: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Two arrays. The contiguous one alone is four times the L2 cache, so that no case
    //    can live in the cache; the other has room for the largest stride. A GPU with too
    //    little memory for that gets less of both.
    let mut arrays = Arrays::new(lab, offsets::LARGEST)?;

    // 2. A size that no block divides, at an odd stride and offset (but for elements
    //    narrower than the words that are compared, which have to be full): the edges are
    //    right.
    let widths = widths::WIDTHS.map(|bytes| arrays.plain(Kind::Gather, bytes));
    let kinds = Kind::ALL.map(|kind| arrays.plain(kind, WORD_BYTES));
    for shape in widths.into_iter().chain(kinds).chain([arrays.persistent()]) {
        let narrow = shape.access_bytes < WORD_BYTES;
        let (stride, offset) = if narrow { (1, 0) } else { (3, 5) };
        let count = check::ragged(shape.count);
        let count = if narrow { count / 4 * 4 } else { count };
        let threads = shape.threads.min(count);
        arrays.run_once(&Shape { count, threads, stride, offset, ..shape })?;
    }
    arrays.read_finds_what_is_wrong()?;

    // 3. What to measure: every stride with each kind of kernel, and with elements of 16
    //    bytes. The other files add their cases.
    let mut cases: Vec<(Case, Shape)> = vec![];
    let kinds = kinds.into_iter().chain([arrays.plain(Kind::Gather, 16)]);
    for stride in STRIDES {
        for kind in kinds.clone() {
            let case = Case::new("stride").with("stride", stride);
            cases.push((case, Shape { stride, ..kind }));
        }
    }
    cases.extend(widths::cases(&arrays));
    cases.extend(offsets::cases(&arrays));
    cases.extend(fetches::cases(lab, &arrays));
    cases.push(widths::persistent_threads(&arrays));
    cases.push(skipping::case(&arrays));

    for (case, shape) in cases {
        measure(lab, &mut arrays, case, shape)?;
    }

    // 4. The launch cost: as many threads as at stride 1, which do nothing.
    let shape = arrays.plain(Kind::Gather, WORD_BYTES);
    let stream = arrays.stream.clone();
    Case::new("idle")
        .time_on_gpu(lab, &stream, |_| arrays.launch_kernel("idle", &shape))?
        .record(lab)
}

/// Times a case, compares every element that it wrote, and records it with what the model
/// says.
fn measure(
    lab: &mut Lab,
    arrays: &mut Arrays,
    case: Case,
    shape: Shape,
) -> Result<()> {
    // What the kernel writes is cleared first, so that an element which it does not
    // write shows in the check.
    fetches::hint(lab, shape.fetch_bytes)?;
    arrays.prepare(&shape)?;
    let stream = arrays.stream.clone();
    let case = shape.describe(case, lab);
    let timed = case.time_on_gpu(lab, &stream, |_| arrays.launch(&shape))?;
    let checked = arrays.check(&shape)?;
    timed.checked(checked).record(lab)
}
