// Doubles all numbers, which are in pinned memory, on all GPUs.

use trial::{Gpu, Result};

pub fn double(gpus: &[Gpu], numbers: &mut [f32]) -> Result<()> {
    // Rounded up: the last piece is shorter, and there may be fewer pieces than GPUs.
    let length = numbers.len().div_ceil(gpus.len());
    for (gpu, piece) in gpus.iter().zip(numbers.chunks_mut(length)) {
        let mut memory = gpu.stream.clone_htod(piece)?;
        gpu.kernels.scale(&gpu.stream, &mut memory.as_view_mut(), 2.0)?;
        gpu.stream.memcpy_dtoh(&memory, piece)?;
    }
    Ok(())
}
