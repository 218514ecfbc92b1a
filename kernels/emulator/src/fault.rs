//! Why a launch ended before its end, in a sentence.

use std::fmt;

/// Why a launch failed: what happened, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of mistake, for a program to tell them apart.
    pub kind: FaultKind,
    /// What happened, without the place: "lane 3 reads 4 bytes at …".
    pub what: String,
    /// The kernel.
    pub kernel: String,
    /// The line, unless the launch as a whole is at fault.
    pub place: Option<Place>,
    /// The block.
    pub block: Option<[u32; 3]>,
    /// The thread; for what concerns several threads, one of them.
    pub thread: Option<[u32; 3]>,
}

/// Kinds of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The launch cannot be made: no such kernel, a block too large, arguments missing.
    BadLaunch,
    /// An access outside every buffer.
    OutOfBounds,
    /// An access to a buffer that was freed.
    UseAfterFree,
    /// An address that is no multiple of the access's width.
    Misaligned,
    /// A use of bytes that nobody wrote.
    Uninitialised,
    /// Two threads access the same bytes of shared or device memory, one of them writing, and
    /// nothing orders the two.
    Race,
    /// A barrier that not all threads reach.
    Barrier,
    /// A shuffle that reads from a lane that takes no part, masks of lanes that differ, or a
    /// product of matrices without some of its lanes.
    InactiveLane,
    /// No thread gets anywhere.
    NoProgress,
    /// A block executes more instructions than
    /// [`Options::budget`](crate::Options::budget) allows.
    OverBudget,
    /// The kernel executed `trap`.
    Trap,
    /// The kernel's `assert` failed.
    Assertion,
    /// The emulator does not know how to do this.
    Unsupported,
}

/// A line of PTX, and of the source that it was compiled from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line in the PTX, from 1 on.
    pub ptx_line: u32,
    /// File and line of the source, if the PTX was compiled with `-lineinfo`.
    pub source: Option<(String, u32)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some((file, line)) => write!(f, "line {line} of {file}"),
            None => write!(f, "line {} of the PTX", self.ptx_line),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kernel, self.what)?;
        if let Some(place) = &self.place
            && !self.what.contains(&format!(" at {place}"))
        {
            write!(f, ", at {place}")?;
        }
        if let Some([x, y, z]) = self.block {
            write!(f, ", block ({x}, {y}, {z})")?;
        }
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
