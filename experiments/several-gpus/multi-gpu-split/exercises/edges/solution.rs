// Adds to each number its right neighbour, `steps` times. Begins and ends in `now`.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

pub fn smooth(
    gpus: &[Gpu],
    now: &mut [CudaSlice<f32>], // on each GPU its piece, and the edge behind it:
    next: &mut [CudaSlice<f32>], // the first number of the next piece, or 0 at the end
    steps: usize,
) -> Result<()> {
    for _ in 0..steps {
        for (rank, gpu) in gpus.iter().enumerate() {
            let count = now[rank].len() - 1;
            let (here, right) = (now[rank].slice(..count), now[rank].slice(1..));
            let mut sums = next[rank].slice_mut(..count);
            gpu.kernels.add(&gpu.stream, &here, &right, &mut sums)?;
        }
        for (rank, gpu) in gpus.iter().enumerate().skip(1) {
            let (left, own) = next.split_at_mut(rank);
            let left = &mut left[rank - 1];
            let behind = left.len() - 1;
            // Waits until the edge has been computed, and is in order with whoever reads it.
            let receiver = &gpus[rank - 1].stream;
            receiver
                .memcpy_dtod(&own[0].slice(..1), &mut left.slice_mut(behind..))?;
            gpu.stream.join(receiver)?; // this edge may be written again
        }
        now.swap_with_slice(next);
    }
    Ok(())
}
