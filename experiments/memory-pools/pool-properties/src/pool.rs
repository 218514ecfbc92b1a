//! The driver's calls about pools, one function each.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use cudarc::driver::result::{self, device, mem_pool};
use cudarc::driver::sys::{
    self, CUmemAccess_flags as Access, CUmemAllocationHandleType as Handle,
    CUmemPool_attribute_enum as Attribute,
};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DriverError};

/// What a pool is asked to be.
pub(crate) type Properties = sys::CUmemPoolProps;
/// Where memory lies.
pub(crate) type Location = sys::CUmemLocation;
/// What another process needs, besides the pool, to find an allocation.
pub(crate) type Exported = sys::CUmemPoolPtrExportData;
type Answer<T> = Result<T, DriverError>;

const POSIX: Handle = Handle::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// A pool of the driver. On drop it is destroyed; its memory stays as long as something
/// of it is in use.
pub(crate) struct Pool(sys::CUmemoryPool);

impl Pool {
    pub(crate) fn new(properties: &Properties) -> Answer<Pool> {
        // SAFETY: the driver reads the properties and keeps nothing of them.
        Ok(Pool(unsafe { mem_pool::create(properties) }?))
    }

    /// Memory of this pool. It is given back in the stream's order, on drop.
    pub(crate) fn memory(
        &self,
        stream: &Arc<CudaStream>,
        words: usize,
    ) -> Answer<CudaSlice<u32>> {
        let bytes = words * size_of::<u32>();
        // SAFETY: pool and stream live. All that uses the memory is in the stream, and
        // writes before it reads.
        unsafe {
            let pointer = mem_pool::alloc_async(self.0, bytes, stream.cu_stream())?;
            Ok(stream.upgrade_device_ptr(pointer, words))
        }
    }

    /// What the memory allows to who is at `place`.
    pub(crate) fn access(&self, mut place: Location) -> Answer<&'static str> {
        let mut flags = Access::CU_MEM_ACCESS_FLAGS_PROT_NONE;
        // SAFETY: the pool lives; the driver writes the flags.
        unsafe { sys::cuMemPoolGetAccess(&mut flags, self.0, &mut place) }
            .result()?;
        Ok(match flags {
            Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => "read_write",
            Access::CU_MEM_ACCESS_FLAGS_PROT_READ => "read",
            _ => "nothing",
        })
    }

    /// Bytes in use, and bytes that the pool holds.
    pub(crate) fn counters(&self) -> Answer<(u64, u64)> {
        let used = self.attribute(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        let held =
            self.attribute(Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        Ok((used, held))
    }

    /// What the pool may hold before it returns what is unused when a stream is waited for.
    pub(crate) fn threshold(&self) -> Answer<u64> {
        self.attribute(Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    }

    pub(crate) fn set_threshold(&self, mut bytes: u64) -> Answer<()> {
        let name = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool lives, and the attribute is of 64 bits.
        unsafe { mem_pool::set_attribute(self.0, name, (&raw mut bytes).cast()) }
    }

    fn attribute(&self, name: Attribute) -> Answer<u64> {
        let mut value = 0u64;
        // SAFETY: the pool lives, and the attributes that are asked for are of 64 bits.
        unsafe { mem_pool::get_attribute(self.0, name, (&raw mut value).cast()) }?;
        Ok(value)
    }

    /// Gives back what is unused.
    pub(crate) fn trim(&self) -> Answer<()> {
        // SAFETY: the pool lives.
        unsafe { mem_pool::trim_to(self.0, 0) }
    }

    /// Makes this the pool that `cuMemAllocAsync` takes from.
    pub(crate) fn make_current(&self, stream: &CudaStream) -> Answer<()> {
        // SAFETY: the pool and the device are there.
        unsafe { device::set_mem_pool(stream.context().cu_device(), self.0) }
    }

    // ANCHOR: export
    /// A file descriptor, by which another process can open the pool.
    pub(crate) fn export(&self) -> Answer<OwnedFd> {
        let mut descriptor: c_int = -1;
        let place = (&raw mut descriptor).cast();
        // SAFETY: the pool lives; the driver writes a descriptor, which is ours.
        unsafe {
            sys::cuMemPoolExportToShareableHandle(place, self.0, POSIX, 0)
                .result()?;
            Ok(OwnedFd::from_raw_fd(descriptor))
        }
    }

    /// Opens a pool of another process.
    pub(crate) fn import(descriptor: &OwnedFd) -> Answer<Pool> {
        let handle = descriptor.as_raw_fd() as usize as *mut c_void;
        let mut pool = std::ptr::null_mut();
        // SAFETY: the descriptor is open; the driver writes the pool.
        unsafe {
            sys::cuMemPoolImportFromShareableHandle(&mut pool, handle, POSIX, 0)
        }
        .result()?;
        Ok(Pool(pool))
    }

    /// Memory that another process has allocated from this pool.
    pub(crate) fn import_memory(
        &self,
        stream: &Arc<CudaStream>,
        mut exported: Exported,
        words: usize,
    ) -> Answer<CudaSlice<u32>> {
        let mut pointer = 0;
        // SAFETY: the pool lives, and the memory has that many words.
        unsafe {
            sys::cuMemPoolImportPointer(&mut pointer, self.0, &mut exported)
                .result()?;
            Ok(stream.upgrade_device_ptr(pointer, words))
        }
    }
    // ANCHOR_END: export
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: nothing is taken from the pool any more. An error leaves it there until
        // the process ends.
        let _ = unsafe { mem_pool::destroy(self.0) };
    }
}

/// The pool that the GPU has from the start. It cannot be destroyed.
pub(crate) fn default(stream: &CudaStream) -> Answer<ManuallyDrop<Pool>> {
    // SAFETY: the device is the context's.
    let pool =
        unsafe { device::get_default_mem_pool(stream.context().cu_device()) }?;
    Ok(ManuallyDrop::new(Pool(pool)))
}

/// How another process finds an allocation in a pool that it has opened.
pub(crate) fn export_memory(memory: &CudaSlice<u32>) -> Answer<Exported> {
    let mut exported = Exported { reserved: [0; 64] };
    let (pointer, _in_use) = memory.device_ptr(memory.stream());
    // SAFETY: the memory is of a pool; the driver writes 64 bytes.
    unsafe { sys::cuMemPoolExportPointer(&mut exported, pointer) }.result()?;
    Ok(exported)
}

/// Memory from `cuMemAlloc`, given back by `cuMemFree` on drop.
pub(crate) struct Unpooled(sys::CUdeviceptr);

impl Unpooled {
    pub(crate) fn new(bytes: usize) -> Answer<Unpooled> {
        // SAFETY: nobody reads it.
        Ok(Unpooled(unsafe { result::malloc_sync(bytes) }?))
    }

    /// The same for memory of a pool, whose order in a stream nobody counts on.
    pub(crate) fn from(memory: CudaSlice<u32>) -> Unpooled {
        Unpooled(memory.leak())
    }
}

impl Drop for Unpooled {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated, and is used no more. An error leaves it
        // allocated until the process ends.
        let _ = unsafe { result::free_sync(self.0) };
    }
}
