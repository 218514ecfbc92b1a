//! What a launch did, in numbers.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use crate::WARP;
use crate::fault::Place;

/// What one launch did, line by line.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The kernel's name.
    pub kernel: String,
    /// One entry for each line of PTX that holds an instruction, in their order.
    pub lines: Vec<Line>,
    /// PTX instructions of the warp that executed most of them.
    pub longest_warp: u64,
    /// What the kernel's `printf` calls printed: the end of it, as much as
    /// [`Options::print_bytes`](crate::Options::print_bytes) has room for.
    pub printed: String,
    /// Bytes that were printed before that, and are lost.
    pub printed_before: u64,
    /// What is right, but rarely meant: one of each kind for a line, where it happened first.
    pub notes: Vec<Note>,
    /// The loads and stores of the warp that [`Options::watch`](crate::Options::watch) names,
    /// to device and to shared memory, in their order: the first 4096.
    pub requests: Vec<Request>,
    /// What that warp executed, in its order: the first 4096 instructions.
    pub steps: Vec<Step>,
}

/// An instruction that a warp executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of the source, or of the PTX where that names none.
    pub line: u32,
    /// The lanes that were there, one bit for each: the others had other ways to go.
    pub lanes: u32,
}

/// What the lanes of a warp accessed with one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The line.
    pub place: Place,
    /// Whether it stores.
    pub stores: bool,
    /// Bytes that each lane accesses.
    pub bytes: u64,
    /// The lanes that take part, one bit for each.
    pub lanes: u32,
    /// Where each lane's access starts; of lanes that take no part, anything. In shared memory
    /// from its start on.
    pub addresses: [u64; WARP],
    /// What it cost.
    pub traffic: Traffic,
}

/// What a request cost, in the unit of the memory that it went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Sectors of device memory.
    Global(Sectors),
    /// Wavefronts of shared memory.
    Shared(Wavefronts),
}

/// Something that is no mistake, and that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What kind.
    pub kind: NoteKind,
    /// What happened, without the place, in words.
    pub what: String,
    /// The line.
    pub place: Place,
}

/// Kinds of [notes](Note).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// Two threads write the same value to one place, and nothing orders them.
    SameValue,
    /// A compare-and-swap expects what a plain read found, which is another value by now.
    PlainRead,
    /// A thread reads what another block has written and told of after a fence, with no fence of
    /// its own between being told and the read. By PTX's memory model, nothing orders the two.
    Unfenced,
    /// Threads have returned before a barrier that others wait at. With
    /// [`Checks::barriers`](crate::Checks::barriers) this is a fault instead.
    Barrier,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at {}", self.what, self.place)
    }
}

/// What one line did.
#[derive(Clone, Debug)]
pub struct Line {
    /// Which line.
    pub place: Place,
    /// What it did.
    pub tally: Tally,
    /// The pieces of global memory that it touched, if
    /// [`Options::pieces`](crate::Options::pieces) asks.
    pub pieces: Pieces,
}

/// Pieces of global memory that loads and stores touch, by other sizes than a sector's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Aligned pieces of 128 bytes, lines of the first-level cache, that loads touch: counted
    /// anew for each request.
    pub load_lines: u64,
    /// Those of stores.
    pub store_lines: u64,
    /// Aligned pieces of 64 bytes that loads touch: memory is fetched in these.
    pub load_fetches: u64,
    /// Sectors that a request stores a part of only.
    pub partial_store_sectors: u64,
    /// Sectors that loads touch, each counted once for a block and a line of the source: what a
    /// first-level cache would leave at best.
    pub block_load_sectors: u64,
}

/// Events, summed over all warps.
///
/// `instructions` and `thread_instructions` count PTX instructions. The compiler of the
/// driver makes others of them, so these two are no counts of the hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// PTX instructions that warps executed.
    pub instructions: u64,
    /// The same, times the lanes that took part.
    pub thread_instructions: u64,
    /// Loads from global memory.
    pub global_loads: Sectors,
    /// Stores to global memory.
    pub global_stores: Sectors,
    /// Reads of global memory by `cp.async`.
    pub async_copies: Sectors,
    /// Loads from shared memory.
    pub shared_loads: Wavefronts,
    /// Stores to shared memory.
    pub shared_stores: Wavefronts,
    /// Atomic operations on global memory that give back the old value: `atom`. Their sectors,
    /// as those of reductions, are counted by the rule of stores.
    pub global_atomics: Sectors,
    /// Atomic operations on global memory that give back nothing: `red`.
    pub global_reductions: Sectors,
    /// Atomic operations on shared memory. What hardware does not have, such as a sum of floats,
    /// is a loop there and one request here.
    pub shared_atomics: Wavefronts,
    /// Products of matrices: `mma` and `wmma.mma`.
    pub matrix_operations: u64,
    /// Loads from and stores to local memory: requests of warps.
    pub local_accesses: u64,
    /// Arrivals of warps at a barrier of their block.
    pub barriers: u64,
    /// Branches that some lanes of a warp took and others did not.
    pub divergent_branches: u64,
}

/// Requests to global memory and the 32-byte sectors that they touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sectors {
    /// Instructions of a warp with at least one active lane.
    pub requests: u64,
    /// Sectors touched, counted anew for each request.
    pub sectors: u64,
    /// Sectors that each request's bytes would fill if they lay side by side.
    pub ideal: u64,
}

/// Requests to shared memory and the wavefronts that served them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// Instructions of a warp with at least one active lane.
    pub requests: u64,
    /// Wavefronts: passes of all banks.
    pub wavefronts: u64,
    /// Wavefronts that each request's words would take without a conflict.
    pub ideal: u64,
}

impl Counts {
    /// The sum over all lines.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for line in &self.lines {
            total += line.tally;
        }
        total
    }

    /// The lines of the source, where the PTX names them, with the sums of their PTX.
    pub fn by_source_line(&self) -> BTreeMap<(String, u32), Tally> {
        self.sums(|line| line.tally)
    }

    /// The same of pieces.
    pub fn pieces_by_source_line(&self) -> BTreeMap<(String, u32), Pieces> {
        self.sums(|line| line.pieces)
    }

    fn sums<T: AddAssign + Default>(&self, of: impl Fn(&Line) -> T) -> BTreeMap<(String, u32), T> {
        let mut lines = BTreeMap::<_, T>::new();
        for line in &self.lines {
            if let Some(source) = &line.place.source {
                *lines.entry(source.clone()).or_default() += of(line);
            }
        }
        lines
    }
}

impl Tally {
    /// Atomic operations of warps, on global and on shared memory.
    pub fn atomics(&self) -> u64 {
        self.global_atomics.requests
            + self.global_reductions.requests
            + self.shared_atomics.requests
    }
}

macro_rules! add_assign {
    ($type:ident: $($field:ident),*) => {
        impl AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}
add_assign!(
    Tally: instructions, thread_instructions, global_loads, global_stores, async_copies,
    shared_loads, shared_stores, global_atomics, global_reductions, shared_atomics,
    matrix_operations, local_accesses, barriers, divergent_branches
);
add_assign!(
    Pieces: load_lines, store_lines, load_fetches, partial_store_sectors, block_load_sectors
);
add_assign!(Sectors: requests, sectors, ideal);
add_assign!(Wavefronts: requests, wavefronts, ideal);
