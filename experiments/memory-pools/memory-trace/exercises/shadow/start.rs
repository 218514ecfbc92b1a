// Sends the input through all layers, and returns the last one's output.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn forward(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    input: &[f32],
    biases: &[CudaSlice<f32>],
) -> Result<CudaSlice<f32>> {
    let data = stream.clone_htod(input)?;
    let data = layer(stream, kernels, &data, &biases[0])?;
    let data = layer(stream, kernels, &data, &biases[1])?;
    let data = layer(stream, kernels, &data, &biases[2])?;
    let data = layer(stream, kernels, &data, &biases[3])?;
    let data = layer(stream, kernels, &data, &biases[4])?;
    let data = layer(stream, kernels, &data, &biases[5])?;
    Ok(data)
}

fn layer(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    data: &CudaSlice<f32>,
    bias: &CudaSlice<f32>,
) -> Result<CudaSlice<f32>> {
    // SAFETY: the kernel writes all of it.
    let mut output = unsafe { stream.alloc(data.len()) }?;
    kernels.add(
        stream,
        &data.as_view(),
        &bias.as_view(),
        &mut output.as_view_mut(),
    )?;
    Ok(output)
}
