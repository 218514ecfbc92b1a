//! The model: how many sectors a warp touches, and how many bytes have to move for it.

use std::collections::BTreeSet;

use lab::{Case, Ceiling, Lab};

pub(crate) const WORD_BYTES: usize = 4;
const SECTOR_BYTES: usize = 32;
const WARP: usize = 32;

lab::words! {
    /// `gather` reads with the stride and writes contiguously, `scatter` the other way
    /// round; `read` only reads and `write` only writes.
    pub(crate) enum Kind {
        Gather = "gather",
        Scatter = "scatter",
        Read = "read",
        Write = "write",
    }
}

/// One case: `count` elements of `access_bytes`, `stride` elements from one to the next,
/// from `offset` on, with an L2 cache that fetches `fetch_bytes` at a time. Threads past
/// `count` do nothing.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) access_bytes: usize,
    /// Whether threads go on to further elements; else each has one.
    pub(crate) is_persistent: bool,
    pub(crate) threads: usize,
    pub(crate) count: usize,
    pub(crate) stride: usize,
    pub(crate) offset: usize,
    pub(crate) fetch_bytes: usize,
}

impl Shape {
    /// The name of the kernel, such as `gather4`.
    pub(crate) fn kernel(&self) -> String {
        let suffix = if self.is_persistent { "_resident" } else { "" };
        format!("{}{}{suffix}", self.kind.name(), self.access_bytes)
    }

    /// Bytes that are asked for: read, and written.
    fn useful_bytes(&self) -> (usize, usize) {
        let bytes = self.count * self.access_bytes;
        match self.kind {
            Kind::Read => (bytes, 0),
            Kind::Write => (0, bytes),
            Kind::Gather | Kind::Scatter => (bytes, bytes),
        }
    }

    // ANCHOR: model
    /// How many sectors the 32 threads of a warp touch with one access. An element is
    /// within one sector, because its width divides 32.
    fn sectors_per_request(&self) -> usize {
        let address = |lane| (lane * self.stride + self.offset) * self.access_bytes;
        let sectors = (0..WARP).map(|lane| address(lane) / SECTOR_BYTES);
        sectors.collect::<BTreeSet<_>>().len()
    }

    /// Bytes that the strided elements occupy if memory comes in granules: each drags its
    /// granule along, unless it shares it with its neighbours.
    fn in_granules(&self, granule_bytes: usize) -> usize {
        self.count * (self.stride * self.access_bytes).min(granule_bytes)
    }

    /// Bytes that the memory has to read, and to write. A load that misses the L2 cache
    /// reads a whole fetch. A store ends in whole sectors; one that was filled only in
    /// part has to be read first.
    fn moved_bytes(&self, fetch_bytes: usize) -> (usize, usize) {
        let contiguous = self.count * self.access_bytes;
        let loaded = self.in_granules(fetch_bytes);
        let stored = self.in_granules(SECTOR_BYTES);
        let read_first = if self.stride == 1 { 0 } else { stored };
        match self.kind {
            Kind::Gather => (loaded, contiguous),
            Kind::Scatter => (contiguous + read_first, stored),
            Kind::Read => (loaded, 0),
            Kind::Write => (read_first, stored),
        }
    }

    /// Bytes that are asked for, over bytes that move.
    fn useful_share_of_moved(&self, fetch_bytes: usize) -> f64 {
        let both = |(read, written)| (read + written) as f64;
        both(self.useful_bytes()) / both(self.moved_bytes(fetch_bytes))
    }
    // ANCHOR_END: model

    /// Adds to a case what is asked for, and what the model says: by sectors alone, and
    /// by what the L2 cache fetches.
    pub(crate) fn describe(&self, case: Case, lab: &Lab) -> Case {
        let (useful_read, useful_written) = self.useful_bytes();
        let (read, written) = self.moved_bytes(self.fetch_bytes);
        let case = case
            .with("kind", self.kind)
            .with("access_bytes", self.access_bytes)
            .reads(useful_read)
            .writes(useful_written)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(read + written, lab.l2_bytes())
            .model("sectors_per_request", self.sectors_per_request() as f64)
            .model("dram_read_bytes", read as f64)
            .model("dram_write_bytes", written as f64);
        let Some(peak) = lab.memory_peak() else { return case };
        let bound = |fetch_bytes| peak * self.useful_share_of_moved(fetch_bytes);
        case.model("sector_bound_bytes_per_second", bound(SECTOR_BYTES))
            .model("fetch_bound_bytes_per_second", bound(self.fetch_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STRIDES;

    const GATHER: Shape = Shape {
        kind: Kind::Gather,
        access_bytes: 4,
        is_persistent: false,
        threads: 3072,
        count: 3072,
        stride: 1,
        offset: 0,
        fetch_bytes: 64,
    };

    #[test]
    fn a_warp_touches_the_sectors_that_its_elements_are_in() {
        let sectors = |access_bytes, stride, offset| {
            Shape { access_bytes, stride, offset, ..GATHER }.sectors_per_request()
        };
        assert_eq!(
            [1, 2, 3, 8, 64].map(|stride| sectors(4, stride, 0)),
            [4, 8, 12, 32, 32]
        );
        assert_eq!([0, 1, 7, 8].map(|offset| sectors(4, 1, offset)), [4, 5, 5, 4]);
        assert_eq!([1, 16].map(|bytes| sectors(bytes, 1, 0)), [1, 16]);
    }

    #[test]
    fn what_moves_is_every_granule_that_an_element_is_in() {
        for (stride, granule) in
            STRIDES.iter().flat_map(|s| [32, 64, 128].map(|g| (*s, g)))
        {
            let shape = Shape { stride, ..GATHER };
            let touched = (0..shape.count).map(|i| i * stride * 4 / granule);
            let bytes = touched.collect::<BTreeSet<_>>().len() * granule;
            let modelled = shape.in_granules(granule);
            assert!(
                bytes.abs_diff(modelled) < granule,
                "stride {stride}: {granule}"
            );
        }
    }

    #[test]
    fn a_store_that_fills_a_sector_in_part_has_it_read_first() {
        let moved = |kind, stride| {
            let (read, written) = Shape { kind, stride, ..GATHER }.moved_bytes(64);
            (read / 3072, written / 3072)
        };
        assert_eq!(
            Kind::ALL.map(|kind| moved(kind, 1)),
            [(4, 4), (4, 4), (4, 0), (0, 4)]
        );
        assert_eq!(
            Kind::ALL.map(|kind| moved(kind, 16)),
            [(64, 4), (4 + 32, 32), (64, 0), (32, 32)]
        );
    }
}
