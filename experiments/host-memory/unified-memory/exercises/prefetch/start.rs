// Scales the numbers of `part` by each of two factors. The array is managed memory: the host has
// written all of it, and reads the part as soon as this returns.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys::{CUmemLocation, CUmemLocationType::*};
use cudarc::driver::{CudaStream, DevicePtr, UnifiedSlice, result};
use trial::{Kernels, Result};

pub fn brighten(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    array: &mut UnifiedSlice<f32>,
    part: Range<usize>,
    factors: [f32; 2],
) -> Result<()> {
    for factor in factors {
        kernels.scale_managed(stream, &mut array.slice_mut(part.clone()), factor)?;
    }
    stream.synchronize()?;
    Ok(())
}

// Brings a part of managed memory to a place: a GPU, or the host.
fn prefetch(
    stream: &Arc<CudaStream>,
    array: &UnifiedSlice<f32>,
    part: Range<usize>,
    place: CUmemLocation,
) -> Result<()> {
    let part = array.slice(part);
    let (address, bytes) = (part.device_ptr(stream).0, 4 * part.len());
    // SAFETY: there are so many bytes of managed memory.
    unsafe {
        result::mem_prefetch_async(address, bytes, place, stream.cu_stream())
    }?;
    Ok(())
}

const HOST: CUmemLocation =
    CUmemLocation { type_: CU_MEM_LOCATION_TYPE_HOST, id: 0 };

fn gpu(stream: &CudaStream) -> CUmemLocation {
    let id = stream.context().ordinal() as i32;
    CUmemLocation { type_: CU_MEM_LOCATION_TYPE_DEVICE, id }
}
