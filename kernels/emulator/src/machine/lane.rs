//! The access of one lane, to any space, and what can be wrong with it.

use crate::WARP;
use crate::fault::{Fault, FaultKind};
use crate::machine::trace::{Race, Touch};
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result};
use crate::memory::{MemoryError, in_bytes, past_end};
use crate::program::{Op, Scope, Strength};
use crate::space::Space;

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    reads: bool,
    writes: bool,
    strength: Strength,
    scope: Scope,
    in_flight: bool,
}

impl Direction {
    pub(super) const READ: Self = Self::of(false, Strength::Weak, Scope::Grid);
    pub(super) const WRITE: Self = Self::of(true, Strength::Weak, Scope::Grid);
    /// An asynchronous copy writes from now on.
    pub(super) const START: Self = Self { in_flight: true, ..Self::WRITE };

    pub(super) const fn of(writes: bool, strength: Strength, scope: Scope) -> Self {
        Self { reads: !writes, writes, strength, scope, in_flight: false }
    }

    /// An atomic operation.
    pub(super) const fn change(scope: Scope) -> Self {
        Self { reads: true, ..Self::of(true, Strength::Atomic, scope) }
    }

    /// For whom it counts.
    pub(super) fn scope_in(self, space: Space) -> Scope {
        if space == Space::Shared { Scope::Block } else { self.scope }
    }

    pub(super) fn writes(self) -> bool {
        self.writes
    }

    pub(super) fn reads(self) -> bool {
        self.reads
    }

    /// Can it be an access to a flag or a lock?
    pub(super) fn is_strong(self) -> bool {
        self.strength != Strength::Weak
    }

    pub(super) fn touch(self, thread: usize, line: u32) -> Touch {
        let Self { writes, strength, scope, in_flight, .. } = self;
        let (thread, line) = (thread as u16, line.try_into().unwrap_or(u16::MAX));
        Touch { thread, line, writes, strength, scope, in_flight }
    }

    pub(super) fn verb(self) -> &'static str {
        match (self.reads, self.writes) {
            (true, true) => "changes",
            (_, false) => "reads",
            _ => "writes",
        }
    }
}

/// One lane's access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneAccess {
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
                self.touch_shared(warp, access, None)?;
                let start = address as usize;
                into.copy_from_slice(&self.shared.bytes[start..start + bytes]);
            }
            Space::Local => {
                let start = self.local(warp, access)?;
                into.copy_from_slice(&warp.local[start..start + bytes]);
                let written = &warp.local_written;
                let unset = written.first_unset(start as u64, bytes as u64);
                if self.options.checks.initialised && unset.is_some() {
                    self.note_unwritten(warp, space, (0, start as u64), access);
                }
            }
            Space::Parameter => {
                let arguments = self.launch.arguments;
                let start = usize::try_from(address).unwrap_or(usize::MAX);
                let part = start.checked_add(bytes).and_then(|end| arguments.get(start..end));
                let Some(part) = part else {
                    let size = arguments.len();
                    let what = format!(
                        "reads {} at {address} of {size} bytes of parameters",
                        in_bytes(bytes as u64)
                    );
                    return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
                };
                into.copy_from_slice(part);
            }
            Space::Global | Space::Constant | Space::Generic => {
                let at = self.locate(warp, access)?;
                let offset = address - self.memory.store(at).address;
                let unwritten = self.memory.read_at(at, offset, into);
                if self.options.checks.initialised && unwritten.is_some() {
                    self.note_unwritten(warp, space, (at, offset), access);
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
                self.touch_shared(warp, access, Some(from))?;
                let start = address as usize;
                self.shared.written.set(address, bytes as u64);
                self.shared.bytes[start..start + bytes].copy_from_slice(from);
            }
            Space::Local => {
                let start = self.local(warp, access)?;
                warp.local[start..start + bytes].copy_from_slice(from);
                warp.local_written.set(start as u64, bytes as u64);
            }
            Space::Parameter => {
                let what = "writes to a parameter of the kernel".to_owned();
                return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
            }
            Space::Global | Space::Constant | Space::Generic => {
                let at = self.locate(warp, access)?;
                let offset = address - self.memory.store(at).address;
                self.memory.write_at(at, offset, from);
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
                "{verb} {} at {address:#x} of local memory, which has {size} bytes",
                in_bytes(bytes as u64)
            );
            return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
        }
        Ok(lane * size + address as usize)
    }

    /// Checks an access to shared memory, which perhaps writes something.
    pub(super) fn touch_shared(
        &mut self,
        warp: &Warp,
        access: LaneAccess,
        from: Option<&[u8]>,
    ) -> Result<()> {
        let LaneAccess { lane, address, bytes, direction } = access;
        let verb = direction.verb();
        if !self.shared.holds(address, bytes) {
            let size = self.shared.bytes.len() as u64;
            let beyond = match size {
                0 => ", and the block has none: the launch asked for no dynamic shared \
                      memory; declare the array with a size"
                    .to_owned(),
                _ => format!(
                    ": {} the block's {}",
                    past_end(address, bytes as u64, size),
                    in_bytes(size)
                ),
            };
            let bytes = in_bytes(bytes as u64);
            let what = format!("{verb} {bytes} at {address:#x} of shared memory{beyond}");
            return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
        }
        let touch = direction.touch(warp.index * WARP + lane, self.program.code[warp.pc].place);
        let mut race = self.shared.touch(address, bytes, touch);
        if let Some(found) = &race
            && found.wrote
            && !found.in_flight
            && from == Some(&self.shared.bytes[address as usize..][..bytes])
        {
            race = self.shared.touch_again(address, bytes, touch);
        }
        if let Some(race) = race {
            self.race(warp, access, race)?;
        }
        if self.options.checks.initialised
            && direction.reads()
            && self.shared.written.first_unset(address, bytes as u64).is_some()
        {
            self.note_unwritten(warp, Space::Shared, (0, address), access);
        }
        Ok(())
    }

    /// Two accesses that nothing orders. If they are of one warp and there are others, the
    /// error is not yet told.
    pub(super) fn race(&mut self, warp: &Warp, access: LaneAccess, race: Race) -> Result<()> {
        let LaneAccess { lane, address, bytes, direction } = access;
        if !is_of(&race, warp) || race.in_flight || self.of_warps.len() == 1 {
            return Err(self.describe(warp, access, race));
        }
        if direction.writes() {
            let line = self.program.code[warp.pc].place;
            let touch = direction.touch(warp.index * WARP + lane, line);
            let more = self.shared.touch_again(address, bytes, touch);
            if let Some(race) = more.filter(|race| !is_of(race, warp)) {
                return Err(self.describe(warp, access, race));
            }
        }
        let pending = self.pending.as_ref().map(|pending| pending.kind);
        if pending != Some(FaultKind::Race) {
            self.pending = Some(self.describe(warp, access, race));
        }
        Ok(())
    }

    /// Two accesses, and what would order them.
    fn describe(&self, warp: &Warp, access: LaneAccess, race: Race) -> Box<Fault> {
        let LaneAccess { lane, address, bytes, direction } = access;
        let what = if race.in_flight {
            let (verb, bytes) = (direction.verb(), in_bytes(bytes as u64));
            let [x, y, z] = self.thread_at(race.thread.into());
            let line = self.line_of(race);
            format!(
                "{verb} {bytes} at {address:#x} of shared memory, which an \
                 asynchronous copy of thread ({x}, {y}, {z}){line} has yet to write: \
                 that thread must wait for its copies, and then all at a barrier"
            )
        } else {
            let does = if race.wrote { "writes" } else { "reads" };
            let parties = self.parties(access, race, does);
            let asks = asks_if_meant(access, race, false);
            let remedy = self.remedy(warp, access, race);
            format!("{parties}, with no barrier between ({asks}{remedy})")
        };
        self.fault(warp, FaultKind::Race, lane, what)
    }

    /// "writes 4 bytes at … of shared memory, which thread (1, 2, 3) reads at line 7".
    pub(super) fn parties(&self, access: LaneAccess, race: Race, does: &str) -> String {
        let LaneAccess { address, bytes, direction, .. } = access;
        let (verb, bytes) = (direction.verb(), in_bytes(bytes as u64));
        let [x, y, z] = self.thread_at(race.thread.into());
        let line = self.line_of(race);
        format!(
            "{verb} {bytes} at {address:#x} of shared memory, \
             which thread ({x}, {y}, {z}) {does}{line}"
        )
    }

    /// " at line 7": where the other thread was.
    pub(super) fn line_of(&self, race: Race) -> String {
        let line = self.program.places.get(usize::from(race.line));
        line.map_or(String::new(), |line| format!(" at {line}"))
    }

    /// What would order two accesses.
    pub(super) fn remedy(&self, warp: &Warp, access: LaneAccess, race: Race) -> String {
        let same_line = self.is_same_line(warp, race);
        if race.wrote && !access.direction.reads() && same_line {
            return "one thread should write, or all of them the same".to_owned();
        }
        let barrier = match (is_of(&race, warp), self.of_warps.len()) {
            (true, 1) => {
                "lanes of a warp are not in step: __syncwarp() orders them; or pass the value \
                 by __shfl_sync(), or give each lane its own element"
            }
            (true, _) => {
                "__syncthreads() orders them; __syncwarp() is enough if only lanes of one \
                 warp share the element"
            }
            (false, _) => "__syncthreads() orders them",
        };
        let other = match (self.has_flags(), same_line) {
            (true, _) => ", or a flag or lock with __threadfence_block() before it is set",
            (_, true) => ", or one atomic operation in place of the line",
            _ => "",
        };
        format!("{barrier}{other}")
    }

    /// Does the program have flags or locks, and so elements that threads are meant to share?
    pub(super) fn has_flags(&self) -> bool {
        let is_one = |op: &Op| match op {
            Op::Load(access) => access.strength == Strength::Atomic,
            Op::Atomic(atomic) => atomic.swap.is_some(),
            _ => false,
        };
        self.program.code.iter().any(|instruction| is_one(&instruction.operation))
    }

    /// Are both accesses on the same line?
    pub(super) fn is_same_line(&self, warp: &Warp, race: Race) -> bool {
        let own = self.place(warp.pc);
        let other = self.program.places.get(usize::from(race.line));
        other.is_some_and(|other| match &own.source {
            Some(_) => other.source == own.source,
            None => *other == own,
        })
    }

    pub(super) fn misaligned(&self, warp: &Warp, access: LaneAccess) -> Box<Fault> {
        let LaneAccess { lane, address, bytes, direction } = access;
        let verb = direction.verb();
        // Addresses of the host differ from run to run.
        let place = match self.memory.host_buffer(address) {
            Some(host) => {
                format!("byte {} of {}", address - host.address, host.name)
            }
            None => format!("{address:#x}"),
        };
        let what = format!("{verb} {bytes} bytes at {place}, which is no multiple of {bytes}");
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
                let bytes = in_bytes(bytes as u64);
                let what = format!("{verb} {bytes} at {address:#x}, in {name}, which was freed");
                (FaultKind::UseAfterFree, what)
            }
            error => (FaultKind::OutOfBounds, format!("{verb} {error}")),
        };
        Err(self.fault(warp, kind, lane, what))
    }

    /// What is wrong with a read of what nobody has written.
    pub(super) fn unwritten(&self, space: Space, access: LaneAccess) -> String {
        let LaneAccess { address, bytes, .. } = access;
        let reads = format!("reads {} at {address:#x}", in_bytes(bytes as u64));
        match space {
            Space::Shared => {
                let nothing = "of shared memory, where the block has written nothing";
                return format!("{reads} {nothing}");
            }
            Space::Local => {
                return format!(
                    "{reads} of local memory, where the thread has written nothing: set \
                     each element of a local array before it is read"
                );
            }
            _ => {}
        }
        format!("{reads}{}, where nothing was written", self.place_in_buffer(address))
    }

    /// ", 4 bytes into out"; nothing, if it is in no buffer.
    pub(super) fn place_in_buffer(&self, address: u64) -> String {
        let Some(buffer) = self.memory.buffer(address) else { return String::new() };
        match address - buffer.address {
            0 => format!(", the start of {}", buffer.name),
            offset => format!(", {} into {}", in_bytes(offset), buffer.name),
        }
    }
}

/// What to ask first, of two that write, or whose one line should give each an element of its
/// own: often an index is wrong, and nothing has to be ordered.
pub(super) fn asks_if_meant(access: LaneAccess, race: Race, own_elements: bool) -> &'static str {
    let direction = access.direction;
    if race.wrote && direction.writes() && !direction.reads() {
        "did you mean both to write it? If not, the index is wrong. If so, "
    } else if own_elements && !race.strong && !direction.is_strong() {
        "did you mean both to use this element? If not, the index is wrong. If so, "
    } else {
        ""
    }
}

/// Is the other thread of the same warp?
pub(super) fn is_of(race: &Race, warp: &Warp) -> bool {
    usize::from(race.thread) / WARP == warp.index
}
