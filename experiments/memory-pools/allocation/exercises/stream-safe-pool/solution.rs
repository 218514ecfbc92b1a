// Memory of the GPU, to be used again by any stream.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream};
use trial::{Result, anyhow};

pub struct Pool {
    cap_bytes: usize,
    held_bytes: usize,
    free: Vec<Block>,
}

// Free memory, the stream that had it last, and the end of its work there.
struct Block {
    memory: CudaSlice<f32>,
    stream: Arc<CudaStream>,
    end: CudaEvent,
}

impl Pool {
    // An empty pool, which may hold so many bytes, handed out and free.
    pub fn new(cap_bytes: usize) -> Pool {
        Pool { cap_bytes, held_bytes: 0, free: vec![] }
    }

    // Memory for at least `count` numbers, for use in `stream`.
    pub fn take(
        &mut self,
        stream: &Arc<CudaStream>,
        count: usize,
    ) -> Result<CudaSlice<f32>> {
        let fits = |block: &Block| block.memory.len() >= count;
        // What the stream has had itself is in its order already, so nothing waits for it.
        let own = self
            .free
            .iter()
            .position(|block| fits(block) && block.stream == *stream);
        if let Some(place) = own.or_else(|| self.free.iter().position(fits)) {
            let block = self.free.swap_remove(place);
            if block.stream != *stream {
                stream.wait(&block.end)?;
            }
            return Ok(block.memory);
        }
        let bytes = count * size_of::<f32>();
        while self.held_bytes + bytes > self.cap_bytes {
            let block =
                self.free.pop().ok_or_else(|| anyhow!("the pool is full"))?;
            // Dropped, it is freed in the stream that has allocated it.
            block.memory.stream().wait(&block.end)?;
            self.held_bytes -= block.memory.num_bytes();
        }
        // SAFETY: who takes memory writes before it reads.
        let memory = unsafe { stream.alloc(count) }?;
        self.held_bytes += bytes;
        Ok(memory)
    }

    // Takes memory back. All work that uses it is queued; the last of it in `stream`.
    pub fn give(
        &mut self,
        stream: &Arc<CudaStream>,
        memory: CudaSlice<f32>,
    ) -> Result<()> {
        let end = stream.record_event(None)?;
        self.free.push(Block { memory, stream: stream.clone(), end });
        Ok(())
    }
}
