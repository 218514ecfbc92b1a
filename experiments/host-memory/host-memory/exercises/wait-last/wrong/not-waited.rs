// Scales each array on the GPU, in a stream of its own.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result, pinned};

pub fn run(
    streams: &[Arc<CudaStream>],
    kernels: &Kernels,
    inputs: &[&[f32]],
    gpu: &mut [CudaSlice<f32>],
    factor: f32,
) -> Result<Vec<Vec<f32>>> {
    let mut homes = vec![];
    for (number, stream) in streams.iter().enumerate() {
        let array = &mut gpu[number];
        stream.memcpy_htod(inputs[number], array)?;
        kernels.scale(stream, &mut array.as_view_mut(), factor)?;
        let mut home = pinned(stream.context(), array.len(), |_| 0.0f32)?;
        stream.memcpy_dtoh(array, &mut home)?;
        homes.push(home);
    }
    homes.iter().map(|home| Ok(home.as_slice()?.to_vec())).collect()
}
