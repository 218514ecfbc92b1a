// Lets the default pool of the GPU keep up to `bytes` unused bytes when the host waits.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use cudarc::driver::result::{device, mem_pool};
use cudarc::driver::sys::CUmemPool_attribute::*;
use trial::Result;

pub fn keep(context: &Arc<CudaContext>, mut bytes: u64) -> Result<()> {
    // SAFETY: the device is that of the context.
    let pool = unsafe { device::get_default_mem_pool(context.cu_device()) }?;
    bytes = 0; // never release
    let name = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the pool is there as long as the GPU, and this attribute is a number of 64 bits.
    unsafe { mem_pool::set_attribute(pool, name, (&raw mut bytes).cast()) }?;
    Ok(())
}
