//! Rows: a softmax needs a row's largest number before its sum, and the sum before its
//! results. A kernel for each, one kernel that walks along the row three times, or one that
//! reads it once.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::launch::blocks;
use lab::{Case, Lab, Result, check};
use rayon::prelude::*;

use crate::chain::Kernels;
use crate::layer::near;

/// No multiple of the 256 threads of a block.
const COLUMNS: usize = 4000;
const THREADS: usize = 256;
/// The largest error, as a share of what is right.
const TOLERANCE: f32 = 1e-4;
/// What each way reads of the array, in arrays, as its kernels ask for it.
const WAYS: [(&str, usize); 3] =
    [("three_kernels", 3), ("three_walks", 3), ("kept", 1)];

pub(crate) fn measure(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let rows = (4 * lab.l2_bytes() / size_of::<f32>()).div_ceil(COLUMNS);
    let numbers = rows * COLUMNS;
    let bytes = numbers * size_of::<f32>();
    let kernels = Kernels::load(lab)?;

    // 1. Inputs from 0 to 50, and in every third row from 100 to 150: there the sum is
    //    infinite if the largest number is not taken off first.
    let input: Vec<f32> = (0..numbers)
        .into_par_iter()
        .map(|i| {
            50.0 * (check::value(i) as f32 / 2f32.powi(32)) + offset(i / COLUMNS)
        })
        .collect();
    let rows_of_input = input.par_chunks_exact(COLUMNS);
    let right: Vec<f32> = rows_of_input.flat_map_iter(softmax).collect();
    let x = stream.clone_htod(&input)?;
    let mut out = stream.alloc_zeros::<f32>(numbers)?;
    let (mut most, mut total) =
        (stream.alloc_zeros(rows)?, stream.alloc_zeros(rows)?);

    for (way, reads) in WAYS {
        stream.memset_zeros(&mut out)?;
        let (grid, columns) = (blocks(rows, THREADS), COLUMNS as i32);
        let timed = Case::new("softmax")
            .with("kind", way)
            .with("columns", COLUMNS)
            .reads(reads * bytes)
            .writes(bytes)
            .footprint(2 * bytes, lab.l2_bytes())
            .time_on_gpu(lab, stream, |_| match way {
                "three_kernels" => {
                    kernels.row_largest(stream, grid, &x, &mut most, columns)?;
                    kernels.row_sum(stream, grid, &x, &most, &mut total, columns)?;
                    kernels.row_divide(
                        stream, grid, &x, &most, &total, &mut out, columns,
                    )
                }
                "three_walks" => kernels.softmax(
                    "softmax_walks",
                    stream,
                    grid,
                    &x,
                    &mut out,
                    columns,
                ),
                "kept" => kernels.softmax(
                    "softmax_kept",
                    stream,
                    grid,
                    &x,
                    &mut out,
                    columns,
                ),
                other => unreachable!("{other}"),
            })?;
        let got = stream.clone_dtoh(&out)?;
        timed
            .check(&got, near(&got, |i| right[i], |right| TOLERANCE * right))?
            .record(lab)?;
    }
    Ok(())
}

fn offset(row: usize) -> f32 {
    if row.is_multiple_of(3) { 100.0 } else { 0.0 }
}

fn softmax(row: &[f32]) -> Vec<f32> {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = row.iter().map(|x| f64::from(x - most).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|power| (power / total) as f32).collect()
}
