// Multiplies numbers on the GPU. Returns the product, and how many milliseconds the kernel took.

use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Kernels, Result};

pub fn timed(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    numbers: &[f32],
) -> Result<(CudaSlice<f32>, f32)> {
    // Without this flag cudarc makes events that keep no time.
    let start = stream.record_event(Some(CU_EVENT_DEFAULT))?;
    let mut data = stream.clone_htod(numbers)?;
    kernels.scale(stream, &mut data.as_view_mut(), 2.0)?;
    let end = stream.record_event(Some(CU_EVENT_DEFAULT))?;
    // `elapsed_ms` waits for both.
    Ok((data, start.elapsed_ms(&end)?))
}
