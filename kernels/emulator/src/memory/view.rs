//! How a kernel sees memory: as it is, or through a layer.

use crate::WARP;
use crate::memory::Memory;
use crate::memory::layer::Layer;

/// A memory, or a layer over one.
#[derive(Debug)]
pub(crate) enum View<'a> {
    Whole(&'a mut Memory),
    Layered(&'a Memory, &'a mut Layer),
}

impl std::ops::Deref for View<'_> {
    type Target = Memory;

    #[inline(always)]
    fn deref(&self) -> &Memory {
        match self {
            Self::Whole(memory) => memory,
            Self::Layered(memory, _) => memory,
        }
    }
}

impl View<'_> {
    /// Is all in vain that is done from now on?
    pub(crate) fn is_void(&self) -> bool {
        matches!(self, Self::Layered(_, layer) if layer.is_void())
    }

    /// Reads from the buffer with this number. If nobody has written a byte of that, tells
    /// the offset of the first such.
    #[inline]
    pub(crate) fn read(&mut self, number: usize, offset: u64, into: &mut [u8]) -> Option<u64> {
        match self {
            Self::Whole(memory) => {
                memory.note(number, offset, into.len(), false);
                let store = memory.store(number);
                store.read(offset, into);
                store.first_unwritten(offset, into.len() as u64)
            }
            Self::Layered(memory, layer) => {
                let store = (memory.store(number), number);
                layer.note(store, offset, into.len(), false);
                layer.read(store, offset, into)
            }
        }
    }

    /// Writes to the buffer with this number.
    #[inline]
    pub(crate) fn write(&mut self, number: usize, offset: u64, from: &[u8]) {
        match self {
            Self::Whole(memory) => {
                memory.note(number, offset, from.len(), true);
                memory.store_mut(number).write(offset, from);
            }
            Self::Layered(memory, layer) => {
                let store = (memory.store(number), number);
                layer.note(store, offset, from.len(), true);
                layer.write(store, offset, from);
            }
        }
    }

    /// Takes a byte of the buffer with this number for not written.
    pub(crate) fn forget(&mut self, number: usize, offset: u64) {
        match self {
            Self::Whole(memory) => memory.store_mut(number).forget(offset, 1),
            Self::Layered(_, layer) => layer.give_up(),
        }
    }

    /// [`Store::move_lanes`](super::Store::move_lanes) of the buffer with this number, if there
    /// is one.
    pub(crate) fn move_lanes(
        &mut self,
        number: usize,
        addresses: &[u64; WARP],
        lanes: u32,
        bytes: usize,
        writes: bool,
        stage: &mut [u8],
    ) -> bool {
        if !self.has(number) {
            return false;
        }
        let moved = match self {
            Self::Whole(memory) => {
                let store = memory.store_mut(number);
                store.move_lanes(addresses, lanes, bytes, writes, stage)
            }
            Self::Layered(memory, layer) => {
                let store = (memory.store(number), number);
                layer.move_lanes(store, addresses, lanes, bytes, writes, stage)
            }
        };
        if moved {
            self.note_lanes(number, addresses, lanes, bytes, writes);
        }
        moved
    }

    /// Notes what lanes have accessed, if somebody asks.
    fn note_lanes(
        &mut self,
        number: usize,
        addresses: &[u64; WARP],
        lanes: u32,
        bytes: usize,
        writes: bool,
    ) {
        let (stores, notes) = match self {
            Self::Whole(Memory { stores, notes, .. }) => (&*stores, notes),
            Self::Layered(memory, layer) => (&memory.stores, &mut layer.notes),
        };
        if let Some(notes) = notes {
            let store = (&stores[number], number);
            notes.note_lanes(store, addresses, lanes, bytes, writes);
        }
    }
}
