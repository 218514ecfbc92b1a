// Adds batch + bias to each result, by way of scratch memory.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn run(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    batches: &[CudaSlice<f32>],
    bias: &CudaSlice<f32>,
    results: &mut [CudaSlice<f32>],
) -> Result<()> {
    for (batch, result) in batches.iter().zip(results) {
        let bias = bias.slice(..batch.len());
        let mut scratch = stream.alloc_zeros::<f32>(batch.len())?;
        kernels.add(stream, &batch.as_view(), &bias, &mut scratch.as_view_mut())?;
        kernels.accumulate(stream, &scratch.as_view(), &mut result.as_view_mut())?;
    }
    Ok(())
}
