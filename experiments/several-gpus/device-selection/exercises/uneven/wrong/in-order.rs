// Doubles the numbers of all jobs, each on one of the GPUs. They are in pinned memory.

use trial::{Gpu, Result};

pub fn double(gpus: &[Gpu], jobs: &mut [&mut [f32]]) -> Result<()> {
    let mut loads = vec![0; gpus.len()];
    for job in jobs.iter_mut() {
        let least = (0..gpus.len()).min_by_key(|gpu| loads[*gpu]).unwrap_or(0);
        loads[least] += job.len();
        let gpu = &gpus[least];
        let mut memory = gpu.stream.clone_htod(&**job)?;
        gpu.kernels.scale(&gpu.stream, &mut memory.as_view_mut(), 2.0)?;
        gpu.stream.memcpy_dtoh(&memory, &mut **job)?;
    }
    for gpu in gpus {
        gpu.stream.synchronize()?;
    }
    Ok(())
}
