//! Handles: what a program holds in place of an object of the driver's.

use std::collections::BTreeMap;

/// Objects of one kind by their handles. A handle is a number that is never given twice,
/// and never followed as a pointer: a wild or a stale one is not found, and that is all.
pub(crate) struct Handles<T> {
    next: usize,
    live: BTreeMap<usize, T>,
}

impl<T> Handles<T> {
    /// `kind` keeps the handles of different kinds apart.
    pub(crate) fn of_kind(kind: usize) -> Handles<T> {
        Handles { next: (0xe0 + kind) << 40 | 0x10, live: BTreeMap::new() }
    }

    pub(crate) fn insert(&mut self, object: T) -> usize {
        let handle = self.next;
        self.next += 0x10;
        self.live.insert(handle, object);
        handle
    }

    pub(crate) fn get(&self, handle: usize) -> Option<&T> {
        self.live.get(&handle)
    }

    pub(crate) fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        self.live.get_mut(&handle)
    }

    pub(crate) fn remove(&mut self, handle: usize) -> Option<T> {
        self.live.remove(&handle)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.live.iter().map(|(handle, object)| (*handle, object))
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.live.retain(|_, object| keep(object));
    }
}
