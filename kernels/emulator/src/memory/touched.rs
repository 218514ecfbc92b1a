//! Which bytes of which buffers a launch has read and written, for whoever asks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::access::{Places, active};
use crate::memory::{Bits, Memory, Store};

/// Which bytes of a buffer a launch has accessed: ranges of offsets from its start, in order
/// and merged. What an atomic operation changes is both read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The buffer's first address.
    pub address: u64,
    /// What was read.
    pub read: Vec<Range<u64>>,
    /// What was written.
    pub written: Vec<Range<u64>>,
}

/// For each buffer, by its number, what was read (false) and what was written (true).
#[derive(Debug, Default)]
pub(crate) struct Notes(BTreeMap<(usize, bool), Bits>);

impl Notes {
    fn of(&mut self, store: &Store, number: usize, writes: bool) -> &mut Bits {
        self.0.entry((number, writes)).or_insert_with(|| Bits::new(store.bytes))
    }

    /// Notes an access to a range of a buffer.
    pub(crate) fn note(
        &mut self,
        (store, number): (&Store, usize),
        range: Range<u64>,
        writes: bool,
    ) {
        let bits = self.of(store, number, writes);
        bits.set(range.start, range.end - range.start);
    }

    /// Notes what lanes access.
    pub(crate) fn note_lanes(
        &mut self,
        (store, number): (&Store, usize),
        Places { addresses, lanes, .. }: Places<'_>,
        bytes: usize,
        writes: bool,
    ) {
        let bits = self.of(store, number, writes);
        for lane in active(lanes) {
            bits.set(addresses[lane] - store.address, bytes as u64);
        }
    }

    /// All of it, in the order of the buffers.
    pub(crate) fn tell(&self, memory: &Memory) -> Vec<Touched> {
        let numbers: BTreeSet<_> = self.0.keys().map(|(number, _)| *number).collect();
        let told = numbers.into_iter().map(|number| {
            let Store { address, bytes, .. } = *memory.store(number);
            let ranges = |writes| {
                let bits = self.0.get(&(number, writes));
                bits.map_or(vec![], |bits| bits.ranges(bytes))
            };
            Touched { address, read: ranges(false), written: ranges(true) }
        });
        told.collect()
    }
}
