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
    let count = a.len();
    // 1. Copy a and b to the GPU.
    let mut sum = stream.alloc_zeros::<f32>(count)?;
    // 2. Launch the kernel, a thread for each sum.
    // 3. Copy the sums back, and wait for them.
    Ok(stream.clone_dtoh(&sum)?)
}
