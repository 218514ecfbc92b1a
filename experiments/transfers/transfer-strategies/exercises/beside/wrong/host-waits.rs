// Returns factor * a + b, computed on the GPU. `gpu` is memory for a, b and the sums.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn scale_and_add(
    [stream, copies]: [&Arc<CudaStream>; 2],
    kernels: &Kernels,
    [a, b]: [&[f32]; 2],
    gpu: &mut [CudaSlice<f32>; 3],
    factor: f32,
) -> Result<Vec<f32>> {
    let [on_gpu_a, on_gpu_b, sums] = gpu;
    stream.memcpy_htod(a, on_gpu_a)?;
    copies.memcpy_htod(b, on_gpu_b)?;
    copies.synchronize()?;
    kernels.scale(stream, &mut on_gpu_a.as_view_mut(), factor)?;
    kernels.add(
        stream,
        &on_gpu_a.as_view(),
        &on_gpu_b.as_view(),
        &mut sums.as_view_mut(),
    )?;

    let sums = stream.clone_dtoh(sums)?;
    stream.synchronize()?;
    Ok(sums)
}
