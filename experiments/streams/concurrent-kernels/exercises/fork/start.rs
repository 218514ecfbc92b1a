// Scales `data`, adds up each of its parts, and adds up their totals.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, DevicePtr};
use trial::{Kernels, Result};

pub fn run(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    data: &mut CudaSlice<f32>,
    totals: &CudaSlice<f32>, // one for each part
    sum: &CudaSlice<f32>,    // one number
) -> Result<()> {
    let length = data.len() / totals.len();
    kernels.scale(stream, &mut data.as_view_mut(), 2.0)?;
    for part in 0..totals.len() {
        let numbers = data.slice(part * length..(part + 1) * length);
        total(stream, kernels, &numbers, totals, part)?;
    }
    total(stream, kernels, &totals.as_view(), sum, 0)
}

/// One block adds up `numbers`, and writes the total to `out[place]`. Need not be changed.
fn total(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    numbers: &CudaView<'_, f32>,
    out: &CudaSlice<f32>,
    place: usize,
) -> Result<()> {
    let address = out.device_ptr(stream).0 + 4 * place as u64;
    // SAFETY: `out` has a number at this place, and is there until all work is done.
    unsafe { kernels.total(stream, numbers, address) }
}
