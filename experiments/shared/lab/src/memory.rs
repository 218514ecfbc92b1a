//! Host memory that cudarc makes in another way than lessons need it.

use std::sync::Arc;

use anyhow::Result;
use cudarc::driver::{
    CudaContext, DeviceRepr, PinnedHostSlice, ValidAsZeroBits, sys,
};

/// Plain pinned memory with `value(i)` in element i. (cudarc's `alloc_pinned` would make
/// it write-combined, which the host reads very slowly.)
pub fn pinned<T: DeviceRepr + ValidAsZeroBits>(
    context: &Arc<CudaContext>,
    count: usize,
    value: impl FnMut(usize) -> T,
) -> Result<PinnedHostSlice<T>> {
    pinned_with_flags(context, count, 0, value)
}

/// The same with the driver's `CU_MEMHOSTALLOC_…` flags.
pub fn pinned_with_flags<T: DeviceRepr + ValidAsZeroBits>(
    context: &Arc<CudaContext>,
    count: usize,
    flags: u32,
    value: impl FnMut(usize) -> T,
) -> Result<PinnedHostSlice<T>> {
    // SAFETY: every element is written below, before anything reads one.
    let mut memory = unsafe { context.alloc_pinned_with_flags(count, flags) }?;
    let values = (0..count).map(value);
    memory.as_mut_slice()?.iter_mut().zip(values).for_each(|(e, value)| *e = value);
    Ok(memory)
}

/// Pinned host memory that kernels read and write where it is.
pub struct Mapped<T> {
    /// The host's side.
    pub host: PinnedHostSlice<T>,
    /// The same memory's address on the GPU.
    pub device: sys::CUdeviceptr,
}

/// Mapped memory with `value(i)` in element i; `flags` besides the one for mapping.
pub fn mapped<T: DeviceRepr + ValidAsZeroBits>(
    context: &Arc<CudaContext>,
    count: usize,
    flags: u32,
    value: impl FnMut(usize) -> T,
) -> Result<Mapped<T>> {
    let flags = flags | sys::CU_MEMHOSTALLOC_DEVICEMAP;
    let mut host = pinned_with_flags(context, count, flags, value)?;
    let mut device = 0;
    let start = host.as_mut_ptr()?.cast();
    // SAFETY: the memory was allocated as mapped; the driver writes an address.
    unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, start, 0) }
        .result()?;
    Ok(Mapped { host, device })
}
