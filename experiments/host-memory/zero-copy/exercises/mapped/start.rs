// Scales the array by each factor in turn, and returns its total after each step.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut};
use trial::{Kernels, Result};

pub fn totals(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    array: &mut CudaSlice<f32>,
    factors: &[f32],
) -> Result<Vec<f32>> {
    let mut totals = vec![];
    let mut total = stream.alloc_zeros::<f32>(1)?;
    for factor in factors {
        kernels.scale(stream, &mut array.as_view_mut(), *factor)?;
        let address = total.device_ptr_mut(stream).0;
        // SAFETY: there is a number at the address, on the GPU.
        unsafe { kernels.total(stream, &array.as_view(), address) }?;
        totals.extend(stream.clone_dtoh(&total)?);
    }
    Ok(totals)
}
