//! One operation, over one set, again and again.

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as SHARED_MEMORY;
use lab::check::value;
use lab::launch::blocks;
use lab::{Case, Ceiling, Lab, Result};

use crate::{ELEMENT_BYTES, FACTOR, Gpu, LOADS, Operation, THREADS, WORDS};

/// What one launch moves, about, so that it lasts.
const TRAFFIC: usize = 2 << 30;
const QUICK_TRAFFIC: usize = 128 << 20;

// ANCHOR: measure
/// Goes over a set of so many tiles for each block, again and again. In each
/// pass a block takes the share that is `shift` further on.
pub(crate) fn measure(
    lab: &mut Lab,
    gpu: &mut Gpu,
    operation: &Operation,
    tiles: usize,
    shift: usize,
) -> Result<()> {
    let Operation { name, reads, writes, factor } = *operation;
    let Gpu { stream, kernels, a, b, out, blocks: multiprocessors } = gpu;
    let (multiprocessors, kernel) = (*multiprocessors, format!("{name}_16x4"));
    let count = tiles * multiprocessors * LOADS * THREADS;
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
            let grid = blocks(multiprocessors, THREADS);
            let (n, passes, shift) = (count, passes as u32, shift as u32);
            kernels.walk(&kernel, stream, grid, a, b, out, FACTOR, n, passes, shift)
        })?;

    if writes > 0 {
        // Every word must be what the operation makes of `a` and `b`.
        let words = out.slice(..count * WORDS);
        let expected = |i: usize| (i as u32).wrapping_mul(factor);
        return timed.check_device(stream, &words, expected)?.record(lab);
    }
    // Every thread must have added up what it read: in each pass the share of
    // the block that is `shift` further on.
    let sums = sums(tiles, multiprocessors);
    let of_pass = |i, pass| sums[(i + pass * shift * THREADS) % sums.len()];
    let expected =
        |i| (0..passes).map(|pass| of_pass(i, pass)).fold(0, u32::wrapping_add);
    timed.check_device(stream, &out.slice(..sums.len()), expected)?.record(lab)
}
// ANCHOR_END: measure

/// What bounds the bandwidth: a cache may deliver a small set faster than the memory.
fn ceiling(lab: &Lab, set_bytes: usize) -> Ceiling {
    if set_bytes < 4 * lab.l2_bytes() {
        return Ceiling::None;
    }
    Ceiling::DeviceMemory
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
