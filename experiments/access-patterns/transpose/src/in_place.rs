//! In place: two tiles that change places, in a square matrix and nothing else.

use std::sync::Arc;

use cudarc::driver::{CudaStream, LaunchConfig};
use lab::launch::blocks;
use lab::{Case, Lab, Result};

use crate::kernels::{Kernels, SIDE};
use crate::matrix::Matrix;

/// The blocks for a square matrix, each of two tiles.
pub(crate) fn grid(side: usize) -> LaunchConfig {
    let tiles = side.div_ceil(SIDE) as u32;
    LaunchConfig {
        grid_dim: (tiles / 2 + 1, tiles, 1),
        ..blocks(1, SIDE * SIDE / 16)
    }
}

/// Times it on several matrices in turn. Two transposes cancel out, so a matrix that was
/// turned an even number of times is turned once more before it is compared.
pub(crate) fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    case: Case,
    [before, after]: [&[u32]; 2],
    matrices: &mut [Matrix],
) -> Result<()> {
    for matrix in &mut *matrices {
        stream.memcpy_htod(before, matrix)?;
    }
    let side = before.len().isqrt();
    let (grid, side) = (grid(side), side as u32);
    let mut turns = vec![0; matrices.len()];
    let mut timed = case.time_on_gpu(lab, stream, |turn| {
        let next = turn % matrices.len();
        turns[next] += 1;
        kernels.in_place(stream, grid, &mut matrices[next], side)
    })?;
    for (matrix, turns) in matrices.iter_mut().zip(turns) {
        if turns % 2 == 0 {
            kernels.in_place(stream, grid, matrix, side)?;
        }
        timed = timed.check_device(stream, matrix, |i| after[i])?;
    }
    timed.record(lab)
}
