// Brings the gradient of a rank's next batch to `gradient`. Returns whether the rank then calls
// the all-reduce.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

pub fn turn(
    gpu: &Gpu,
    turn: usize,          // 0, 1, 2, …
    batches: &[Vec<f32>], // the gradients of this rank's
    counts: &[usize],     // how many batches each rank has
    gradient: &mut CudaSlice<f32>,
) -> Result<bool> {
    match batches.get(turn) {
        Some(batch) => gpu.stream.memcpy_htod(batch, gradient)?,
        // What is in there is the sum of the turn before, which would count again.
        None => gpu.stream.memset_zeros(gradient)?,
    }
    // The same on all ranks, since it depends on nothing of this rank's own.
    Ok(counts.iter().any(|count| turn < *count))
}
