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
    // As long as the longest batch; the others use a part of it.
    let Some(most) = batches.iter().map(CudaSlice::len).max() else {
        return Ok(());
    };
    let mut scratch = stream.alloc_zeros::<f32>(most)?;
    for (batch, result) in batches.iter().zip(results) {
        let bias = bias.slice(..batch.len());
        let mut part = scratch.slice_mut(..batch.len());
        kernels.add(stream, &batch.as_view(), &bias, &mut part)?;
        let part = scratch.slice(..batch.len());
        kernels.accumulate(stream, &part, &mut result.as_view_mut())?;
    }
    Ok(())
}
