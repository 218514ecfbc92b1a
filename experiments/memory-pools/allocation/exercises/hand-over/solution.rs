// A block of memory that streams use one after another.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::Result;

pub struct Lender {
    block: CudaSlice<f32>,
    last: Option<Arc<CudaStream>>,
}

impl Lender {
    pub fn new(block: CudaSlice<f32>) -> Lender {
        Lender { block, last: None }
    }

    // The block, for use in `stream`. All work of the user before is queued.
    pub fn take(
        &mut self,
        stream: &Arc<CudaStream>,
    ) -> Result<&mut CudaSlice<f32>> {
        let last = self.last.replace(stream.clone());
        // What is queued in a stream is in order by itself.
        if let Some(last) = last.filter(|last| last != stream) {
            stream.join(&last)?;
        }
        Ok(&mut self.block)
    }
}
