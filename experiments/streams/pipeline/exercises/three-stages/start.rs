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
    let streams = [context.new_stream()?, context.new_stream()?];
    let length = weights.len();
    let chunks = input.chunks(length).zip(output.chunks_mut(length));
    for (turn, (from, to)) in chunks.enumerate() {
        let (pair, count) = (turn % 2, from.len());
        let stream = &streams[pair];
        let (weights, mut data, mut result) = (
            weights.slice(..count),
            arriving[pair].slice_mut(..count),
            leaving[pair].slice_mut(..count),
        );
        stream.memcpy_htod(from, &mut data)?;
        kernels.add(stream, &data.as_view(), &weights, &mut result)?;
        stream.memcpy_dtoh(&result, to)?;
    }
    for stream in &streams {
        stream.synchronize()?;
    }
    Ok(())
}
