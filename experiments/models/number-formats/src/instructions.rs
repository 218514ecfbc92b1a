//! The conversion instructions of GPUs of compute capability 8.9 and newer.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::threads;
use lab::{Lab, Result};

// SAFETY: threads at or past `fours` do nothing; others use four elements from 4 * i on of
// both, which have at least that many.
lab::kernels! { unsafe "number-formats-instructions" {
    fn cvt["cvt_bf16", "cvt_fp16", "cvt_e5m2", "cvt_e4m3"](
        from: &CudaSlice<u32>, to: &mut CudaSlice<u8>, fours: usize,
    );
} }

/// Whether there is an instruction for this format here.
pub(crate) fn has(format: &str) -> bool {
    match format {
        "bf16" | "fp16" | "e5m2" | "e4m3" => true,
        "fp32" | "tf32" => false,
        other => unreachable!("{other}"),
    }
}

/// The kernels, where the GPU has the instructions.
pub(crate) fn load(lab: &mut Lab) -> Result<Option<Kernels>> {
    lab.load(KERNEL)?.map(|module| Kernels::of(&module)).transpose()
}

/// Converts four times `fours` floats.
pub(crate) fn convert(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    format: &str,
    from: &CudaSlice<u32>,
    to: &mut CudaSlice<u8>,
    fours: usize,
) -> Result<()> {
    kernels.cvt(&format!("cvt_{format}"), stream, threads(fours), from, to, fours)
}
