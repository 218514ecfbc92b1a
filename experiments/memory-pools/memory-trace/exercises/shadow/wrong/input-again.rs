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
    let mut data = stream.clone_htod(input)?;
    for bias in biases {
        let first = stream.clone_htod(input)?;
        data = layer(stream, kernels, &first, bias)?;
    }
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
