//! Managed memory, with advice and prefetches; and host memory that a program copies.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUmem_advise::*, CUmemLocationType::*};
use cudarc::driver::{CudaStream, DevicePtr, PinnedHostSlice, UnifiedSlice, result};
use lab::check::value;
use lab::{Result, memory};

pub(crate) const WORD_BYTES: usize = size_of::<u32>();
pub(crate) const HOST: sys::CUmemLocation =
    sys::CUmemLocation { type_: CU_MEM_LOCATION_TYPE_HOST, id: 0 };

/// The memory of the stream's GPU, as a place.
pub(crate) fn device(stream: &CudaStream) -> sys::CUmemLocation {
    let id = stream.context().ordinal() as i32;
    sys::CUmemLocation { type_: CU_MEM_LOCATION_TYPE_DEVICE, id }
}

lab::words! {
    pub(crate) enum Advice {
        None = "none",
        ReadMostly = "read_mostly",
        PreferredHost = "preferred_host",
        AccessedBy = "accessed_by",
    }
}

// ANCHOR: managed
/// New managed memory with advice, which the host then writes, so that it is there.
pub(crate) fn managed(
    stream: &Arc<CudaStream>,
    words: usize,
    advice: Advice,
) -> Result<UnifiedSlice<u32>> {
    // SAFETY: every word is written below, and any bits are a u32.
    let mut memory = unsafe { stream.context().alloc_unified(words, true) }?;
    let advice = match advice {
        Advice::ReadMostly => Some((CU_MEM_ADVISE_SET_READ_MOSTLY, device(stream))),
        Advice::PreferredHost => Some((CU_MEM_ADVISE_SET_PREFERRED_LOCATION, HOST)),
        Advice::AccessedBy => Some((CU_MEM_ADVISE_SET_ACCESSED_BY, device(stream))),
        Advice::None => None,
    };
    if let Some((advice, place)) = advice {
        let (start, _ordered) = memory.device_ptr(stream);
        let bytes = memory.num_bytes();
        // SAFETY: the memory is managed, and has this many bytes.
        unsafe { result::mem_advise(start, bytes, advice, place) }?;
    }
    (0..).zip(memory.as_mut_slice()?).for_each(|(i, word)| *word = value(i));
    Ok(memory)
}

/// Moves managed memory to a place, in bulk.
pub(crate) fn prefetch(
    stream: &Arc<CudaStream>,
    memory: &UnifiedSlice<u32>,
    place: sys::CUmemLocation,
) -> Result<()> {
    let (start, _ordered) = memory.device_ptr(stream);
    let bytes = memory.num_bytes();
    // SAFETY: the memory is managed, and has this many bytes.
    unsafe { result::mem_prefetch_async(start, bytes, place, stream.cu_stream()) }?;
    Ok(())
}
// ANCHOR_END: managed

/// Host memory that is not managed.
pub(crate) enum HostMemory {
    Pinned(PinnedHostSlice<u32>),
    Pageable(Vec<u32>),
}

impl HostMemory {
    /// New memory, written.
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        pinned: bool,
        words: usize,
    ) -> Result<HostMemory> {
        Ok(match pinned {
            true => {
                HostMemory::Pinned(memory::pinned(stream.context(), words, value)?)
            }
            false => HostMemory::Pageable((0..words).map(value).collect()),
        })
    }

    pub(crate) fn words(&mut self) -> Result<&mut [u32]> {
        Ok(match self {
            HostMemory::Pinned(slice) => slice.as_mut_slice()?,
            HostMemory::Pageable(vec) => vec,
        })
    }
}
