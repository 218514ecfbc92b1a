//! The chapter's listing, with today's names of cudarc.

use std::ops::Range;

use lab::check::{repeated, value};
use lab::{Case, Lab, Result};
use rayon::prelude::*;

use crate::LIGHT;
use crate::team::Team;
use crate::worker::{FACTOR, Worker, grid, piece};

// ANCHOR: listing
/// Cuts `data` at the bounds, sends each device its chunk, runs the kernel there, and
/// merges what comes back.
fn listing(
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
            let (stream, count) = (&device.stream, chunk.len());
            let (from, to) = (&d_chunk, &mut d_result);
            device.kernels.chain(
                stream,
                grid(count),
                from,
                to,
                count,
                LIGHT,
                FACTOR,
            )?;
            Ok(device.stream.clone_dtoh(&d_result)?)
        })
        .collect();
    Ok(results?.into_iter().flatten().collect())
}

// ANCHOR: printed
/// The bounds that the chapter prints.
fn printed(total: usize, devices: usize) -> impl Fn(usize) -> Range<usize> {
    let chunk_size = total / devices;
    move |i| i * chunk_size..(i + 1) * chunk_size
}
// ANCHOR_END: printed
// ANCHOR_END: listing

/// Times the listing. As printed, it may leave out the last elements.
pub(crate) fn measure(
    lab: &mut Lab,
    team: &Team,
    code: &str,
    data: &[u32],
) -> Result<()> {
    let (total, after) = (data.len(), repeated(FACTOR, 1, LIGHT));
    for gpus in team.sizes(false) {
        let workers = &team.workers[..gpus];
        let case = team.sized(Case::new("listing"), gpus).with("code", code);
        let case = case.with("host", "threads").with("elements", total);
        let mut result = vec![];
        let timed = case.time_on_host(lab, || {
            result = match code {
                "printed" => listing(workers, data, printed(total, gpus)),
                "corrected" => listing(workers, data, |i| piece(total, gpus, i)),
                other => unreachable!("{other}"),
            }?;
            Ok(())
        })?;
        let missing = (total - result.len()) as f64;
        timed
            .note(|case, ()| Ok(case.model("elements_missing", missing)))?
            .check(&result, |i| after(value(i)))?
            .record(lab)?;
    }
    Ok(())
}
