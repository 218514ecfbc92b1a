// Doubles all numbers, which are in pinned memory, on all GPUs.

use trial::{Gpu, Result};

pub fn double(gpus: &[Gpu], numbers: &mut [f32]) -> Result<()> {
    let length = numbers.len() / gpus.len();
    if length == 0 {
        return Ok(());
    }
    for (rank, gpu) in gpus.iter().enumerate() {
        let piece = &mut numbers[rank * length..(rank + 1) * length];
        let mut memory = gpu.stream.clone_htod(piece)?;
        gpu.kernels.scale(&gpu.stream, &mut memory.as_view_mut(), 2.0)?;
        gpu.stream.memcpy_dtoh(&memory, piece)?;
    }
    for gpu in gpus {
        gpu.stream.synchronize()?;
    }
    Ok(())
}
