// Shows the sums field + weights, and their total, after each step of a simulation.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use trial::{Kernels, Registration, Result, mapped, pinned};

pub fn run(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    weights: &[f32],
    field: &mut [f32],
    steps: usize,
    step: impl Fn(&mut [f32]),         // changes the field
    mut show: impl FnMut(&[f32], f32), // the sums, and their total
) -> Result<()> {
    let context = stream.context();
    // Once over the link: pinning would cost more than it saves.
    let weights = stream.clone_htod(weights)?;
    // Other code's memory, again and again: pinned where it is.
    // SAFETY: the field stays where it is, and all copies are done before it is unpinned.
    let registration = unsafe { Registration::new(field) }?;
    // Our own memory, again and again.
    let mut home = pinned(context, field.len(), |_| 0.0f32)?;
    // Four bytes that a kernel can write by itself.
    let total = mapped(context, 1, 0, |_| 0.0f32)?;
    let mut on_gpu = stream.alloc_zeros::<f32>(field.len())?;
    let mut sums = stream.alloc_zeros::<f32>(field.len())?;
    for _ in 0..steps {
        step(field);
        stream.memcpy_htod(field, &mut on_gpu)?;
        let views = (on_gpu.as_view(), weights.as_view());
        kernels.add(stream, &views.0, &views.1, &mut sums.as_view_mut())?;
        // SAFETY: `total` has one number, and lives until all is done.
        unsafe { kernels.total(stream, &sums.as_view(), total.device) }?;
        stream.memcpy_dtoh(&sums, &mut home)?;
        stream.synchronize()?; // the host looks, and changes the field
        show(home.as_slice()?, total.host.as_slice()?[0]);
    }
    drop(registration);
    Ok(())
}
