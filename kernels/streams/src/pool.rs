//! Memory pools: what `cuMemAllocAsync` takes from and `cuMemFreeAsync` gives back to.
//!
//! A pool takes memory from the GPU in chunks and gives out blocks of them. A block that
//! is given back may be used again at once by the stream that freed it, and by others when
//! that free is known to have been done, or when they wait for it.

use std::collections::{BTreeMap, BTreeSet};

use crate::queue::Ticket;

/// Chunks and blocks are multiples of these.
const CHUNK: u64 = 2 << 20;
const BLOCK: u64 = 512;

/// A pool of a GPU's memory.
pub struct Pool {
    /// The GPU.
    pub gpu: usize,
    /// What a program may set.
    pub settings: Settings,
    /// Other GPUs that may use its memory.
    pub accessible_to: BTreeSet<usize>,
    chunks: Vec<Chunk>,
    /// Sizes of the blocks in use, by address.
    used: BTreeMap<u64, u64>,
    used_bytes: u64,
    used_most: u64,
    reserved_most: u64,
}

/// What a program may set of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes that the pool may keep when a program synchronises.
    pub release_threshold: u64,
    /// Bytes that it may have at most; 0 is no limit but the GPU's memory.
    pub most_bytes: u64,
    /// Use again what was freed in a stream that the allocating one waits for.
    pub follow_events: bool,
    /// Use again what was freed in any stream, if that has been done.
    pub opportunistic: bool,
    /// Let the allocating stream wait, so that it can use what another one has freed.
    pub internal_dependencies: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            release_threshold: 0,
            most_bytes: 0,
            follow_events: true,
            opportunistic: true,
            internal_dependencies: true,
        }
    }
}

struct Chunk {
    start: u64,
    bytes: u64,
    free: Vec<Free>,
}

/// A free part of a chunk, and what has to be done before it can be used.
#[derive(Clone)]
struct Free {
    start: u64,
    bytes: u64,
    after: Vec<Ticket>,
}

/// A block that a pool gives out: where, and what the allocating stream has to wait for.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub address: u64,
    /// What the allocating stream has to wait for.
    pub after: Vec<Ticket>,
}

impl Pool {
    /// A pool without memory.
    pub fn new(gpu: usize, settings: Settings) -> Pool {
        Pool {
            gpu,
            settings,
            accessible_to: BTreeSet::new(),
            chunks: vec![],
            used: BTreeMap::new(),
            used_bytes: 0,
            used_most: 0,
            reserved_most: 0,
        }
    }

    /// Bytes of the blocks in use.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Bytes that it has from the GPU.
    pub fn reserved_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.bytes).sum()
    }

    /// The most that was ever in use, and reserved, since the last reset.
    pub fn most_bytes(&self) -> (u64, u64) {
        (self.used_most, self.reserved_most)
    }

    /// Forgets how much was ever in use.
    pub fn reset_most_used(&mut self) {
        self.used_most = self.used_bytes;
    }

    /// Forgets how much was ever reserved.
    pub fn reset_most_reserved(&mut self) {
        self.reserved_most = self.reserved_bytes();
    }

    /// How much more a pool has to reserve for a block that it has no room for; `None`: it
    /// may not have so much.
    pub fn growth_for(&self, bytes: u64) -> Option<u64> {
        let growth = bytes.checked_next_multiple_of(CHUNK)?;
        let most = self.settings.most_bytes;
        let after = self.reserved_bytes().checked_add(growth)?;
        (most == 0 || after <= most.next_multiple_of(CHUNK)).then_some(growth)
    }

    /// Takes new memory in, which the GPU gave.
    pub fn grow(&mut self, start: u64, bytes: u64) {
        let free = vec![Free { start, bytes, after: vec![] }];
        self.chunks.push(Chunk { start, bytes, free });
        self.reserved_most = self.reserved_most.max(self.reserved_bytes());
    }

    /// Gives out a block for the stream of `queue`, if there is one that it can use.
    /// `is_done` knows what was done, and `known` what the stream waits for anyway.
    pub fn take(
        &mut self,
        bytes: u64,
        queue: u32,
        is_done: impl Fn(Ticket) -> bool,
        known: impl Fn(Ticket) -> bool,
    ) -> Option<Block> {
        let bytes = bytes.checked_next_multiple_of(BLOCK)?;
        let Settings { follow_events, opportunistic, internal_dependencies, .. } = self.settings;
        let at_once = |ticket: &Ticket| {
            ticket.queue == queue
                || (opportunistic && is_done(*ticket))
                || (follow_events && known(*ticket))
        };
        for part in self.chunks.iter_mut().flat_map(|chunk| &mut chunk.free) {
            part.after.retain(|ticket| !(opportunistic && is_done(*ticket)));
        }
        self.join(|a, b| a.after.is_empty() == b.after.is_empty());
        let mut found = self.find(bytes, |free| free.after.iter().all(at_once));
        if found.is_none() && internal_dependencies {
            self.join(|_, _| true);
            found = self.find(bytes, |_| true);
        }
        let (chunk, part) = found?;
        let parts = &mut self.chunks[chunk].free;
        let Free { start, after, .. } = parts[part].clone();
        parts[part].start += bytes;
        parts[part].bytes -= bytes;
        parts.retain(|free| free.bytes > 0);
        self.used.insert(start, bytes);
        self.used_bytes += bytes;
        self.used_most = self.used_most.max(self.used_bytes);
        let after = after.into_iter().filter(|ticket| !is_done(*ticket)).collect();
        Some(Block { address: start, after })
    }

    /// The first free part that is large enough and suits.
    fn find(&self, bytes: u64, suits: impl Fn(&Free) -> bool) -> Option<(usize, usize)> {
        self.chunks.iter().enumerate().find_map(|(chunk, found)| {
            let fits = |free: &Free| free.bytes >= bytes && suits(free);
            Some((chunk, found.free.iter().position(fits)?))
        })
    }

    /// Takes a block back, which can be used again after `freed`.
    pub fn give_back(&mut self, address: u64, freed: Ticket) {
        let Some(bytes) = self.used.remove(&address) else { return };
        self.used_bytes -= bytes;
        let holds =
            |chunk: &&mut Chunk| (chunk.start..chunk.start + chunk.bytes).contains(&address);
        let Some(chunk) = self.chunks.iter_mut().find(holds) else { return };
        let at = chunk.free.partition_point(|free| free.start < address);
        chunk.free.insert(at, Free { start: address, bytes, after: vec![freed] });
    }

    /// Joins free parts that lie side by side and match.
    fn join(&mut self, matching: impl Fn(&Free, &Free) -> bool) {
        for chunk in &mut self.chunks {
            let mut joined: Vec<Free> = vec![];
            for part in chunk.free.drain(..) {
                match joined.last_mut() {
                    Some(last)
                        if last.start + last.bytes == part.start && matching(last, &part) =>
                    {
                        last.bytes += part.bytes;
                        last.after.extend(part.after);
                        last.after.sort();
                        last.after.dedup();
                    }
                    _ => joined.push(part),
                }
            }
            chunk.free = joined;
        }
    }

    /// Gives back what it may not keep when a program synchronises; returns how many bytes.
    pub fn synchronise(&mut self, is_done: impl Fn(Ticket) -> bool) -> u64 {
        self.trim(self.settings.release_threshold, is_done)
    }

    /// Gives chunks back to the GPU of which every byte is free, until no more than `keep`
    /// bytes are reserved. Returns how many bytes that were.
    pub fn trim(&mut self, keep: u64, is_done: impl Fn(Ticket) -> bool) -> u64 {
        let mut reserved = self.reserved_bytes();
        let before = reserved;
        self.chunks.retain(|chunk| {
            let goes = reserved > keep && chunk.is_free(&is_done);
            reserved -= if goes { chunk.bytes } else { 0 };
            !goes
        });
        before - reserved
    }
}

impl Chunk {
    fn is_free(&self, is_done: impl Fn(Ticket) -> bool) -> bool {
        let free: u64 = self.free.iter().map(|free| free.bytes).sum();
        let mut after = self.free.iter().flat_map(|free| &free.after);
        free == self.bytes && after.all(|ticket| is_done(*ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        let mut pool = Pool::new(0, Settings::default());
        pool.grow(1 << 40, CHUNK);
        pool
    }

    fn ticket(queue: u32) -> Ticket {
        Ticket { queue, number: 1 }
    }

    #[test]
    fn the_stream_that_frees_gets_the_same_block_again_without_waiting() {
        let mut pool = pool();
        let never = |_| false;
        let block = pool.take(1000, 1, never, never).unwrap();
        pool.give_back(block.address, ticket(1));
        let again = pool.take(1000, 1, never, never).unwrap();
        assert_eq!(again.address, block.address);
        assert_eq!(pool.used_bytes(), 1024);
    }

    #[test]
    fn another_stream_takes_other_memory_first_and_then_waits() {
        let mut pool = pool();
        let never = |_| false;
        let block = pool.take(CHUNK / 2, 1, never, never).unwrap();
        pool.give_back(block.address, ticket(1));
        let beside = pool.take(CHUNK / 2, 2, never, never).unwrap();
        assert_eq!((beside.address, beside.after.len()), (block.address + CHUNK / 2, 0));
        pool.give_back(beside.address, ticket(2));
        let other = pool.take(CHUNK, 2, never, never).unwrap();
        assert_eq!(other.after, [ticket(1), ticket(2)]);
        pool.settings.internal_dependencies = false;
        pool.give_back(other.address, ticket(2));
        assert_eq!(pool.take(512, 3, never, never), None);
        assert!(pool.take(512, 3, never, |t| t.queue < 3).is_some());
    }

    #[test]
    fn only_chunks_that_are_free_go_back() {
        let mut pool = pool();
        pool.grow(2 << 40, CHUNK);
        let done = |_| true;
        let block = pool.take(CHUNK, 1, done, done).unwrap();
        assert_eq!(pool.trim(0, done), CHUNK);
        pool.give_back(block.address, ticket(1));
        assert_eq!(pool.trim(0, |_| false), 0);
        assert_eq!(pool.trim(CHUNK, done), 0);
        assert_eq!(pool.trim(0, done), CHUNK);
        assert_eq!((pool.reserved_bytes(), pool.most_bytes()), (0, (CHUNK, 2 * CHUNK)));
    }

    #[test]
    fn a_limit_holds() {
        let settings = Settings { most_bytes: CHUNK, ..Settings::default() };
        let mut pool = Pool::new(0, settings);
        assert_eq!(pool.growth_for(1), Some(CHUNK));
        pool.grow(1 << 40, CHUNK);
        assert_eq!(pool.growth_for(1), None);
        assert_eq!(pool.growth_for(u64::MAX), None);
    }
}
