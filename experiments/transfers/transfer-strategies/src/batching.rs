//! Batching: what do 4 MiB cost in one copy, and what in pieces?

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, sys};
use lab::memory::pinned;
use lab::{Case, Ceiling, Lab, Result};

use crate::{KIB, MIB, WORD_BYTES, value};

const TOTAL: usize = 4 * MIB;

lab::words! {
    /// From which memory the pieces come, and in how many copies.
    enum Way {
        SeparatePinned = "separate_pinned",
        SeparatePageable = "separate_pageable",
        Gathered = "gathered",
        Batched = "batched",
    }
}

pub(crate) fn measure(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    // The pieces are scattered: between two of them is room for a third. Each turn takes
    // the next 8 MiB, so that the CPU's caches do not hold the pieces from the turn before.
    let turns = if lab.emulated() { 8 } else { 64 };
    let pinned_pool = pinned(lab.context(), turns * 2 * TOTAL / WORD_BYTES, value)?;
    let pinned_pool = pinned_pool.as_slice()?;
    let pageable_pool = pinned_pool.to_vec();
    let mut staging = pinned(lab.context(), TOTAL / WORD_BYTES, |_| 0.0)?;
    let mut device = stream.alloc_zeros::<f32>(TOTAL / WORD_BYTES)?;

    for piece_bytes in [4, 16, 64, 256, 1024, 4096].map(|size| size * KIB) {
        let (count, words) = (TOTAL / piece_bytes, piece_bytes / WORD_BYTES);
        let start = |turn, piece| ((turn % turns) * 2 * count + 2 * piece) * words;
        for (way, pool) in [
            (Way::SeparatePinned, pinned_pool),
            (Way::SeparatePageable, &pageable_pool),
            (Way::Gathered, &pageable_pool),
            (Way::Batched, pinned_pool),
        ] {
            let case = Case::new(way.name()).with("piece_bytes", piece_bytes);
            if way == Way::Batched && lab::gpu::cuda_version() < Some((12, 8)) {
                lab.skip(case, "the driver is older than CUDA 12.8");
                continue;
            }
            stream.memset_zeros(&mut device)?;
            let mut turn = 0;
            case.writes(TOTAL)
                .ceiling(Ceiling::HostLink)
                .time_on_host(lab, || {
                    turn += 1;
                    let pieces =
                        (0..count).map(|piece| &pool[start(turn, piece)..][..words]);
                    match way {
                        Way::Gathered => {
                            let staging = staging.as_mut_slice()?;
                            gathered(&stream, pieces, staging, &mut device)?;
                        }
                        Way::Batched => batched(&stream, pieces, &mut device)?,
                        Way::SeparatePinned | Way::SeparatePageable => {
                            separate(&stream, pieces, &mut device)?;
                        }
                    }
                    Ok(stream.synchronize()?)
                })?
                .check_device(&stream, &device, |i| {
                    value(start(turn, i / words) + i % words)
                })?
                .record(lab)?;
        }
    }
    Ok(())
}

// ANCHOR: separate
/// Piece after piece.
fn separate<'a>(
    stream: &Arc<CudaStream>,
    pieces: impl Iterator<Item = &'a [f32]>,
    device: &mut CudaSlice<f32>,
) -> Result<()> {
    for (i, piece) in pieces.enumerate() {
        let place = i * piece.len()..(i + 1) * piece.len();
        stream.memcpy_htod(piece, &mut device.slice_mut(place))?;
    }
    Ok(())
}
// ANCHOR_END: separate

// ANCHOR: gathered
/// All pieces with one copy, after a CPU core has gathered them.
fn gathered<'a>(
    stream: &Arc<CudaStream>,
    pieces: impl Iterator<Item = &'a [f32]>,
    staging: &mut [f32],
    device: &mut CudaSlice<f32>,
) -> Result<()> {
    for (i, piece) in pieces.enumerate() {
        staging[i * piece.len()..][..piece.len()].copy_from_slice(piece);
    }
    Ok(stream.memcpy_htod(staging, device)?)
}
// ANCHOR_END: gathered

/// All pieces with one call of the driver (CUDA 12.8 or later).
fn batched<'a>(
    stream: &Arc<CudaStream>,
    pieces: impl Iterator<Item = &'a [f32]>,
    device: &mut CudaSlice<f32>,
) -> Result<()> {
    let (mut place, _ordered) = device.device_ptr_mut(stream);
    let (mut to, mut from, mut sizes) = (vec![], vec![], vec![]);
    for piece in pieces {
        to.push(place);
        from.push(piece.as_ptr() as sys::CUdeviceptr);
        sizes.push(size_of_val(piece));
        place += size_of_val(piece) as u64;
    }
    // SAFETY: zeros are a valid value of all fields but the first, which is set.
    let mut attributes: sys::CUmemcpyAttributes = unsafe { std::mem::zeroed() };
    attributes.srcAccessOrder =
        sys::CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    let (mut first_copy, mut failed) = (0, usize::MAX);
    // SAFETY: three lists of equal length, of pinned sources and places within `device`;
    // one set of attributes, which counts from copy 0 on.
    unsafe {
        sys::cuMemcpyBatchAsync(
            to.as_mut_ptr(),
            from.as_mut_ptr(),
            sizes.as_mut_ptr(),
            sizes.len(),
            &mut attributes,
            &mut first_copy,
            1,
            &mut failed,
            stream.cu_stream(),
        )
    }
    .result()?;
    Ok(())
}
