// Adds two arrays of the same length on the GPU.
//
// extern "C" __global__ void add(const float *a, const float *b, float *sum, int count)

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use trial::Result;

pub fn sums(
    stream: &Arc<CudaStream>,
    add: &CudaFunction,
    a: &[f32],
    b: &[f32],
) -> Result<Vec<f32>> {
    let count = a.len() as i32;
    let a = stream.clone_htod(a)?;
    let b = stream.clone_htod(b)?;
    let mut sum = stream.alloc_zeros::<f32>(a.len())?;

    let config = LaunchConfig {
        grid_dim: ((a.len() / 256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    };
    let mut launch = stream.launch_builder(add);
    launch.arg(&a).arg(&b).arg(&mut sum).arg(&count);
    // SAFETY: `add` takes (a, b, sum, count), and all three arrays have `count` numbers.
    unsafe { launch.launch(config) }?;

    let sums = stream.clone_dtoh(&sum)?;
    stream.synchronize()?;
    Ok(sums)
}
