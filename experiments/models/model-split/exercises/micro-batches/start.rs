// Sends a batch through the layers of all GPUs, one after the other.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

pub fn forward(
    gpus: &[Gpu],
    batch: &mut [CudaSlice<f32>], // one on each GPU, of one length; the first one is filled
    factors: &[f32],              // of each GPU's layer
) -> Result<()> {
    for (rank, gpu) in gpus.iter().enumerate() {
        if rank > 0 {
            let (before, from) = batch.split_at_mut(rank);
            gpu.stream.memcpy_dtod(&before[rank - 1], &mut from[0])?;
        }
        let mut own = batch[rank].as_view_mut();
        gpu.kernels.scale(&gpu.stream, &mut own, factors[rank])?;
    }
    Ok(())
}
