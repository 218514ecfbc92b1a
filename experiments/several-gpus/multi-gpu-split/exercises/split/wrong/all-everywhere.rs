// Doubles all numbers, which are in pinned memory, on all GPUs.

use trial::{Gpu, Result};

pub fn double(gpus: &[Gpu], numbers: &mut [f32]) -> Result<()> {
    let length = numbers.len().div_ceil(gpus.len());
    for (rank, gpu) in gpus.iter().enumerate() {
        let end = ((rank + 1) * length).min(numbers.len());
        let (from, end) = ((rank * length).min(end), end);
        if from == end {
            continue;
        }
        let mut memory = gpu.stream.clone_htod(&*numbers)?;
        let mut piece = memory.slice_mut(from..end);
        gpu.kernels.scale(&gpu.stream, &mut piece, 2.0)?;
        gpu.stream.memcpy_dtoh(&piece, &mut numbers[from..end])?;
        gpu.stream.synchronize()?;
    }
    Ok(())
}
