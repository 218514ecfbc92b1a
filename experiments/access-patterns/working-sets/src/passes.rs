//! One operation, over one set, again and again.

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE as CLOCK_RATE;
use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as SHARED_MEMORY;
use lab::check::{self, value};
use lab::launch;
use lab::{Case, Ceiling, Lab, Result};

use crate::{Arrays, ELEMENT_BYTES, FACTOR, LOADS, Operation, THREADS, WORDS};

/// What one launch moves, about, so that it lasts.
const TRAFFIC: usize = 2 << 30;
const QUICK_TRAFFIC: usize = 128 << 20;
/// The same of the kernel that reads fastest.
const LEAN_TRAFFIC: usize = 16 << 30;
/// Bytes that an L1 cache delivers in a cycle at most, from compute capability 7.0 on.
const L1_BYTES_A_CYCLE: usize = 128;

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

/// Reads a set of `tiles` tiles for each block with as few instructions as it takes, so often that
/// the first pass, which fills the caches, is a small part.
pub(crate) fn lean(lab: &mut Lab, arrays: &mut Arrays, tiles: usize) -> Result<()> {
    let (blocks, threads) = (arrays.blocks, THREADS);
    let count = tiles * blocks * LOADS * threads;
    let set_bytes = count * ELEMENT_BYTES;
    let traffic = if lab.emulated() { QUICK_TRAFFIC } else { LEAN_TRAFFIC };
    let passes = (traffic / set_bytes).max(2);
    let (share, stream) = (tiles * LOADS * threads, arrays.stream.clone());
    stream.memset_zeros(&mut arrays.out)?;
    let timed = Case::new("lean_again")
        .with("tiles", tiles)
        .with("bytes", set_bytes)
        .reads(set_bytes * passes)
        .ceiling(Ceiling::None)
        .footprint(set_bytes, lab.l2_bytes())
        .model("l1_peak", l1_peak(lab)?)
        .time_on_gpu(lab, &stream, |_| {
            let Arrays { stream, kernels, a, out, .. } = &mut *arrays;
            let grid = launch::blocks(blocks, threads);
            kernels.read_lean(stream, grid, a, out, share as u32, passes as u32)
        })?;
    // A block's share is in one piece, of which each thread has every 1,024th element.
    let sum = |i: usize| {
        let (first, end) =
            (i / threads * share + i % threads, (i / threads + 1) * share);
        let elements = (first..end).step_by(threads);
        let words = elements.flat_map(|e| e * WORDS..(e + 1) * WORDS);
        let of_pass = words.map(value).fold(0, u32::wrapping_add);
        of_pass.wrapping_mul(passes as u32)
    };
    let words = blocks * threads;
    timed
        .checked(check::output("sum", &stream, &arrays.out, words, sum)?)
        .record(lab)
}

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
    let grid = launch::blocks(walk.blocks, threads);
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

/// Bytes that all L1 caches together deliver in a second at most, at the highest clock.
fn l1_peak(lab: &Lab) -> Result<f64> {
    let clock_khz = lab.context().attribute(CLOCK_RATE)?;
    Ok(1000.0
        * f64::from(clock_khz)
        * (L1_BYTES_A_CYCLE * lab.multiprocessors()) as f64)
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
