// Memory of the GPU, to be used again by any stream.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream};
use trial::{Result, anyhow};

pub struct Pool {
    cap_bytes: usize,
    free: Vec<CudaSlice<f32>>,
}

impl Pool {
    // An empty pool, which may hold so many bytes, handed out and free.
    pub fn new(cap_bytes: usize) -> Pool {
        Pool { cap_bytes, free: vec![] }
    }

    // Memory for at least `count` numbers, for use in `stream`.
    pub fn take(
        &mut self,
        stream: &Arc<CudaStream>,
        count: usize,
    ) -> Result<CudaSlice<f32>> {
        if let Some(place) =
            self.free.iter().position(|memory| memory.len() >= count)
        {
            return Ok(self.free.swap_remove(place));
        }
        // SAFETY: who takes memory writes before it reads.
        Ok(unsafe { stream.alloc(count) }?)
    }

    // Takes memory back. All work that uses it is queued; the last of it in `stream`.
    pub fn give(
        &mut self,
        stream: &Arc<CudaStream>,
        memory: CudaSlice<f32>,
    ) -> Result<()> {
        self.free.push(memory);
        Ok(())
    }
}
