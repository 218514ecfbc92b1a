//! # How much faster is data that a cache holds?
//!
//! Page: `book/src/access-patterns/working-sets.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | four operations on sets of every size |
//! | [`passes`] | The experiment; The most that L1 caches give | how does one go over a set again and again? |
//!
//! Each multiprocessor has an L1 cache, all share the L2 cache, and the memory is behind
//! that. The four operations of `kernels/device-bandwidth.cu` go over *working sets* from
//! tiny to many times the L2 cache, again and again. In one version a multiprocessor
//! always returns to its own share of the set, which its L1 cache may still hold; in
//! the other it moves on to the next share after each pass.
//!
//! **Prediction:** a set that fits into the L1 caches is read at least twice as fast as
//! one that fits only into the L2 cache, and that at least twice as fast as one that fits
//! into neither.

mod passes;

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::threads;
use lab::{Lab, Result};

// SAFETY: the kernels use the first `count` elements of each array, of 16 bytes, and `read_lean`
// `share` for each block. Those that read write a word for each thread; their
// threads are fewer than the words of an array.
lab::kernels! { unsafe "device-bandwidth" {
    fn walk["read_16x4", "write_16x4", "copy_16x4", "triad_16x4"](
        a: &CudaSlice<u32>, b: &CudaSlice<u32>, out: &mut CudaSlice<u32>,
        factor: u32, count: usize, passes: u32, shift: u32,
    );
    fn read_lean(a: &CudaSlice<u32>, sums: &mut CudaSlice<u32>, share: u32, passes: u32);
} }

const ELEMENT_BYTES: usize = 16;
/// Words of an element.
const WORDS: usize = 4;
/// Elements that a thread asks for before it waits.
const LOADS: usize = 4;
/// Threads of a block that has a multiprocessor to itself.
const THREADS: usize = 1024;
/// How many tiles of 64 KiB each block moves: close together where the L1 caches end.
const TILES: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64, 112];
/// The largest sets that are read with fewer instructions as well: an L1 cache holds them.
const LEAN_TILES: usize = 3;
/// Word i of an array holds i times a factor; `value` has that of `a`.
const FACTOR: u32 = 2_654_435_761;
const FACTOR_OF_B: u32 = 2_246_822_519;
const FACTOR_OF_TRIAD: u32 = FACTOR.wrapping_add(FACTOR_OF_B.wrapping_mul(3));

// ANCHOR: operations
struct Operation {
    name: &'static str,
    /// How many arrays it reads and writes.
    reads: usize,
    writes: usize,
    /// Word i of what it writes is i times this.
    factor: u32,
}

const OPERATIONS: [Operation; 4] = [
    Operation { name: "read", reads: 1, writes: 0, factor: 0 },
    Operation { name: "write", reads: 0, writes: 1, factor: FACTOR },
    Operation { name: "copy", reads: 1, writes: 1, factor: FACTOR },
    Operation { name: "triad", reads: 2, writes: 1, factor: FACTOR_OF_TRIAD },
];
// ANCHOR_END: operations

/// The arrays, the kernels, and how many blocks run: one on each multiprocessor.
struct Arrays {
    stream: Arc<CudaStream>,
    kernels: Kernels,
    a: CudaSlice<u32>,
    b: CudaSlice<u32>,
    out: CudaSlice<u32>,
    blocks: usize,
}

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Three arrays, each of 16 times the L2 cache or as much as there is room for. The
    //    kernel that writes also fills the two that are read.
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let most_bytes = 16 * lab.l2_bytes();
    let most = most_bytes.min(lab.free_bytes()? / 4) / ELEMENT_BYTES;
    let new_array = || stream.alloc_zeros(most * WORDS);
    let (mut a, mut b, out) = (new_array()?, new_array()?, new_array()?);
    for (array, factor) in [(&mut a, FACTOR), (&mut b, FACTOR_OF_B)] {
        let (name, grid) = ("write_16x4", threads(most.div_ceil(LOADS)));
        kernels.walk(name, &stream, grid, &out, &out, array, factor, most, 1, 0)?;
    }
    let mut arrays =
        Arrays { stream, kernels, a, b, out, blocks: lab.multiprocessors() };

    // 2. Every operation on a set that no tile divides, and on sets of every size; reads
    //    of the next block's share, too.
    let most_tiles = if lab.emulated() { 8 } else { usize::MAX };
    for operation in &OPERATIONS {
        passes::check_ragged(&mut arrays, operation)?;
        for tiles in TILES.into_iter().filter(|tiles| *tiles <= most_tiles) {
            let count = tiles * arrays.blocks * LOADS * THREADS;
            let used = operation.reads + operation.writes;
            if count > most || count * ELEMENT_BYTES * used > most_bytes {
                continue;
            }
            passes::measure(lab, &mut arrays, operation, tiles, 0)?;
            if operation.writes == 0 {
                passes::measure(lab, &mut arrays, operation, tiles, 1)?;
                if tiles <= LEAN_TILES {
                    passes::lean(lab, &mut arrays, tiles)?;
                }
            }
        }
    }
    Ok(())
}
