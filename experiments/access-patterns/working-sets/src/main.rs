//! # How much faster is data that a cache holds?
//!
//! Page: `book/src/access-patterns/working-sets.md`.
//!
//! Each multiprocessor has an L1 cache, all share the L2 cache, and the memory stands
//! behind that. The four operations of `device-bandwidth` are run over *working sets*
//! from tiny to many times the L2 cache, again and again: once such that a multiprocessor
//! always returns to its own share of the set, which its L1 cache may still hold, and
//! once such that it takes its neighbour's.
//!
//! **Prediction:** a set that fits into the L1 caches is read at least twice as fast as
//! one that fits only into the L2 cache, and that at least twice as fast as one that fits
//! into neither.

use std::process::ExitCode;

use cudarc::driver::CudaSlice;
use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as SHARED_MEMORY;
use lab::check::value;
use lab::launch::{blocks, threads};
use lab::{Case, Ceiling, Lab, Result};

// SAFETY: the kernels use the first `count` elements of each array, of 16 bytes. `read`
// writes a word for each thread; its threads are fewer than the words of an array.
lab::kernels! { unsafe "device-bandwidth" {
    fn walk["read_16x4", "write_16x4", "copy_16x4", "triad_16x4"](
        a: &CudaSlice<u32>, b: &CudaSlice<u32>, out: &mut CudaSlice<u32>,
        factor: u32, count: usize, passes: u32, shift: u32,
    );
} }

const ELEMENT_BYTES: usize = 16;
/// Words of an element.
const WORDS: usize = 4;
/// Elements that a thread asks for before it waits.
const LOADS: usize = 4;
/// Threads of a block that has a multiprocessor to itself.
const THREADS: usize = 1024;
/// Tiles of each block, of 64 KiB.
const TILES: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64, 112];
/// What one launch moves, about, so that it lasts.
const TRAFFIC: usize = 2 << 30;
const QUICK_TRAFFIC: usize = 128 << 20;
/// Word i of an array holds i times a factor; `value` has that of `a`.
const FACTOR: u32 = 2_654_435_761;
const FACTOR_OF_B: u32 = 2_246_822_519;
const FACTOR_OF_TRIAD: u32 = FACTOR.wrapping_add(FACTOR_OF_B.wrapping_mul(3));
/// The operations: how many arrays each reads and writes, the factor of what it writes,
/// and the shares that are tried.
const OPERATIONS: [(&str, usize, usize, u32, &[&str]); 4] = [
    ("read", 1, 0, 0, &["own", "next"]),
    ("write", 0, 1, FACTOR, &["own"]),
    ("copy", 1, 1, FACTOR, &["own"]),
    ("triad", 2, 1, FACTOR_OF_TRIAD, &["own"]),
];

fn main() -> ExitCode {
    let question = "How much faster is data that a cache holds?";
    lab::run("working-sets", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Three arrays of 16 times the L2 cache, or as much as there is room for.
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let l2_bytes = lab.l2_bytes();
    let most = (16 * l2_bytes).min(lab.free_bytes()? / 4) / ELEMENT_BYTES;
    let new_array = || stream.alloc_zeros(most * WORDS);
    let (mut a, mut b, mut out) = (new_array()?, new_array()?, new_array()?);
    for (array, factor) in [(&mut a, FACTOR), (&mut b, FACTOR_OF_B)] {
        let (name, grid) = ("write_16x4", threads(most.div_ceil(LOADS)));
        kernels.walk(name, &stream, grid, &out, &out, array, factor, most, 1, 0)?;
    }

    // 2. One block for each multiprocessor. The L1 cache has at least the room that
    //    shared memory could take from it.
    let multiprocessors = lab.multiprocessors();
    let l1_bytes =
        multiprocessors * lab.context().attribute(SHARED_MEMORY)? as usize;
    let grid = blocks(multiprocessors, THREADS);
    let traffic = if lab.quick() { QUICK_TRAFFIC } else { TRAFFIC };

    // ANCHOR: sets
    for (name, reads, writes, factor, shares) in OPERATIONS {
        let (kernel, name) = (format!("{name}_16x4"), format!("{name}_again"));
        for tiles in TILES {
            let count = tiles * multiprocessors * LOADS * THREADS;
            let set = count * ELEMENT_BYTES * (reads + writes);
            if count > most || set > 16 * l2_bytes || lab.quick() && tiles > 8 {
                continue;
            }
            let passes = (traffic / set).max(2);
            let moved = count * ELEMENT_BYTES * passes;
            // What a cache serves may be faster than the memory.
            let cold = set >= 4 * l2_bytes;
            let ceiling = if cold { Ceiling::DeviceMemory } else { Ceiling::None };
            for &share in shares {
                // 3. In each pass a block takes the share of the one `shift` further on.
                let shift = usize::from(share == "next");
                stream.memset_zeros(&mut out)?;
                let timed = Case::new(&name)
                    .with("share", share)
                    .with("bytes", set)
                    .reads(reads * moved)
                    .writes(writes * moved)
                    .ceiling(ceiling)
                    .footprint(set, l2_bytes)
                    .model("l1_bytes", l1_bytes as f64)
                    .time_on_gpu(lab, &stream, |_| {
                        let (passes, shift) = (passes as u32, shift as u32);
                        kernels.walk(
                            &kernel, &stream, grid, &a, &b, &mut out, FACTOR, count,
                            passes, shift,
                        )
                    })?;

                // 4. Every word must be what the operation makes of `a` and `b`; where it
                //    only reads, every thread must have added up what it has read.
                let once =
                    if writes == 0 { sums(tiles, multiprocessors) } else { vec![] };
                let of_pass =
                    |i, pass| once[(i + pass * shift * THREADS) % once.len()];
                let expected = |i: usize| match writes {
                    0 => (0..passes).fold(0, |sum: u32, pass| {
                        sum.wrapping_add(of_pass(i, pass))
                    }),
                    _ => (i as u32).wrapping_mul(factor),
                };
                let words = if writes == 0 { once.len() } else { count * WORDS };
                timed
                    .check_device(&stream, &out.slice(..words), expected)?
                    .record(lab)?;
            }
        }
    }
    // ANCHOR_END: sets
    Ok(())
}

/// What each thread adds up in its block's own share of so many tiles.
fn sums(tiles: usize, blocks: usize) -> Vec<u32> {
    let sum = |i: usize| {
        let (block, thread) = (i / THREADS, i % THREADS);
        let starts = (0..tiles).flat_map(|tile| {
            let first = (tile * blocks + block) * LOADS;
            (first..first + LOADS).map(|row| row * THREADS + thread)
        });
        let words =
            starts.flat_map(|element| element * WORDS..(element + 1) * WORDS);
        words.map(value).fold(0, u32::wrapping_add)
    };
    (0..blocks * THREADS).map(sum).collect()
}
