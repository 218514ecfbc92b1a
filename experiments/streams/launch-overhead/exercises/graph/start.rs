// Sends batches through layers: each layer adds its weights to `x`.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn run(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    layers: &[CudaSlice<f32>],
    batches: &[CudaSlice<f32>],
    x: &mut CudaSlice<f32>,
    results: &mut [CudaSlice<f32>],
) -> Result<()> {
    for (batch, result) in batches.iter().zip(results) {
        stream.memcpy_dtod(batch, x)?;
        for weights in layers {
            kernels.accumulate(stream, &weights.as_view(), &mut x.as_view_mut())?;
        }
        stream.memcpy_dtod(x, result)?;
    }
    Ok(())
}
