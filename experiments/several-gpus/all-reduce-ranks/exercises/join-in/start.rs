// Brings the gradient of a rank's next batch to `gradient`. Returns whether the rank then calls
// the all-reduce.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

pub fn turn(
    gpu: &Gpu,
    turn: usize,          // 0, 1, 2, …
    batches: &[Vec<f32>], // the gradients of this rank's
    _counts: &[usize],    // how many batches each rank has
    gradient: &mut CudaSlice<f32>,
) -> Result<bool> {
    let Some(batch) = batches.get(turn) else { return Ok(false) };
    gpu.stream.memcpy_htod(batch, gradient)?;
    Ok(true)
}
