// Doubles all numbers, which are in pinned memory, on all GPUs.

use trial::{Gpu, Result};

pub fn double(gpus: &[Gpu], numbers: &mut [f32]) -> Result<()> {
    for (gpu, piece) in gpus.iter().zip(Some(&mut *numbers)) {
        let mut memory = gpu.stream.clone_htod(piece)?;
        gpu.kernels.scale(&gpu.stream, &mut memory.as_view_mut(), 2.0)?;
        gpu.stream.memcpy_dtoh(&memory, piece)?;
    }
    for gpu in gpus {
        gpu.stream.synchronize()?;
    }
    Ok(())
}
