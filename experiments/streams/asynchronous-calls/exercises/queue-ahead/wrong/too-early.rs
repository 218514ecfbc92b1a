// Doubles all batches, and returns the largest number of each.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn largest(
    streams: &[Arc<CudaStream>], // one for each batch
    kernels: &Kernels,
    batches: &[&[f32]],             // pinned
    buffers: &mut [CudaSlice<f32>], // one for each batch
    results: &mut [&mut [f32]],     // pinned
) -> Result<Vec<f32>> {
    let mut largest = vec![];
    for (turn, stream) in streams.iter().enumerate() {
        let buffer = &mut buffers[turn];
        stream.memcpy_htod(batches[turn], buffer)?;
        kernels.scale(stream, &mut buffer.as_view_mut(), 2.0)?;
        stream.memcpy_dtoh(buffer, &mut *results[turn])?;
        largest.push(results[turn].iter().copied().fold(f32::MIN, f32::max));
    }
    for stream in streams {
        stream.synchronize()?;
    }
    Ok(largest)
}
