//! The access of one lane, to any space, and what can be wrong with it.

use std::collections::HashSet;
use std::ops::Range;

use crate::WARP;
use crate::fault::{Fault, FaultKind};
use crate::machine::trace::{Race, Touch, TouchKind};
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result};
use crate::memory::{MemoryError, copy, in_bytes, past_end};
use crate::program::{AtomicKind, Op, Program, Scope, SharedArray, Strength};
use crate::registers::{Class, Slot};
use crate::space::Space;

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    writes: bool,
    strength: Strength,
    scope: Scope,
    kind: TouchKind,
    /// The last, so that all that a [`Touch`] takes over lies together.
    reads: bool,
}

impl Direction {
    pub(super) const READ: Self = Self::of(false, Strength::Weak, Scope::Grid);
    pub(super) const WRITE: Self = Self::of(true, Strength::Weak, Scope::Grid);
    /// An asynchronous copy writes from now on.
    pub(super) const START: Self = Self { kind: TouchKind::InFlight, ..Self::WRITE };

    pub(super) const fn of(writes: bool, strength: Strength, scope: Scope) -> Self {
        Self { writes, strength, scope, kind: TouchKind::Usual, reads: !writes }
    }

    /// A load of what, as it says, nobody writes in this launch.
    pub(super) const fn read_only(self) -> Self {
        Self { kind: TouchKind::ReadOnly, ..self }
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
        let Self { writes, strength, scope, kind, .. } = self;
        let (thread, line) = (thread as u16, line.try_into().unwrap_or(u16::MAX));
        Touch { thread, line, writes, strength, scope, kind }
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
        if address & (bytes as u64 - 1) != 0 {
            return Err(self.misaligned(warp, access));
        }
        match space {
            Space::Shared => {
                self.touch_shared(warp, access, None)?;
                let start = address as usize;
                copy(into, &self.shared.bytes[start..start + bytes]);
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
                self.shared.write(address, from);
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
        if !self.shared.holds(None, address, bytes) {
            let size = self.shared.bytes.len() as u64;
            let place =
                before_start(address).unwrap_or_else(|| past_end(address, bytes as u64, size));
            let beyond = match size {
                0 => ", and the block has none: the launch asked for no dynamic shared \
                      memory; declare the array with a size"
                    .to_owned(),
                _ => format!(": {place} the block's {}", in_bytes(size)),
            };
            let bytes = in_bytes(bytes as u64);
            let what = format!("{verb} {bytes} at {address:#x} of shared memory{beyond}");
            return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
        }
        let array = self.program.bounds[warp.pc].as_ref();
        if let Some(range) = array.filter(|range| !self.shared.holds(Some(range), address, bytes)) {
            return Err(self.beyond_array(warp, access, range));
        }
        let touch = direction.touch(warp.index * WARP + lane, self.program.code[warp.pc].place);
        let mut race = self.shared.touch(address, bytes, touch, false);
        if let Some(found) = &race
            && found.wrote
            && !found.in_flight
            && from == Some(&self.shared.bytes[address as usize..][..bytes])
        {
            race = self.shared.touch(address, bytes, touch, true);
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

    /// An access with the address of an array that is outside of it, and in the block's memory.
    fn beyond_array(&self, warp: &Warp, access: LaneAccess, range: &Range<u64>) -> Box<Fault> {
        let LaneAccess { lane, address, bytes, .. } = access;
        let is_one = |array: &&SharedArray| array.start.map(u64::from) == Some(range.start);
        let array = self.program.shared.iter().rfind(is_one);
        let name = array.map_or("the array", |array| &array.name);
        let place = match range.start.checked_sub(address) {
            Some(before @ 1..) => format!("{} before the start of", in_bytes(before)),
            _ => past_end(address, bytes as u64, range.end),
        };
        let size = in_bytes(range.end - range.start);
        let what = format!("{}: {place} {name}, which has {size}", self.in_shared(access));
        self.fault(warp, FaultKind::OutOfBounds, lane, what)
    }

    /// Two accesses that nothing orders. If they are of one warp and there are others, the
    /// error is not yet told.
    pub(super) fn race(&mut self, warp: &Warp, access: LaneAccess, race: Race) -> Result<()> {
        let LaneAccess { lane, address, bytes, direction } = access;
        if self.raced_at.is_some() {
            return Ok(());
        }
        let warps = self.of_warps.len();
        if !is_of(&race, warp) || race.in_flight || warps == 1 {
            return self.hold(warp, race, self.describe(warp, access, race));
        }
        if direction.writes() {
            let line = self.program.code[warp.pc].place;
            let touch = direction.touch(warp.index * WARP + lane, line);
            let more = self.shared.touch(address, bytes, touch, true);
            if let Some(race) = more.filter(|race| !is_of(race, warp)) {
                return self.hold(warp, race, self.describe(warp, access, race));
            }
        }
        let pending = self.pending.as_ref().map(|pending| pending.kind);
        if pending != Some(FaultKind::Race) {
            self.pending = Some(self.describe(warp, access, race));
        }
        Ok(())
    }

    /// Two threads of a block race. If warps meet at barriers, it is not yet told: one of them
    /// may have come to a barrier that others do not come to, and that is worse, unless it is
    /// what was read that sent them there.
    pub(super) fn hold(&mut self, warp: &Warp, race: Race, fault: Box<Fault>) -> Result<()> {
        let places = [self.program.code[warp.pc].place, race.line.into()];
        if !self.has_barriers || race.in_flight || places.into_iter().any(|p| self.decides(p)) {
            return Err(fault);
        }
        self.raced_at = Some(self.executed);
        self.pending = Some(fault);
        Ok(())
    }

    /// Does what is loaded at a place decide where threads go, as far as the order of the code
    /// tells?
    fn decides(&self, place: u32) -> bool {
        let Program { code, operands, .. } = self.program;
        let mut values = HashSet::new();
        let twice = code.iter().zip(operands).chain(code.iter().zip(operands));
        for (instruction, operands) in twice {
            let guard = instruction.guard.map(|(index, _)| (Class::Predicate, index));
            let mut read = operands.iter().filter(|(_, how)| !how.writes());
            let depends = guard
                .is_some_and(|(class, index)| values.contains(&Slot { class, index }))
                || read.any(|(slot, _)| values.contains(slot));
            let depends = match &instruction.operation {
                Op::Branch(_) | Op::BranchTable(..) | Op::Exit if depends => return true,
                Op::Load(_) => instruction.place == place,
                _ => depends,
            };
            for (slot, _) in operands.iter().filter(|(_, how)| how.writes()) {
                if depends {
                    values.insert(*slot);
                } else if guard.is_none() {
                    values.remove(slot);
                }
            }
        }
        false
    }

    /// Two accesses, and what would order them.
    fn describe(&self, warp: &Warp, access: LaneAccess, race: Race) -> Box<Fault> {
        let what = if race.in_flight {
            let [x, y, z] = self.thread_at(race.thread.into());
            format!(
                "{}, which an asynchronous copy of thread ({x}, {y}, {z}){} has yet to write: \
                 that thread must wait for its copies, and then all at a barrier",
                self.in_shared(access),
                self.line_of(warp, race)
            )
        } else {
            let does = if race.wrote { "writes" } else { "reads" };
            let parties = self.parties(warp, access, race, does);
            let asks = self.asks_if_meant(warp, access, race, false);
            let remedy = self.remedy(warp, access, race);
            format!("{parties}, with no barrier between ({asks}{remedy})")
        };
        self.fault(warp, FaultKind::Race, access.lane, what)
    }

    /// "writes 4 bytes at … of shared memory, `tile[33]`"
    fn in_shared(&self, access: LaneAccess) -> String {
        let LaneAccess { address, bytes, direction, .. } = access;
        let array = self.place_in_array(address, bytes as u64);
        let (verb, bytes) = (direction.verb(), in_bytes(bytes as u64));
        format!("{verb} {bytes} at {address:#x} of shared memory{array}")
    }

    /// "writes 4 bytes at … of shared memory, which thread (1, 2, 3) reads at line 7".
    pub(super) fn parties(
        &self,
        warp: &Warp,
        access: LaneAccess,
        race: Race,
        does: &str,
    ) -> String {
        let [x, y, z] = self.thread_at(race.thread.into());
        let line = self.line_of(warp, race);
        format!("{}, which thread ({x}, {y}, {z}) {does}{line}", self.in_shared(access))
    }

    /// ", `tile[33]`": an array in shared memory, and the place in it. Nothing, if it is in none.
    fn place_in_array(&self, address: u64, bytes: u64) -> String {
        let dynamic = u64::from(self.program.shared_bytes);
        let dynamic = dynamic.next_multiple_of(self.program.dynamic_align.into());
        let place = |array: &SharedArray| {
            let offset = address.checked_sub(array.start.map_or(dynamic, u64::from))?;
            let name = &array.name;
            (array.start.is_none() || offset < array.bytes).then(|| {
                if array.bytes == bytes {
                    format!(", {name}")
                } else if bytes <= array.align.min(8) && offset.is_multiple_of(bytes) {
                    format!(", {name}[{}]", offset / bytes)
                } else {
                    format!(", {} into {name}", in_bytes(offset))
                }
            })
        };
        self.program.shared.iter().find_map(place).unwrap_or_default()
    }

    /// " at line 7": where the other thread was.
    pub(super) fn line_of(&self, warp: &Warp, race: Race) -> String {
        if self.is_same_line(warp, race) {
            return " at the same line".to_owned();
        }
        let line = self.program.places.get(usize::from(race.line));
        line.map_or(String::new(), |line| format!(" at {line}"))
    }

    /// What would order two accesses.
    pub(super) fn remedy(&self, warp: &Warp, access: LaneAccess, race: Race) -> String {
        let same_line = self.is_same_line(warp, race);
        if race.wrote && !access.direction.reads() && same_line {
            return "one thread should write, or all of them the same".to_owned();
        }
        if self.is_plain_beside_lock(warp, access, race) {
            return "a lock is given back with atomicExch(), after __threadfence_block(); \
                    __syncthreads() orders what sets it up"
                .to_owned();
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

    /// Is one of the two a compare-and-swap, or an exchange, and the other a plain write?
    pub(super) fn is_plain_beside_lock(&self, warp: &Warp, access: LaneAccess, race: Race) -> bool {
        let is_lock = |op: &Op| match op {
            Op::Atomic(atomic) => atomic.swap.is_some() || atomic.kind == AtomicKind::Exchange,
            _ => false,
        };
        let code = &self.program.code;
        let own = is_lock(&code[warp.pc].operation);
        let line = u32::from(race.line);
        let other = code.iter().any(|one| one.place == line && is_lock(&one.operation));
        let writes = access.direction.writes() && !access.direction.is_strong();
        race.wrote && (own && !race.strong || writes && race.strong && other)
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

    /// What to ask or say first. Of two that write, or whose one line should give each an element
    /// of its own, often an index is wrong, and nothing has to be ordered.
    pub(super) fn asks_if_meant(
        &self,
        warp: &Warp,
        access: LaneAccess,
        race: Race,
        own_elements: bool,
    ) -> &'static str {
        let direction = access.direction;
        if direction.strength == Strength::Volatile && race.strong {
            "`volatile` orders no threads; "
        } else if self.is_plain_beside_lock(warp, access, race) {
            ""
        } else if race.wrote && direction.writes() && !direction.reads() {
            "did you mean both to write it? If not, the index is wrong. If so, "
        } else if own_elements && !race.strong && !direction.is_strong() {
            "did you mean both to use this element? If not, the index is wrong. If so, "
        } else {
            ""
        }
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
        let hint = self.buffers[warp.pc];
        if self.memory.holds(hint, address, bytes) {
            return Ok(hint);
        }
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
                return format!("{}, where the block has written nothing", self.in_shared(access));
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

/// Where an address of shared memory is that is below zero, with 32 bits or 64.
fn before_start(address: u64) -> Option<String> {
    let address = match u32::try_from(address) {
        Ok(address) => i64::from(address.cast_signed()),
        Err(_) => address.cast_signed(),
    };
    (address < 0).then(|| format!("{} before the start of", in_bytes(address.unsigned_abs())))
}

/// Is the other thread of the same warp?
pub(super) fn is_of(race: &Race, warp: &Warp) -> bool {
    usize::from(race.thread) / WARP == warp.index
}
