// Shows the sums field + weights, and their total, after each step of a simulation.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr};
use trial::{Kernels, Result};

pub fn run(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    weights: &[f32],
    field: &mut [f32],
    steps: usize,
    step: impl Fn(&mut [f32]),         // changes the field
    mut show: impl FnMut(&[f32], f32), // the sums, and their total
) -> Result<()> {
    let weights = stream.clone_htod(weights)?;
    let mut on_gpu = stream.alloc_zeros::<f32>(field.len())?;
    let mut sums = stream.alloc_zeros::<f32>(field.len())?;
    let total = stream.alloc_zeros::<f32>(1)?;
    for _ in 0..steps {
        step(field);
        stream.memcpy_htod(field, &mut on_gpu)?;
        let views = (on_gpu.as_view(), weights.as_view());
        kernels.add(stream, &views.0, &views.1, &mut sums.as_view_mut())?;
        let address = total.device_ptr(stream).0;
        // SAFETY: `total` has one number, and lives until all is done.
        unsafe { kernels.total(stream, &sums.as_view(), address) }?;
        let sums = stream.clone_dtoh(&sums)?;
        let total = stream.clone_dtoh(&total)?;
        stream.synchronize()?;
        show(&sums, total[0]);
    }
    Ok(())
}
