//! Work: what waits in a queue.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::CUresult::{self, CUDA_ERROR_ILLEGAL_ADDRESS};
use emulator::{MemoryError, Module};

use crate::watch::Noted;

#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Nothing: a place in a queue.
    Nothing,
    /// Nothing: an event is recorded here.
    Record,
    /// Nothing: the queue waits here for what an event stands for.
    Wait,
    /// Bytes go from one address to another; either may be the host's.
    Copy {
        to: u64,
        from: u64,
        bytes: u64,
        noted: Option<Noted>,
    },
    /// Bytes that were taken from pageable memory when the program called.
    Upload {
        to: u64,
        from: Arc<Vec<u8>>,
    },
    Fill {
        to: u64,
        pattern: Vec<u8>,
        count: u64,
    },
    /// Managed memory is to be near a GPU, or the host. It is one memory here: nothing moves.
    Prefetch {
        address: u64,
        bytes: u64,
        to: Option<usize>,
    },
    Launch(Arc<KernelLaunch>),
    /// A function of the program's, which runs on a thread of its own.
    Call(HostFunction),
    /// Device memory comes into being.
    Make {
        address: u64,
        bytes: u64,
        name: String,
    },
    /// Device memory goes.
    Unmake {
        address: u64,
        bytes: u64,
        name: String,
    },
}

/// A kernel and what it is launched with.
#[derive(Debug)]
pub(crate) struct KernelLaunch {
    pub(crate) module: Arc<Module>,
    pub(crate) kernel: String,
    pub(crate) gpu: usize,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) arguments: Vec<u8>,
    /// Bytes of the buffer for what it prints.
    pub(crate) print_bytes: usize,
}

/// A function of the program's, with its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostFunction {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) argument: usize,
}

/// Why work failed: in words, and what the program is told from then on.
pub(crate) struct Failure {
    pub(crate) code: CUresult,
    pub(crate) what: String,
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Failure {
        Failure { code: CUDA_ERROR_ILLEGAL_ADDRESS, what: error.to_string() }
    }
}

impl Work {
    /// Whether it makes the memory at an address.
    pub(crate) fn makes(&self, address: u64) -> bool {
        matches!(self, Work::Make { address: made, .. } if *made == address)
    }

    /// Nanoseconds that it takes on the clock that events show to tests.
    pub(crate) fn nanoseconds(&self) -> u64 {
        if !cfg!(for_tests) {
            return 0;
        }
        let bytes = match self {
            Work::Launch(_) => return 200_000, // as long as a sample should last
            Work::Copy { bytes, .. } => *bytes,
            Work::Upload { from, .. } => from.len() as u64,
            Work::Fill { pattern, count, .. } => pattern.len() as u64 * count,
            _ => 0,
        };
        1_000 + bytes / 8
    }
}
