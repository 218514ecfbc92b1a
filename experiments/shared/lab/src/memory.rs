//! Host memory that cudarc makes in another way than lessons need it, and sizes.

use std::ffi::c_void;
use std::sync::Arc;

use anyhow::Result;
use cudarc::driver::{CudaContext, DeviceRepr, PinnedHostSlice, ValidAsZeroBits, sys};
use rayon::prelude::*;

use crate::check;

/// The largest power of two up to `limit`: of what fits, a size that divides evenly.
pub fn power_of_two_within(limit: usize) -> usize {
    1 << limit.max(1).ilog2()
}

/// Plain pinned memory with `value(i)` in element i. (cudarc's `alloc_pinned` would make
/// it write-combined, which the host reads very slowly.)
pub fn pinned<T: DeviceRepr + ValidAsZeroBits + Send>(
    context: &Arc<CudaContext>,
    count: usize,
    value: impl Fn(usize) -> T + Sync,
) -> Result<PinnedHostSlice<T>> {
    pinned_with_flags(context, count, 0, value)
}

/// Pinned memory with the driver's `CU_MEMHOSTALLOC_…` flags, filled likewise.
pub fn pinned_with_flags<T: DeviceRepr + ValidAsZeroBits + Send>(
    context: &Arc<CudaContext>,
    count: usize,
    flags: u32,
    value: impl Fn(usize) -> T + Sync,
) -> Result<PinnedHostSlice<T>> {
    // SAFETY: every element is written below, before anything reads one.
    let mut memory = unsafe { context.alloc_pinned_with_flags(count, flags) }?;
    let elements = memory.as_mut_slice()?;
    let fill = |(i, element): (usize, &mut T)| *element = value(i);
    match check::pool() {
        Some(pool) => pool.install(|| {
            elements.par_iter_mut().with_min_len(1 << 14).enumerate().for_each(fill);
        }),
        None => elements.iter_mut().enumerate().for_each(fill),
    }
    Ok(memory)
}

// ANCHOR: mapped
/// Pinned host memory that kernels read and write where it is.
pub struct Mapped<T> {
    /// The host's side.
    pub host: PinnedHostSlice<T>,
    /// The same memory's address on the GPU.
    pub device: sys::CUdeviceptr,
}

/// Mapped memory with `value(i)` in element i; `flags` besides the one for mapping.
pub fn mapped<T: DeviceRepr + ValidAsZeroBits + Send>(
    context: &Arc<CudaContext>,
    count: usize,
    flags: u32,
    value: impl Fn(usize) -> T + Sync,
) -> Result<Mapped<T>> {
    let flags = flags | sys::CU_MEMHOSTALLOC_DEVICEMAP;
    let mut host = pinned_with_flags(context, count, flags, value)?;
    let mut device = 0;
    let start = host.as_mut_ptr()?.cast();
    // SAFETY: the memory was allocated as mapped; the driver writes an address.
    unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, start, 0) }.result()?;
    Ok(Mapped { host, device })
}
// ANCHOR_END: mapped

/// Host memory that the driver has pinned where it is. The pages are free to move again
/// when this is dropped.
pub struct Registration(*mut c_void);

impl Registration {
    /// Pins the pages of `memory`.
    ///
    /// # Safety
    ///
    /// The memory must stay where it is until the registration is dropped, and no copy of
    /// it may be in flight then.
    pub unsafe fn new<T>(memory: &mut [T]) -> Result<Registration> {
        let start = memory.as_mut_ptr().cast();
        // SAFETY: the range is that of a slice; what else it takes is up to the caller.
        unsafe { sys::cuMemHostRegister_v2(start, size_of_val(memory), 0) }.result()?;
        Ok(Registration(start))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: `new` registered this memory. An error leaves pages pinned until the
        // process ends, which harms nobody.
        let _ = unsafe { sys::cuMemHostUnregister(self.0) };
    }
}
