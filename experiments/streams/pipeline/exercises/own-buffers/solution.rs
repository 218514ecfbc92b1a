// Adds `weights` to each chunk of an array: each chunk has buffers to itself.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice};
use trial::{Kernels, Result};

pub fn add_weights(
    context: &Arc<CudaContext>,
    kernels: &Kernels,
    weights: &CudaSlice<f32>,
    input: &[f32],      // pinned
    output: &mut [f32], // pinned
    arriving: &mut [CudaSlice<f32>], // one for each chunk
    leaving: &mut [CudaSlice<f32>],  // and another
) -> Result<()> {
    let up = context.new_stream()?;
    let compute = context.new_stream()?;
    let down = context.new_stream()?;
    let length = weights.len();
    let chunks = input.chunks(length).zip(output.chunks_mut(length));
    for (turn, (from, to)) in chunks.enumerate() {
        let weights = weights.slice(..from.len());
        let mut data = arriving[turn].slice_mut(..from.len());
        let mut result = leaving[turn].slice_mut(..from.len());
        up.memcpy_htod(from, &mut data)?;
        compute.join(&up)?; // its data are there
        kernels.add(&compute, &data.as_view(), &weights, &mut result)?;
        down.join(&compute)?; // its results are there
        down.memcpy_dtoh(&result, to)?;
    }
    down.synchronize()?; // it has waited for all others
    Ok(())
}
