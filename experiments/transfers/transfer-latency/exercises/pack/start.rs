// Copies all pieces to the GPU, one behind the other, in one allocation.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::Result;

pub fn upload(
    stream: &Arc<CudaStream>,
    pieces: &[Vec<f32>],
) -> Result<CudaSlice<f32>> {
    let count = pieces.iter().map(|piece| piece.len()).sum();
    let mut all = stream.alloc_zeros(count)?;

    let mut start = 0;
    for piece in pieces {
        let end = start + piece.len();
        stream.memcpy_htod(piece, &mut all.slice_mut(start..end))?;
        start = end;
    }
    Ok(all)
}
