//! Who has accessed device memory in a launch.
//!
//! As long as nothing can race with anything, that is only [written down](Journal). Then memory is divided into granules, and these into lines. Mostly all that
//! happens to a line has a pattern: from one granule to the next, the thread is always so
//! many further on, and all else is the same. Then one [`Cell`] stands for all granules. Any
//! other access gives each granule a cell of its own.

use crate::WARP;
use crate::access::{Places, active, is_between_same};
use crate::machine::journal::{Granules, Journal};
use crate::machine::order::Order;
use crate::machine::readers::Readers;
use crate::machine::trace::{Event, NEVER, Race, THREAD, Touch, TouchKind, Trace, UNTOUCHED};
use crate::program::Strength;

/// Granules of a line: half as many as a warp has lanes, which is also the width of many a
/// tile.
const LINE: usize = 16;
/// Lines of a page. There are only those pages that something was accessed of.
const PAGE: usize = 4;

/// Accesses to a granule: those that a [`Trace`] knows, a read by another block before them,
/// and the last plain write if atomic ones have followed.
#[derive(Clone, Copy, Debug)]
struct Cell {
    trace: Trace,
    earlier: Event,
    plain: Event,
}

const NOBODY: Cell = Cell { trace: UNTOUCHED, earlier: NEVER, plain: NEVER };

/// Some granules.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Of all granules: each time as if its thread had accessed the first one.
    cell: Cell,
    pattern: Pattern,
    /// Which granules were written, and which were read; and which of these by loads that say
    /// that nobody writes them.
    written: u16,
    read: u16,
    read_only: u16,
    /// Where the granules' own cells are, from 1 on, if they have some.
    own: u32,
}

const BLANK: Line = Line {
    cell: NOBODY,
    pattern: Pattern { shift: 0, step: 0 },
    written: 0,
    read: 0,
    read_only: 0,
    own: 0,
};

/// A thread has 2 to the power of `shift` granules, and the next ones has the thread that is
/// `step` further on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pattern {
    shift: u16,
    step: u16,
}

#[derive(Debug)]
struct Page {
    store: usize,
    number: usize,
    lines: [Line; PAGE],
}

/// What was accessed, and by whom.
#[derive(Debug)]
pub(crate) struct Global {
    journal: Journal,
    /// For each buffer and each page of it where that is among the pages, from 1 on.
    places: Vec<Vec<u32>>,
    pages: Vec<Page>,
    own: Vec<[Cell; LINE]>,
    /// Readers that cells have no room for.
    readers: Readers,
    /// The first write of another block that a thread has seen without a fence since, and
    /// whether it was told.
    unfenced: Option<(Race, u32)>,
    has_told: bool,
    /// Bytes of a granule: 2 to the power of this. None, if nothing is looked for.
    granule_bits: Option<u32>,
    /// When a block began, and its number: of each that did not begin as much later than the
    /// one before in this list as its number is greater.
    blocks: Vec<(u32, u64)>,
    /// The number of the last block.
    last: u64,
}

/// A place: the number of a buffer, and the offset in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) store: usize,
    pub(crate) offset: u64,
}

impl Spot {
    /// The granule, of so many bits each, or one that no buffer has a book for.
    fn granule(&self, bits: u32) -> u32 {
        u32::try_from(self.offset >> bits).unwrap_or(u32::MAX)
    }
}

impl Global {
    /// `granule`: the bytes that are traced together, if races are looked for. `partial`: threads
    /// may meet that are not all of the block.
    pub(crate) fn new(granule: Option<u32>, partial: bool) -> Self {
        Self {
            journal: Journal::new(!partial),
            places: Vec::new(),
            pages: Vec::new(),
            own: Vec::new(),
            readers: Readers::default(),
            unfenced: None,
            has_told: false,
            granule_bits: granule.map(u32::trailing_zeros),
            blocks: Vec::new(),
            last: 0,
        }
    }

    /// Forgets all accesses.
    pub(crate) fn clear(&mut self) {
        self.journal.clear();
        for page in &self.pages {
            self.places[page.store][page.number] = 0;
        }
        self.pages.clear();
        self.own.clear();
        self.readers.clear();
        self.blocks.clear();
    }

    /// Takes the first write of another block that a thread has seen without a fence since.
    pub(crate) fn take_unfenced(&mut self) -> Option<(Race, u32)> {
        self.has_told |= self.unfenced.is_some();
        self.unfenced.take()
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.granule_bits.is_some()
    }

    /// A block begins.
    pub(crate) fn begin_block(&mut self, time: u32, number: u64) {
        if !self.is_traced() {
            return;
        }
        self.last = number;
        let goes_on = |(start, first): &(u32, u64)| u64::from(time - start) == number - first;
        if !self.blocks.last().is_some_and(goes_on) {
            self.blocks.push((time, number));
        }
    }

    /// The number of the block that ran at a time.
    pub(crate) fn block_at(&self, time: u32) -> u64 {
        let after = self.blocks.partition_point(|(start, _)| *start <= time);
        let Some(at) = after.checked_sub(1) else { return 0 };
        let (start, first) = self.blocks[at];
        let last = self.blocks.get(after).map_or(self.last, |(_, next)| next - 1);
        last.min(first + u64::from(time - start))
    }

    /// Notes that a warp, whose first thread is given, accesses one element after the other.
    /// Tells the lanes for which there is more to find out.
    #[inline]
    pub(crate) fn touch_row(
        &mut self,
        order: &Order,
        spot: Spot,
        bytes: usize,
        first: Touch,
    ) -> u32 {
        let Some(bits) = self.granule_bits else { return 0 };
        let row = (Granules::Row(spot.granule(bits)), (bytes >> bits).max(1), bytes);
        if self.journal.note(order, spot.store, row, first) {
            return 0;
        }
        self.close(order, spot.store);
        self.trace_row(order, spot, bytes, first)
    }

    /// Notes that lanes of a warp, whose first thread is given, access a buffer: its number, its
    /// address and its size. False, if there is more to find out.
    #[inline]
    pub(crate) fn touch_lanes(
        &mut self,
        order: &Order,
        (store, start, size): (usize, u64, u64),
        Places { addresses, lanes, step }: Places<'_>,
        bytes: usize,
        mut first: Touch,
    ) -> bool {
        let Some(bits) = self.granule_bits else { return true };
        if size >> bits > i32::MAX as u64 || !self.journal.has(store) {
            return false;
        }
        let granule = |address: u64| (address.wrapping_sub(start) >> bits) as u32;
        let mut further;
        let lane = lanes.trailing_zeros();
        let from = granule(addresses[lane as usize % WARP]);
        let granules = match step {
            Some(step) => Granules::Step(from, (step >> bits) as i32),
            None if lanes.is_power_of_two() => {
                first.thread += lane as u16;
                Granules::One(from)
            }
            None => {
                further = addresses.map(|address| granule(address).wrapping_sub(from));
                active(!lanes).for_each(|lane| further[lane] = 0);
                Granules::Lanes(lanes, from, &further)
            }
        };
        self.journal.note(order, store, (granules, (bytes >> bits).max(1), bytes), first)
    }

    /// Traces what is written down of a buffer.
    fn close(&mut self, order: &Order, store: usize) {
        let Some(bits) = self.granule_bits.filter(|_| self.journal.has(store)) else { return };
        let mut journal = std::mem::replace(&mut self.journal, Journal::new(false));
        journal.close(order, store, |order, granules, bytes, first| {
            let spot = |granule: u32| Spot { store, offset: u64::from(granule) << bits };
            let (lanes, starts) = granules.lanes((bytes >> bits).max(1));
            let rest = match granules {
                Granules::Row(start) => self.trace_row(order, spot(start), bytes, first),
                _ => lanes,
            };
            let reads = !first.writes && first.strength == Strength::Weak;
            for lane in active(rest) {
                if !reads || !is_between_same(&starts, lanes, lane) {
                    let touch = Touch { thread: first.thread + lane as u16, ..first };
                    self.trace(order, spot(starts[lane]), bytes, touch, false);
                }
            }
        });
        self.journal = journal;
    }

    fn trace_row(&mut self, order: &Order, spot: Spot, bytes: usize, first: Touch) -> u32 {
        let Some(bits) = self.granule_bits else { return 0 };
        let shift = (bytes >> bits).trailing_zeros();
        if first.strength != Strength::Weak || 1 << shift > LINE {
            return u32::MAX;
        }
        let pattern = Pattern { shift: shift as u16, step: 1 };
        let start = spot.offset as usize >> bits;
        let end = start + (WARP << shift);
        let mut rest = 0;
        let mut from = start;
        while from < end {
            let number = from / LINE;
            let to = end.min((number + 1) * LINE);
            let granules = mask(from % LINE, to - from);
            let lane = (from - start) >> shift;
            let before = (from % LINE) >> shift;
            let thread = first.thread + lane as u16;
            let touch = Touch { thread: based(thread, before, 1), ..first };
            let line = self.line(spot, number);
            if !line.touch(order, pattern, granules, touch) {
                let lanes = (to - from) >> shift;
                rest |= u32::MAX >> (WARP - lanes) << lane;
            }
            from = to;
        }
        rest
    }

    /// Notes an access. If it races with another, tells with which, and when that was.
    /// `same`: it writes what is there already, so it races with no other write.
    pub(crate) fn touch(
        &mut self,
        order: &Order,
        spot: Spot,
        bytes: usize,
        touch: Touch,
        same: bool,
    ) -> Option<(Race, u32)> {
        let bits = self.granule_bits?;
        let one = (Granules::One(spot.granule(bits)), (bytes >> bits).max(1), bytes);
        if self.journal.note(order, spot.store, one, touch) {
            return None;
        }
        self.close(order, spot.store);
        self.trace(order, spot, bytes, touch, same)
    }

    fn trace(
        &mut self,
        order: &Order,
        spot: Spot,
        bytes: usize,
        touch: Touch,
        same: bool,
    ) -> Option<(Race, u32)> {
        let bits = self.granule_bits?;
        let first = spot.offset as usize >> bits;
        let end = first + (bytes >> bits).max(1);
        let mut found = None;
        for from in (first..end).step_by(LINE) {
            let count = (end - from).min(LINE);
            let race = self.touch_line(order, (spot.store, from), count, touch, same);
            found = found.or(race);
        }
        found
    }

    /// The same for granules of a line: of this buffer, from this one on.
    #[inline]
    fn touch_line(
        &mut self,
        order: &Order,
        (store, first): (usize, usize),
        count: usize,
        touch: Touch,
        same: bool,
    ) -> Option<(Race, u32)> {
        let place = first % LINE;
        let granules = mask(place, count);
        let number = (store, first / LINE);
        let page = self.page(store, first / LINE / PAGE);
        let line = &mut self.pages[page].lines[first / LINE % PAGE];
        if touch.strength == Strength::Weak && line.touch_one(order, place, granules, touch) {
            return None;
        }
        let cells = divide(line, &mut self.own);
        let broken = match touch.writes {
            true => line.read_only,
            false if touch.kind == TouchKind::ReadOnly => line.written,
            false => 0,
        };
        line.note(granules, touch);
        let mut found = None;
        for (place, cell) in (place..).zip(&mut cells[place..place + count]) {
            let mut race = cell.race(order, touch, same);
            if broken >> place & 1 == 1 {
                race = Some(cell.broken(touch));
            } else if !touch.writes
                && touch.strength == Strength::Weak
                && !self.has_told
                && cell.trace.write.is_unfenced(order, touch)
            {
                let write = cell.trace.write;
                self.unfenced = Some((write.race(true), write.time));
            }
            let gives_way = |read: &Event| read.gives_way_in_grid(order, touch);
            if let Some(read) = cell.note(order, touch, gives_way) {
                self.readers.add(number, 1 << place, read, order.barrier);
            } else if touch.writes && order.partial {
                let races = |read: &Event| read.races_in_grid(order, touch);
                let read = self.readers.write(number, 1 << place, races);
                race = race.or(read.map(|read| (read.race(false), read.time)));
            }
            found = found.or(race);
        }
        found
    }

    /// Where a page of a buffer is among the pages.
    #[inline]
    fn page(&mut self, store: usize, number: usize) -> usize {
        let places = self.places.get(store).and_then(|places| places.get(number));
        match places {
            Some(0) | None => self.add_page(store, number),
            Some(place) => *place as usize - 1,
        }
    }

    fn add_page(&mut self, store: usize, number: usize) -> usize {
        let lines = [BLANK; PAGE];
        self.pages.push(Page { store, number, lines });
        let stores = self.places.len().max(store + 1);
        self.places.resize_with(stores, Vec::new);
        let places = &mut self.places[store];
        places.resize(places.len().max(number + 1), 0);
        places[number] = self.pages.len() as u32;
        self.pages.len() - 1
    }

    #[inline]
    fn line(&mut self, spot: Spot, number: usize) -> &mut Line {
        let page = self.page(spot.store, number / PAGE);
        &mut self.pages[page].lines[number % PAGE]
    }
}

impl Line {
    /// Notes an access to some granules, if it fits to what was before, and races with none
    /// for sure. The touch is that of the first granule, or would be.
    #[inline(always)]
    fn touch(&mut self, order: &Order, pattern: Pattern, granules: u16, touch: Touch) -> bool {
        let broken = if touch.writes { self.read_only } else { self.written };
        let is_broken = touch.writes || touch.kind == TouchKind::ReadOnly;
        if self.own != 0 || is_broken && broken & granules != 0 {
            return false;
        }
        if self.pattern != pattern && !self.take(pattern) {
            return false;
        }
        let is_before = |event: &Event| event.is_before(order, touch);
        let Cell { trace: Trace { write, reads }, earlier, .. } = &mut self.cell;
        if self.written & granules != 0 && !is_before(write) {
            return false;
        }
        let event = Event { time: order.now, thread: touch.thread, line: touch.line };
        if touch.writes {
            let all = [reads[0], reads[1], *earlier];
            if self.read & granules != 0 && !all.iter().all(is_before)
                || self.written & !granules != 0 && *write != event
            {
                return false;
            }
            *write = event;
            self.note(granules, touch);
            return true;
        }
        if self.read == granules || self.read == 0 {
            if self.cell.note(order, touch, is_before).is_some() {
                return false;
            }
        } else if reads[0] != event || reads[1] != NEVER || *earlier != NEVER {
            return false;
        }
        self.note(granules, touch);
        true
    }

    #[inline(always)]
    fn note(&mut self, granules: u16, touch: Touch) {
        match touch.writes {
            true => self.written |= granules,
            false => self.read |= granules,
        }
        if touch.kind == TouchKind::ReadOnly {
            self.read_only |= granules;
        }
    }

    /// Takes another pattern, if only one place was accessed yet.
    fn take(&mut self, pattern: Pattern) -> bool {
        let touched = self.written | self.read;
        if touched != 0 {
            let first = touched.trailing_zeros() as usize;
            let group = mask(first, 1 << self.pattern.shift);
            if self.pattern.step != 0 || self.pattern.shift != pattern.shift || touched != group {
                return false;
            }
            let before = first >> pattern.shift;
            let step = pattern.step;
            self.cell.each(|event| event.thread = based(event.thread, before, step));
        }
        self.pattern = pattern;
        true
    }

    /// The same for one thread.
    #[inline(always)]
    fn touch_one(&mut self, order: &Order, place: usize, granules: u16, touch: Touch) -> bool {
        let Pattern { mut shift, mut step } = self.pattern;
        let touched = self.written | self.read;
        if touched == 0 {
            shift = granules.count_ones().trailing_zeros() as u16;
            step = 0;
        } else if step == 0 && touched & granules == 0 {
            // The second place that is accessed tells the step.
            let Trace { write, reads: [read, _] } = &self.cell.trace;
            let event = if self.written == 0 { read } else { write };
            let from = touched.trailing_zeros() as usize >> shift;
            let places = (place >> shift) as i32 - from as i32;
            let threads = i32::from(touch.thread) - i32::from(event.thread & THREAD);
            if places == 0 || threads % places != 0 {
                return false;
            }
            step = (threads / places) as u16 & THREAD;
        }
        if granules.count_ones() != 1 << shift {
            return false;
        }
        let pattern = Pattern { shift, step };
        let thread = based(touch.thread, place >> shift, step);
        self.touch(order, pattern, granules, Touch { thread, ..touch })
    }

    /// Accesses to one granule of a line that has no cells of its own.
    fn cell(&self, granule: usize) -> Cell {
        let mut cell = self.cell;
        if self.written >> granule & 1 == 0 {
            (cell.trace.write, cell.plain) = (NEVER, NEVER);
        }
        if self.read >> granule & 1 == 0 {
            (cell.trace.reads, cell.earlier) = ([NEVER; 2], NEVER);
        }
        let Pattern { shift, step } = self.pattern;
        let threads = (granule as u16 >> shift).wrapping_mul(step);
        cell.each(|event| event.thread = event.thread.wrapping_add(threads) & THREAD);
        cell
    }
}
/// A cell for each granule of a line.
#[inline]
fn divide<'a>(line: &mut Line, own: &'a mut Vec<[Cell; LINE]>) -> &'a mut [Cell; LINE] {
    if line.own == 0 {
        let touched = line.written | line.read;
        let cells = std::array::from_fn(|granule| match touched >> granule & 1 {
            0 => NOBODY,
            _ => line.cell(granule),
        });
        own.push(cells);
        line.own = own.len() as u32;
    }
    &mut own[line.own as usize - 1]
}

/// So many granules of a line, from this one on.
fn mask(first: usize, count: usize) -> u16 {
    u16::MAX >> (LINE - count) << first
}

/// The thread that so many places before this one has, each `step` before the next.
fn based(thread: u16, places: usize, step: u16) -> u16 {
    thread.wrapping_sub((places as u16).wrapping_mul(step)) & THREAD
}

impl Cell {
    fn each(&mut self, change: impl Fn(&mut Event)) {
        let Trace { write, reads: [a, b] } = &mut self.trace;
        let all = [write, a, b, &mut self.earlier, &mut self.plain];
        all.into_iter().for_each(change);
    }

    /// The access that one races with, and when it was.
    fn race(&self, order: &Order, touch: Touch, same: bool) -> Option<(Race, u32)> {
        let Self { trace: Trace { write, reads: [a, b] }, earlier, plain } = self;
        let races = |event: &&Event| event.races_in_grid(order, touch);
        let race = |event: &Event, wrote| (event.race(wrote), event.time);
        let is_replaced = |event: &&Event| event.is_replaced(order, touch);
        let write = [write, plain].into_iter().find(|write| races(write) && !is_replaced(write));
        let write = write.filter(|_| !same);
        write.map(|write| race(write, true)).or_else(|| {
            let reads = touch.writes.then_some([a, b, earlier]);
            let read = reads.into_iter().flatten().find(races);
            read.map(|read| race(read, false))
        })
    }

    /// The access that means that a granule is written in this launch, or not, if the other
    /// means the opposite.
    fn broken(&self, touch: Touch) -> (Race, u32) {
        let Self { trace: Trace { write, reads }, earlier, .. } = self;
        let read = [reads[1], reads[0], *earlier].into_iter().find(|read| *read != NEVER);
        let other = if touch.writes { read.unwrap_or(NEVER) } else { *write };
        (Race { read_only: true, ..other.race(!touch.writes) }, other.time)
    }

    /// Notes an access, as [`Trace::note`] does.
    #[inline(always)]
    fn note(
        &mut self,
        order: &Order,
        touch: Touch,
        gives_way: impl Fn(&Event) -> bool,
    ) -> Option<Event> {
        let first = self.trace.reads[0];
        if !touch.writes && !order.partial && first.time < order.block && first.time != NEVER.time {
            self.earlier = first;
        }
        if touch.writes {
            let write = self.trace.write;
            match touch.strength {
                Strength::Weak => self.plain = NEVER,
                _ if write.is_plain() => self.plain = write,
                _ => {}
            }
        }
        self.trace.note(order, touch, gives_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::active;
    use crate::program::Scope;
    use proptest::prelude::*;

    const LINES: usize = 20;

    /// An access of a warp to one element after the other, or of one thread.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Row { warp: u16, from: usize, bytes: usize, writes: bool },
        One { thread: u16, place: usize, bytes: usize, writes: bool },
        Barrier,
        Block,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let bytes = || prop_oneof![Just(4usize), Just(8), Just(16)];
        let row =
            (0..3u16, 0..4usize, bytes(), any::<bool>()).prop_map(|(warp, from, bytes, writes)| {
                let from = if from == 3 { 1 } else { 16 * from };
                Step::Row { warp, from, bytes, writes }
            });
        let one = (0..96u16, 0..80usize, bytes(), any::<bool>())
            .prop_map(|(thread, place, bytes, writes)| Step::One { thread, place, bytes, writes });
        // A column: a step of several threads from one place to the next.
        let column = (0..20u16, 0..3u16, any::<bool>()).prop_map(|(place, t, writes)| {
            let (thread, place) = (4 * place + t, usize::from(place));
            Step::One { thread, place, bytes: 4, writes }
        });
        let order = prop_oneof![Just(Step::Barrier), Just(Step::Block)];
        let step = prop_oneof![3 => row, 2 => one, 3 => column, 2 => order];
        prop::collection::vec(step, 1..40)
    }

    /// Does a step race?
    fn does_race(global: &mut Global, order: &Order, step: Step, rows: bool) -> bool {
        let touch = |thread, writes| Touch {
            thread,
            line: 7,
            writes,
            strength: Strength::Weak,
            scope: Scope::Grid,
            kind: TouchKind::Usual,
        };
        let spot = |offset: usize| Spot { store: 0, offset: offset as u64 };
        match step {
            Step::Row { warp, from, bytes, writes } => {
                let first = touch(32 * warp, writes);
                let start = from * bytes;
                let rest = match rows {
                    true => global.touch_row(order, spot(start), bytes, first),
                    false => u32::MAX,
                };
                let races = active(rest).map(|lane| {
                    let touch = touch(first.thread + lane as u16, writes);
                    let spot = spot(start + lane * bytes);
                    global.touch(order, spot, bytes, touch, false).is_some()
                });
                races.fold(false, |any, races| any | races)
            }
            Step::One { thread, place, bytes, writes } => {
                let spot = spot(place * 4 / bytes * bytes);
                global.touch(order, spot, bytes, touch(thread, writes), false).is_some()
            }
            Step::Barrier | Step::Block => false,
        }
    }

    proptest! {
        #[test]
        fn patterns_are_as_good_as_cells(steps in steps(), partial in any::<bool>()) {
            let (mut some, mut all) = (Global::new(Some(4), partial), Global::new(Some(4), true));
            for line in 0..LINES {
                let page = all.page(0, line / PAGE);
                divide(&mut all.pages[page].lines[line % PAGE], &mut all.own);
            }
            let mut order = Order::new(96, partial);
            order.begin_block();
            for step in steps {
                match step {
                    Step::Barrier => order.meet_all(),
                    Step::Block => order.begin_block(),
                    _ => {}
                }
                let race = does_race(&mut all, &order, step, false);
                prop_assert_eq!(does_race(&mut some, &order, step, true), race);
                if race {
                    break;
                }
            }
        }
    }

    #[test]
    fn blocks_are_known_by_their_times() {
        let mut global = Global::new(Some(4), false);
        for (time, number) in [(2, 0), (3, 1), (7, 2), (8, 3), (9, 9)] {
            global.begin_block(time, number);
        }
        let blocks = [2, 3, 6, 7, 8, 9, 20].map(|time| global.block_at(time));
        assert_eq!(blocks, [0, 1, 1, 2, 3, 9, 9]);
        assert_eq!(global.blocks.len(), 3);
    }
}
