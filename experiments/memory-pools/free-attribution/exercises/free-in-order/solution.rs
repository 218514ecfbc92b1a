// Adds the bias to each batch: copied in one stream, computed in another.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, result};
use trial::{Kernels, Result};

pub fn run(
    [copies, compute]: [&Arc<CudaStream>; 2],
    kernels: &Kernels,
    batches: &[Vec<f32>],
    bias: &CudaSlice<f32>,
    results: &mut [CudaSlice<f32>],
) -> Result<()> {
    for (batch, sums) in batches.iter().zip(results) {
        let data = copies.clone_htod(batch)?;
        compute.join(copies)?; // the kernel reads what was copied
        kernels.add(
            compute,
            &data.as_view(),
            &bias.as_view(),
            &mut sums.as_view_mut(),
        )?;
        // SAFETY: `data` owned it, and nothing uses it any more behind the kernel.
        unsafe { result::free_async(data.leak(), compute.cu_stream()) }?;
    }
    Ok(())
}
