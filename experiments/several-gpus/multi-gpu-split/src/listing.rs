//! The chapter's listing, with cudarc's names of today.

use std::ops::Range;

use lab::Result;
use rayon::prelude::*;

use crate::worker::{Worker, launch};

// ANCHOR: listing
/// Cuts `data` at the bounds, sends each device its chunk, runs the kernel there, and
/// merges what comes back.
pub(crate) fn listing(
    devices: &[Worker],
    data: &[u32],
    bounds: impl Fn(usize) -> Range<usize> + Sync,
) -> Result<Vec<u32>> {
    let results: Result<Vec<Vec<u32>>> = devices
        .par_iter()
        .enumerate()
        .map(|(i, device)| {
            let chunk = &data[bounds(i)];
            let d_chunk = device.stream.clone_htod(&chunk.to_vec())?;
            let mut d_result = device.stream.alloc_zeros(chunk.len())?;
            launch(
                &device.stream,
                &device.chain,
                &d_chunk,
                &mut d_result,
                chunk.len(),
                1,
            )?;
            Ok(device.stream.clone_dtoh(&d_result)?)
        })
        .collect();
    Ok(results?.into_iter().flatten().collect())
}

/// The bounds that the chapter prints.
pub(crate) fn printed(
    total: usize,
    devices: usize,
) -> impl Fn(usize) -> Range<usize> {
    let chunk_size = total / devices;
    move |i| i * chunk_size..(i + 1) * chunk_size
}
// ANCHOR_END: listing
