// Copies the first GPU's data to all others.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

pub fn broadcast(
    gpus: &[Gpu],
    data: &mut [CudaSlice<f32>], // one on each GPU, all of the same length
) -> Result<()> {
    let mut have = 1;
    while have < gpus.len() {
        for rank in have..gpus.len().min(2 * have) {
            let (before, from) = data.split_at_mut(rank);
            gpus[rank].stream.memcpy_dtod(&before[rank - have], &mut from[0])?;
        }
        have *= 2;
    }
    Ok(())
}
