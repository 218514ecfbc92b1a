//! Loads and stores: counted, checked and done for all lanes together where nothing is wrong,
//! which is almost always, and lane by lane otherwise.

use crate::WARP;
use crate::access::{Places, active, sectors_of, wavefronts_of};
use crate::counts::{Request, Step, Traffic};
use crate::machine::lane::{Direction, LaneAccess};
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result, extended};
use crate::program::{Access, Address, Scope};
use crate::registers::Class;
use crate::space::Space;

/// Requests of the watched warp that are told, and instructions.
const MOST_TOLD: usize = 4096;

impl Machine<'_> {
    pub(super) fn addresses(&self, warp: &Warp, address: &Address) -> [u64; WARP] {
        let index = usize::from(address.base.index);
        let offset = address.offset as u64;
        let mut addresses = [0; WARP];
        match address.base.class {
            Class::Wide => {
                let row = &warp.registers.wide[index];
                for (address, base) in addresses.iter_mut().zip(row) {
                    *address = base.wrapping_add(offset);
                }
            }
            _ => {
                let row = &warp.registers.narrow[index];
                for (address, base) in addresses.iter_mut().zip(row) {
                    // An address of 32 bits goes round by itself.
                    *address = u64::from(base.wrapping_add(offset as u32));
                }
            }
        }
        addresses
    }

    pub(super) fn load(&mut self, warp: &mut Warp, access: &Access, lanes: u32) -> Result<()> {
        let bytes = access.bytes * access.registers.len();
        let mut direction = Direction::of(false, access.strength, access.scope);
        if access.read_only {
            direction = direction.read_only();
        }
        let mut addresses = self.addresses(warp, &access.address);
        let space = access.address.space;
        self.each_space(space, &mut addresses, lanes, |machine, part| {
            machine.move_lanes(warp, &part, bytes, direction)?;
            machine.synchronise(warp, &part, access, direction);
            Ok(())
        })?;
        self.mark_loaded(warp, access, lanes);
        for (number, slot) in access.registers.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let count = access.registers.len();
            let (stage, registers) = (&self.stage, &mut warp.registers);
            let index = usize::from(slot.index);
            match (access.bytes, slot.class) {
                (4, Class::Narrow) => {
                    let row = &mut registers.narrow[index];
                    take(stage, number, count, lanes, row, u32::from_le_bytes);
                }
                (8, Class::Wide) => {
                    let row = &mut registers.wide[index];
                    take(stage, number, count, lanes, row, u64::from_le_bytes);
                }
                _ => {
                    for lane in active(lanes) {
                        let start = lane * bytes + number * access.bytes;
                        let part = &stage[start..start + access.bytes];
                        let value = extended(part, access.signed);
                        registers.set(slot, lane, value);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self, warp: &mut Warp, access: &Access, lanes: u32) -> Result<()> {
        let bytes = access.bytes * access.registers.len();
        let registers = &warp.registers;
        for (number, slot) in access.registers.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let count = access.registers.len();
            let stage = &mut self.stage;
            let index = usize::from(slot.index);
            match (access.bytes, slot.class) {
                (4, Class::Narrow) => {
                    let row = &registers.narrow[index];
                    put(stage, number, count, row, u32::to_le_bytes);
                }
                (8, Class::Wide) => {
                    let row = &registers.wide[index];
                    put(stage, number, count, row, u64::to_le_bytes);
                }
                _ => {
                    for lane in active(lanes) {
                        let start = lane * bytes + number * access.bytes;
                        let value = registers.get(slot, lane).to_le_bytes();
                        stage[start..start + access.bytes].copy_from_slice(&value[..access.bytes]);
                    }
                }
            }
        }
        let direction = Direction::of(true, access.strength, access.scope);
        if access.releases {
            self.fence(warp, lanes, access.scope);
        }
        let mut addresses = self.addresses(warp, &access.address);
        let space = access.address.space;
        self.each_space(space, &mut addresses, lanes, |machine, part| {
            machine.move_lanes(warp, &part, bytes, direction)?;
            machine.synchronise(warp, &part, access, direction);
            machine.forget_copied(warp, access, &part);
            Ok(())
        })
    }

    /// Divides an access to generic addresses by the spaces that they lie in.
    pub(super) fn each_space(
        &mut self,
        space: Space,
        addresses: &mut [u64; WARP],
        lanes: u32,
        mut access: impl FnMut(&mut Self, Part<'_>) -> Result<()>,
    ) -> Result<()> {
        if space != Space::Generic {
            return access(self, Part { space, places: Places::new(addresses, lanes) });
        }
        let mut spaces = [Space::Global; WARP];
        for lane in active(lanes) {
            (spaces[lane], addresses[lane]) = Space::of(addresses[lane]);
        }
        let mut rest = lanes;
        while rest != 0 {
            let space = spaces[rest.trailing_zeros() as usize];
            let mut lanes = 0;
            for lane in active(rest) {
                lanes |= u32::from(spaces[lane] == space) << lane;
            }
            access(self, Part { space, places: Places::new(addresses, lanes) })?;
            rest &= !lanes;
        }
        Ok(())
    }

    /// Moves bytes between memory and the stage, and counts.
    fn move_lanes(
        &mut self,
        warp: &mut Warp,
        part: &Part<'_>,
        bytes: usize,
        direction: Direction,
    ) -> Result<()> {
        let Part { space, places } = *part;
        self.check_alignment(warp, places, bytes, direction)?;
        let pc = warp.pc;
        match space {
            Space::Global => {
                let sectors = sectors_of(places, bytes as u64);
                let tally = &mut self.tallies[pc];
                match direction.writes() {
                    false => tally.global_loads += sectors,
                    true => tally.global_stores += sectors,
                }
                self.tell(warp, places, bytes, direction, Traffic::Global(sectors));
                if let Some(counting) = &mut self.counting {
                    counting.count(pc, places, bytes as u64, direction.writes());
                }
                return self.move_global(warp, places, bytes, direction);
            }
            Space::Constant => return self.move_global(warp, places, bytes, direction),
            Space::Shared => {
                let stores = direction.writes();
                let wavefronts = wavefronts_of(places, bytes as u64, stores);
                let tally = &mut self.tallies[pc];
                match direction.writes() {
                    false => tally.shared_loads += wavefronts,
                    true => tally.shared_stores += wavefronts,
                }
                self.tell(warp, places, bytes, direction, Traffic::Shared(wavefronts));
            }
            Space::Local => self.tallies[pc].local_accesses += 1,
            _ => {}
        }
        self.move_counted(warp, part, bytes, direction)
    }

    /// Notes a request of the watched warp.
    fn tell(
        &mut self,
        warp: &Warp,
        Places { addresses, lanes, .. }: Places<'_>,
        bytes: usize,
        direction: Direction,
        traffic: Traffic,
    ) {
        if self.watched != Some(warp.index) || self.requests.len() == MOST_TOLD {
            return;
        }
        let (place, stores, bytes) = (self.place(warp.pc), direction.writes(), bytes as u64);
        let addresses = *addresses;
        self.requests.push(Request { place, stores, bytes, lanes, addresses, traffic });
    }

    /// Notes an instruction of the watched warp.
    pub(super) fn tell_step(&mut self, pc: usize, lanes: u32) {
        if self.steps.len() < MOST_TOLD {
            let place = &self.program.places[self.program.code[pc].place as usize];
            let line = place.source.as_ref().map_or(place.ptx_line, |(_, line)| *line);
            self.steps.push(Step { line, lanes });
        }
    }

    /// Moves bytes between the stage and memory other than that of the device.
    pub(super) fn move_counted(
        &mut self,
        warp: &mut Warp,
        part: &Part<'_>,
        bytes: usize,
        direction: Direction,
    ) -> Result<()> {
        let Part { space, places } = *part;
        let check = self.options.checks.initialised && direction.reads();
        let array = self.program.bounds[warp.pc].as_ref();
        if space == Space::Shared && self.shared.is_fine(array, places, bytes, check) {
            return self.move_shared(warp, places, bytes, direction);
        }
        if space == Space::Local && self.move_local(warp, places, bytes, direction) {
            return Ok(());
        }
        let mut stage = std::mem::take(&mut self.stage);
        let mut result = Ok(());
        for lane in active(places.lanes) {
            let place = &mut stage[lane * bytes..][..bytes];
            let address = places.addresses[lane];
            result = match direction.writes() {
                false => self.read_lane(warp, space, lane, address, place, direction),
                true => self.write_lane(warp, space, lane, address, place, direction),
            };
            if result.is_err() {
                break;
            }
        }
        self.stage = stage;
        result
    }

    /// Moves bytes between local memory and the stage. False, if something is wrong with that.
    fn move_local(
        &mut self,
        warp: &mut Warp,
        Places { addresses, lanes, .. }: Places<'_>,
        bytes: usize,
        direction: Direction,
    ) -> bool {
        let size = u64::from(self.program.local_bytes);
        let check = self.options.checks.initialised;
        let start = |lane: usize| lane as u64 * size + addresses[lane];
        let is_fine = |lane: usize| {
            let inside = addresses[lane] <= size && size - addresses[lane] >= bytes as u64;
            let written = || warp.local_written.first_unset(start(lane), bytes as u64).is_none();
            inside && (direction.writes() || !check || written())
        };
        if !active(lanes).all(is_fine) {
            return false;
        }
        for lane in active(lanes) {
            let stage = &mut self.stage[lane * bytes..][..bytes];
            let local = &mut warp.local[start(lane) as usize..][..bytes];
            if direction.writes() {
                local.copy_from_slice(stage);
                warp.local_written.set(start(lane), bytes as u64);
            } else {
                stage.copy_from_slice(local);
            }
        }
        true
    }

    /// A flag that one thread writes and another reads orders what they did before and do
    /// then.
    fn synchronise(&mut self, warp: &Warp, part: &Part<'_>, access: &Access, direction: Direction) {
        if !direction.is_strong() || self.shared.order.is_quiet() {
            return;
        }
        let Places { addresses, lanes, .. } = part.places;
        for lane in active(lanes) {
            let (thread, address) = (warp.index * WARP + lane, addresses[lane]);
            let scope = direction.scope_in(part.space);
            match direction.writes() {
                true => self.shared.order.release(thread, address, false, scope),
                false => self.shared.order.acquire(thread, address, access.acquires),
            }
        }
    }

    /// `fence`, or what a release does before it writes.
    pub(super) fn fence(&mut self, warp: &Warp, lanes: u32, scope: Scope) {
        if self.shared.is_traced() {
            self.shared.order.fence(warp.index, lanes, scope);
        }
    }

    /// Moves bytes between shared memory and the stage, if nothing is wrong with them but
    /// perhaps a race.
    fn move_shared(
        &mut self,
        warp: &Warp,
        places: Places<'_>,
        bytes: usize,
        direction: Direction,
    ) -> Result<()> {
        let addresses = places.addresses;
        let line = self.program.code[warp.pc].place;
        let first = direction.touch(warp.index * WARP, line);
        let mut rest = places;
        while let Some((lane, race)) = self.shared.touch_lanes(rest, bytes, first, &self.stage) {
            let address = addresses[lane];
            let access = LaneAccess { lane, address, bytes, direction };
            self.race(warp, access, race)?;
            (rest.lanes, rest.step) = (rest.lanes & (u32::MAX << lane) << 1, None);
        }
        if let Some((lane, race)) = self.shared.same_value.take() {
            let address = addresses[lane];
            let access = LaneAccess { lane, address, bytes, direction };
            self.note_same_value(warp, |machine| {
                machine.parties(warp, access, race, "writes the same value")
            });
        }
        let stage = &mut self.stage;
        match direction.writes() {
            true => self.shared.write_lanes(places, bytes, stage),
            false => self.shared.read_lanes(places, bytes, stage),
        }
        Ok(())
    }

    pub(super) fn check_alignment(
        &self,
        warp: &Warp,
        Places { addresses, lanes, step }: Places<'_>,
        bytes: usize,
        direction: Direction,
    ) -> Result<()> {
        let wrong = bytes as u64 - 1;
        let any = match (lanes, step) {
            (_, Some(step)) => addresses[0] | step as u64,
            (u32::MAX, _) => addresses.iter().fold(0, |any, address| any | address),
            (some, _) => active(some).fold(0, |any, lane| any | addresses[lane]),
        };
        if any & wrong == 0 {
            return Ok(());
        }
        let mut lanes = active(lanes);
        let lane = lanes.find(|lane| addresses[*lane] & wrong != 0).unwrap_or(0);
        let address = addresses[lane];
        let access = LaneAccess { lane, address, bytes, direction };
        Err(self.misaligned(warp, access))
    }

    /// The buffer that an instruction accesses next: mostly the one that it has accessed last.
    #[inline]
    pub(super) fn find_buffer(&mut self, pc: usize, address: u64) -> usize {
        let hint = &mut self.buffers[pc];
        if !self.memory.holds(*hint, address, 1)
            && let Some(found) = self.memory.find(address, 1)
        {
            *hint = found;
        }
        *hint
    }

    fn move_global(
        &mut self,
        warp: &Warp,
        places: Places<'_>,
        bytes: usize,
        direction: Direction,
    ) -> Result<()> {
        let Places { addresses, lanes, .. } = places;
        let check = self.options.checks.initialised && direction.reads();
        let first = addresses[lanes.trailing_zeros() as usize];
        let hint = self.find_buffer(warp.pc, first);
        let all = bytes * WARP;
        let is_inside = self.memory.holds_lanes(hint, places, bytes);
        self.touch_global(warp, places, bytes, direction, is_inside)?;
        if is_inside && places.is_row(bytes) {
            let offset = first - self.memory.store(hint).address;
            let stage = &mut self.stage[..all];
            match direction.writes() {
                true => self.memory.write_at(hint, offset, stage),
                false => {
                    let unwritten = self.memory.read_at(hint, offset, stage);
                    if check && unwritten.is_some() {
                        for (lane, address) in addresses.iter().enumerate() {
                            let address = *address;
                            let access = LaneAccess { lane, address, bytes, direction };
                            let space = Space::Global;
                            let place = address - first + offset;
                            self.note_unwritten(warp, space, (hint, place), access);
                        }
                    }
                }
            }
            return Ok(());
        }
        let (memory, stage) = (&mut self.memory, &mut self.stage);
        if is_inside && memory.move_lanes(hint, places, bytes, direction.writes(), stage) {
            return Ok(());
        }
        for lane in active(lanes) {
            let address = addresses[lane];
            let access = LaneAccess { lane, address, bytes, direction };
            let at = match self.memory.holds(hint, address, bytes) {
                true => hint,
                false => self.locate(warp, access)?,
            };
            let offset = address - self.memory.store(at).address;
            let place = &mut self.stage[lane * bytes..][..bytes];
            match direction.writes() {
                true => self.memory.write_at(at, offset, place),
                false => {
                    let unwritten = self.memory.read_at(at, offset, place);
                    if check && unwritten.is_some() {
                        self.note_unwritten(warp, Space::Global, (at, offset), access);
                    }
                }
            }
        }
        Ok(())
    }
}

/// An access of some lanes to one space.
pub(super) struct Part<'a> {
    pub(super) space: Space,
    pub(super) places: Places<'a>,
}

/// Takes a value for each lane out of the stage, where each lane has `count` of them: the
/// one with this number.
fn take<T, const BYTES: usize>(
    stage: &[u8],
    number: usize,
    count: usize,
    lanes: u32,
    row: &mut [T; WARP],
    of_bytes: impl Fn([u8; BYTES]) -> T,
) {
    fn each<T, const BYTES: usize, const COUNT: usize>(
        values: &[[u8; BYTES]],
        number: usize,
        lanes: u32,
        row: &mut [T; WARP],
        of_bytes: impl Fn([u8; BYTES]) -> T,
    ) {
        let values = row.iter_mut().zip(values.as_chunks::<COUNT>().0);
        if lanes == u32::MAX {
            values.for_each(|(old, values)| *old = of_bytes(values[number]));
            return;
        }
        for (lane, (old, values)) in values.enumerate() {
            if lanes >> lane & 1 == 1 {
                *old = of_bytes(values[number]);
            }
        }
    }
    let values = stage.as_chunks().0;
    match count {
        1 => each::<_, BYTES, 1>(values, 0, lanes, row, of_bytes),
        2 => each::<_, BYTES, 2>(values, number, lanes, row, of_bytes),
        4 => each::<_, BYTES, 4>(values, number, lanes, row, of_bytes),
        _ => each::<_, BYTES, 8>(values, number, lanes, row, of_bytes),
    }
}

/// Puts a value for each lane on the stage, where [`take`] finds it.
fn put<T: Copy, const BYTES: usize>(
    stage: &mut [u8],
    number: usize,
    count: usize,
    row: &[T; WARP],
    bytes: impl Fn(T) -> [u8; BYTES],
) {
    fn each<T: Copy, const BYTES: usize, const COUNT: usize>(
        values: &mut [[u8; BYTES]],
        number: usize,
        row: &[T; WARP],
        bytes: impl Fn(T) -> [u8; BYTES],
    ) {
        for (value, values) in row.iter().zip(values.as_chunks_mut::<COUNT>().0) {
            values[number] = bytes(*value);
        }
    }
    let values = stage.as_chunks_mut().0;
    match count {
        1 => each::<_, BYTES, 1>(values, 0, row, bytes),
        2 => each::<_, BYTES, 2>(values, number, row, bytes),
        4 => each::<_, BYTES, 4>(values, number, row, bytes),
        _ => each::<_, BYTES, 8>(values, number, row, bytes),
    }
}
