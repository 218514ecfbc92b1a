// Adds up batches, which take turns in two halves: one stream copies them to the GPU, the other
// one adds them to `sum`.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn add_up(
    copies: &Arc<CudaStream>,
    compute: &Arc<CudaStream>,
    kernels: &Kernels,
    batches: &[&[f32]], // pinned
    halves: &mut [CudaSlice<f32>; 2],
    sum: &mut CudaSlice<f32>,
) -> Result<()> {
    let free = [copies.record_event(None)?, copies.record_event(None)?];
    for (turn, batch) in batches.iter().enumerate() {
        let half = &mut halves[turn % 2];
        copies.wait(&free[(turn + 1) % 2])?;
        copies.memcpy_htod(*batch, half)?;
        compute.join(copies)?; // the batch has arrived
        kernels.accumulate(compute, &half.as_view(), &mut sum.as_view_mut())?;
        free[turn % 2].record(compute)?;
    }
    Ok(())
}
