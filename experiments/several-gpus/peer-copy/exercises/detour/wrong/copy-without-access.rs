// Adds all GPUs' parts to `sum`, which is on the first GPU.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

pub fn add_up(
    gpus: &[Gpu],
    parts: &[CudaSlice<f32>], // one on each GPU, made in its stream
    sum: &mut CudaSlice<f32>,
) -> Result<()> {
    let first = &gpus[0];
    for (gpu, part) in gpus.iter().zip(parts) {
        let mut here = first.stream.alloc_zeros(part.len())?;
        first.stream.memcpy_dtod(part, &mut here)?;
        let part = here;
        first.kernels.accumulate(
            &first.stream,
            &part.as_view(),
            &mut sum.as_view_mut(),
        )?;
    }
    Ok(())
}
