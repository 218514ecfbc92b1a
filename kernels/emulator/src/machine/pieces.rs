//! Pieces of global memory other than sectors, for whoever asks.

use std::collections::{BTreeMap, HashSet};

use crate::WARP;
use crate::access::{Places, SECTOR_BYTES, active};
use crate::counts::Pieces;
use crate::program::Program;

/// Bytes of a line of the first-level cache, and of what the second one fetches.
const LINE_BYTES: u64 = 128;
const FETCH_BYTES: u64 = 64;

/// What was counted of pieces.
#[derive(Debug)]
pub(super) struct Counting {
    /// Of each instruction.
    pub(super) pieces: Vec<Pieces>,
    /// Which source line each instruction belongs to.
    lines: Vec<u32>,
    /// Sectors that a line has loaded in this block.
    block: HashSet<(u32, u64)>,
}

impl Counting {
    pub(super) fn new(program: &Program) -> Self {
        let mut numbers = BTreeMap::new();
        let lines = program.code.iter().map(|instruction| {
            let place = &program.places[instruction.place as usize];
            let key =
                (place.source.as_ref(), if place.source.is_some() { 0 } else { place.ptx_line });
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        });
        let lines = lines.collect();
        let pieces = vec![Pieces::default(); program.code.len()];
        Self { pieces, lines, block: HashSet::new() }
    }

    pub(super) fn begin_block(&mut self) {
        self.block.clear();
    }

    /// Counts a request to global memory.
    pub(super) fn count(&mut self, pc: usize, places: Places<'_>, bytes: u64, writes: bool) {
        let Places { addresses, lanes, .. } = places;
        // Which bytes of each sector.
        let mut sectors = Vec::with_capacity(WARP);
        for lane in active(lanes) {
            let (mut start, end) = (addresses[lane], addresses[lane] + bytes);
            while start < end {
                let (sector, first) = (start / SECTOR_BYTES, start % SECTOR_BYTES);
                let count = (end - start).min(SECTOR_BYTES - first);
                sectors.push((sector, (u32::MAX >> (SECTOR_BYTES - count)) << first));
                start += count;
            }
        }
        sectors.sort_unstable();
        sectors.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 |= if same { next.1 } else { 0 };
            same
        });
        let in_pieces = |size: u64| {
            let each =
                sectors.chunk_by(|a, b| a.0 / (size / SECTOR_BYTES) == b.0 / (size / SECTOR_BYTES));
            each.count() as u64
        };
        let pieces = &mut self.pieces[pc];
        if writes {
            pieces.store_lines += in_pieces(LINE_BYTES);
            pieces.partial_store_sectors +=
                sectors.iter().filter(|(_, bytes)| *bytes != u32::MAX).count() as u64;
            return;
        }
        pieces.load_lines += in_pieces(LINE_BYTES);
        pieces.load_fetches += in_pieces(FETCH_BYTES);
        let line = self.lines[pc];
        let fresh = sectors.iter().filter(|(sector, _)| self.block.insert((line, *sector)));
        pieces.block_load_sectors += fresh.count() as u64;
    }
}
