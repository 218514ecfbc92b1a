// For each frame the sum of all frames up to it.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use trial::{Kernels, Result};

pub fn running(
    context: &Arc<CudaContext>,
    kernels: &Kernels,
    read: &dyn Fn(usize, &mut [f32]), // writes frame s into memory
    length: usize,                    // numbers of a frame
    sums: &mut [f32],                 // pinned; one sum behind the other
) -> Result<()> {
    Ok(())
}
