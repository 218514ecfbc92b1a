// Scales the array by each factor in turn, and returns its total after each step.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut};
use trial::{Kernels, Result, pinned};

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
        let mut back = pinned(stream.context(), 1, |_| 0.0f32)?;
        stream.memcpy_dtoh(&total, &mut back)?;
        stream.synchronize()?;
        totals.push(back.as_slice()?[0]);
    }
    Ok(totals)
}
