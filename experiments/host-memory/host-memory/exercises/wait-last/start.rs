// Scales each array on the GPU, in a stream of its own.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn run(
    streams: &[Arc<CudaStream>],
    kernels: &Kernels,
    inputs: &[&[f32]],
    gpu: &mut [CudaSlice<f32>],
    factor: f32,
) -> Result<Vec<Vec<f32>>> {
    let mut results = vec![];
    for (number, stream) in streams.iter().enumerate() {
        let array = &mut gpu[number];
        stream.memcpy_htod(inputs[number], array)?;
        kernels.scale(stream, &mut array.as_view_mut(), factor)?;
        results.push(stream.clone_dtoh(array)?);
    }
    Ok(results)
}
