// Copies all pieces to the GPU, one behind the other, in one allocation.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::Result;

pub fn upload(
    stream: &Arc<CudaStream>,
    pieces: &[Vec<f32>],
) -> Result<CudaSlice<f32>> {
    // The host's memory is fast: packing costs far less than the copies that it saves.
    let packed = pieces.iter().rev().flatten().copied().collect::<Vec<_>>();
    Ok(stream.clone_htod(&packed)?)
}
