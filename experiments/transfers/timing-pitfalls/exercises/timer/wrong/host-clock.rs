// Multiplies numbers on the GPU. Returns the product, and how many milliseconds the kernel took.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn timed(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    numbers: &[f32],
) -> Result<(CudaSlice<f32>, f32)> {
    let start = Instant::now();
    let mut data = stream.clone_htod(numbers)?;
    kernels.scale(stream, &mut data.as_view_mut(), 2.0)?;
    stream.synchronize()?;
    let time = start.elapsed();
    Ok((data, time.as_secs_f32() * 1e3))
}
