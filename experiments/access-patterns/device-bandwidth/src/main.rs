//! # How fast can a GPU read, write and copy?
//!
//! Page: `book/src/access-patterns/device-bandwidth.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | four operations, three versions, two grids; the driver's copy |
//! | [`device`] | | the arrays, the kernels, the check |
//! | [`starts`] | Blocks, not threads | what does it take to start a block? |
//! | [`queue`] | Persistent blocks | what if blocks take tiles from a queue? |
//! | [`kept`] | A hint for the cache | what if the L2 cache keeps what was read? |
//!
//! Four operations move whole arrays, word by word, in order: `read` (a), `write` (out),
//! `copy` (out = a) and `triad` (out = a + 3 b). Nothing could be simpler to write, and
//! yet the first copy reaches about half of what the memory can do. What matters:
//!
//! ```text
//! element   bytes that a thread moves with one instruction: 4 or 16
//! loads     elements that it asks for before it waits: 1 or 4
//! grid      one_shot: a block for every tile;  resident: as many as the GPU holds,
//!           each of which goes on to further tiles
//! ```
//!
//! **Prediction:** with enough bytes in flight all four reach 90% of the memory's
//! theoretical peak on large arrays.

mod device;
mod kept;
mod queue;
mod starts;

use std::process::ExitCode;

use lab::{Lab, Result};

use device::{Arrays, FACTOR, FACTOR_OF_TRIAD, RAGGED_COUNT, Walk};

/// The operations: how many arrays each reads and writes, and the factor of what it writes.
const OPERATIONS: [(&str, usize, usize, u32); 4] = [
    ("read", 1, 0, 0),
    ("write", 0, 1, FACTOR),
    ("copy", 1, 1, FACTOR),
    ("triad", 2, 1, FACTOR_OF_TRIAD),
];
/// Bytes of an element and elements for each thread: the versions of each kernel.
const VERSIONS: [(usize, usize); 3] = [(4, 1), (16, 1), (16, 4)];
const THREADS: usize = 256;

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Three arrays, as long as the memory allows.
    let mut arrays = Arrays::new(lab)?;
    let stream = arrays.stream.clone();

    for (name, reads, writes, factor) in OPERATIONS {
        for version in VERSIONS {
            // 2. A size that no tile divides, and few blocks.
            let kernel = format!("{name}_{}x{}", version.0, version.1);
            let (bytes, threads, blocks) = (16 * RAGGED_COUNT, 96, 7);
            let walk = Walk { kernel, version, factor, bytes, threads, blocks };
            arrays.clear()?;
            arrays.launch(&walk)?;
            arrays.check(&walk)?;

            // 3. Large arrays, each used once, in both grids. `read` must add up what it
            //    has read and keep the sum, so its threads have to be few.
            let mut walk = Walk { bytes: arrays.bytes, threads: THREADS, ..walk };
            let mut grids =
                vec![("resident", resident(lab, &walk.kernel, THREADS)?)];
            if writes > 0 {
                grids.push(("one_shot", one_shot(&walk)));
            }
            for (grid, blocks) in grids {
                walk.blocks = blocks;
                arrays.clear()?;
                let timed = arrays
                    .case(name, reads, writes)
                    .with("element_bytes", version.0)
                    .with("loads", version.1)
                    .with("grid", grid)
                    .time_on_gpu(lab, &stream, |_| arrays.launch(&walk))?;
                timed.checked(arrays.check(&walk)?).record(lab)?;
            }
        }
    }

    // 4. Large arrays again: other kernels, and what the driver offers.
    starts::measure(lab, &mut arrays)?;
    queue::measure(lab, &mut arrays)?;
    kept::measure(lab, &mut arrays)?;
    let case = arrays.case("driver_copy", 1, 1);
    arrays.measure(lab, case, FACTOR, |arrays, count| {
        let (a, mut out) = (arrays.a.slice(..count), arrays.out.slice_mut(..count));
        Ok(stream.memcpy_dtod(&a, &mut out)?)
    })?;
    // `out` is full of other words now, so the zeros are the driver's.
    let case = arrays.case("driver_fill", 0, 1);
    let filled = case
        .time_on_gpu(lab, &stream, |_| Ok(stream.memset_zeros(&mut arrays.out)?))?;
    filled.checked(arrays.check_words(arrays.out.len(), 0)?).record(lab)
}

// ANCHOR: grids
/// A block for every tile.
fn one_shot(walk: &Walk) -> usize {
    walk.bytes.div_ceil(walk.threads * walk.version.0 * walk.version.1)
}

/// As many blocks as the GPU holds.
fn resident(lab: &Lab, kernel: &str, threads: usize) -> Result<usize> {
    let kernel = lab.module()?.load_function(kernel)?;
    let each = kernel.occupancy_max_active_blocks_per_multiprocessor(
        threads as u32,
        0,
        None,
    )?;
    Ok(lab.multiprocessors() * each as usize)
}
// ANCHOR_END: grids
