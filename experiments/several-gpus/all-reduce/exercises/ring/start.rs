// Replaces all GPUs' data by the sum of all of them.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

pub fn all_reduce(
    gpus: &[Gpu],
    data: &mut [CudaSlice<f32>], // one on each GPU, of one length
    inboxes: &mut [CudaSlice<f32>], // one on each GPU, for a chunk: length / n, rounded up
) -> Result<()> {
    let (first, others) = data.split_at_mut(1);
    let (gpu, sum, inbox) = (&gpus[0], &mut first[0], &mut inboxes[0]);
    let length = sum.len();
    for other in others.iter() {
        for start in (0..length).step_by(inbox.len()) {
            let chunk = start..length.min(start + inbox.len());
            let mut room = inbox.slice_mut(..chunk.len());
            gpu.stream.memcpy_dtod(&other.slice(chunk.clone()), &mut room)?;
            let mut sum = sum.slice_mut(chunk);
            gpu.kernels.accumulate(&gpu.stream, &room.as_view(), &mut sum)?;
        }
    }
    for (gpu, other) in gpus[1..].iter().zip(others) {
        gpu.stream.memcpy_dtod(sum, other)?;
    }
    Ok(())
}
