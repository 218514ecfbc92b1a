//! Registers whose values mean nothing: what nobody has written, and what a shuffle got from a
//! lane that takes no part. To have such a value is no mistake, as long as nothing depends on
//! it. A warp that has none pays nothing for it.

use crate::WARP;
use crate::access::active;
use crate::fault::{Fault, FaultKind};
use crate::machine::access::Part;
use crate::machine::lane::LaneAccess;
use crate::machine::matrix::loaded_place;
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result, list};
use crate::matrix::MOST_ELEMENTS;
use crate::memory::Bits;
use crate::program::{Access, Instruction, LoadMatrices, Matrix, Multiply, Op, Use};
use crate::registers::{Class, Operands, Operation, Role, Slot};
use crate::space::Space;

/// In a mark: of which bytes nobody has written any, from the lowest on.
const BYTES: u32 = 0xff;
/// In a mark: nothing may depend on the value, not even a copy of it.
const BAD: u32 = 0x100;
/// Above is where it comes from.
const SOURCE: u32 = 9;
/// Structs are aligned to so many bytes at most. What lies between two members is in the same
/// block of this size as a part of one of them.
const STRUCT: u64 = 16;
/// Instructions before and after the load of a part of a struct, among which are the loads of
/// the others.
const NEAR: usize = 32;

/// Where a value that means nothing comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pc: usize,
    lane: usize,
    what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Read(Space, LaneAccess),
    /// From this lane; these took part.
    Shuffle(usize, u32),
}

/// A read of bytes of which nobody has written some.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unwritten {
    pub(crate) space: Space,
    pub(crate) access: LaneAccess,
    /// Which of them.
    pub(crate) bytes: u32,
    /// Whether they may be padding, which is copied along.
    pub(crate) is_gap: bool,
}

/// Marks of a warp's registers, for each lane.
#[derive(Debug)]
pub(crate) struct Taint {
    rows: [Vec<[u32; WARP]>; 3],
    sources: Vec<Source>,
}

impl Taint {
    fn of(warp: &mut Warp) -> &mut Self {
        let registers = &warp.registers;
        warp.taint.get_or_insert_with(|| {
            let counts = [registers.narrow.len(), registers.wide.len(), registers.predicates.len()];
            let rows = counts.map(|count| vec![[0; WARP]; count]);
            Box::new(Self { rows, sources: Vec::new() })
        })
    }

    fn row(&self, slot: Slot) -> &[u32; WARP] {
        &self.rows[slot.class as usize][usize::from(slot.index)]
    }

    fn row_mut(&mut self, slot: Slot) -> &mut [u32; WARP] {
        &mut self.rows[slot.class as usize][usize::from(slot.index)]
    }

    /// A mark without anything but its source.
    fn mark(&mut self, source: Source) -> u32 {
        let is_same = |s: &Source| s.pc == source.pc && s.lane == source.lane;
        let known = self.sources.iter().position(is_same);
        let place = known.unwrap_or(self.sources.len());
        match known {
            Some(place) => self.sources[place] = source,
            None => self.sources.push(source),
        }
        (place as u32 + 1) << SOURCE
    }

    /// What becomes of marks when lanes compute.
    fn spread(&mut self, operation: &Operation, operands: &Operands, choices: u32, lanes: u32) {
        let slot = |number: usize| Slot {
            class: operation.sources[number],
            index: operands.sources[number],
        };
        let count = operation.sources.len();
        let result = Slot { class: operation.result, index: operands.result };
        for lane in active(lanes) {
            let mark = |number: usize| self.row(slot(number))[lane];
            let bad = |mark: u32| if mark == 0 { 0 } else { mark | BAD };
            let mark = match operation.role {
                Role::Moves => mark(0),
                Role::Chooses if mark(2) != 0 => bad(mark(2)),
                Role::Chooses if choices >> lane & 1 == 1 => mark(0),
                Role::Chooses => mark(1),
                Role::Computes => {
                    // What came first tells most.
                    let marks = (0..count).map(mark).filter(|mark| *mark != 0);
                    bad(marks.min().unwrap_or(0))
                }
            };
            self.row_mut(result)[lane] = mark;
        }
    }

    /// What becomes of marks in a product of matrices: an element of it has those of its row
    /// of A, of its column of B, and of its own in C.
    fn multiply(&mut self, multiply: &Multiply) {
        let [rows, columns, depth] = multiply.shape;
        let mut of_rows = [0; MOST_ELEMENTS];
        let mut of_columns = [0; MOST_ELEMENTS];
        let mut of_sums = [0; MOST_ELEMENTS];
        self.each_mark(&multiply.a, |place, mark| {
            first_of(&mut of_rows[place / depth], mark);
        });
        self.each_mark(&multiply.b, |place, mark| {
            first_of(&mut of_columns[place % columns], mark);
        });
        self.each_mark(&multiply.c, |place, mark| of_sums[place] = mark);
        for row in 0..rows {
            for column in 0..columns {
                let sum = &mut of_sums[row * columns + column];
                first_of(sum, of_rows[row]);
                first_of(sum, of_columns[column]);
            }
        }
        let Matrix { fragment, registers } = &multiply.d;
        registers.iter().for_each(|slot| self.clear(*slot, u32::MAX));
        let each = fragment.element.in_register();
        for copy in registers.chunks(fragment.registers()) {
            fragment.each(|lane, number, place| {
                let mark = &mut self.row_mut(copy[number / each])[lane];
                first_of(mark, of_sums[place]);
            });
        }
    }

    /// Visits the marks of a matrix's elements that have some.
    fn each_mark(&self, matrix: &Matrix, mut visit: impl FnMut(usize, u32)) {
        let Matrix { fragment, registers } = matrix;
        let each = fragment.element.in_register();
        fragment.each(|lane, number, place| match self.row(registers[number / each])[lane] {
            0 => {}
            mark => visit(place, mark | BAD),
        });
    }

    fn clear(&mut self, slot: Slot, lanes: u32) {
        let row = self.row_mut(slot);
        active(lanes).for_each(|lane| row[lane] = 0);
    }
}

impl Machine<'_> {
    /// Does an instruction that lanes are about to execute depend on a value that means
    /// nothing? If it only computes with one, so does its result.
    pub(super) fn check_taint(
        &mut self,
        warp: &mut Warp,
        instruction: &Instruction,
        lanes: u32,
    ) -> Result<()> {
        if let Some((index, _)) = instruction.guard {
            let slot = Slot { class: Class::Predicate, index };
            self.used(warp, slot, warp.lanes, true)?;
        }
        if lanes == 0 {
            return Ok(());
        }
        for &(slot, how) in &self.program.operands[warp.pc] {
            match how {
                Use::Needs => self.used(warp, slot, lanes, true)?,
                Use::Stores => self.used(warp, slot, lanes, false)?,
                Use::Writes => {
                    if let Some(taint) = &mut warp.taint {
                        taint.clear(slot, lanes);
                    }
                }
                Use::Passes | Use::Trusts | Use::Marks => {}
            }
        }
        let Some(taint) = &mut warp.taint else { return Ok(()) };
        match &instruction.operation {
            Op::Compute(operation, operands) => {
                let choice = operation.role == Role::Chooses;
                let choice = choice.then(|| usize::from(operands.sources[2]));
                let choices = choice.map_or(0, |p| warp.registers.predicates[p]);
                taint.spread(operation, operands, choices, lanes);
            }
            Op::Multiply(multiply) => taint.multiply(multiply),
            _ => {} // their results are marked when they are there
        }
        Ok(())
    }

    /// Something depends on a register. `all`: on each part of it, also if that was only
    /// copied.
    fn used(&mut self, warp: &mut Warp, slot: Slot, lanes: u32, all: bool) -> Result<()> {
        let Some(taint) = &mut warp.taint else { return Ok(()) };
        let counts = |mark: u32| mark & BAD != 0 || all && mark != 0;
        let row = taint.row_mut(slot);
        let Some(lane) = active(lanes).find(|lane| counts(row[*lane])) else {
            return Ok(());
        };
        let source = (row[lane] >> SOURCE) as usize - 1;
        // If that is only noted, it is once.
        active(lanes).for_each(|lane| row[lane] = 0);
        let source = taint.sources[source];
        self.depends(warp, source)
    }

    /// A value that means nothing is used.
    fn depends(&mut self, warp: &Warp, source: Source) -> Result<()> {
        let Source { pc, lane, what } = source;
        let (kind, text) = match what {
            What::Read(space, access) => (FaultKind::Uninitialised, self.unwritten(space, access)),
            What::Shuffle(from, there) => {
                let text = format!(
                    "lane {lane} shuffles from lane {from}, which takes no part: the \
                     active lanes are {}",
                    list(there)
                );
                (FaultKind::InactiveLane, text)
            }
        };
        let fault =
            Box::new(Fault { place: Some(self.place(pc)), ..*self.fault(warp, kind, lane, text) });
        // Until the next barrier it may show as a race.
        if matches!(what, What::Read(Space::Shared, _)) && self.shared.is_traced() {
            self.pending.get_or_insert(fault);
            return Ok(());
        }
        Err(fault)
    }

    /// What was read is used at once.
    pub(super) fn use_unwritten(&mut self, warp: &Warp) -> Result<()> {
        for Unwritten { space, access, .. } in std::mem::take(&mut self.unwritten) {
            let what = What::Read(space, access);
            self.depends(warp, Source { pc: warp.pc, lane: access.lane, what })?;
        }
        Ok(())
    }

    /// Marks what lanes have loaded.
    pub(super) fn mark_loaded(&mut self, warp: &mut Warp, access: &Access, lanes: u32) {
        let unwritten = std::mem::take(&mut self.unwritten);
        if unwritten.is_empty() && warp.taint.is_none() {
            return;
        }
        let pc = warp.pc;
        let taint = Taint::of(warp);
        let slots = access.registers.iter().flatten();
        slots.for_each(|slot| taint.clear(*slot, lanes));
        for Unwritten { space, access: read, bytes, is_gap } in unwritten {
            let (lane, what) = (read.lane, What::Read(space, read));
            let mark = taint.mark(Source { pc, lane, what });
            let bad = if is_gap { 0 } else { BAD };
            for (number, slot) in access.registers.iter().enumerate() {
                let part = bytes >> (number * access.bytes);
                let part = part & (u32::MAX >> (32 - access.bytes)) & BYTES;
                if let (Some(slot), true) = (slot, part != 0) {
                    taint.row_mut(*slot)[lane] = mark | bad | part;
                }
            }
        }
    }

    /// Marks what `ldmatrix` has loaded: rows of lanes become elements of others.
    pub(super) fn mark_matrices(&mut self, warp: &mut Warp, load: &LoadMatrices) {
        let unwritten = std::mem::take(&mut self.unwritten);
        if unwritten.is_empty() && warp.taint.is_none() {
            return;
        }
        let pc = warp.pc;
        let taint = Taint::of(warp);
        load.results.iter().for_each(|slot| taint.clear(*slot, u32::MAX));
        for Unwritten { space, access, bytes, .. } in unwritten {
            let (lane, what) = (access.lane, What::Read(space, access));
            let mark = taint.mark(Source { pc, lane, what }) | BAD;
            for byte in active(bytes) {
                let (to, place) = loaded_place(lane % 8, byte, load.transposed);
                taint.row_mut(load.results[lane / 8])[to] = mark | 1 << place;
            }
        }
    }

    /// What nobody has written is so, too, where lanes have copied it to.
    pub(super) fn forget_copied(&mut self, warp: &mut Warp, access: &Access, part: &Part<'_>) {
        if warp.taint.is_none() {
            return;
        }
        for lane in active(part.lanes) {
            let bytes = self.unwritten_of(warp, access, lane);
            for byte in active(bytes) {
                let address = part.addresses[lane] + byte as u64;
                self.forget(warp, part.space, lane, address);
            }
        }
    }

    /// Takes a byte for not written.
    fn forget(&mut self, warp: &mut Warp, space: Space, lane: usize, address: u64) {
        match space {
            Space::Shared => self.shared.written.clear(address, 1),
            Space::Local => {
                let start = lane * self.program.local_bytes as usize;
                warp.local_written.clear(start as u64 + address, 1);
            }
            _ => {
                if let Some(store) = self.memory.find(address, 1) {
                    let offset = address - self.memory.store(store).address;
                    self.memory.forget(store, offset);
                }
            }
        }
    }

    /// Notes which bytes a lane has read that nobody has written. `start`: where they are in
    /// the buffer with this number, in shared memory, or in the warp's local memory.
    pub(super) fn note_unwritten(
        &mut self,
        warp: &Warp,
        space: Space,
        (store, start): (usize, u64),
        access: LaneAccess,
    ) {
        let is_written = |machine: &mut Self, byte: u64| match space {
            Space::Shared => is_set(&machine.shared.written, byte),
            Space::Local => is_set(&warp.local_written, byte),
            _ => machine.memory.read_at(store, byte, &mut [0]).is_none(),
        };
        let (size, block) = match space {
            Space::Shared => (self.shared.bytes.len() as u64, STRUCT),
            Space::Local => (warp.local.len() as u64, STRUCT / 2),
            _ => (self.memory.store(store).bytes, STRUCT),
        };
        let end = start + access.bytes as u64;
        let mut bytes = 0;
        for byte in start..end {
            let missing = !is_written(self, byte);
            bytes |= u32::from(missing) << (byte - start);
        }
        if bytes != 0 {
            let around = start / block * block..end.next_multiple_of(block).min(size);
            let is_gap =
                self.is_of_struct(warp.pc) && around.into_iter().any(|byte| is_written(self, byte));
            self.unwritten.push(Unwritten { space, access, bytes, is_gap });
        }
    }

    /// May a load be that of a part of a struct? Compilers load padding as bytes, or with the
    /// other parts.
    fn is_of_struct(&self, pc: usize) -> bool {
        let code = &self.program.code;
        let source = |place: u32| &self.program.places[place as usize].source;
        let Op::Load(own) = &code[pc].operation else { return false };
        let near = pc.saturating_sub(NEAR)..code.len().min(pc + NEAR);
        let is_other = |other: &Instruction| match &other.operation {
            Op::Load(access) => {
                let apart = access.address.offset.abs_diff(own.address.offset);
                source(other.place).is_some()
                    && source(other.place) == source(code[pc].place)
                    && access.address.base == own.address.base
                    && (1..STRUCT).contains(&apart)
            }
            _ => false,
        };
        own.bytes == 1 || code[near].iter().any(is_other)
    }

    /// Which bytes of what a lane stores nobody has written.
    fn unwritten_of(&self, warp: &Warp, access: &Access, lane: usize) -> u32 {
        let Some(taint) = &warp.taint else { return 0 };
        let own = u32::MAX >> (32 - access.bytes);
        let parts = access.registers.iter().enumerate().map(|(number, slot)| {
            let mark = slot.map_or(0, |slot| taint.row(slot)[lane]);
            (mark & BYTES & own) << (number * access.bytes)
        });
        parts.fold(0, |all, part| all | part)
    }

    /// Marks what lanes got from others: `strays` from such as take no part.
    pub(super) fn mark_shuffled(
        &mut self,
        warp: &mut Warp,
        value: Slot,
        result: Slot,
        sources: &[usize; WARP],
        strays: [u32; 2],
    ) {
        let [strays, there] = strays;
        if strays == 0 && warp.taint.is_none() {
            return;
        }
        let (pc, lanes) = (warp.pc, warp.lanes);
        let taint = Taint::of(warp);
        let before = *taint.row(value);
        for lane in active(lanes) {
            let source = sources[lane];
            taint.row_mut(result)[lane] = match strays >> lane & 1 {
                0 => before[source],
                _ => {
                    let what = What::Shuffle(source, there);
                    taint.mark(Source { pc, lane, what }) | BAD
                }
            };
        }
    }

    /// Marks what an exchange found where nobody had written.
    pub(super) fn mark_exchanged(&mut self, warp: &mut Warp, result: Option<Slot>) {
        let pc = warp.pc;
        for Unwritten { space, access, .. } in std::mem::take(&mut self.unwritten) {
            let (lane, what) = (access.lane, What::Read(space, access));
            let taint = Taint::of(warp);
            let mark = taint.mark(Source { pc, lane, what }) | BAD;
            if let Some(slot) = result {
                taint.row_mut(slot)[lane] = mark;
            }
        }
    }
}

/// Keeps the mark of what came first, which tells most.
fn first_of(mark: &mut u32, other: u32) {
    if other != 0 && (*mark == 0 || other < *mark) {
        *mark = other;
    }
}

fn is_set(written: &Bits, byte: u64) -> bool {
    written.first_unset(byte, 1).is_none()
}
