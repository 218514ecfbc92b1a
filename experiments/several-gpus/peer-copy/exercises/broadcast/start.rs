// Copies the first GPU's data to all others.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

pub fn broadcast(
    gpus: &[Gpu],
    data: &mut [CudaSlice<f32>], // one on each GPU, all of the same length
) -> Result<()> {
    let (first, others) = data.split_at_mut(1);
    for (gpu, target) in gpus[1..].iter().zip(others) {
        gpu.stream.memcpy_dtod(&first[0], target)?;
    }
    Ok(())
}
