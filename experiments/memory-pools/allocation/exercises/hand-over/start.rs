// A block of memory that streams use one after another.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::Result;

pub struct Lender {
    block: CudaSlice<f32>,
}

impl Lender {
    pub fn new(block: CudaSlice<f32>) -> Lender {
        Lender { block }
    }

    // The block, for use in `stream`. All work of the user before is queued.
    pub fn take(
        &mut self,
        stream: &Arc<CudaStream>,
    ) -> Result<&mut CudaSlice<f32>> {
        Ok(&mut self.block)
    }
}
