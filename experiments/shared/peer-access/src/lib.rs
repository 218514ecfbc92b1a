//! Access of one GPU to the memory of another, switched on and off.
//!
//! Access has a direction: with [`enable`]`(from, to)`, kernels and copy engines of `from`
//! may use addresses in the memory of `to`. The other way is another call. Without access
//! such a kernel fails with an illegal address, and a peer copy still works, but by way of
//! the host.
//!
//! CUDA has two switches, one for each kind of memory:
//!
//! ```text
//! cuMemAlloc        follows the context's switch, cuCtxEnablePeerAccess  (enable_context)
//! cuMemAllocAsync   follows its pool's switch, cuMemPoolSetAccess        (enable_pool)
//! ```
//!
//! cudarc's `CudaStream::alloc` takes from a pool, the current one of its GPU, wherever
//! the driver has pools; so the context's switch alone does nothing for it. [`enable`]
//! turns both. Memory that is there already follows at once, as does what is allocated later.
//!
//! ```no_run
//! # use cudarc::driver::{CudaContext, DriverError};
//! use peer_access::Access;
//!
//! # fn main() -> Result<(), DriverError> {
//! let (here, there) = (CudaContext::new(0)?, CudaContext::new(1)?);
//! match peer_access::enable(&here, &there)? {
//!     Access::Granted => println!("kernels on GPU 0 may use the memory of GPU 1"),
//!     Access::Refused(why) => println!("{why}"),
//! }
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

use std::sync::Arc;

use cudarc::driver::sys::{
    self, CUmemAccess_flags as Flags, CUmemLocationType,
    CUresult::{
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
        CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, CUDA_ERROR_TOO_MANY_PEERS, CUDA_SUCCESS,
    },
};
use cudarc::driver::{CudaContext, DriverError};

/// The driver's answer.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is on.
    Granted,
    /// These GPUs cannot have it; why, in a sentence without a full stop.
    Refused(String),
}

impl Access {
    /// Whether it is on.
    pub fn is_granted(&self) -> bool {
        *self == Access::Granted
    }
}

const IMPOSSIBLE: &str = "the driver says that it cannot have it";

fn refused(from: &CudaContext, to: &CudaContext, why: &str) -> Access {
    let (from, to) = (from.ordinal(), to.ordinal());
    Access::Refused(format!("GPU {from} has no access to GPU {to}: {why}"))
}

/// Whether kernels of `from` could have access to the memory of `to`. Switches nothing.
pub fn possible(from: &CudaContext, to: &CudaContext) -> Result<bool, DriverError> {
    if from.cu_device() == to.cu_device() {
        return Ok(true);
    }
    let mut can = 0;
    // SAFETY: both are devices, and an integer is written.
    unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, from.cu_device(), to.cu_device()) }
        .result()?;
    Ok(can != 0)
}

/// Gives kernels and copies of `from` access to the memory of `to`, in the pool that is
/// its GPU's current one and outside of pools. If it is on already, or if both are the same
/// GPU, nothing changes.
pub fn enable(from: &CudaContext, to: &CudaContext) -> Result<Access, DriverError> {
    match enable_context(from, to)? {
        Access::Granted => enable_pool(from, to),
        refused => Ok(refused),
    }
}

/// Gives each of these GPUs access to the memory of all others, as [`enable`] does; the first
/// refusal ends it.
pub fn enable_all(gpus: &[Arc<CudaContext>]) -> Result<Access, DriverError> {
    for from in gpus {
        for to in gpus {
            let access = enable(from, to)?;
            if !access.is_granted() {
                return Ok(access);
            }
        }
    }
    Ok(Access::Granted)
}

/// Takes away what [`enable`] gives. If it is off already, nothing changes.
pub fn disable(from: &CudaContext, to: &CudaContext) -> Result<(), DriverError> {
    disable_context(from, to)?;
    disable_pool(from, to)
}

// ANCHOR: context
/// Access to memory from `cuMemAlloc`.
pub fn enable_context(from: &CudaContext, to: &CudaContext) -> Result<Access, DriverError> {
    if from.cu_device() == to.cu_device() {
        return Ok(Access::Granted);
    }
    if !possible(from, to)? {
        return Ok(refused(from, to, IMPOSSIBLE));
    }
    from.bind_to_thread()?;
    // SAFETY: both contexts live; 0 is the only value that the flags may have.
    match unsafe { sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0) } {
        CUDA_SUCCESS | CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(Access::Granted),
        CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => Ok(refused(from, to, "it is not supported")),
        CUDA_ERROR_TOO_MANY_PEERS => Ok(refused(from, to, "it has too many peers already")),
        error => Err(DriverError(error)),
    }
}
// ANCHOR_END: context

/// Takes away what [`enable_context`] gives.
pub fn disable_context(from: &CudaContext, to: &CudaContext) -> Result<(), DriverError> {
    if from.cu_device() == to.cu_device() || !possible(from, to)? {
        return Ok(());
    }
    from.bind_to_thread()?;
    // SAFETY: both contexts live.
    match unsafe { sys::cuCtxDisablePeerAccess(to.cu_ctx()) } {
        CUDA_SUCCESS | CUDA_ERROR_PEER_ACCESS_NOT_ENABLED => Ok(()),
        error => Err(DriverError(error)),
    }
}

/// Access to memory from `cuMemAllocAsync`, in the pool that is the current one of the
/// GPU of `to`. A driver without pools has no such memory, and nothing to switch.
pub fn enable_pool(from: &CudaContext, to: &CudaContext) -> Result<Access, DriverError> {
    if !possible(from, to)? {
        return Ok(refused(from, to, IMPOSSIBLE));
    }
    set_pool_access(from, to, Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)?;
    Ok(Access::Granted)
}

/// Takes away what [`enable_pool`] gives.
pub fn disable_pool(from: &CudaContext, to: &CudaContext) -> Result<(), DriverError> {
    if possible(from, to)? {
        set_pool_access(from, to, Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE)?;
    }
    Ok(())
}

// ANCHOR: pool
fn set_pool_access(from: &CudaContext, to: &CudaContext, flags: Flags) -> Result<(), DriverError> {
    if from.cu_device() == to.cu_device() || !to.has_async_alloc() {
        return Ok(()); // its own it has, always
    }
    let location = sys::CUmemLocation {
        type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        id: from.cu_device(),
    };
    let access = sys::CUmemAccessDesc { location, flags };
    let mut pool = std::ptr::null_mut();
    // SAFETY: a handle is written, of a pool that lives as long as it is the current one;
    // one description is read.
    unsafe {
        sys::cuDeviceGetMemPool(&raw mut pool, to.cu_device()).result()?;
        sys::cuMemPoolSetAccess(pool, &raw const access, 1).result()
    }
}
// ANCHOR_END: pool
