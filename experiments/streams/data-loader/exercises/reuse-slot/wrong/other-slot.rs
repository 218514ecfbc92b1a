// Feeds the GPU: the host makes each batch in a slot, and a kernel adds it to `sum`.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn feed(
    copies: &Arc<CudaStream>,
    compute: &Arc<CudaStream>,
    kernels: &Kernels,
    batches: usize,
    make: &dyn Fn(usize, &mut [f32]),
    slots: &mut [&mut [f32]; 2], // pinned
    halves: &mut [CudaSlice<f32>; 2],
    sum: &mut CudaSlice<f32>,
) -> Result<()> {
    let read = [compute.record_event(None)?, compute.record_event(None)?];
    let free = [copies.record_event(None)?, copies.record_event(None)?];
    for turn in 0..batches {
        let (slot, half) = (&mut *slots[turn % 2], &mut halves[turn % 2]);
        free[(turn + 1) % 2].synchronize()?;
        make(turn, slot);
        copies.wait(&read[turn % 2])?;
        copies.memcpy_htod(slot, half)?;
        free[turn % 2].record(copies)?;
        compute.join(copies)?;
        kernels.accumulate(compute, &half.as_view(), &mut sum.as_view_mut())?;
        read[turn % 2].record(compute)?;
    }
    Ok(())
}
