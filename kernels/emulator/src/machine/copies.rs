//! Asynchronous copies to shared memory in flight. Their bytes arrive when the thread waits
//! for them, as late as they may: a thread that forgets to wait reads old data.

use crate::WARP;
use crate::access::{Places, active, sectors_of};
use crate::fault::FaultKind;
use crate::machine::lane::{Direction, LaneAccess};
use crate::machine::taint::Unwritten;
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result, WIDEST};
use crate::program::CopyAsync;
use crate::space::Space;

/// Bytes that a copy writes at least.
const NARROWEST: usize = 4;

/// A copy of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) lane: usize,
    /// How many groups of copies the lane had committed before.
    group: u32,
    pub(crate) to: u64,
    pub(crate) from: u64,
    pub(crate) bytes: usize,
    /// How many bytes are read; the rest is zero.
    pub(crate) read: usize,
    /// When the last barrier of the block was.
    barrier: u32,
}

/// The copies of a warp.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pending: Vec<Pending>,
    committed: [u32; WARP],
}

impl Copies {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.committed = [0; WARP];
    }

    /// The copy counts to the group that its lane commits next.
    pub(crate) fn start(&mut self, copy: Pending) {
        let group = self.committed[copy.lane];
        self.pending.push(Pending { group, ..copy });
    }

    pub(crate) fn commit(&mut self, lanes: u32) {
        for lane in active(lanes) {
            self.committed[lane] += 1;
        }
    }

    /// The copies that must have arrived when lanes go on while at most `left` groups are
    /// in flight.
    pub(crate) fn arrive(&mut self, lanes: u32, left: u32) -> Vec<Pending> {
        let committed = self.committed;
        let due = |copy: &Pending| {
            let before = committed[copy.lane].saturating_sub(left);
            lanes >> copy.lane & 1 == 1 && copy.group < before
        };
        let (arrived, rest) = self.pending.drain(..).partition(due);
        self.pending = rest;
        arrived
    }
}

impl Machine<'_> {
    /// `cp.async`: checked and counted now, done later.
    pub(super) fn start_copy(
        &mut self,
        warp: &mut Warp,
        copy: &CopyAsync,
        lanes: u32,
    ) -> Result<()> {
        let [from, into] = [&copy.from, &copy.to].map(|address| self.addresses(warp, address));
        let mut reading = 0;
        let places = Places::new(&from, lanes);
        let buffer = self.find_buffer(warp.pc, from[lanes.trailing_zeros() as usize]);
        let is_noted = copy.source_bytes.is_none()
            && self.memory.holds_lanes(buffer, places, copy.bytes)
            && self.note_lanes(warp, places, copy.bytes, Direction::READ);
        for lane in active(lanes) {
            let to = into[lane];
            let wanted = copy.source_bytes.map_or(copy.bytes, |slot| {
                warp.registers.get(slot, lane).min(copy.bytes as u64) as usize
            });
            reading |= u32::from(wanted > 0) << lane;
            let (bytes, direction) = (copy.bytes, Direction::READ);
            let read = LaneAccess { lane, address: from[lane], bytes, direction };
            let direction = Direction::START;
            let write = LaneAccess { address: to, direction, ..read };
            for access in [read, write] {
                if access.address & (bytes as u64 - 1) != 0 {
                    return Err(self.misaligned(warp, access));
                }
            }
            if wanted > 0 {
                let read = LaneAccess { bytes: wanted, ..read };
                self.locate(warp, read)?;
                if !is_noted {
                    self.touch_global_lane(warp, read, None)?;
                }
            }
            self.touch_shared(warp, write, None)?;
            let (from, barrier) = (from[lane], self.shared.order.barrier);
            let (group, read) = (0, wanted);
            warp.copies.start(Pending { lane, group, to, from, bytes, read, barrier });
        }
        // Each writes a word at least. (Whether it is inside is found when it arrives.)
        let words = (self.shared.bytes.len() / NARROWEST).max(WARP);
        let in_flight = warp.copies.pending.len();
        if in_flight > words {
            let what = format!(
                "warp {} has {in_flight} asynchronous copies in flight, more than the \
                 block's shared memory has words ({words}): some write the same word, in \
                 no order; wait for the earlier ones, with cp.async.wait_group or __pipeline_wait_prior",
                warp.index
            );
            let lane = lanes.trailing_zeros() as usize;
            return Err(self.fault(warp, FaultKind::Race, lane, what));
        }
        self.tallies[warp.pc].async_copies +=
            sectors_of(Places::new(&from, reading), copy.bytes as u64);
        Ok(())
    }

    /// Reads what a copy brings, if all of it was written.
    fn read_whole(&mut self, warp: &Warp, copy: &Pending, into: &mut [u8]) -> bool {
        let hint = &mut self.buffers[warp.pc];
        if !self.memory.holds(*hint, copy.from, into.len())
            && let Some(found) = self.memory.find(copy.from, into.len() as u64)
        {
            *hint = found;
        }
        let hint = *hint;
        self.memory.holds(hint, copy.from, into.len()) && {
            let offset = copy.from - self.memory.store(hint).address;
            self.memory.read_at(hint, offset, into).is_none()
        }
    }

    /// Notes that copies may have read their sources until now, if a barrier came meanwhile.
    fn touch_sources(&mut self, warp: &Warp, copies: &[Pending]) -> Result<()> {
        let order = &self.shared.order;
        let is_late =
            |copy: &&Pending| copy.read > 0 && (order.partial || copy.barrier != order.barrier);
        let late = copies.iter().filter(is_late).collect::<Vec<_>>();
        // Those of one instruction.
        for copies in late.chunk_by(|a, b| a.lane < b.lane && a.read == b.read) {
            let (bytes, direction) = (copies[0].read, Direction::READ);
            let (mut from, mut lanes) = ([0; WARP], 0);
            for copy in copies {
                from[copy.lane] = copy.from;
                lanes |= 1 << copy.lane;
            }
            let places = Places::new(&from, lanes);
            let buffer = self.find_buffer(warp.pc, copies[0].from);
            let is_noted = bytes.is_power_of_two()
                && self.memory.holds_lanes(buffer, places, bytes)
                && self.note_lanes(warp, places, bytes, direction);
            for copy in copies.iter().filter(|_| !is_noted) {
                let (lane, address) = (copy.lane, copy.from);
                let read = LaneAccess { lane, address, bytes, direction };
                self.touch_global_lane(warp, read, None)?;
            }
        }
        Ok(())
    }

    /// Lets the bytes of copies arrive, as lanes wait for them.
    pub(super) fn finish_copies(&mut self, warp: &mut Warp, lanes: u32, left: u32) -> Result<()> {
        let arrived = warp.copies.arrive(lanes, left);
        self.touch_sources(warp, &arrived)?;
        for copy in arrived {
            let mut bytes = [0; WIDEST];
            let is_whole = self.read_whole(warp, &copy, &mut bytes[..copy.read]);
            let each = if is_whole { 0 } else { copy.read };
            for (offset, byte) in bytes[..each].iter_mut().enumerate() {
                let (at, byte) = (copy.from + offset as u64, std::slice::from_mut(byte));
                let read = Direction::READ;
                self.read_lane(warp, Space::Global, copy.lane, at, byte, read)?;
            }
            // One for each byte. Some of them may be padding, and not all.
            let missing = std::mem::take(&mut self.unwritten);
            if missing.len() == copy.read.max(1)
                && missing.iter().all(|byte| byte.bits[0] == u8::MAX)
            {
                self.unwritten = missing;
                self.use_unwritten(warp)?;
                continue;
            }
            let bytes = &bytes[..copy.bytes];
            self.shared.land(copy.to, copy.bytes);
            let write = Direction::WRITE;
            self.write_lane(warp, Space::Shared, copy.lane, copy.to, bytes, write)?;
            for Unwritten { access, bits, .. } in missing {
                let to = access.address - copy.from + copy.to;
                self.forget(warp, Space::Shared, copy.lane, (to, &bits[..1]));
            }
        }
        Ok(())
    }
}
