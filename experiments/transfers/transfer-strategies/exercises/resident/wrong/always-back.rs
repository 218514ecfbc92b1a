// Multiplies all numbers by each factor in turn, on the GPU.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use trial::{Kernels, Result};

pub fn steps(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    data: &mut [f32],
    factors: &[f32],
) -> Result<()> {
    let mut array = stream.clone_htod(data)?;
    for factor in factors {
        kernels.scale(stream, &mut array.as_view_mut(), *factor)?;
        stream.memcpy_dtoh(&array, data)?;
        stream.synchronize()?;
    }
    Ok(())
}
