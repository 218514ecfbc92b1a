// Adds all GPUs' parts to `sum`, which is on the first GPU.

use cudarc::driver::CudaSlice;
use trial::peer_access;
use trial::{Gpu, Result, ensure};

pub fn add_up(
    gpus: &[Gpu],
    parts: &[CudaSlice<f32>], // one on each GPU, made in its stream
    sum: &mut CudaSlice<f32>,
) -> Result<()> {
    let first = &gpus[0];
    for (gpu, part) in gpus.iter().zip(parts) {
        if gpu.context != first.context {
            let access = peer_access::enable_context(&first.context, &gpu.context)?;
            ensure!(access.is_granted(), "{access:?}");
            first.stream.join(&gpu.stream)?; // the part has been made
        }
        first.kernels.accumulate(
            &first.stream,
            &part.as_view(),
            &mut sum.as_view_mut(),
        )?;
    }
    Ok(())
}
