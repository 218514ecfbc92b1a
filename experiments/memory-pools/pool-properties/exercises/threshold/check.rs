use std::sync::Arc;

use cudarc::driver::result::{device, mem_pool};
use cudarc::driver::{CudaContext, sys};
use trial::{Result, Trial, ensure};

const MIB: usize = 1 << 20;
const ROUNDS: usize = 20;
const MAY_KEEP: usize = 4 * MIB;

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let stream = context.new_stream()?;
    let mut lost = 0;
    let title = format!("{ROUNDS} rounds of 2 MiB");
    let kept = trial.watch(&title, || {
        mine::keep(&context, MAY_KEEP as u64)?;
        for _ in 0..ROUNDS {
            drop(stream.alloc_zeros::<u8>(2 * MIB)?);
            stream.synchronize()?;
            lost += usize::from(reserved(&context)? < 2 * MIB);
        }
        let new = || stream.alloc_zeros::<u8>(2 * MIB);
        let peak = (0..8).map(|_| new()).collect::<Result<Vec<_>, _>>()?;
        drop(peak);
        stream.synchronize()?;
        reserved(&context)
    })?;
    trial.size("lost", lost);
    trial.size("kept", kept);
    trial.size("may_keep", MAY_KEEP);
    Ok(())
}

/// Bytes that the GPU's default pool has.
fn reserved(context: &Arc<CudaContext>) -> Result<usize> {
    let name = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
    let mut bytes = 0u64;
    // SAFETY: the pool is there as long as the GPU, and the driver writes 64 bits.
    unsafe {
        let pool = device::get_default_mem_pool(context.cu_device())?;
        mem_pool::get_attribute(pool, name, (&raw mut bytes).cast())?;
    }
    ensure!(bytes < 1 << 40, "the pool says that it has {bytes} bytes");
    Ok(bytes as usize)
}
