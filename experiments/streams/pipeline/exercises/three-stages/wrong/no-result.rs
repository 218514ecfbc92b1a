// Adds `weights` to each chunk of an array: pairs of buffers take turns.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice};
use trial::{Kernels, Result};

pub fn add_weights(
    context: &Arc<CudaContext>,
    kernels: &Kernels,
    weights: &CudaSlice<f32>,
    input: &[f32],      // pinned
    output: &mut [f32], // pinned
    arriving: &mut [CudaSlice<f32>; 2],
    leaving: &mut [CudaSlice<f32>; 2],
) -> Result<()> {
    let up = context.new_stream()?;
    let compute = context.new_stream()?;
    let down = context.new_stream()?;
    // For each buffer, when the stage behind was last done with it.
    let read = [compute.record_event(None)?, compute.record_event(None)?];
    let gone = [down.record_event(None)?, down.record_event(None)?];
    let length = weights.len();
    let chunks = input.chunks(length).zip(output.chunks_mut(length));
    for (turn, (from, to)) in chunks.enumerate() {
        let (pair, count) = (turn % 2, from.len());
        let (weights, mut data, mut result) = (
            weights.slice(..count),
            arriving[pair].slice_mut(..count),
            leaving[pair].slice_mut(..count),
        );
        up.wait(&read[pair])?;
        up.memcpy_htod(from, &mut data)?;

        compute.join(&up)?;
        compute.wait(&gone[pair])?;
        kernels.add(&compute, &data.as_view(), &weights, &mut result)?;
        read[pair].record(&compute)?;

        down.memcpy_dtoh(&result, to)?;
        gone[pair].record(&down)?;
    }
    down.synchronize()?; // it has waited for all others
    Ok(())
}
