//! One operation, over one set, again and again.

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as SHARED_MEMORY;
use lab::check::{self, value};
use lab::launch::blocks;
use lab::{Case, Ceiling, Lab, Result};

use crate::{Arrays, ELEMENT_BYTES, FACTOR, LOADS, Operation, THREADS, WORDS};

/// What one launch moves, about, so that it lasts.
const TRAFFIC: usize = 2 << 30;
const QUICK_TRAFFIC: usize = 128 << 20;

/// How a launch goes over a set.
struct Walk {
    kernel: String,
    /// Elements of the set.
    count: usize,
    blocks: usize,
    threads: usize,
    passes: usize,
    /// Shares by which a block moves on after each pass.
    shift: usize,
}

// ANCHOR: measure
/// Goes over a set of `tiles` tiles for each block, again and again.
pub(crate) fn measure(
    lab: &mut Lab,
    arrays: &mut Arrays,
    operation: &Operation,
    tiles: usize,
    shift: usize,
) -> Result<()> {
    let Operation { name, reads, writes, .. } = *operation;
    let (blocks, threads) = (arrays.blocks, THREADS);
    let count = tiles * blocks * LOADS * threads;
    let set_bytes = count * ELEMENT_BYTES * (reads + writes);
    let traffic = if lab.emulated() { QUICK_TRAFFIC } else { TRAFFIC };
    let passes = (traffic / set_bytes).max(2);
    let kernel = format!("{name}_16x4");
    let walk = Walk { kernel, count, blocks, threads, passes, shift };
    let moved = count * ELEMENT_BYTES * passes;
    let stream = arrays.stream.clone();
    stream.memset_zeros(&mut arrays.out)?;
    let timed = Case::new(&format!("{name}_again"))
        .with("share", if shift == 0 { "own" } else { "next" })
        .with("tiles", tiles)
        .with("bytes", set_bytes)
        .reads(reads * moved)
        .writes(writes * moved)
        .ceiling(ceiling(lab, set_bytes))
        .footprint(set_bytes, lab.l2_bytes())
        .model("l1_bytes", l1_bytes(lab)? as f64)
        .time_on_gpu(lab, &stream, |_| launch(arrays, &walk))?;
    timed.checked(compare(arrays, operation, &walk)?).record(lab)
}
// ANCHOR_END: measure

/// Checks an operation on a set that no tile divides, in several passes with few blocks.
pub(crate) fn check_ragged(
    arrays: &mut Arrays,
    operation: &Operation,
) -> Result<()> {
    let room = arrays.out.len() / WORDS;
    let count = check::ragged(room);
    let kernel = format!("{}_16x4", operation.name);
    let walk = Walk { kernel, count, blocks: 7, threads: 96, passes: 3, shift: 1 };
    arrays.stream.memset_zeros(&mut arrays.out)?;
    launch(arrays, &walk)?;
    compare(arrays, operation, &walk).map(drop)
}

fn launch(arrays: &mut Arrays, walk: &Walk) -> Result<()> {
    let Walk { ref kernel, count, threads, passes, shift, .. } = *walk;
    let Arrays { stream, kernels, a, b, out, .. } = arrays;
    let grid = blocks(walk.blocks, threads);
    let (passes, shift) = (passes as u32, shift as u32);
    kernels.walk(kernel, stream, grid, a, b, out, FACTOR, count, passes, shift)
}

/// Compares what an operation wrote, or what each thread added up; returns how many words
/// that is.
fn compare(arrays: &Arrays, operation: &Operation, walk: &Walk) -> Result<u64> {
    let Walk { count, blocks, threads, passes, shift, .. } = *walk;
    let is_read = operation.writes == 0;
    let words = if is_read { blocks * threads } else { count * WORDS };
    if !is_read {
        // Every word must be what the operation makes of `a` and `b`.
        let expected = |i: usize| (i as u32).wrapping_mul(operation.factor);
        return check::output("out", &arrays.stream, &arrays.out, words, expected);
    }
    // In each pass a thread adds up its part of another block's share.
    let shares = shares(count, blocks, threads);
    let of_pass = |i, pass| shares[(i + pass * shift * threads) % shares.len()];
    let expected =
        |i| (0..passes).map(|pass| of_pass(i, pass)).fold(0, u32::wrapping_add);
    check::output("sum", &arrays.stream, &arrays.out, words, expected)
}

/// What bounds the bandwidth: a cache may deliver a small set faster than the memory.
fn ceiling(lab: &Lab, set_bytes: usize) -> Ceiling {
    if set_bytes < 4 * lab.l2_bytes() {
        return Ceiling::None;
    }
    Ceiling::DeviceMemory
}

/// Bytes of all L1 caches together. One has at least the room that shared memory
/// could take from it.
fn l1_bytes(lab: &Lab) -> Result<usize> {
    Ok(lab.multiprocessors() * lab.context().attribute(SHARED_MEMORY)? as usize)
}

/// What each thread adds up in its block's own share of `count` elements.
fn shares(count: usize, blocks: usize, threads: usize) -> Vec<u32> {
    let tile = LOADS * threads;
    let sum = |i: usize| {
        let (block, thread) = (i / threads, i % threads);
        let tiles = (block * tile..count).step_by(blocks * tile);
        let starts = tiles.flat_map(|at| (at..at + tile).step_by(threads));
        let elements = starts.map(|start| start + thread).filter(|e| *e < count);
        let words = elements.flat_map(|e| e * WORDS..(e + 1) * WORDS);
        words.map(value).fold(0, u32::wrapping_add)
    };
    (0..blocks * threads).map(sum).collect()
}
