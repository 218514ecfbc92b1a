// Adds batches to two sums, in two streams that take turns; the default stream counts them.

use std::sync::Arc;

use cudarc::driver::result::{self, stream::StreamKind};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn add_up(
    context: &Arc<CudaContext>,
    kernels: &Kernels,
    first: &[f32],      // pinned: what both sums begin with
    batches: &[&[f32]], // pinned
    halves: &mut [CudaSlice<f32>; 2],
    sums: &mut [CudaSlice<f32>; 2],
    one: &CudaSlice<f32>,
    counter: &mut CudaSlice<f32>,
) -> Result<()> {
    let default = context.default_stream();
    let streams = [blocking(context)?, blocking(context)?];
    for sum in sums.iter_mut() {
        default.memcpy_htod(first, sum)?;
    }
    for (turn, batch) in batches.iter().enumerate() {
        let (stream, half) = (&streams[turn % 2], &mut halves[turn % 2]);
        stream.memcpy_htod(*batch, half)?;
        let sum = &mut sums[turn % 2].as_view_mut();
        kernels.accumulate(stream, &half.as_view(), sum)?;
        kernels.accumulate(&default, &one.as_view(), &mut counter.as_view_mut())?;
    }
    Ok(())
}

/// A stream that waits for the default stream, and that the default stream waits for.
fn blocking(context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
    let stream = result::stream::create(StreamKind::Default)?;
    // SAFETY: it is of this context, and nothing destroys it.
    Ok(unsafe { context.wrap_borrowed_stream(stream) })
}
