// Brings home what is on the GPU, and puts `new` in its place.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::Result;

pub fn swap(
    [up, down]: [&Arc<CudaStream>; 2],
    on_gpu: &mut CudaSlice<f32>,
    home: &mut [f32],
    new: &[f32],
) -> Result<()> {
    down.memcpy_dtoh(on_gpu, home)?;
    up.join(down)?; // the place is free now
    up.memcpy_htod(new, on_gpu)?;
    down.synchronize()?; // the host looks at home
    Ok(())
}
