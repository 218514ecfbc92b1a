//! What a program asked of a GPU, written, read and judged. The emulated driver keeps a *ledger*:
//! each piece of queued work, what it comes after, and which memory it touched. From that
//! follows, without a clock, whether the order of a program is right, and what would run at
//! the same time.
//!
//! ```
//! let ledger: ledger::Ledger = "\
//! operation 1 1 0 4096 - upload
//! write 1048576 4096 0 half 0
//! operation 2 2 0 0 - kernel scale
//! read 1048576 4096 0 half 0
//! "
//! .parse()?;
//! let conflicts = ledger::unordered(&ledger);
//! assert_eq!(
//!     conflicts[0].to_string(),
//!     "upload 1 (stream 1) writes `half 0`, which kernel `scale` (2, stream 2) reads; \
//!      nothing makes 2 wait for 1"
//! );
//! # Ok::<(), ledger::Error>(())
//! ```
//!
//! | function | what it answers |
//! |---|---|
//! | [`Ledger::from_str`](std::str::FromStr) and `to_string` | what the text of a ledger says |
//! | [`unordered`] | which operations touch the same memory in no order |
//! | [`schedule()`] | when each would run, on engines with declared speeds |
//! | [`timeline()`] | the same, drawn |
//! | [`residence()`] | which pages of managed memory kernels would fault on |
//! | [`totals()`] | how many launches, copies, bytes, allocations |

#![warn(missing_docs)]

mod managed;
mod order;
mod schedule;
mod text;
mod timeline;
mod totals;

use std::collections::BTreeMap;
use std::fmt;

pub use managed::{PAGE_BYTES, Residence, residence};
pub use order::{Conflict, unordered};
pub use schedule::{Costs, Engine, Run, Schedule, schedule};
pub use text::{Error, Mistake};
pub use timeline::timeline;
pub use totals::{Amount, Totals, totals};

/// What a program asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// How often each function was called, by name.
    pub calls: BTreeMap<String, u64>,
    /// Queued work, in the order in which it was queued: number 1 comes first.
    pub operations: Vec<Operation>,
    /// What the host waited for, in order.
    pub waits: Vec<Wait>,
    /// Managed memory, in the order in which the program got it.
    pub managed: Vec<Managed>,
}

/// A piece of queued work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Number in the order of queueing, from 1 on.
    pub number: usize,
    /// Stream that it is in: 0 is the default stream of its GPU.
    pub stream: usize,
    /// GPU of that stream.
    pub gpu: usize,
    /// What it does.
    pub kind: Kind,
    /// Bytes that it copies, prefetches, fills, allocates or frees; 0 for others.
    pub bytes: u64,
    /// Numbers of operations that it directly comes after, all smaller than its own.
    pub after: Vec<usize>,
    /// Memory that it reads, in the order of addresses.
    pub read: Vec<Range>,
    /// Memory that it writes, in the order of addresses.
    pub written: Vec<Range>,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Copies from the host to a GPU.
    Upload,
    /// Copies from a GPU to the host.
    Download,
    /// Copies within the memory of a GPU.
    Copy,
    /// Copies from one GPU to another.
    PeerCopy {
        /// The GPU that is read.
        from: usize,
        /// The GPU that is written.
        to: usize,
    },
    /// Copies from the host to the host.
    HostCopy,
    /// Brings managed memory to a place before somebody touches it there.
    Prefetch {
        /// The GPU; `None` for the host.
        to: Option<usize>,
        /// Where the memory starts.
        address: u64,
    },
    /// Writes a pattern.
    Fill,
    /// Runs the kernel with this name.
    Kernel(String),
    /// Runs a function of the host.
    HostFunction,
    /// Makes memory, in the order of its stream.
    Allocate,
    /// Frees memory, in the order of its stream.
    Free,
    /// Records an event.
    Record,
    /// Waits for an event.
    Wait,
    /// Does nothing: a place in a stream, such as where a graph begins.
    Mark,
}

/// Contiguous memory with one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Where it starts.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// What the program calls the memory, or the driver.
    pub name: String,
    /// Bytes from where the name begins to the range.
    pub offset: u64,
}

/// The host waited for an operation, and queued later ones after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How many operations it had queued by then.
    pub queued: usize,
    /// Number of the operation that it waited for.
    pub operation: usize,
}

/// Managed memory that the program got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Managed {
    /// How many operations it had queued by then.
    pub queued: usize,
    /// Where the memory starts.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl Operation {
    /// Bytes that it read and wrote, in all.
    pub fn touched_bytes(&self) -> u64 {
        self.read.iter().chain(&self.written).map(|range| range.bytes).sum()
    }
}

impl fmt::Display for Operation {
    /// A name such as "kernel `scale` (4, stream 1)" and "upload 6 (stream 2)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match &self.kind {
            Kind::Kernel(name) => write!(f, "kernel `{name}` ({number}, ")?,
            kind => write!(f, "{} {number} (", kind.word())?,
        }
        match self.stream {
            0 => write!(f, "the default stream)"),
            stream => write!(f, "stream {stream})"),
        }
    }
}

impl Kind {
    fn word(&self) -> &'static str {
        match self {
            Kind::Upload => "upload",
            Kind::Download => "download",
            Kind::Copy => "copy",
            Kind::PeerCopy { .. } => "peer copy",
            Kind::HostCopy => "copy on the host",
            Kind::Prefetch { .. } => "prefetch",
            Kind::Fill => "fill",
            Kind::Kernel(_) => "kernel",
            Kind::HostFunction => "host function",
            Kind::Allocate => "allocation",
            Kind::Free => "free",
            Kind::Record => "record",
            Kind::Wait => "wait",
            Kind::Mark => "mark",
        }
    }
}
