//! A layer over a memory: what was written goes into the layer, and the memory below stays
//! as it is. Several threads so run different blocks on the same memory. A layer knows
//! what was read through it; so it can tell afterwards whether what another one has written
//! should have been seen.

use crate::WARP;
use crate::access::active;
use crate::memory::bits::{in_one_word, masks};
use crate::memory::{Memory, Notes, Store, copy};

/// Bytes of a page, in which what was written is kept.
const PAGE: usize = 512;
/// Bytes of a line, of which is known whether something of it was read: what a warp mostly
/// reads at once.
const LINE: usize = 128;

/// What was written and read since it was [cleared](Self::clear).
#[derive(Debug)]
pub(crate) struct Layer {
    /// For each buffer, in their order.
    sheets: Vec<Sheet>,
    pages: Vec<Page>,
    /// One more after each time that it was cleared.
    round: u16,
    /// Memory of the host was accessed, or something is to count as not written: no layer can
    /// stand for that.
    is_void: bool,
    /// What the launch asks for: which bytes were accessed.
    pub(super) notes: Option<Notes>,
}

#[derive(Debug, Default)]
struct Sheet {
    /// For each line in which round it was read last.
    read: Vec<u16>,
    /// For each page where it is among the layer's, from 1 on.
    places: Vec<u32>,
}

#[derive(Debug)]
struct Page {
    /// Which buffer, and which page of it.
    store: usize,
    number: usize,
    /// What the memory below holds there, and over it what was written.
    bytes: [u8; PAGE],
    written: [u64; PAGE / 64],
}

impl Layer {
    pub(crate) fn new() -> Self {
        let (sheets, pages) = (Vec::new(), Vec::new());
        Self { sheets, pages, round: 1, is_void: false, notes: None }
    }

    /// A layer that notes what is accessed, if the memory below does.
    pub(crate) fn over(memory: &Memory) -> Self {
        let notes = memory.notes.as_ref().map(|_| Notes::default());
        Self { notes, ..Self::new() }
    }

    /// Notes an access to a buffer, if somebody asks.
    #[inline]
    pub(crate) fn note(&mut self, store: (&Store, usize), offset: u64, bytes: usize, writes: bool) {
        if let Some(notes) = &mut self.notes {
            notes.note(store, offset..offset + bytes as u64, writes);
        }
    }

    /// Forgets all that was written and read.
    pub(crate) fn clear(&mut self) {
        for page in self.pages.drain(..) {
            self.sheets[page.store].places[page.number] = 0;
        }
        self.is_void = false;
        self.notes = self.notes.take().map(|_| Notes::default());
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.sheets.iter_mut().for_each(|sheet| sheet.read.fill(0));
            1
        });
    }

    /// What is done from now on is in vain.
    pub(crate) fn give_up(&mut self) {
        self.is_void = true;
    }

    pub(crate) fn is_void(&self) -> bool {
        self.is_void
    }

    /// Was something read that was written through `other`?
    pub(crate) fn has_read_of(&self, other: &Self) -> bool {
        other.pages.iter().any(|page| {
            let sheet = self.sheets.get(page.store);
            let read = sheet.map_or(&[][..], |sheet| &sheet.read);
            let lines = read.iter().skip(page.number * PAGE / LINE);
            let mut lines = lines.zip(page.written.chunks(LINE / 64));
            lines.any(|(round, written)| {
                *round == self.round && written.iter().any(|word| *word != 0)
            })
        })
    }

    /// Writes to the memory below what was written through the layer, and notes there what
    /// was noted here.
    pub(crate) fn apply(&self, memory: &mut Memory) {
        if let (Some(all), Some(notes)) = (&mut memory.notes, &self.notes) {
            all.add(notes, &memory.stores);
        }
        for page in &self.pages {
            let store = memory.store_mut(page.store);
            let start = (page.number * PAGE) as u64;
            page.each_run(|from, to| {
                store.write(start + from as u64, &page.bytes[from..to]);
            });
        }
    }

    /// Reads from a buffer. If nobody has written a byte of that, tells the first such.
    #[inline]
    pub(crate) fn read(
        &mut self,
        (store, number): (&Store, usize),
        offset: u64,
        into: &mut [u8],
    ) -> Option<u64> {
        let round = self.round;
        let sheet = self.sheet(store, number);
        sheet.note(offset as usize, into.len(), round);
        if sheet.has_written(offset as usize, into.len()) {
            return self.read_pages((store, number), offset, into);
        }
        if store.is_host() {
            self.is_void = true;
            return None;
        }
        store.read(offset, into);
        store.first_unwritten(offset, into.len() as u64)
    }

    fn read_pages(
        &self,
        (store, number): (&Store, usize),
        offset: u64,
        into: &mut [u8],
    ) -> Option<u64> {
        let mut unwritten = None;
        let mut from = offset as usize;
        let end = from + into.len();
        while from < end {
            let to = (from / PAGE + 1) * PAGE;
            let to = to.min(end);
            let part = &mut into[from - offset as usize..to - offset as usize];
            match self.sheets[number].places[from / PAGE] {
                0 => {
                    store.read(from as u64, part);
                    let first = store.first_unwritten(from as u64, part.len() as u64);
                    unwritten = unwritten.or(first);
                }
                place => {
                    let page = &self.pages[place as usize - 1];
                    let start = from % PAGE;
                    part.copy_from_slice(&page.bytes[start..start + part.len()]);
                    let missing = |byte: &usize| {
                        !page.has_written(byte % PAGE)
                            && store.first_unwritten(*byte as u64, 1).is_some()
                    };
                    let all = store.first_unwritten(from as u64, part.len() as u64);
                    let first = all.and_then(|_| (from..to).find(missing));
                    unwritten = unwritten.or(first.map(|byte| byte as u64));
                }
            }
            from = to;
        }
        unwritten
    }

    /// Writes to a buffer.
    #[inline]
    pub(crate) fn write(&mut self, (store, number): (&Store, usize), offset: u64, from: &[u8]) {
        let (mut page, mut start) = (offset as usize / PAGE, offset as usize % PAGE);
        let mut rest = from;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(PAGE - start));
            let place = self.place((store, number), page);
            self.pages[place].write(start, now);
            (page, start, rest) = (page + 1, 0, later);
        }
    }

    /// [`Store::move_lanes`], on the layer.
    pub(crate) fn move_lanes(
        &mut self,
        store: (&Store, usize),
        addresses: &[u64; WARP],
        lanes: u32,
        bytes: usize,
        writes: bool,
        stage: &mut [u8],
    ) -> bool {
        if !store.0.holds_lanes(addresses, lanes, bytes) {
            return false;
        }
        match bytes {
            4 => self.move_lanes_of::<4>(store, addresses, lanes, writes, stage),
            8 => self.move_lanes_of::<8>(store, addresses, lanes, writes, stage),
            16 => self.move_lanes_of::<16>(store, addresses, lanes, writes, stage),
            _ => false,
        }
    }

    fn move_lanes_of<const BYTES: usize>(
        &mut self,
        (store, number): (&Store, usize),
        addresses: &[u64; WARP],
        lanes: u32,
        writes: bool,
        stage: &mut [u8],
    ) -> bool {
        let offset = |lane: usize| addresses[lane] - store.address;
        if !writes {
            let round = self.round;
            let sheet = self.sheet(store, number);
            for lane in active(lanes) {
                sheet.note(offset(lane) as usize, BYTES, round);
            }
            if sheet.places.is_empty() && !store.is_host() {
                return store.read_lanes(addresses, lanes, BYTES, stage);
            }
        }
        let stage = stage.as_chunks_mut::<BYTES>().0;
        if writes {
            // Lanes mostly write where the one before them does.
            let (mut page, mut place) = (usize::MAX, 0);
            for lane in active(lanes) {
                let offset = offset(lane) as usize;
                if offset / PAGE != page {
                    page = offset / PAGE;
                    place = self.place((store, number), page);
                }
                self.pages[place].write(offset % PAGE, &stage[lane]);
            }
            return true;
        }
        let mut all_written = true;
        for lane in active(lanes) {
            let (offset, into) = (offset(lane), &mut stage[lane]);
            all_written &= self.read((store, number), offset, into).is_none();
        }
        all_written
    }

    #[inline]
    fn sheet(&mut self, store: &Store, number: usize) -> &mut Sheet {
        if self.sheets.get(number).is_none_or(|sheet| sheet.read.is_empty()) {
            let count = self.sheets.len().max(number + 1);
            self.sheets.resize_with(count, Sheet::default);
            self.sheets[number].read = vec![0; (store.bytes as usize).div_ceil(LINE)];
        }
        &mut self.sheets[number]
    }

    /// Where a page of a buffer is among the layer's.
    #[inline]
    fn place(&mut self, (store, number): (&Store, usize), page: usize) -> usize {
        let place = match self.sheet(store, number).places.get(page) {
            Some(0) | None => self.add_page((store, number), page),
            Some(place) => *place,
        };
        place as usize - 1
    }

    fn add_page(&mut self, (store, number): (&Store, usize), page: usize) -> u32 {
        let (bytes, written) = ([0; PAGE], [0; PAGE / 64]);
        self.pages.push(Page { store: number, number: page, bytes, written });
        let place = self.pages.len();
        let start = page * PAGE;
        let held = PAGE.min(store.bytes as usize - start);
        match store.is_host() {
            true => self.is_void = true,
            false => {
                store.read(start as u64, &mut self.pages[place - 1].bytes[..held]);
            }
        }
        let places = &mut self.sheets[number].places;
        if places.is_empty() {
            *places = vec![0; (store.bytes as usize).div_ceil(PAGE)];
        }
        places[page] = place as u32;
        place as u32
    }
}

impl Sheet {
    /// Notes that a range is read.
    #[inline]
    fn note(&mut self, offset: usize, bytes: usize, round: u16) {
        let last = (offset + bytes - 1) / LINE;
        for line in offset / LINE..=last {
            self.read[line] = round;
        }
    }

    /// Was something written in the pages of a range?
    #[inline]
    fn has_written(&self, offset: usize, bytes: usize) -> bool {
        let last = (offset + bytes - 1) / PAGE;
        let pages = self.places.get(offset / PAGE..=last);
        pages.is_some_and(|places| places.iter().any(|place| *place != 0))
    }
}

impl Page {
    #[inline]
    fn write(&mut self, start: usize, from: &[u8]) {
        copy(&mut self.bytes[start..start + from.len()], from);
        if let Some((word, mask)) = in_one_word(start as u64, from.len() as u64) {
            self.written[word] |= mask;
            return;
        }
        for (word, mask) in masks(start as u64, from.len() as u64) {
            self.written[word] |= mask;
        }
    }

    fn has_written(&self, byte: usize) -> bool {
        self.written[byte / 64] >> (byte % 64) & 1 == 1
    }

    /// Calls with the start and the end of each stretch that was written.
    fn each_run(&self, mut each: impl FnMut(usize, usize)) {
        let mut from = 0;
        while from < PAGE {
            let to = (from / 64 + 1) * 64;
            match self.written[from / 64] >> (from % 64) {
                0 => from = to,
                u64::MAX => {
                    let full = self.written[from / 64..].iter();
                    let full = full.take_while(|word| **word == u64::MAX);
                    let end = from + 64 * full.count();
                    each(from, end);
                    from = end;
                }
                word => {
                    let start = from + word.trailing_zeros() as usize;
                    let run = (!(word >> (start - from))).trailing_zeros() as usize;
                    let end = (start + run).min(to);
                    each(start, end);
                    from = end;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::View;
    use proptest::prelude::*;

    const BYTES: usize = 2000;

    /// A memory with one buffer, of which the first half was written.
    fn memory() -> Memory {
        let mut memory = Memory::new(1 << 20);
        let address = memory.allocate(BYTES as u64, "buffer").unwrap_or_default();
        assert!(memory.fill(address, &[1, 2, 3], 333).is_ok());
        memory
    }

    fn content(memory: &Memory) -> (Vec<u8>, Vec<bool>) {
        let (mut bytes, store) = (vec![0; BYTES], memory.store(0));
        store.read(0, &mut bytes);
        let written = |byte| store.first_unwritten(byte, 1).is_none();
        (bytes, (0..BYTES as u64).map(written).collect())
    }

    proptest! {
        #[test]
        fn a_layer_is_read_and_written_as_the_memory_is(
            accesses in prop::collection::vec((0..BYTES, 1..700usize, any::<bool>()), 1..40)
        ) {
            let (mut expected, mut below) = (memory(), memory());
            let before = content(&below);
            let mut layer = Layer::new();
            for (number, (start, bytes, writes)) in accesses.into_iter().enumerate() {
                let mut whole = View::Whole(&mut expected);
                let mut layered = View::Layered(&below, &mut layer);
                let (start, bytes) = (start as u64, bytes.min(BYTES - start));
                if writes {
                    let from = (0..bytes).map(|i| (i + number) as u8);
                    let from = from.collect::<Vec<_>>();
                    whole.write(0, start, &from);
                    layered.write(0, start, &from);
                } else {
                    let (mut a, mut b) = (vec![0; bytes], vec![0; bytes]);
                    let first = whole.read(0, start, &mut a);
                    prop_assert_eq!(layered.read(0, start, &mut b), first);
                    prop_assert_eq!(a, b);
                }
            }
            prop_assert_eq!(content(&below), before);
            layer.apply(&mut below);
            prop_assert_eq!(content(&below), content(&expected));
        }

        #[test]
        fn what_another_layer_wrote_and_this_one_read_is_known(
            (write, read) in (0..BYTES, 0..BYTES), bytes in 1..300usize, round in 0..3
        ) {
            let below = memory();
            let (mut earlier, mut later) = (Layer::new(), Layer::new());
            for _ in 0..round {
                let mut view = View::Layered(&below, &mut later);
                view.read(0, write as u64, &mut [0]);
                later.clear();
            }
            View::Layered(&below, &mut earlier).write(0, write as u64, &[1]);
            let end = BYTES.min(read + bytes);
            let mut into = vec![0; end - read];
            View::Layered(&below, &mut later).read(0, read as u64, &mut into);
            // A line is noted as a whole, but only if something of it was read.
            let overlap = (read..end).contains(&write);
            let same_line = read / LINE <= write / LINE && write / LINE <= (end - 1) / LINE;
            prop_assert!(later.has_read_of(&earlier) || !overlap);
            prop_assert!(same_line || !later.has_read_of(&earlier));
            prop_assert!(!earlier.has_read_of(&later));
        }
    }

    #[test]
    fn rounds_are_told_apart_however_many_there_are() {
        let below = memory();
        let (mut earlier, mut later) = (Layer::new(), Layer::new());
        View::Layered(&below, &mut earlier).write(0, 0, &[1]);
        View::Layered(&below, &mut later).read(0, 0, &mut [0]);
        for _ in 0..=u16::MAX {
            later.clear();
            if later.round == 1 {
                break;
            }
        }
        assert!(!later.has_read_of(&earlier));
    }
}
