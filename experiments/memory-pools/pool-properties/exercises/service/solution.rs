// Answers requests: the total of request + weights. With a pool of its own.

use std::ptr::null_mut;
use std::sync::Arc;

use cudarc::driver::result::{self, device, mem_pool};
use cudarc::driver::sys::{
    self, CUmemAllocationHandleType as Handle,
    CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
    CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
    CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};
use trial::{Kernels, Result};

pub struct Service {
    pool: sys::CUmemoryPool,
}

impl Service {
    // The pool holds at most `cap` bytes, and keeps up to `keep` unused ones when the host waits.
    pub fn new(
        context: &Arc<CudaContext>,
        cap: usize,
        keep: usize,
    ) -> Result<Service> {
        let properties = sys::CUmemPoolProps {
            allocType: CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: Handle::CU_MEM_HANDLE_TYPE_NONE,
            location: sys::CUmemLocation {
                type_: CU_MEM_LOCATION_TYPE_DEVICE,
                id: context.ordinal() as i32,
            },
            win32SecurityAttributes: null_mut(),
            maxSize: cap,
            usage: 0,
            reserved: [0; 54],
        };
        let mut keep = keep as u64;
        // SAFETY: the device is the context's, and the attribute is a number of 64 bits.
        unsafe {
            let pool = mem_pool::create(&properties)?;
            let name = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            mem_pool::set_attribute(pool, name, (&raw mut keep).cast())?;
            device::set_mem_pool(context.cu_device(), pool)?;
            Ok(Service { pool })
        }
    }

    // An answer for each request. There are as many weights as the longest one has numbers.
    pub fn answer(
        &self,
        [copies, compute]: [&Arc<CudaStream>; 2],
        kernels: &Kernels,
        weights: &CudaSlice<f32>,
        requests: &[Vec<f32>],
    ) -> Result<Vec<f32>> {
        let totals = compute.alloc_zeros::<f32>(requests.len())?;
        let first = totals.device_ptr(compute).0;
        for (number, request) in (0..).zip(requests) {
            let data = copies.clone_htod(request)?;
            compute.join(copies)?; // the kernel reads what was copied
            let mut sums = compute.alloc_zeros::<f32>(request.len())?;
            let weights = weights.slice(..request.len());
            let (data_view, mut place) = (data.as_view(), sums.as_view_mut());
            kernels.add(compute, &data_view, &weights, &mut place)?;
            // SAFETY: `data` owned it, and nothing uses it any more behind the kernel.
            unsafe { result::free_async(data.leak(), compute.cu_stream()) }?;
            let total = first + 4 * number;
            // SAFETY: there is a number for each request.
            unsafe { kernels.total(compute, &sums.as_view(), total) }?;
        } // `sums` are freed in the stream that has allocated them
        let answers = compute.clone_dtoh(&totals)?;
        compute.synchronize()?;
        Ok(answers)
    }

    // The GPU's default pool is the current one again. The streams have nothing left to do.
    pub fn close(self) -> Result<()> {
        // SAFETY: the pool is there, and nothing of it is in use.
        unsafe { mem_pool::destroy(self.pool) }?;
        Ok(())
    }
}
