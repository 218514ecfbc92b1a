// Sends batches through layers: each layer adds its weights to `x`.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, sys};
use trial::{Kernels, Result, anyhow};

pub fn run(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    layers: &[CudaSlice<f32>],
    batches: &[CudaSlice<f32>],
    x: &mut CudaSlice<f32>,
    results: &mut [CudaSlice<f32>],
) -> Result<()> {
    let mut graph = None;
    for (batch, result) in batches.iter().zip(results) {
        stream.memcpy_dtod(batch, x)?;
        if graph.is_none() {
            stream.begin_capture(
                sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            )?;
            for weights in layers {
                kernels.accumulate(
                    stream,
                    &weights.as_view(),
                    &mut x.as_view_mut(),
                )?;
            }
            graph = stream.end_capture(sys::CUgraphInstantiate_flags(0))?;
            continue;
        }
        graph.as_ref().ok_or_else(|| anyhow!("nothing was recorded"))?.launch()?;
        stream.memcpy_dtod(x, result)?;
    }
    Ok(())
}
