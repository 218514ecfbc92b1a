//! The four kinds of host memory: how to get each, and how to give it back.

use std::sync::Arc;

use cudarc::driver::{CudaContext, PinnedHostSlice, sys};
use lab::Result;
use lab::memory::Registration;

pub(crate) const PAGE: usize = 4096;

lab::words! {
    pub(crate) enum Kind {
        Pageable = "pageable",
        Pinned = "pinned",
        WriteCombined = "write_combined",
        Registered = "registered",
    }
}

/// Host memory of one of the kinds.
pub(crate) enum HostMemory {
    Pageable(Vec<u32>),
    Pinned(PinnedHostSlice<u32>),
    Registered { _registration: Registration, vec: Vec<u32> },
}

impl HostMemory {
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        kind: Kind,
        bytes: usize,
    ) -> Result<HostMemory> {
        Self::from(context, kind, bytes, Self::before(kind, bytes))
    }

    /// What must be there before the memory is made: for `registered`, a Vec with all of
    /// its pages.
    pub(crate) fn before(kind: Kind, bytes: usize) -> Vec<u32> {
        if kind == Kind::Registered { touched(bytes) } else { vec![] }
    }

    // ANCHOR: kinds
    /// Makes memory of a kind, ready for use. `vec` is what [`HostMemory::before`] made.
    pub(crate) fn from(
        context: &Arc<CudaContext>,
        kind: Kind,
        bytes: usize,
        mut vec: Vec<u32>,
    ) -> Result<HostMemory> {
        // SAFETY: every word is written before it is read.
        let pinned = |flags| unsafe {
            context.alloc_pinned_with_flags(bytes / size_of::<u32>(), flags)
        };
        Ok(match kind {
            Kind::Pageable => HostMemory::Pageable(touched(bytes)),
            Kind::Pinned => HostMemory::Pinned(pinned(0)?),
            Kind::WriteCombined => {
                HostMemory::Pinned(pinned(sys::CU_MEMHOSTALLOC_WRITECOMBINED)?)
            }
            Kind::Registered => {
                // SAFETY: a Vec that is moved leaves its words where they are, and here
                // the registration is dropped before the Vec. Every copy is waited for.
                let _registration = unsafe { Registration::new(&mut vec) }?;
                HostMemory::Registered { _registration, vec }
            }
        })
    }
    // ANCHOR_END: kinds

    pub(crate) fn words(&mut self) -> &mut [u32] {
        match self {
            HostMemory::Pageable(vec) | HostMemory::Registered { vec, .. } => vec,
            HostMemory::Pinned(slice) => slice
                .as_mut_slice()
                .expect("no copy is in flight, so nothing can fail"),
        }
    }

    /// Gives the memory back; of a registered Vec, only the registration.
    pub(crate) fn release(self) -> Vec<u32> {
        match self {
            HostMemory::Registered { vec, .. } => vec,
            _ => vec![],
        }
    }
}

/// A Vec of `bytes` with every page touched, so that the system has provided it.
fn touched(bytes: usize) -> Vec<u32> {
    let mut vec = vec![0u32; bytes / size_of::<u32>()];
    for page in vec.chunks_mut(PAGE / size_of::<u32>()) {
        page[0] = 1;
    }
    vec
}
