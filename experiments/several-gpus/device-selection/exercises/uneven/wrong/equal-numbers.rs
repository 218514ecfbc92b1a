// Doubles the numbers of all jobs, each on one of the GPUs. They are in pinned memory.

use trial::{Gpu, Result};

pub fn double(gpus: &[Gpu], jobs: &mut [&mut [f32]]) -> Result<()> {
    let share = jobs.len().div_ceil(gpus.len());
    for (turn, job) in jobs.iter_mut().enumerate() {
        let gpu = &gpus[turn / share];
        let mut memory = gpu.stream.clone_htod(&**job)?;
        gpu.kernels.scale(&gpu.stream, &mut memory.as_view_mut(), 2.0)?;
        gpu.stream.memcpy_dtoh(&memory, &mut **job)?;
    }
    for gpu in gpus {
        gpu.stream.synchronize()?;
    }
    Ok(())
}
