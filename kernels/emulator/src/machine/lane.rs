//! The access of one lane, to any space, and what can be wrong with it.

use crate::WARP;
use crate::fault::{Fault, FaultKind};
use crate::machine::shared::{Race, Touch};
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result};
use crate::memory::MemoryError;
use crate::space::Space;

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
    Atomic,
    /// Volatile and relaxed accesses, which do not race with each other.
    StrongRead,
    StrongWrite,
}

impl Direction {
    pub(super) fn of(writes: bool, strong: bool) -> Self {
        match (writes, strong) {
            (false, false) => Self::Read,
            (true, false) => Self::Write,
            (false, true) => Self::StrongRead,
            (true, true) => Self::StrongWrite,
        }
    }

    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Atomic | Self::StrongWrite)
    }

    pub(super) fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Atomic | Self::StrongRead)
    }

    pub(super) fn touch(self, thread: u16) -> Touch {
        let strong = !matches!(self, Self::Read | Self::Write);
        Touch { thread, writes: self.writes(), strong }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Read | Self::StrongRead => "reads",
            Self::Write | Self::StrongWrite => "writes",
            Self::Atomic => "changes",
        }
    }
}

/// One lane's access.
#[derive(Clone, Copy)]
pub(super) struct LaneAccess {
    pub(super) lane: usize,
    pub(super) address: u64,
    pub(super) bytes: usize,
    pub(super) direction: Direction,
}

impl Machine<'_> {
    /// One lane's access, to any space.
    pub(super) fn read_lane(
        &mut self,
        warp: &Warp,
        space: Space,
        lane: usize,
        address: u64,
        into: &mut [u8],
        direction: Direction,
    ) -> Result<()> {
        let bytes = into.len();
        let access = LaneAccess { lane, address, bytes, direction };
        if !address.is_multiple_of(bytes as u64) {
            return Err(self.misaligned(warp, access));
        }
        match space {
            Space::Shared => {
                self.touch_shared(warp, access)?;
                let start = address as usize;
                into.copy_from_slice(&self.shared.bytes[start..start + bytes]);
            }
            Space::Local => {
                let start = self.local(warp, access)?;
                into.copy_from_slice(&warp.local[start..start + bytes]);
            }
            Space::Parameter => {
                let arguments = self.launch.arguments;
                let start = usize::try_from(address).unwrap_or(usize::MAX);
                let part = start
                    .checked_add(bytes)
                    .and_then(|end| arguments.get(start..end));
                let Some(part) = part else {
                    let size = arguments.len();
                    let what = format!(
                        "reads {bytes} bytes at {address} of {size} bytes of parameters"
                    );
                    return Err(self.fault(
                        warp,
                        FaultKind::OutOfBounds,
                        lane,
                        what,
                    ));
                };
                into.copy_from_slice(part);
            }
            Space::Global | Space::Constant | Space::Generic => {
                let at = self.locate(warp, access)?;
                let offset = address - self.memory.store(at).address;
                let unwritten = self.memory.read(at, offset, into);
                if self.options.checks.initialised && unwritten.is_some() {
                    return Err(self.unwritten(warp, access));
                }
            }
        }
        Ok(())
    }

    /// One lane's access, to any space.
    pub(super) fn write_lane(
        &mut self,
        warp: &mut Warp,
        space: Space,
        lane: usize,
        address: u64,
        from: &[u8],
        direction: Direction,
    ) -> Result<()> {
        let bytes = from.len();
        let access = LaneAccess { lane, address, bytes, direction };
        match space {
            Space::Shared => {
                self.touch_shared(warp, access)?;
                let start = address as usize;
                self.shared.written.set(address, bytes as u64);
                self.shared.bytes[start..start + bytes].copy_from_slice(from);
            }
            Space::Local => {
                let start = self.local(warp, access)?;
                warp.local[start..start + bytes].copy_from_slice(from);
            }
            Space::Parameter => {
                let what = "writes to a parameter of the kernel".to_owned();
                return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
            }
            Space::Global | Space::Constant | Space::Generic => {
                let at = self.locate(warp, access)?;
                let offset = address - self.memory.store(at).address;
                self.memory.write(at, offset, from);
            }
        }
        Ok(())
    }

    /// Where an address of a lane's local memory is among those of the warp.
    fn local(&self, warp: &Warp, access: LaneAccess) -> Result<usize> {
        let LaneAccess { lane, address, bytes, direction } = access;
        let size = self.program.local_bytes as usize;
        let end = address.checked_add(bytes as u64);
        if end.is_none_or(|end| end > size as u64) {
            let verb = direction.verb();
            let what = format!(
                "{verb} {bytes} bytes at {address:#x} of local memory, which has {size} \
                 bytes"
            );
            return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
        }
        Ok(lane * size + address as usize)
    }

    /// Checks an access to shared memory.
    fn touch_shared(&mut self, warp: &Warp, access: LaneAccess) -> Result<()> {
        let LaneAccess { lane, address, bytes, direction } = access;
        let verb = direction.verb();
        if !self.shared.holds(address, bytes) {
            let size = self.shared.bytes.len();
            let past = address.saturating_sub(size as u64);
            let what = format!(
                "{verb} {bytes} bytes at {address:#x} of shared memory: {past} bytes past \
                 the end of the block's {size} bytes"
            );
            return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
        }
        if self.options.checks.initialised
            && direction.reads()
            && self.shared.written.first_unset(address, bytes as u64).is_some()
        {
            let what = format!(
                "reads {bytes} bytes at {address:#x} of shared memory, where the block \
                 has written nothing"
            );
            return Err(self.fault(warp, FaultKind::Uninitialised, lane, what));
        }
        let touch = direction.touch((warp.index * WARP + lane) as u16);
        match self.shared.touch(address, bytes, touch) {
            Some(race) => Err(self.race(warp, access, race)),
            None => Ok(()),
        }
    }

    pub(super) fn race(
        &self,
        warp: &Warp,
        access: LaneAccess,
        race: Race,
    ) -> Box<Fault> {
        let LaneAccess { lane, address, bytes, direction } = access;
        let verb = direction.verb();
        let other = match race.thread.map(|thread| self.thread_at(thread.into())) {
            Some([x, y, z]) => format!("thread ({x}, {y}, {z})"),
            None => "another warp".to_owned(),
        };
        let does = if race.wrote { "writes" } else { "reads" };
        let what = format!(
            "{verb} {bytes} bytes at {address:#x} of shared memory, which {other} \
             {does}, with no barrier between"
        );
        self.fault(warp, FaultKind::Race, lane, what)
    }

    pub(super) fn misaligned(&self, warp: &Warp, access: LaneAccess) -> Box<Fault> {
        let LaneAccess { lane, address, bytes, direction } = access;
        let verb = direction.verb();
        let what = format!(
            "{verb} {bytes} bytes at {address:#x}, which is no multiple of {bytes}"
        );
        self.fault(warp, FaultKind::Misaligned, lane, what)
    }

    pub(super) fn locate(&self, warp: &Warp, access: LaneAccess) -> Result<usize> {
        let LaneAccess { lane, address, bytes, direction } = access;
        if let Some(found) = self.memory.find(address, bytes as u64) {
            return Ok(found);
        }
        let verb = direction.verb();
        let (kind, what) = match self.memory.error(address, bytes as u64) {
            MemoryError::UseAfterFree { name, .. } => {
                let what = format!(
                    "{verb} {bytes} bytes at {address:#x}, in {name}, which was freed"
                );
                (FaultKind::UseAfterFree, what)
            }
            error => (FaultKind::OutOfBounds, format!("{verb} {error}")),
        };
        Err(self.fault(warp, kind, lane, what))
    }

    pub(super) fn unwritten(&self, warp: &Warp, access: LaneAccess) -> Box<Fault> {
        let LaneAccess { lane, address, bytes, .. } = access;
        let buffer = self.memory.buffer(address);
        let place = buffer.map_or(String::new(), |buffer| {
            let offset = address - buffer.address;
            format!(": {offset} bytes into {} nothing was written", buffer.name)
        });
        let what = format!("reads {bytes} bytes at {address:#x}{place}");
        self.fault(warp, FaultKind::Uninitialised, lane, what)
    }
}
