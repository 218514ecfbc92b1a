// Copies pageable memory to the GPU through two halves of pinned memory.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream};
use trial::Result;

pub fn upload(
    stream: &Arc<CudaStream>,
    source: &[f32],
    halves: [&mut [f32]; 2],
    target: &mut CudaSlice<f32>,
) -> Result<()> {
    let most = halves[0].len();
    // The end of the last copy out of each half.
    let mut copied: [Option<CudaEvent>; 2] = [None, None];
    for (number, piece) in source.chunks_exact(most).enumerate() {
        if let Some(event) = &copied[number % 2] {
            event.synchronize()?;
        }
        let half = &mut halves[number % 2][..piece.len()];
        half.copy_from_slice(piece);
        let start = number * most;
        let mut place = target.slice_mut(start..start + piece.len());
        stream.memcpy_htod(half, &mut place)?;
        copied[number % 2] = Some(stream.record_event(None)?);
    }
    Ok(())
}
