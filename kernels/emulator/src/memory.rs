//! The device's memory: buffers at addresses, which know what was written to them.

use std::fmt;

use crate::WARP;
use crate::access::{Places, active};
pub use crate::memory::addresses::{Addresses, Freed};
pub(crate) use crate::memory::bits::Bits;
pub(crate) use crate::memory::touched::Notes;
pub use crate::memory::touched::Touched;

mod addresses;
mod bits;
mod touched;

/// An address this far from a buffer may still be meant to be in it.
const NEAR: u64 = 1 << 20;

/// The memory of a device, or of several.
#[derive(Debug)]
pub struct Memory {
    capacity: u64,
    used: u64,
    addresses: Addresses,
    /// Sorted by address.
    stores: Vec<Store>,
    freed: Freed,
    /// Which bytes a launch accesses, while one runs that asks for it.
    pub(crate) notes: Option<Notes>,
    /// What the last such launch has accessed.
    pub(crate) touched: Vec<Touched>,
}

/// A buffer, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer<'a> {
    /// Its first address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The name that it was given.
    pub name: &'a str,
}

/// Memory of the host that kernels can reach. Every access of a kernel goes to it at
/// once, in the order of the kernel's instructions.
pub trait HostMemory: Send + Sync + fmt::Debug {
    /// Its size.
    fn bytes(&self) -> u64;
    /// Reads from `offset` on. The range is inside.
    fn read(&self, offset: u64, into: &mut [u8]);
    /// Writes from `offset` on. The range is inside.
    fn write(&mut self, offset: u64, from: &[u8]);
}

/// A buffer with its bytes.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) name: String,
    content: Content,
    counts_towards_capacity: bool,
}

#[derive(Debug)]
enum Content {
    Device { bytes: Vec<u8>, written: Bits },
    Host(Box<dyn HostMemory>),
}

/// Why memory cannot be had, or not be accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// There is not so much left.
    OutOfMemory {
        /// Bytes asked for.
        wanted: u64,
        /// Bytes left.
        left: u64,
    },
    /// The place is taken.
    Overlap {
        /// Where a buffer was to be.
        address: u64,
        /// What is there.
        name: String,
    },
    /// The range does not lie in a buffer.
    OutOfBounds {
        /// The range's first address.
        address: u64,
        /// The range's size.
        bytes: u64,
        /// Where that is: "4 bytes past the end of …".
        place: String,
    },
    /// The buffer was freed.
    UseAfterFree {
        /// The range's first address.
        address: u64,
        /// The buffer that was there.
        name: String,
    },
    /// What is to be freed is not the first address of a buffer.
    NotABuffer {
        /// The address.
        address: u64,
        /// Where that is.
        place: String,
    },
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory { wanted, left } => {
                write!(f, "out of memory: {wanted} bytes wanted, {left} left")
            }
            Self::Overlap { address, name } => {
                write!(f, "at {address:#x} there is already {name}")
            }
            Self::OutOfBounds { address, bytes, place } => {
                write!(f, "{} at {address:#x}: {place}", in_bytes(*bytes))
            }
            Self::UseAfterFree { address, name } => {
                write!(f, "{address:#x} was in {name}, which was freed")
            }
            Self::NotABuffer { address, place } => {
                write!(f, "no buffer starts at {address:#x}: {place}")
            }
        }
    }
}

impl std::error::Error for MemoryError {}

impl Memory {
    /// Memory that holds `capacity` bytes at most. No size is cut where the program that
    /// emulates has 32 bits: more than it can address is out of memory.
    pub fn new(capacity: u64) -> Self {
        Self::with_first_address(capacity, Addresses::FIRST)
    }

    /// The same, with buffers from `first_address` on: for memories that must not have an
    /// address in common.
    pub fn with_first_address(capacity: u64, first_address: u64) -> Self {
        Self {
            capacity: capacity.min(isize::MAX as u64),
            used: 0,
            addresses: Addresses::from(first_address),
            stores: Vec::new(),
            freed: Freed::default(),
            notes: None,
            touched: Vec::new(),
        }
    }

    /// Bytes in use by buffers that count towards the capacity.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Makes a buffer. Errors call it by its name.
    pub fn allocate(&mut self, bytes: u64, name: &str) -> Result<u64, MemoryError> {
        let left = self.capacity - self.used;
        if bytes > left {
            return Err(MemoryError::OutOfMemory { wanted: bytes, left });
        }
        let address = self.addresses.take(bytes);
        self.insert(address, bytes, name, Content::device(bytes), true)?;
        Ok(address)
    }

    /// Makes a buffer at an address of the caller's choice. It does not count towards the
    /// capacity, but cannot be larger.
    pub fn allocate_at(&mut self, address: u64, bytes: u64, name: &str) -> Result<(), MemoryError> {
        if bytes > self.capacity || address.checked_add(bytes).is_none() {
            let (wanted, left) = (bytes, self.capacity);
            return Err(MemoryError::OutOfMemory { wanted, left });
        }
        self.insert(address, bytes, name, Content::device(bytes), false)
    }

    /// Makes memory of the host reachable, at an address of the caller's choice. It does
    /// not count towards the capacity, and all of it counts as written.
    pub fn map_host(
        &mut self,
        address: u64,
        host: Box<dyn HostMemory>,
        name: &str,
    ) -> Result<(), MemoryError> {
        self.insert(address, host.bytes(), name, Content::Host(host), false)
    }

    fn insert(
        &mut self,
        address: u64,
        bytes: u64,
        name: &str,
        content: Content,
        counts_towards_capacity: bool,
    ) -> Result<(), MemoryError> {
        let at = self.stores.partition_point(|store| store.address < address);
        let end = address.saturating_add(bytes.max(1));
        let before = at.checked_sub(1).map(|before| &self.stores[before]);
        let taken = before
            .filter(|before| before.address + before.bytes > address)
            .or(self.stores.get(at).filter(|after| after.address < end));
        if let Some(taken) = taken {
            let name = taken.name.clone();
            return Err(MemoryError::Overlap { address, name });
        }
        self.freed.forget(address, bytes);
        if counts_towards_capacity {
            self.used += bytes;
        }
        let name = name.to_owned();
        let store = Store { address, bytes, name, content, counts_towards_capacity };
        self.stores.insert(at, store);
        Ok(())
    }

    /// Frees the buffer that starts at `address`.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let Ok(at) = self.stores.binary_search_by_key(&address, |s| s.address) else {
            if let Some(name) = self.freed.at(address) {
                return Err(MemoryError::UseAfterFree { address, name: name.to_owned() });
            }
            let place = self.describe(address, 1);
            return Err(MemoryError::NotABuffer { address, place });
        };
        let store = self.stores.remove(at);
        if store.counts_towards_capacity {
            self.used -= store.bytes;
        }
        self.freed.remember(store.address, store.bytes, store.name);
        Ok(())
    }

    /// The buffer that this address lies in.
    pub fn buffer(&self, address: u64) -> Option<Buffer<'_>> {
        let store = &self.stores[self.find(address, 1)?];
        let Store { address, bytes, ref name, .. } = *store;
        Some(Buffer { address, bytes, name })
    }

    /// The same, if it is memory of the host.
    pub(crate) fn host_buffer(&self, address: u64) -> Option<Buffer<'_>> {
        let store = &self.stores[self.find(address, 1)?];
        let is_host = matches!(store.content, Content::Host(_));
        self.buffer(address).filter(|_| is_host)
    }

    /// Can the host write what a kernel reads, while it runs?
    pub(crate) fn has_host_buffers(&self) -> bool {
        self.stores.iter().any(|store| matches!(store.content, Content::Host(_)))
    }

    /// All buffers, in the order of their addresses.
    pub fn buffers(&self) -> impl Iterator<Item = Buffer<'_>> {
        self.stores.iter().map(|store| {
            let Store { address, bytes, ref name, .. } = *store;
            Buffer { address, bytes, name }
        })
    }

    /// Reads bytes, written or not.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        if into.is_empty() {
            return Ok(());
        }
        let at = self.locate(address, into.len() as u64)?;
        let store = &self.stores[at];
        store.read(address - store.address, into);
        Ok(())
    }

    /// Writes bytes.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        if from.is_empty() {
            return Ok(());
        }
        let at = self.locate(address, from.len() as u64)?;
        let store = &mut self.stores[at];
        store.write(address - store.address, from);
        Ok(())
    }

    /// Writes `pattern` again and again, `count` times.
    pub fn fill(&mut self, address: u64, pattern: &[u8], count: u64) -> Result<(), MemoryError> {
        let bytes = (pattern.len() as u64).saturating_mul(count);
        if bytes == 0 {
            return Ok(());
        }
        let at = self.locate(address, bytes)?;
        let store = &mut self.stores[at];
        let chunk = pattern.repeat(4096 / pattern.len().min(4096));
        let mut offset = address - store.address;
        let end = offset + bytes;
        while offset < end {
            let now = (chunk.len() as u64).min(end - offset);
            store.write(offset, &chunk[..now as usize]);
            offset += now;
        }
        Ok(())
    }

    /// Copies bytes, which may overlap, and with them the knowledge of which of them were
    /// written.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), MemoryError> {
        if bytes == 0 {
            return Ok(());
        }
        let (source, target) = (self.locate(from, bytes)?, self.locate(to, bytes)?);
        let mut copied = vec![0; bytes as usize];
        let (start, store) = (from - self.stores[source].address, &self.stores[source]);
        store.read(start, &mut copied);
        let gaps = store.gaps(start, bytes);
        let store = &mut self.stores[target];
        let start = to - store.address;
        store.write(start, &copied);
        for (offset, bytes) in gaps {
            store.forget(start + offset, bytes);
        }
        Ok(())
    }

    /// The first address of a range that nobody has written yet.
    pub fn first_unwritten(&self, address: u64, bytes: u64) -> Result<Option<u64>, MemoryError> {
        let store = &self.stores[self.locate(address, bytes.max(1))?];
        let offset = store.first_unwritten(address - store.address, bytes);
        Ok(offset.map(|offset| store.address + offset))
    }

    /// Which bytes the last launch has accessed, by buffers, also if it failed. Nothing, if
    /// [`Options::touched`](crate::Options::touched) did not ask, or if this was taken before.
    pub fn take_touched(&mut self) -> Vec<Touched> {
        std::mem::take(&mut self.touched)
    }

    /// The buffer that holds the whole range: its number.
    pub(crate) fn find(&self, address: u64, bytes: u64) -> Option<usize> {
        let after = self.stores.partition_point(|store| store.address <= address);
        let at = after.checked_sub(1)?;
        self.stores[at].holds(address, bytes).then_some(at)
    }

    /// The same; if there is none, why.
    fn locate(&self, address: u64, bytes: u64) -> Result<usize, MemoryError> {
        self.find(address, bytes).ok_or_else(|| self.error(address, bytes))
    }

    /// What is wrong with an access that no buffer holds.
    pub(crate) fn error(&self, address: u64, bytes: u64) -> MemoryError {
        match self.freed.at(address) {
            Some(name) => MemoryError::UseAfterFree { address, name: name.to_owned() },
            None => {
                let place = self.describe(address, bytes);
                MemoryError::OutOfBounds { address, bytes, place }
            }
        }
    }

    pub(crate) fn store(&self, at: usize) -> &Store {
        &self.stores[at]
    }

    /// Reads from the buffer with this number, for a kernel. If nobody has written a byte of
    /// that, tells the offset of the first such.
    #[inline]
    pub(crate) fn read_at(&mut self, at: usize, offset: u64, into: &mut [u8]) -> Option<u64> {
        self.note(at, offset, into.len(), false);
        let store = &self.stores[at];
        store.read(offset, into);
        store.first_unwritten(offset, into.len() as u64)
    }

    /// Writes to the buffer with this number, for a kernel.
    #[inline]
    pub(crate) fn write_at(&mut self, at: usize, offset: u64, from: &[u8]) {
        self.note(at, offset, from.len(), true);
        self.stores[at].write(offset, from);
    }

    /// Takes these bits of a byte for not written.
    pub(crate) fn forget(&mut self, address: u64, bits: u8) {
        if let Some(at) = self.find(address, 1)
            && let Store { address: start, content: Content::Device { written, .. }, .. } =
                &mut self.stores[at]
        {
            written.forget(address - *start, bits);
        }
    }

    /// [`Store::move_lanes`] of the buffer with this number, if there is one.
    pub(crate) fn move_lanes(
        &mut self,
        at: usize,
        places: Places<'_>,
        bytes: usize,
        writes: bool,
        stage: &mut [u8],
    ) -> bool {
        let Some(store) = self.stores.get_mut(at) else { return false };
        let moved = store.move_lanes(places, bytes, writes, stage);
        if moved && let Some(notes) = &mut self.notes {
            notes.note_lanes((store, at), places, bytes, writes);
        }
        moved
    }

    /// Notes an access to the buffer with this number, if somebody asks.
    #[inline]
    fn note(&mut self, at: usize, offset: u64, bytes: usize, writes: bool) {
        if let Some(notes) = &mut self.notes {
            let range = offset..offset + bytes as u64;
            notes.note((&self.stores[at], at), range, writes);
        }
    }

    /// Does the buffer with this number hold the whole range?
    pub(crate) fn holds(&self, at: usize, address: u64, bytes: usize) -> bool {
        let store = self.stores.get(at);
        store.is_some_and(|store| store.holds(address, bytes as u64))
    }

    /// Does it hold all that lanes access?
    pub(crate) fn holds_lanes(&self, at: usize, places: Places<'_>, bytes: usize) -> bool {
        self.stores.get(at).is_some_and(|store| store.holds_lanes(places, bytes))
    }

    /// Where a range lies, seen from the nearest buffer.
    fn describe(&self, address: u64, bytes: u64) -> String {
        if address.wrapping_add(1 << 16) < 1 << 17 {
            return "a null pointer, or near one".to_owned();
        }
        let is_near = |address: u64| {
            let near = |store: &Store| {
                let end = store.address + store.bytes;
                (store.address.saturating_sub(NEAR)..end + NEAR).contains(&address)
            };
            self.stores.iter().any(near)
        };
        let wrapped = (bytes << 32 <= address).then(|| address - (bytes << 32));
        if !is_near(address) && wrapped.is_some_and(is_near) {
            return "far from every buffer (an unsigned index below 0 wraps round to \
                    4294967295: is it `i - 1` with `i` = 0?)"
                .to_owned();
        }
        let after = self.stores.partition_point(|store| store.address <= address);
        let before = after.checked_sub(1).map(|before| &self.stores[before]);
        let after = self.stores.get(after);
        let end = |store: &Store| store.address + store.bytes;
        let ahead = |store: &Store| store.address - address;
        match (before, after) {
            (Some(before), _) if address == before.address => {
                let beyond = address.saturating_add(bytes) - end(before);
                format!("{before} is {} too short", in_bytes(beyond))
            }
            (Some(before), after)
                if after
                    .is_none_or(|after| address.saturating_sub(end(before)) <= ahead(after)) =>
            {
                format!("{} {before}", past_end(address, bytes, end(before)))
            }
            (_, Some(after)) => {
                format!("{} before the start of {after}", in_bytes(ahead(after)))
            }
            (_, None) => "there are no buffers".to_owned(),
        }
    }
}

/// Where a range is that does not end before `end`, up to the words "the end of".
pub(crate) fn past_end(address: u64, bytes: u64, end: u64) -> String {
    match address.checked_sub(end) {
        Some(0) => "right behind the end of".to_owned(),
        Some(past) => format!("{} past the end of", in_bytes(past)),
        None => match address.saturating_add(bytes) - end {
            1 => "the last byte is past the end of".to_owned(),
            beyond => format!("the last {beyond} bytes are past the end of"),
        },
    }
}

/// A size in words: `1 byte`, `4 bytes`.
pub(crate) fn in_bytes(size: u64) -> String {
    format!("{size} byte{}", if size == 1 { "" } else { "s" })
}

/// Copies a slice to one of the same length; a word, and the words of a warp, without a call.
#[inline(always)]
pub(crate) fn copy(into: &mut [u8], from: &[u8]) {
    const WORD: usize = 4;
    const WORDS: usize = WORD * WARP;
    match into.len() {
        WORD => into[..WORD].copy_from_slice(&from[..WORD]),
        WORDS => into[..WORDS].copy_from_slice(&from[..WORDS]),
        _ => into.copy_from_slice(from),
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, bytes, name, .. } = self;
        write!(f, "{name} ({} at {address:#x})", in_bytes(*bytes))
    }
}

impl Content {
    fn device(bytes: u64) -> Self {
        Self::Device { bytes: vec![0; bytes as usize], written: Bits::new(bytes) }
    }
}

impl Store {
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.address);
        offset < self.bytes && bytes <= self.bytes - offset
    }

    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) {
        match &self.content {
            Content::Device { bytes, .. } => {
                let offset = offset as usize;
                copy(into, &bytes[offset..offset + into.len()]);
            }
            Content::Host(host) => host.read(offset, into),
        }
    }

    pub(crate) fn write(&mut self, offset: u64, from: &[u8]) {
        match &mut self.content {
            Content::Device { bytes, written } => {
                written.set(offset, from.len() as u64);
                let offset = offset as usize;
                copy(&mut bytes[offset..offset + from.len()], from);
            }
            Content::Host(host) => host.write(offset, from),
        }
    }

    /// Does it hold all that lanes access?
    fn holds_lanes(&self, places: Places<'_>, bytes: usize) -> bool {
        let last = self.bytes.checked_sub(bytes as u64);
        let inside =
            |last| places.bounds().all(|address| address.wrapping_sub(self.address) <= last);
        last.is_some_and(inside)
    }

    /// Moves what lanes access between the buffer, which must hold it, and the stage, where it
    /// lies lane after lane. False, if some of it is to be read and was not written: then what is
    /// on the stage means nothing.
    pub(crate) fn move_lanes(
        &mut self,
        places: Places<'_>,
        bytes: usize,
        writes: bool,
        stage: &mut [u8],
    ) -> bool {
        fn each<const BYTES: usize>(
            store: &mut Store,
            Places { addresses, lanes, .. }: Places<'_>,
            writes: bool,
            stage: &mut [u8],
        ) -> bool {
            let Content::Device { bytes, written } = &mut store.content else {
                return false;
            };
            let stage = stage.as_chunks_mut::<BYTES>().0;
            let mut all_written = true;
            for lane in active(lanes) {
                let offset = addresses[lane] - store.address;
                let place = &mut bytes[offset as usize..][..BYTES];
                if writes {
                    place.copy_from_slice(&stage[lane]);
                    written.set(offset, BYTES as u64);
                } else {
                    stage[lane].copy_from_slice(place);
                    all_written &= written.first_unset(offset, BYTES as u64).is_none();
                }
            }
            all_written
        }
        match bytes {
            1 => each::<1>(self, places, writes, stage),
            2 => each::<2>(self, places, writes, stage),
            4 => each::<4>(self, places, writes, stage),
            8 => each::<8>(self, places, writes, stage),
            16 => each::<16>(self, places, writes, stage),
            _ => false,
        }
    }

    /// The first offset in a range that nobody has written yet.
    pub(crate) fn first_unwritten(&self, offset: u64, bytes: u64) -> Option<u64> {
        match &self.content {
            Content::Device { written, .. } => written.first_unset(offset, bytes),
            Content::Host(_) => None,
        }
    }

    /// The bits of a byte that nobody has written yet.
    pub(crate) fn unknown(&self, offset: u64) -> u8 {
        match &self.content {
            Content::Device { written, .. } => written.unknown(offset),
            Content::Host(_) => 0,
        }
    }

    /// The parts of a range that nobody has written yet: offsets from its start, sizes.
    fn gaps(&self, start: u64, bytes: u64) -> Vec<(u64, u64)> {
        let Content::Device { written, .. } = &self.content else {
            return Vec::new();
        };
        written.gaps(start, bytes)
    }

    /// Takes a range for not written.
    fn forget(&mut self, offset: u64, bytes: u64) {
        if let Content::Device { written, .. } = &mut self.content {
            written.clear(offset, bytes);
        }
    }
}
