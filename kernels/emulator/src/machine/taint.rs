//! Registers whose values mean nothing: what nobody has written, and what a shuffle got from a
//! lane that takes no part. To have such a value is no mistake, as long as nothing depends on
//! it. A warp that has none pays nothing for it.

use crate::WARP;
use crate::access::active;
use crate::fault::{Fault, FaultKind};
use crate::machine::access::Part;
use crate::machine::lane::LaneAccess;
use crate::machine::marks::{Extent, Mark, Source, Taint, What, all_bits};
use crate::machine::matrix::loaded_place;
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result, WIDEST, extended, list};
use crate::program::{Access, Instruction, LoadMatrices, Op, Use};
use crate::registers::{Class, Slot};
use crate::space::Space;

/// Structs are aligned to so many bytes at most. What lies between two members is in the same
/// block of this size as a part of one of them.
const STRUCT: u64 = 16;
/// Instructions before and after the load of a part of a struct, among which are the loads of
/// the others.
const NEAR: usize = 32;

/// A read of bytes of which nobody has written some.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unwritten {
    pub(crate) space: Space,
    pub(crate) access: LaneAccess,
    /// Which bits of each byte.
    pub(crate) bits: [u8; WIDEST],
    /// Whether they may be padding, which is copied along.
    pub(crate) is_gap: bool,
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
            self.used(warp, slot, warp.lanes, |_, _| true)?;
        }
        if lanes == 0 {
            return Ok(());
        }
        for &(slot, how) in &self.program.operands[warp.pc] {
            match (how, &instruction.operation) {
                (Use::Needs, _) => self.used(warp, slot, lanes, |_, _| true)?,
                (Use::Stores, Op::Store(access)) => self.check_stored(warp, access, slot, lanes)?,
                (Use::Writes, _) => {
                    if let Some(taint) = &mut warp.taint {
                        taint.clear(slot, lanes);
                    }
                }
                _ => {}
            }
        }
        let Warp { taint: Some(taint), registers, .. } = warp else { return Ok(()) };
        match &instruction.operation {
            Op::Compute(operation, operands) => taint.spread(registers, operation, operands, lanes),
            Op::Multiply(multiply) => taint.multiply(multiply),
            _ => {} // their results are marked when they are there
        }
        if taint.is_clean() {
            warp.taint = None;
        }
        Ok(())
    }

    /// May lanes store a register? Bits that were only copied are no more written where they go.
    fn check_stored(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        slot: Slot,
        lanes: u32,
    ) -> Result<()> {
        let Some(taint) = &warp.taint else { return Ok(()) };
        if taint.lanes(slot) & lanes == 0 {
            return Ok(());
        }
        let stored = u64::MAX >> (64 - 8 * access.bytes);
        let addresses = self.addresses(warp, &access.address);
        let sources = taint.sources.clone();
        let bytes = access.bytes * access.registers.len();
        self.used(warp, slot, lanes, |lane, mark| {
            let (space, address) = match access.address.space {
                Space::Generic => Space::of(addresses[lane]),
                space => (space, addresses[lane]),
            };
            // A part of what was there is changed, as a bit field is, and the rest put back.
            let is_put_back = mark.bits & stored != stored
                && matches!(sources[mark.source].what, What::Read(from, read)
                    if (from, read.address, read.bytes) == (space, address, bytes));
            let is_use = match space {
                Space::Local => mark.extent == Extent::Result,
                _ => mark.extent != Extent::Padding,
            };
            is_use && mark.bits & stored != 0 && !is_put_back
        })
    }

    /// Something depends on a register, if it has marks of lanes that `counts` says do.
    fn used(
        &mut self,
        warp: &mut Warp,
        slot: Slot,
        lanes: u32,
        counts: impl Fn(usize, Mark) -> bool,
    ) -> Result<()> {
        let Some(taint) = &mut warp.taint else { return Ok(()) };
        let marks = active(lanes & taint.lanes(slot));
        let mut marks = marks.filter_map(|lane| Some((lane, taint.mark(slot, lane)?)));
        let Some((_, mark)) = marks.find(|(lane, mark)| counts(*lane, *mark)) else {
            return Ok(());
        };
        let source = taint.sources[mark.source];
        // If that is only noted, it is once.
        taint.clear(slot, lanes);
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
    #[inline]
    pub(super) fn use_unwritten(&mut self, warp: &Warp) -> Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        for Unwritten { space, access, .. } in std::mem::take(&mut self.unwritten) {
            let what = What::Read(space, access);
            self.depends(warp, Source { pc: warp.pc, lane: access.lane, what })?;
        }
        Ok(())
    }

    /// Marks what lanes have loaded.
    pub(super) fn mark_loaded(&mut self, warp: &mut Warp, access: &Access, lanes: u32) {
        if self.unwritten.is_empty() && warp.taint.is_none() {
            return;
        }
        let unwritten = std::mem::take(&mut self.unwritten);
        let pc = warp.pc;
        let taint = Taint::of(warp);
        let slots = access.registers.iter().flatten();
        slots.for_each(|slot| taint.clear(*slot, lanes));
        for Unwritten { space, access: read, bits, is_gap } in unwritten {
            let (lane, what) = (read.lane, What::Read(space, read));
            let source = taint.source(Source { pc, lane, what });
            for (slot, part) in access.registers.iter().zip(bits.chunks(access.bytes)) {
                let Some(slot) = *slot else { continue };
                let is_whole = !is_gap && part.iter().all(|bits| *bits == u8::MAX);
                let bits = extended(part, access.signed) & all_bits(slot.class);
                let extent = if is_whole { Extent::Element } else { Extent::Padding };
                taint.put(slot, lane, Some(Mark { bits, source, extent }));
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
        for Unwritten { space, access, bits, .. } in unwritten {
            let (lane, what) = (access.lane, What::Read(space, access));
            let source = taint.source(Source { pc, lane, what });
            for (byte, bits) in bits.into_iter().enumerate().filter(|(_, bits)| *bits != 0) {
                let (to, place) = loaded_place(lane % 8, byte, load.transposed);
                let slot = load.results[lane / 8];
                let before = taint.mark(slot, to).map_or(0, |mark| mark.bits);
                let bits = before | u64::from(bits) << (8 * place);
                taint.put(slot, to, Some(Mark { bits, source, extent: Extent::Element }));
            }
        }
    }

    /// What nobody has written is so, too, where lanes have copied it to.
    pub(super) fn forget_copied(&mut self, warp: &mut Warp, access: &Access, part: &Part<'_>) {
        let registers = access.registers.iter().enumerate();
        for (number, slot) in registers.filter_map(|(number, slot)| Some((number, (*slot)?))) {
            let Some(taint) = &warp.taint else { return };
            for lane in active(part.places.lanes & taint.lanes(slot)) {
                let mark = warp.taint.as_ref().and_then(|taint| taint.mark(slot, lane));
                let bytes = mark.map_or(0, |mark| mark.bits).to_le_bytes();
                let start = part.places.addresses[lane] + (number * access.bytes) as u64;
                self.forget(warp, part.space, lane, (start, &bytes[..access.bytes]));
            }
        }
    }

    /// Takes these bits of bytes from an address on for not written.
    pub(super) fn forget(
        &mut self,
        warp: &mut Warp,
        space: Space,
        lane: usize,
        (start, bits): (u64, &[u8]),
    ) {
        for (address, bits) in (start..).zip(bits.iter().copied()).filter(|(_, bits)| *bits != 0) {
            match space {
                Space::Shared => self.shared.written.forget(address, bits),
                Space::Local => {
                    let start = lane * self.program.local_bytes as usize;
                    warp.local_written.forget(start as u64 + address, bits);
                }
                _ => self.memory.forget(address, bits),
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
        let unknown = |byte: u64| match space {
            Space::Shared => self.shared.written.unknown(byte),
            Space::Local => warp.local_written.unknown(byte),
            _ => self.memory.store(store).unknown(byte),
        };
        let (size, block) = match space {
            Space::Shared => (self.shared.bytes.len() as u64, STRUCT),
            Space::Local => (warp.local.len() as u64, STRUCT / 2),
            _ => (self.memory.store(store).bytes, STRUCT),
        };
        let end = start + access.bytes as u64;
        let mut bits = [0; WIDEST];
        bits.iter_mut().zip(start..end).for_each(|(bits, byte)| *bits = unknown(byte));
        if bits != [0; WIDEST] {
            let around = start / block * block..end.next_multiple_of(block).min(size);
            let mut around = around.into_iter();
            let is_unused = match &self.program.code[warp.pc].operation {
                Op::Load(own) => {
                    (0..).zip(bits).all(|(byte, bits)| bits == 0 || own.unused >> byte & 1 == 1)
                }
                _ => false,
            };
            let is_gap = is_unused
                || self.is_of_struct(warp.pc) && around.any(|byte| unknown(byte) != u8::MAX);
            self.unwritten.push(Unwritten { space, access, bits, is_gap });
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
        own.bytes == 1 || own.registers.len() > 1 || code[near].iter().any(is_other)
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
        let before = std::array::from_fn::<_, WARP, _>(|lane| taint.mark(value, lane));
        for lane in active(lanes) {
            let source = sources[lane];
            let mark = match strays >> lane & 1 {
                0 => before[source],
                _ => {
                    let what = What::Shuffle(source, there);
                    let source = taint.source(Source { pc, lane, what });
                    Some(Mark { bits: all_bits(result.class), source, extent: Extent::Element })
                }
            };
            taint.put(result, lane, mark);
        }
    }

    /// Marks what an exchange found where nobody had written.
    pub(super) fn mark_exchanged(&mut self, warp: &mut Warp, result: Option<Slot>) {
        let pc = warp.pc;
        for Unwritten { space, access, bits, .. } in std::mem::take(&mut self.unwritten) {
            let (lane, what) = (access.lane, What::Read(space, access));
            let taint = Taint::of(warp);
            let source = taint.source(Source { pc, lane, what });
            if let Some(slot) = result {
                let bits = extended(&bits[..access.bytes], false);
                taint.put(slot, lane, Some(Mark { bits, source, extent: Extent::Element }));
            }
        }
    }
}
