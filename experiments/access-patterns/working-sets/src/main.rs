//! # How much faster is data that a cache holds?
//!
//! Page: `book/src/access-patterns/working-sets.md`, whose section *The experiment* shows
//! `measure`.
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

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as SHARED_MEMORY;
use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::value;
use lab::launch::{blocks, threads};
use lab::{Case, Ceiling, Lab, Result};
use std::process::ExitCode;
use std::sync::Arc;

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
/// The operations: how many arrays each reads and writes, and the factor of what it writes.
const OPERATIONS: [(&str, usize, usize, u32); 4] = [
    ("read", 1, 0, 0),
    ("write", 0, 1, FACTOR),
    ("copy", 1, 1, FACTOR),
    ("triad", 2, 1, FACTOR_OF_TRIAD),
];

/// The arrays, the kernels, and how many blocks run: one on each multiprocessor.
struct Gpu {
    stream: Arc<CudaStream>,
    kernels: Kernels,
    a: CudaSlice<u32>,
    b: CudaSlice<u32>,
    out: CudaSlice<u32>,
    blocks: usize,
}

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
    let (mut a, mut b, out) = (new_array()?, new_array()?, new_array()?);
    for (array, factor) in [(&mut a, FACTOR), (&mut b, FACTOR_OF_B)] {
        let (name, grid) = ("write_16x4", threads(most.div_ceil(LOADS)));
        kernels.walk(name, &stream, grid, &out, &out, array, factor, most, 1, 0)?;
    }
    let mut gpu = Gpu { stream, kernels, a, b, out, blocks: lab.multiprocessors() };

    let largest_tiles = if lab.quick() { 8 } else { usize::MAX };

    // 2. Every operation on sets of every size; reads of the next block's share, too.
    for operation in OPERATIONS {
        let (name, reads, writes, _) = operation;
        for tiles in TILES.into_iter().filter(|tiles| *tiles <= largest_tiles) {
            let count = tiles * gpu.blocks * LOADS * THREADS;
            let set_bytes = count * ELEMENT_BYTES * (reads + writes);
            if count <= most && set_bytes <= 16 * l2_bytes {
                measure(lab, &mut gpu, operation, tiles, 0)?;
                if name == "read" {
                    measure(lab, &mut gpu, operation, tiles, 1)?;
                }
            }
        }
    }
    Ok(())
}

// ANCHOR: measure
/// Goes over a set again and again. In each pass a block takes the share of the one that is
/// `shift` further on.
fn measure(
    lab: &mut Lab,
    gpu: &mut Gpu,
    (name, reads, writes, factor): (&str, usize, usize, u32),
    tiles: usize,
    shift: usize,
) -> Result<()> {
    let Gpu { stream, kernels, a, b, out, blocks: multiprocessors } = gpu;
    let count = tiles * *multiprocessors * LOADS * THREADS;
    let set_bytes = count * ELEMENT_BYTES * (reads + writes);
    let traffic = if lab.quick() { QUICK_TRAFFIC } else { TRAFFIC };
    let passes = (traffic / set_bytes).max(2);
    let moved = count * ELEMENT_BYTES * passes;
    stream.memset_zeros(out)?;
    let timed = Case::new(&format!("{name}_again"))
        .with("share", if shift == 0 { "own" } else { "next" })
        .with("bytes", set_bytes)
        .reads(reads * moved)
        .writes(writes * moved)
        .ceiling(ceiling(lab, set_bytes))
        .footprint(set_bytes, lab.l2_bytes())
        .model("l1_bytes", l1_bytes(lab)? as f64)
        .time_on_gpu(lab, stream, |_| {
            let (kernel, grid) =
                (format!("{name}_16x4"), blocks(*multiprocessors, THREADS));
            let (passes, shift) = (passes as u32, shift as u32);
            kernels
                .walk(&kernel, stream, grid, a, b, out, FACTOR, count, passes, shift)
        })?;

    // Every word must be what the operation makes of `a` and `b`; where it only reads,
    // every thread must have added up what it has read.
    let words = if writes > 0 { count * WORDS } else { *multiprocessors * THREADS };
    let sums = if writes > 0 { vec![] } else { sums(tiles, *multiprocessors) };
    let expected = |i: usize| match writes {
        0 => (0..passes)
            .map(|pass| sums[(i + pass * shift * THREADS) % sums.len()])
            .fold(0, u32::wrapping_add),
        _ => (i as u32).wrapping_mul(factor),
    };
    timed.check_device(stream, &out.slice(..words), expected)?.record(lab)
}
// ANCHOR_END: measure

/// What bounds the bandwidth: a cache may deliver a small set faster than the memory.
fn ceiling(lab: &Lab, set_bytes: usize) -> Ceiling {
    if set_bytes >= 4 * lab.l2_bytes() {
        Ceiling::DeviceMemory
    } else {
        Ceiling::None
    }
}

/// Of all multiprocessors together. The L1 cache has at least the room that shared memory
/// could take from it.
fn l1_bytes(lab: &Lab) -> Result<usize> {
    Ok(lab.multiprocessors() * lab.context().attribute(SHARED_MEMORY)? as usize)
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
