// Scales the array by each factor in turn, and returns its total after each step.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result, mapped};

pub fn totals(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    array: &mut CudaSlice<f32>,
    factors: &[f32],
) -> Result<Vec<f32>> {
    let totals = mapped(stream.context(), factors.len(), 0, |_| 0.0f32)?;
    for (step, factor) in (0..).zip(factors) {
        kernels.scale(stream, &mut array.as_view_mut(), *factor)?;
        let address = totals.device + step;
        // SAFETY: a number of the mapped memory is there, until all is done.
        unsafe { kernels.total(stream, &array.as_view(), address) }?;
    }
    stream.synchronize()?; // now the host may look
    Ok(totals.host.as_slice()?.to_vec())
}
