//! What a transpose could reach: copies of the same bytes, by the driver, and by a kernel
//! with the eviction hint.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::threads;
use lab::{Case, Lab, Result};

use crate::matrix::Matrix;

// SAFETY: threads at or past `count` do nothing; others use their 16 bytes of each matrix,
// which has as many, and leave `unused` alone.
lab::kernels! { unsafe "device-bandwidth-kept" {
    fn copy_kept(
        input: &CudaSlice<u32>, unused: &CudaSlice<u32>, output: &mut CudaSlice<u32>,
        count: usize,
    );
} }

/// Copies each input, whose words are `host`, to the output beside it.
pub(crate) fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    case: impl Fn(&str) -> Case,
    host: &[u32],
    inputs: &[Matrix],
    outputs: &mut [Matrix],
) -> Result<()> {
    let pairs = inputs.len();
    let mut timed = case("driver_copy").time_on_gpu(lab, stream, |turn| {
        Ok(stream.memcpy_dtod(&inputs[turn % pairs], &mut outputs[turn % pairs])?)
    })?;
    for output in &*outputs {
        timed = timed.check_device(stream, output, |i| host[i])?;
    }
    timed.record(lab)?;

    // Its elements are vectors of 16 bytes.
    if !host.len().is_multiple_of(4) {
        return Ok(());
    }
    let Some(module) = lab.load(KERNEL)? else {
        lab.skip(case("copy_kept"), "this GPU does not support eviction hints");
        return Ok(());
    };
    let kernels = Kernels::of(&module)?;
    for output in &mut *outputs {
        stream.memset_zeros(output)?;
    }
    let count = host.len() / 4;
    let mut timed = case("copy_kept").time_on_gpu(lab, stream, |turn| {
        let (input, output) = (&inputs[turn % pairs], &mut outputs[turn % pairs]);
        kernels.copy_kept(stream, threads(count), input, input, output, count)
    })?;
    for output in &*outputs {
        timed = timed.check_device(stream, output, |i| host[i])?;
    }
    timed.record(lab)
}
