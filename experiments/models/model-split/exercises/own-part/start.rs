// Gives each GPU its part of the sum of all GPUs' gradients.

use std::ops::Range;

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

/// GPU `rank`'s part of `length` numbers.
pub fn part(length: usize, gpus: usize, rank: usize) -> Range<usize> {
    length * rank / gpus..length * (rank + 1) / gpus
}

pub fn reduce_scatter(
    gpus: &[Gpu],
    gradients: &[CudaSlice<f32>], // one on each GPU, of one length
    inboxes: &mut [CudaSlice<f32>], // one on each GPU, of the same length
    sums: &mut [CudaSlice<f32>],  // one on each GPU, as long as its part
) -> Result<()> {
    let (n, length) = (gpus.len(), gradients[0].len());
    for (rank, gpu) in gpus.iter().enumerate() {
        let own = part(length, n, rank);
        let first = gradients[rank].slice(own.clone());
        gpu.stream.memcpy_dtod(&first, &mut sums[rank])?;
        for step in 1..n {
            let from = (rank + step) % n;
            gpu.stream.memcpy_dtod(&gradients[from], &mut inboxes[rank])?;
            let inbox = inboxes[rank].slice(own.clone());
            let mut sum = sums[rank].as_view_mut();
            gpu.kernels.accumulate(&gpu.stream, &inbox, &mut sum)?;
        }
    }
    Ok(())
}
