//! Eviction hints: a copy and a triad that ask the L2 cache to keep what they read.

use cudarc::driver::CudaSlice;
use lab::launch::threads;
use lab::{Lab, Result};

use crate::device::{Arrays, FACTOR, FACTOR_OF_TRIAD};

// SAFETY: threads at or past `count` do nothing; others use their element of each array,
// which has at least that many.
lab::kernels! { unsafe "device-bandwidth-kept" {
    fn move_kept["copy_kept", "triad_kept"](
        a: &CudaSlice<u32>, b: &CudaSlice<u32>, out: &mut CudaSlice<u32>, count: usize,
    );
} }

pub(crate) fn measure(lab: &mut Lab, arrays: &mut Arrays) -> Result<()> {
    let module = lab.load(KERNEL)?;
    for (name, reads, factor) in
        [("copy_kept", 1, FACTOR), ("triad_kept", 2, FACTOR_OF_TRIAD)]
    {
        let case = arrays.case(name, reads, 1);
        let Some(module) = &module else {
            lab.skip(case, "this GPU does not support eviction hints");
            continue;
        };
        let kernels = Kernels::of(module)?;
        arrays.measure(lab, case, factor, |arrays, words| {
            let Arrays { a, b, out, stream, .. } = arrays;
            let count = words / 4;
            kernels.move_kept(name, stream, threads(count), a, b, out, count)
        })?;
    }
    Ok(())
}
