// Copies the first GPU's data to all others.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

/// With 8 GPUs the last piece arrives 6 steps after the first GPU has sent it.
const PIECES: usize = 1;

pub fn broadcast(
    gpus: &[Gpu],
    data: &mut [CudaSlice<f32>], // one on each GPU, all of the same length
) -> Result<()> {
    let count = data[0].len();
    let length = count.div_ceil(PIECES);
    // Piece by piece: when a GPU is told to receive one, its stream ends with the one before.
    for start in (0..count).step_by(length) {
        let piece = start..count.min(start + length);
        for rank in 1..gpus.len() {
            let (before, from) = data.split_at_mut(rank);
            let source = before[rank - 1].slice(piece.clone());
            let mut target = from[0].slice_mut(piece.clone());
            gpus[rank].stream.memcpy_dtod(&source, &mut target)?;
        }
    }
    Ok(())
}
