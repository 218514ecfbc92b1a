//! What blocks tell each other, through flags, locks and counters that they set after a
//! fence for the whole GPU.
//!
//! Blocks with such places run one after the other. So each place has a list, with one entry
//! for each block that told something there, and it only grows: who has read the place has
//! seen as much of the list as there was.

use std::collections::{BTreeMap, HashMap};

use crate::machine::order::{VectorClock, later, merge};

/// A look at a list: how many entries it had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    pub(crate) list: usize,
    pub(crate) length: usize,
    /// How many of them were seen before a fence, or by a load that is as good as one.
    pub(crate) fenced: usize,
}

impl Glance {
    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced == self.length
    }
}

/// An entry of a list: what a block told.
#[derive(Debug)]
struct Entry {
    /// The time when the block began.
    block: u32,
    /// The clock that those get who read the place; of other lists it has seen as much as those
    /// of all entries before.
    known: VectorClock,
}

/// Places through which blocks order what they do.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// The list of each place, by its number among all.
    lists: BTreeMap<u64, usize>,
    entries: Vec<Vec<Entry>>,
}

impl Flags {
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// What is written to a place says nothing of what was there before.
    pub(crate) fn clear(&mut self, address: u64) {
        self.lists.remove(&address);
    }

    /// A block, which began at this time, tells what is known.
    pub(crate) fn tell(&mut self, address: u64, block: u32, mut known: VectorClock) {
        let next = self.entries.len();
        let list = *self.lists.entry(address).or_insert(next);
        if list == next {
            self.entries.push(Vec::new());
        }
        let entries = &mut self.entries[list];
        known.blocks.retain(|glance| glance.list != list);
        match entries.last_mut() {
            Some(last) if last.block == block => later(&mut last.known, &known),
            last => {
                let before = last.map_or(&[][..], |last| &last.known.blocks);
                merge(&mut known.blocks, before);
                entries.push(Entry { block, known });
            }
        }
    }

    /// What there is to see at a place.
    pub(crate) fn glance(&self, address: u64) -> Option<Glance> {
        let list = *self.lists.get(&address)?;
        Some(Glance { list, length: self.entries[list].len(), fenced: 0 })
    }

    /// Is what a thread did at this time known to who has seen so much?
    pub(crate) fn have_told(&self, seen: &[Glance], thread: u16, time: u32) -> bool {
        let (mut left, mut looked) = (seen.to_vec(), HashMap::new());
        while let Some(Glance { list, length, .. }) = left.pop() {
            let looked = looked.entry(list).or_insert(0);
            if *looked >= length {
                continue;
            }
            *looked = length;
            let entries = &self.entries[list][..length];
            let after = entries.partition_point(|entry| entry.block <= time);
            let entry = after.checked_sub(1).map(|before| &entries[before]);
            if entry.is_some_and(|e| e.known.times[usize::from(thread)] > time) {
                return true;
            }
            left.extend(entries.last().into_iter().flat_map(|e| &e.known.blocks));
        }
        false
    }
}
