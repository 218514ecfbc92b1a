//! The shared memory of a block, and who has accessed it.

use std::ops::Range;

use crate::WARP;
use crate::access::{Places, active, is_between_same};
use crate::machine::order::{IN_FLIGHT, Order};
use crate::machine::readers::Readers;
use crate::machine::trace::{Event, NEVER, Race, Touch, Trace, UNTOUCHED};
use crate::memory::{Bits, copy};
use crate::program::Strength;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) bytes: Vec<u8>,
    pub(crate) written: Bits,
    pub(crate) order: Order,
    traces: Vec<Trace>,
    /// Readers that traces have no room for.
    readers: Readers,
    is_traced: bool,
    /// Of lanes that wrote what was there already the last, and who wrote that.
    pub(crate) same_value: Option<(usize, Race)>,
    /// Bytes that are traced together: 2 to the power of this.
    granule_bits: u32,
}

impl Shared {
    /// `granule`: the bytes that are traced together, if races are looked for. `partial`: threads
    /// may meet that are not all of the block.
    pub(crate) fn new(bytes: usize, threads: usize, granule: Option<u32>, partial: bool) -> Self {
        let traced = granule.map_or(0, |granule| bytes.div_ceil(granule as usize));
        Self {
            bytes: vec![0; bytes],
            written: Bits::new(bytes as u64),
            order: Order::new(threads, partial),
            traces: vec![UNTOUCHED; traced],
            readers: Readers::default(),
            is_traced: granule.is_some(),
            same_value: None,
            granule_bits: granule.map_or(2, u32::trailing_zeros),
        }
    }

    /// For the next block, which begins not before this time. `had_copies`: the last one may
    /// have left some in flight. True, if time begins anew.
    pub(crate) fn begin_block(&mut self, had_copies: bool) -> bool {
        if self.written.any() {
            self.bytes.fill(0);
            self.written.clear_all();
        }
        self.order.begin_block();
        self.readers.clear();
        if had_copies {
            self.traces.fill(UNTOUCHED);
        }
        self.begin_anew_if_late()
    }

    /// What came before has happened for all that comes now. True, if time begins anew.
    pub(crate) fn pass_barrier(&mut self) -> bool {
        self.order.meet_all();
        self.readers.clear();
        self.begin_anew_if_late()
    }

    fn begin_anew_if_late(&mut self) -> bool {
        let is_late = self.order.is_late();
        if is_late {
            self.order = Order::new(self.order.threads(), self.order.partial);
            for trace in &mut self.traces {
                let in_flight = trace.write.time == IN_FLIGHT;
                let write = if in_flight { trace.write } else { NEVER };
                *trace = Trace { write, ..UNTOUCHED };
            }
        }
        is_late
    }

    /// Are races looked for?
    pub(crate) fn is_traced(&self) -> bool {
        self.is_traced
    }

    /// Does a range hold an access? It is that of an array, or all of the block's memory.
    pub(crate) fn holds(&self, array: Option<&Range<u64>>, address: u64, bytes: usize) -> bool {
        let all = 0..self.bytes.len() as u64;
        let Range { start, end } = array.unwrap_or(&all);
        let last = (end - start).checked_sub(bytes as u64);
        last.is_some_and(|last| address.wrapping_sub(*start) <= last)
    }

    /// Do all lanes access the array, or the block's memory, and what was written?
    pub(crate) fn is_fine(
        &self,
        array: Option<&Range<u64>>,
        places: Places<'_>,
        bytes: usize,
        must_be_written: bool,
    ) -> bool {
        let start = array.map_or(0, |array| array.start);
        let written = |address| self.written.first_unset(address, bytes as u64).is_none();
        // An address before the start is furthest from there.
        let place = |address: u64| address.wrapping_sub(start);
        let furthest = places.bounds().fold(0, |last, address| place(address).max(last));
        self.holds(array, furthest.wrapping_add(start), bytes)
            && (!must_be_written
                || self.written.all()
                || places.distinct().all(|lane| written(places.addresses[lane])))
    }

    /// Notes an access of a warp, whose first thread is given, and what it writes. If a
    /// lane's access races with another, tells which and with which.
    pub(crate) fn touch_lanes(
        &mut self,
        places: Places<'_>,
        bytes: usize,
        first: Touch,
        from: &[u8],
    ) -> Option<(usize, Race)> {
        if self.traces.is_empty() {
            return None;
        }
        let Places { addresses, lanes, .. } = places;
        let rest = match first.strength {
            Strength::Weak => self.touch_first(places, bytes, first),
            _ => lanes,
        };
        active(rest).find_map(|lane| {
            let address = addresses[lane];
            let touch = Touch { thread: first.thread + lane as u16, ..first };
            if !first.writes {
                if is_between_same(addresses, rest, lane) {
                    return None;
                }
                return Some((lane, self.touch(address, bytes, touch, false)?));
            }
            let race = self.touch(address, bytes, touch, false)?;
            // Of lanes of one instruction that write to the same place, one wins.
            let other = usize::from(race.thread).wrapping_sub(first.thread.into());
            let is_here = other < lane && lanes >> other & 1 == 1 && addresses[other] == address;
            let value = |lane: usize| &from[lane * bytes..][..bytes];
            let is_same = match is_here {
                true => value(lane) == value(other),
                false => value(lane) == self.value(address, bytes),
            };
            let is_write = race.wrote && !race.in_flight;
            if is_write && is_same {
                self.same_value = Some((lane, race));
            }
            match is_write && is_same {
                true => Some((lane, self.touch(address, bytes, touch, true)?)),
                false => Some((lane, race)),
            }
        })
    }

    /// Notes those of the accesses that race with none for sure: they are the first since
    /// the last barrier, or all since have read. Tells the lanes of the others.
    fn touch_first(&mut self, places: Places<'_>, bytes: usize, first: Touch) -> u32 {
        match ((bytes >> self.granule_bits).max(1), first.writes) {
            (1, true) => self.touch_first_of(places, 1, true, first),
            (1, false) => self.touch_first_of(places, 1, false, first),
            (count, writes) => self.touch_first_of(places, count, writes, first),
        }
    }

    /// Made for what is frequent: one trace for each lane, and reads or writes.
    #[inline(always)]
    fn touch_first_of(
        &mut self,
        places: Places<'_>,
        count: usize,
        writes: bool,
        first: Touch,
    ) -> u32 {
        let Places { addresses, lanes, .. } = places;
        let (bits, partial) = (self.granule_bits, self.order.partial);
        let Order { now: time, barrier, .. } = self.order;
        let event =
            |lane: usize| Event { time, thread: first.thread + lane as u16, line: first.line };
        let is_fine = |Trace { write, reads: [a, b] }: &Trace, thread: u16| {
            write.time < barrier
                && (a.time < barrier || !writes && (!partial || a.thread == thread))
                && (b.time < barrier || !writes)
        };
        let note = |trace: &mut Trace, event: Event| match writes {
            true => trace.write = event,
            false => trace.note_read(barrier, event),
        };
        if count == 1 && !writes && !partial && places.is_row(0) {
            // All lanes read the same, of which a trace remembers two.
            let trace = &mut self.traces[(addresses[0] >> bits) as usize];
            if !is_fine(trace, first.thread) {
                return lanes;
            }
            (0..2).for_each(|lane| note(trace, event(lane)));
            let is_here = |read: &&mut Event| read.is_of_warp(first.thread);
            trace.reads.iter_mut().filter(is_here).for_each(|read| {
                (read.time, read.line) = (time, first.line);
            });
            return 0;
        }
        let mut rest = 0;
        if count == 1 && places.is_row(1 << bits) {
            let start = (addresses[0] >> bits) as usize;
            for (lane, trace) in self.traces[start..start + WARP].iter_mut().enumerate() {
                let event = event(lane);
                match is_fine(trace, event.thread) {
                    true => note(trace, event),
                    false => rest |= 1 << lane,
                }
            }
            return rest;
        }
        for lane in active(lanes) {
            let start = (addresses[lane] >> bits) as usize;
            let traces = &mut self.traces[start..start + count];
            let event = event(lane);
            match traces.iter().all(|trace| is_fine(trace, event.thread)) {
                true => traces.iter_mut().for_each(|trace| note(trace, event)),
                false => rest |= 1 << lane,
            }
        }
        rest
    }

    /// An asynchronous copy is over: its thread writes now.
    pub(crate) fn land(&mut self, address: u64, bytes: usize) {
        let touched = self.touched(address, bytes);
        for trace in self.traces.get_mut(touched).into_iter().flatten() {
            trace.write.time = trace.write.time.min(self.order.now);
        }
    }

    fn value(&self, address: u64, bytes: usize) -> &[u8] {
        &self.bytes[address as usize..][..bytes]
    }

    /// Copies what lanes read, one after the other. They must be [fine](Self::is_fine).
    pub(crate) fn read_lanes(&self, places: Places<'_>, bytes: usize, into: &mut [u8]) {
        fn each<const BYTES: usize>(from: &[u8], places: Places<'_>, into: &mut [u8]) {
            let Places { addresses, lanes, .. } = places;
            let into = into.as_chunks_mut::<BYTES>().0;
            if places.is_row(0) {
                let [first, ..] = *addresses;
                let one = from[first as usize..].first_chunk().copied();
                into[..WARP].fill(one.unwrap_or([0; BYTES]));
                return;
            }
            for lane in active(lanes) {
                let start = addresses[lane] as usize;
                into[lane].copy_from_slice(&from[start..start + BYTES]);
            }
        }
        let Places { addresses, lanes, .. } = places;
        let from = &self.bytes;
        if places.is_row(bytes) {
            let (start, all) = (addresses[0] as usize, bytes * WARP);
            copy(&mut into[..all], &from[start..start + all]);
            return;
        }
        match bytes {
            4 => each::<4>(from, places, into),
            8 => each::<8>(from, places, into),
            16 => each::<16>(from, places, into),
            _ => {
                for lane in active(lanes) {
                    let start = addresses[lane] as usize;
                    into[lane * bytes..][..bytes].copy_from_slice(&from[start..start + bytes]);
                }
            }
        }
    }

    /// Copies what one lane writes.
    pub(crate) fn write(&mut self, address: u64, from: &[u8]) {
        self.written.set(address, from.len() as u64);
        copy(&mut self.bytes[address as usize..][..from.len()], from);
    }

    /// Copies what lanes write. They must be [fine](Self::is_fine).
    pub(crate) fn write_lanes(&mut self, places: Places<'_>, bytes: usize, from: &[u8]) {
        let Places { addresses, lanes, .. } = places;
        if places.is_row(bytes) {
            let start = addresses[0] as usize;
            let all = bytes * WARP;
            copy(&mut self.bytes[start..start + all], &from[..all]);
            self.written.set(addresses[0], all as u64);
            return;
        }
        for lane in active(lanes) {
            let start = addresses[lane] as usize;
            let from = &from[lane * bytes..][..bytes];
            let into = &mut self.bytes[start..start + bytes];
            match bytes {
                4 => into[..4].copy_from_slice(&from[..4]),
                16 => into[..16].copy_from_slice(&from[..16]),
                _ => into.copy_from_slice(from),
            }
        }
        if !self.written.all() {
            for lane in active(lanes) {
                self.written.set(addresses[lane], bytes as u64);
            }
        }
    }

    /// The traces of these bytes.
    #[inline(always)]
    fn touched(&self, address: u64, bytes: usize) -> Range<usize> {
        let first = (address >> self.granule_bits) as usize;
        first..first + (bytes >> self.granule_bits).max(1)
    }

    /// Notes an access. If it races with another, tells with which. `same`: it writes what is
    /// there already, so it races with no other write.
    #[inline(always)]
    pub(crate) fn touch(
        &mut self,
        address: u64,
        bytes: usize,
        touch: Touch,
        same: bool,
    ) -> Option<Race> {
        if self.traces.is_empty() {
            return None;
        }
        let touched = self.touched(address, bytes);
        let (order, first) = (&self.order, touched.start);
        let traces = self.traces[touched].iter_mut().enumerate();
        for (number, trace) in traces {
            let race = if same { None } else { trace.write_before(order, touch) };
            if race.is_some() {
                return race;
            }
            let mut race = trace.read_before(order, touch);
            let left = trace.note(order, touch, |read| read.gives_way(order, touch));
            if order.partial {
                let (line, granules) = ((0, (first + number) / 16), 1 << ((first + number) % 16));
                let races = |read: &Event| read.races(order, touch);
                if let Some(read) = left {
                    self.readers.add(line, granules, read, order.barrier);
                } else if touch.writes
                    && let Some(read) = self.readers.write(line, granules, races)
                {
                    race = race.or(Some(read.race(false)));
                }
            }
            if race.is_some() {
                return race;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::trace::TouchKind;
    use crate::program::Scope;

    fn shared() -> Shared {
        Shared::new(64, 96, Some(4), false)
    }

    fn touch(thread: u16, writes: bool, strength: Strength) -> Touch {
        let scope = Scope::Block;
        Touch { thread, line: 7, writes, strength, scope, kind: TouchKind::Usual }
    }

    fn write(thread: u16) -> Touch {
        touch(thread, true, Strength::Weak)
    }

    fn read(thread: u16) -> Touch {
        touch(thread, false, Strength::Weak)
    }

    fn race(thread: u16, wrote: bool) -> Option<Race> {
        Some(Race { thread, line: 7, wrote, strong: false, in_flight: false, read_only: false })
    }

    #[test]
    fn a_write_and_a_read_of_different_threads_race() {
        let mut shared = shared();
        assert_eq!(shared.touch(8, 4, write(0), false), None);
        assert_eq!(shared.touch(8, 4, read(0), false), None);
        assert_eq!(shared.touch(8, 4, read(31), false), race(0, true));
        shared.order.meet_lanes(0, u32::MAX, u32::MAX);
        assert_eq!(shared.touch(8, 4, read(31), false), None);
        assert_eq!(shared.touch(8, 4, read(32), false), race(0, true));
        shared.pass_barrier();
        assert_eq!(shared.touch(8, 4, read(32), false), None);
        assert_eq!(shared.touch(8, 4, write(64), false), race(32, false));
    }

    #[test]
    fn the_second_reader_is_not_forgotten() {
        let mut shared = shared();
        for thread in [0, 1, 31, 40] {
            assert_eq!(shared.touch(0, 16, read(thread), false), None);
        }
        assert_eq!(shared.touch(12, 4, write(0), false), race(40, false));
    }

    #[test]
    fn atomics_race_with_others_only() {
        let mut shared = shared();
        let atomic = |thread| touch(thread, true, Strength::Atomic);
        assert_eq!(shared.touch(0, 4, atomic(0), false), None);
        assert_eq!(shared.touch(0, 4, atomic(32), false), None);
        assert!(shared.touch(0, 4, read(64), false).is_some());
    }

    #[test]
    fn a_fence_and_a_flag_order() {
        let mut shared = shared();
        let flag = 32;
        assert_eq!(shared.touch(0, 4, write(0), false), None);
        shared.order.meet_lanes(0, u32::MAX, u32::MAX);
        shared.order.fence(0, 1 << 5, Scope::Block);
        assert_eq!(shared.touch(4, 4, write(5), false), None);
        shared.order.release(5, flag, false, Scope::Block);
        shared.order.acquire(40, flag, true);
        assert_eq!(shared.touch(0, 4, read(40), false), None);
        // After the fence, and by another thread.
        assert_eq!(shared.touch(4, 4, read(40), false), race(5, true));
        assert_eq!(shared.touch(0, 4, read(41), false), race(0, true));
        // A barrier of these two.
        shared.order.meet_some(1, [40, 41].into_iter());
        assert_eq!(shared.touch(0, 4, read(41), false), None);
    }

    #[test]
    fn a_copy_writes_until_somebody_waits() {
        let mut shared = shared();
        let copy = Touch { kind: TouchKind::InFlight, ..write(3) };
        assert_eq!(shared.touch(0, 4, copy, false), None);
        shared.pass_barrier();
        let race = shared.touch(0, 4, read(3), false).filter(|race| race.in_flight);
        assert!(race.is_some());
    }
}
