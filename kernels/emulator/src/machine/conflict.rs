//! Races in device memory: between threads of a block, and between blocks.

use crate::WARP;
use crate::access::{Places, active, is_between_same};
use crate::counts::NoteKind;
use crate::fault::{Fault, FaultKind};
use crate::machine::global::Spot;
use crate::machine::lane::{Direction, LaneAccess, is_of};
use crate::machine::trace::Race;
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result, WIDEST};
use crate::memory::{Store, in_bytes};
use crate::program::{Op, Scope, Strength};

impl Machine<'_> {
    /// Notes an access to device memory of lanes that are about to make it. What they write
    /// is on the stage. Whether all of it lies in one buffer, the caller knows.
    pub(super) fn touch_global(
        &mut self,
        warp: &Warp,
        places: Places<'_>,
        bytes: usize,
        direction: Direction,
        is_inside: bool,
    ) -> Result<()> {
        if !self.global.is_traced() {
            return Ok(());
        }
        let Places { addresses, lanes, .. } = places;
        let mut rest = lanes;
        let store = self.buffers[warp.pc];
        let line = self.program.code[warp.pc].place;
        if is_inside && places.is_row(bytes) {
            let offset = addresses[0] - self.memory.store(store).address;
            let spot = Spot { store, offset };
            let first = direction.touch(warp.index * WARP, line);
            rest = self.global.touch_row(&self.shared.order, spot, bytes, first);
        } else if is_inside && self.note_lanes(warp, places, bytes, direction) {
            return Ok(());
        }
        let reads = !direction.writes() && !direction.is_strong();
        for lane in active(rest) {
            if reads && is_between_same(addresses, rest, lane) {
                continue;
            }
            let address = addresses[lane];
            let access = LaneAccess { lane, address, bytes, direction };
            self.touch_global_lane(warp, access, Some(places))?;
        }
        Ok(())
    }

    /// Writes down an access of lanes, all of it in the [buffer](Self::find_buffer) of the
    /// instruction. False, if there is more to find out.
    pub(super) fn note_lanes(
        &mut self,
        warp: &Warp,
        places: Places<'_>,
        bytes: usize,
        direction: Direction,
    ) -> bool {
        let store = self.buffers[warp.pc];
        let first = direction.touch(warp.index * WARP, self.program.code[warp.pc].place);
        let Store { address, bytes: size, .. } = *self.memory.store(store);
        self.global.touch_lanes(&self.shared.order, (store, address, size), places, bytes, first)
    }

    /// The same for one lane, of those of an instruction if that only writes.
    pub(super) fn touch_global_lane(
        &mut self,
        warp: &Warp,
        access: LaneAccess,
        places: Option<Places<'_>>,
    ) -> Result<()> {
        let LaneAccess { lane, address, bytes, direction } = access;
        let hint = self.buffers[warp.pc];
        let store = match self.memory.holds(hint, address, bytes) {
            true => Some(hint),
            false => self.memory.find(address, bytes as u64),
        };
        // If there is none, the access itself tells so.
        let Some(store) = store else { return Ok(()) };
        self.buffers[warp.pc] = store;
        let line = self.program.code[warp.pc].place;
        let touch = direction.touch(warp.index * WARP + lane, line);
        let spot = Spot { store, offset: address - self.memory.store(store).address };
        let order = &self.shared.order;
        let mut found = self.global.touch(order, spot, bytes, touch, false);
        if let (Some((race, time)), Some(places)) = (found, places)
            && race.wrote
            && direction.writes()
            && self.is_same(warp, places, access, spot, (race, time))
        {
            let order = &self.shared.order;
            found = self.global.touch(order, spot, bytes, touch, true);
            self.note_same_value(warp, |machine| {
                let does = "writes the same value";
                machine.parties_in_global(warp, access, race, time, does)
            });
        }
        if let Some((race, time)) = self.global.take_unfenced() {
            let parties = self.parties_in_global(warp, access, race, time, "writes");
            let what = format!(
                "{parties}, and no fence stands between this read and the atomic operation, flag \
                 or lock that told of it: by PTX's memory model a fence on the writer's side \
                 alone orders nothing, though hardware is usually right; call __threadfence() \
                 before the read"
            );
            self.note(NoteKind::Unfenced, warp.pc, what);
        }
        match found {
            Some((race, time)) => self.global_race(warp, access, race, time),
            None => Ok(()),
        }
    }

    /// Does a lane write what the thread that it races with has written?
    fn is_same(
        &mut self,
        warp: &Warp,
        places: Places<'_>,
        access: LaneAccess,
        spot: Spot,
        (race, time): (Race, u32),
    ) -> bool {
        let LaneAccess { lane, address, bytes, .. } = access;
        let value = |lane: usize| lane * bytes..(lane + 1) * bytes;
        // Lanes of the same instruction have not written yet.
        let other = usize::from(race.thread).wrapping_sub(warp.index * WARP);
        if time == self.shared.order.now
            && other < lane
            && places.lanes >> other & 1 == 1
            && places.addresses[other] == address
        {
            return self.stage[value(lane)] == self.stage[value(other)];
        }
        let mut there = [0; WIDEST];
        let there = &mut there[..bytes];
        self.memory.read_at(spot.store, spot.offset, there);
        self.stage[value(lane)] == *there
    }

    /// Two accesses that nothing orders. If they are of one warp and there are others, the
    /// error is not yet told.
    fn global_race(
        &mut self,
        warp: &Warp,
        access: LaneAccess,
        race: Race,
        time: u32,
    ) -> Result<()> {
        if self.raced_at.is_some() {
            return Ok(());
        }
        let fault = self.describe_global(warp, access, race, time);
        let of_block = time >= self.shared.order.block;
        match self.of_warps.len() {
            2.. if of_block && !race.read_only && is_of(&race, warp) => {
                self.pending.get_or_insert(fault);
                Ok(())
            }
            2.. if of_block && !race.read_only => self.hold(warp, race, fault),
            _ => Err(fault),
        }
    }

    fn describe_global(
        &self,
        warp: &Warp,
        access: LaneAccess,
        race: Race,
        time: u32,
    ) -> Box<Fault> {
        let does = if race.wrote { "writes" } else { "reads" };
        let parties = self.parties_in_global(warp, access, race, time, does);
        let own_elements = self.is_same_line(warp, race) && !self.has_flags();
        let asks = self.asks_if_meant(warp, access, race, own_elements);
        let what = if race.read_only {
            self.read_only(warp, access, race, time)
        } else if time >= self.shared.order.block {
            let remedy = self.remedy(warp, access, race);
            format!("{parties}, with no barrier between ({asks}{remedy})")
        } else {
            let remedy = self.remedy_between_blocks(warp, access, race);
            format!("{parties}, and blocks run in any order ({asks}{remedy})")
        };
        self.fault(warp, FaultKind::Race, access.lane, what)
    }

    /// "writes 4 bytes at …, which thread (1, 2, 3) of block (4, 5, 6) reads at line 7".
    fn parties_in_global(
        &self,
        warp: &Warp,
        access: LaneAccess,
        race: Race,
        time: u32,
        does: &str,
    ) -> String {
        let line = self.line_of(warp, race);
        format!("{}, which {} {does}{line}", self.in_global(access), self.other(race, time))
    }

    fn in_global(&self, access: LaneAccess) -> String {
        let LaneAccess { address, bytes, direction, .. } = access;
        let (verb, place) = (direction.verb(), self.place_in_buffer(address));
        format!("{verb} {} at {address:#x}{place}", in_bytes(bytes as u64))
    }

    /// "thread (1, 2, 3) of block (4, 5, 6)"
    fn other(&self, race: Race, time: u32) -> String {
        let [x, y, z] = self.thread_at(race.thread.into());
        let mut block = String::new();
        if time < self.shared.order.block {
            let [x, y, z] = self.block_at(self.global.block_at(time));
            block = format!(" of block ({x}, {y}, {z})");
        }
        format!("thread ({x}, {y}, {z}){block}")
    }

    /// What is written in this launch is read as what nobody writes.
    fn read_only(&self, warp: &Warp, access: LaneAccess, race: Race, time: u32) -> String {
        let is_one = |pc: &usize| matches!(&self.program.code[*pc].operation, Op::Load(access) if access.read_only);
        let is_there = |pc: &usize| self.program.code[*pc].place == u32::from(race.line);
        let loads = (0..self.program.code.len()).filter(is_one);
        let store = self.buffers[warp.pc];
        let (who, line) = if race.wrote || loads.clone().any(|pc| is_there(&pc)) {
            (self.other(race, time), self.line_of(warp, race))
        } else {
            // Another read came after it, and only that one is remembered.
            let pc = loads.clone().find(|pc| self.buffers[*pc] == store).unwrap_or(warp.pc);
            ("the kernel".to_owned(), format!(" at {}", self.place(pc)))
        };
        let path = "by the read-only path";
        let both = match race.wrote {
            true => format!("{} {path}, and {who} writes there{line}", self.in_global(access)),
            false => format!("{}, which {who} reads {path}{line}", self.in_global(access)),
        };
        format!(
            "{both}: __ldg(), and pointers that are `const` and `__restrict__`, are for memory \
             that nothing writes while the kernel runs; leave that out, or write to another buffer"
        )
    }

    /// Notes that two threads write the same value.
    pub(super) fn note_same_value(&mut self, warp: &Warp, parties: impl Fn(&Self) -> String) {
        if self.has_noted(NoteKind::SameValue, warp.pc) {
            return;
        }
        let what = format!(
            "{}, and nothing orders the two: that is right only as long as the \
             values are the same",
            parties(self)
        );
        self.note(NoteKind::SameValue, warp.pc, what);
    }

    /// What would order two accesses of different blocks.
    fn remedy_between_blocks(&self, warp: &Warp, access: LaneAccess, race: Race) -> String {
        let remedy = self.remedy_after_write(warp, access, race);
        if race.wrote { remedy.to_owned() } else { remedy.replace("the write", "the read") }
    }

    fn remedy_after_write(&self, warp: &Warp, access: LaneAccess, race: Race) -> &'static str {
        let code = &self.program.code;
        let direction = access.direction;
        let same_line = self.is_same_line(warp, race);
        let has = |scope| {
            let is_one = |op: &Op| matches!(op, Op::Fence(s) if *s == scope);
            code.iter().any(|instruction| is_one(&instruction.operation))
        };
        let tells = code.iter().any(|instruction| match &instruction.operation {
            Op::Load(access) => access.strength == Strength::Atomic,
            Op::Atomic(atomic) => atomic.result.is_some(),
            _ => false,
        });
        let polls = code.iter().any(|instruction| {
            matches!(&instruction.operation, Op::Load(access) if access.strength == Strength::Atomic)
        });
        let has_lock = code.iter().any(|instruction| {
            matches!(&instruction.operation, Op::Atomic(atomic) if atomic.swap.is_some())
        });
        if self.is_plain_beside_lock(warp, access, race) {
            return "a lock is given back with atomicExch(), after __threadfence(); what sets it \
                    up belongs in a launch of its own";
        }
        let changes = direction.reads() && direction.writes();
        let is_plain = !race.strong && !direction.is_strong();
        match (is_plain, same_line) {
            (false, _) if race.strong && changes => {
                "use an operation that is atomic for all blocks; atomicAdd_block and the \
                 like are for one block"
            }
            (false, _) if !(race.strong && direction.is_strong()) => {
                "use an atomic operation here and there, or do one of the two in a launch of \
                 its own"
            }
            (true, true) if race.wrote && !direction.reads() => {
                "each block should write a place of its own, or all should add to it with \
                 one atomic operation"
            }
            (_, true) if polls && !has_lock => {
                "use one atomic operation in place of the line, or __threadfence() before the \
                 flag is set that lets the other block go on"
            }
            (_, true) if !has_lock => "use one atomic operation in place of the line",
            _ if !tells => "let one block do both, or do one of the two in a launch of its own",
            _ if has(Scope::Grid) => {
                "__threadfence() must come after the write, in the same thread or with \
                 __syncthreads() between, and before the atomic operation, flag or lock that \
                 tells the other block"
            }
            _ if has(Scope::Block) => {
                "__threadfence_block() is for one block; call __threadfence() before the \
                 atomic operation, flag or lock that tells the other block"
            }
            _ => {
                "call __threadfence() after the write and before the atomic operation, flag \
                 or lock that tells the other block"
            }
        }
    }
}
