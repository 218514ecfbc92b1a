// Multiplies all numbers of two batches of arrays by each factor in turn, on the GPU. Returns how
// many milliseconds the first batch's copy to the GPU took.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::CudaStream;
use trial::{Kernels, Result};

pub fn scale(
    streams: [&Arc<CudaStream>; 2], // one for each batch
    kernels: &Kernels,
    batches: [&mut [Vec<f32>]; 2],
    factors: &[f32],
) -> Result<f32> {
    let start = Instant::now();
    for (stream, arrays) in streams.into_iter().zip(batches) {
        for array in arrays {
            for factor in factors {
                let mut data = stream.clone_htod(array)?;
                kernels.scale(stream, &mut data.as_view_mut(), *factor)?;
                stream.memcpy_dtoh(&data, array)?;
                stream.synchronize()?;
            }
        }
    }
    Ok(1e3 * start.elapsed().as_secs_f32())
}
