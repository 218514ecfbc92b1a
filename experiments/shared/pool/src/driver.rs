//! The driver's own pools: one method for each of its calls.

use std::mem::ManuallyDrop;
#[cfg(unix)]
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

use cudarc::driver::result::{self, device, mem_pool};
use cudarc::driver::sys::{
    self, CUdeviceptr, CUmemAccess_flags as Flags, CUmemAllocationHandleType as Handle,
    CUmemAllocationType, CUmemLocationType,
};
use cudarc::driver::{CudaContext, CudaStream, DriverError};

pub use sys::CUmemPool_attribute as Attribute;
/// What a pool is asked to be.
pub type Properties = sys::CUmemPoolProps;
/// Where memory lies, or who uses it.
pub type Location = sys::CUmemLocation;
/// What another process needs, besides the pool, to find an allocation.
pub type Exported = sys::CUmemPoolPtrExportData;

type Answer<T> = Result<T, DriverError>;

#[cfg(unix)]
const POSIX: Handle = Handle::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// ANCHOR: properties
/// The properties of a pool in a GPU's memory that asks for nothing else.
pub fn properties(context: &CudaContext) -> Properties {
    Properties {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: Handle::CU_MEM_HANDLE_TYPE_NONE,
        location: Location {
            type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: context.ordinal() as i32,
        },
        win32SecurityAttributes: null_mut(),
        maxSize: 0,
        usage: 0,
        reserved: [0; 54],
    }
}
// ANCHOR_END: properties

/// One of the driver's pools. It is destroyed on drop; memory that is still in use then
/// keeps it alive until it has been freed.
pub struct DriverPool(sys::CUmemoryPool);

// SAFETY: it is a handle, and the driver may be called with it from any thread.
unsafe impl Sync for DriverPool {}

impl DriverPool {
    // ANCHOR: pool
    /// A new pool, by `cuMemPoolCreate`.
    pub fn new(properties: &Properties) -> Answer<DriverPool> {
        let mut properties = *properties;
        if cfg!(windows) {
            // There the driver follows it, and anybody may have made it up.
            properties.win32SecurityAttributes = std::ptr::null_mut();
        }
        // SAFETY: the driver reads the properties, follows no pointer in them, and keeps nothing.
        Ok(DriverPool(unsafe { mem_pool::create(&properties) }?))
    }

    /// Allocates in the order of the stream, by `cuMemAllocFromPoolAsync`.
    pub fn alloc(&self, bytes: usize, stream: &CudaStream) -> Answer<CUdeviceptr> {
        // SAFETY: pool and stream live, and nothing reads an address.
        unsafe { mem_pool::alloc_async(self.0, bytes, stream.cu_stream()) }
    }

    /// Frees in the order of the stream, by `cuMemFreeAsync`.
    ///
    /// # Safety
    ///
    /// `alloc` returned the address, and whatever uses the memory is done, or queued on
    /// this stream.
    pub unsafe fn free(&self, address: CUdeviceptr, stream: &CudaStream) -> Answer<()> {
        // SAFETY: the caller says so.
        unsafe { result::free_async(address, stream.cu_stream()) }
    }

    /// Sets how many bytes the pool may hold before it gives unused ones back when the
    /// host waits for a stream.
    pub fn set_threshold(&self, bytes: u64) -> Answer<()> {
        self.set(Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes)
    }

    /// Gives back all that is unused, by `cuMemPoolTrimTo`.
    pub fn trim(&self) -> Answer<()> {
        // SAFETY: the pool lives.
        unsafe { mem_pool::trim_to(self.0, 0) }
    }
    // ANCHOR_END: pool

    /// The pool that the GPU has from the start. It cannot be destroyed.
    pub fn of_the_gpu(context: &CudaContext) -> Answer<ManuallyDrop<DriverPool>> {
        // SAFETY: the device is the context's.
        let pool = unsafe { device::get_default_mem_pool(context.cu_device()) }?;
        Ok(ManuallyDrop::new(DriverPool(pool)))
    }

    /// Makes this the pool that `cuMemAllocAsync` takes from.
    pub fn make_current(&self, context: &CudaContext) -> Answer<()> {
        // SAFETY: the pool and the device are there.
        unsafe { device::set_mem_pool(context.cu_device(), self.0) }
    }

    /// What [`set_threshold`](DriverPool::set_threshold) has set.
    pub fn threshold(&self) -> Answer<u64> {
        self.get(Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    }

    /// Bytes that are allocated.
    pub fn used_bytes(&self) -> Answer<u64> {
        self.get(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    }

    /// Bytes that the pool holds, allocated or not.
    pub fn reserved_bytes(&self) -> Answer<u64> {
        self.get(Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    }

    /// Sets an attribute.
    pub fn set(&self, name: Attribute, mut value: u64) -> Answer<()> {
        // SAFETY: the pool lives; the driver reads a number of 32 or 64 bits.
        unsafe { mem_pool::set_attribute(self.0, name, (&raw mut value).cast()) }
    }

    fn get(&self, name: Attribute) -> Answer<u64> {
        let mut value = 0u64;
        // SAFETY: the pool lives; the driver writes a number of at most 64 bits.
        unsafe { mem_pool::get_attribute(self.0, name, (&raw mut value).cast()) }?;
        Ok(value)
    }

    /// What access `place` has to the pool's memory.
    pub fn access(&self, mut place: Location) -> Answer<Flags> {
        let mut flags = Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;
        // SAFETY: the pool lives; the driver writes the flags.
        unsafe { sys::cuMemPoolGetAccess(&mut flags, self.0, &mut place) }.result()?;
        Ok(flags)
    }

    /// A file descriptor, by which another process can open the pool.
    #[cfg(unix)]
    pub fn export(&self) -> Answer<OwnedFd> {
        let mut descriptor: std::ffi::c_int = -1;
        let place = (&raw mut descriptor).cast();
        // SAFETY: the pool lives; the driver writes a descriptor, which is ours.
        unsafe {
            sys::cuMemPoolExportToShareableHandle(place, self.0, POSIX, 0).result()?;
            Ok(OwnedFd::from_raw_fd(descriptor))
        }
    }

    /// Opens a pool of another process.
    #[cfg(unix)]
    pub fn import(descriptor: &OwnedFd) -> Answer<DriverPool> {
        let handle = descriptor.as_raw_fd() as usize as *mut _;
        let mut pool = null_mut();
        // SAFETY: the descriptor is open; the driver writes the pool.
        unsafe { sys::cuMemPoolImportFromShareableHandle(&mut pool, handle, POSIX, 0) }.result()?;
        Ok(DriverPool(pool))
    }

    /// The address of memory that another process has allocated from this pool.
    pub fn import_address(&self, mut exported: Exported) -> Answer<CUdeviceptr> {
        let mut address = 0;
        // SAFETY: the pool lives; the driver reads 64 bytes and writes an address.
        unsafe { sys::cuMemPoolImportPointer(&mut address, self.0, &mut exported) }.result()?;
        Ok(address)
    }
}

impl Drop for DriverPool {
    fn drop(&mut self) {
        // SAFETY: nobody has the handle any more. An error leaves the pool there until
        // the process ends.
        let _ = unsafe { mem_pool::destroy(self.0) };
    }
}

/// How another process finds an allocation in a pool that it has opened.
pub fn export_address(address: CUdeviceptr) -> Answer<Exported> {
    let mut exported = Exported { reserved: [0; 64] };
    // SAFETY: the driver writes 64 bytes, or refuses an address that is in no pool.
    unsafe { sys::cuMemPoolExportPointer(&mut exported, address) }.result()?;
    Ok(exported)
}
