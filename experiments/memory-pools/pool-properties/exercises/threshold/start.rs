// Lets the default pool of the GPU keep up to `bytes` unused bytes when the host waits.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use cudarc::driver::result::{device, mem_pool};
use trial::Result;

pub fn keep(context: &Arc<CudaContext>, bytes: u64) -> Result<()> {
    // SAFETY: the device is that of the context.
    let pool = unsafe { device::get_default_mem_pool(context.cu_device()) }?;
    // SAFETY: the pool is there as long as the GPU.
    unsafe { mem_pool::trim_to(pool, bytes as usize) }?;
    Ok(())
}
