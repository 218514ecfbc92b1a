//! The model: which elements the indices pick, how many sectors a warp touches with them,
//! and how many bytes the memory has to read.

use std::collections::BTreeSet;

const SECTOR_BYTES: usize = 32;
pub(crate) const WORD_BYTES: usize = 4;
const WARP: u32 = 32;

/// 2^`count_bits` indices, spread evenly over a table of 2^`table_bits` words. They are
/// sorted, or shuffled in groups of 2^`group_bits` neighbours, or in an order of steps,
/// of 2^`step_bits` places each.
#[derive(Clone, Copy)]
pub(crate) struct Pick {
    pub(crate) count_bits: u32,
    pub(crate) table_bits: u32,
    pub(crate) group_bits: u32,
    pub(crate) step_bits: u32,
}

impl Pick {
    pub(crate) fn table_bytes(&self) -> usize {
        WORD_BYTES << self.table_bits
    }

    /// Index i, as in the kernel.
    pub(crate) fn index(&self, i: u32) -> u32 {
        let Pick { count_bits, table_bits, group_bits, step_bits } = *self;
        let group = i >> group_bits << group_bits;
        let rank = group + mix(i - group, group_bits);
        let rank = rank << step_bits | rank >> (count_bits - step_bits);
        let rank = rank & ((1 << count_bits) - 1);
        if table_bits <= count_bits {
            return rank >> (count_bits - table_bits);
        }
        let stretch_bits = table_bits - count_bits;
        (rank << stretch_bits)
            + (rank.wrapping_mul(2_654_435_761) >> (32 - stretch_bits))
    }

    // ANCHOR: model
    /// Sectors of the table that a warp touches, the mean of many warps.
    pub(crate) fn sectors_per_request(&self) -> f64 {
        let warps = (1u32 << self.count_bits) / WARP;
        let some: Vec<u32> =
            (0..warps).step_by((warps / 4096).max(1) as usize).collect();
        let sector = |i| self.index(i) as usize * WORD_BYTES / SECTOR_BYTES;
        let of_warp = |warp| (warp * WARP..(warp + 1) * WARP).map(sector);
        let touched = |warp: &u32| of_warp(*warp).collect::<BTreeSet<_>>().len();
        some.iter().map(touched).sum::<usize>() as f64 / some.len() as f64
    }

    /// Bytes of the table that the memory has to read. Every granule that is wanted comes
    /// at least once. If a group of indices reaches further than the L2 cache, a granule
    /// that is wanted is there with the probability that the cache has of holding it.
    pub(crate) fn fetched_bytes(
        &self,
        fetch_bytes: usize,
        l2_bytes: usize,
    ) -> usize {
        if self.table_bytes() <= l2_bytes {
            return 0;
        }
        let count = 1usize << self.count_bits;
        let once = count.min(self.table_bytes() / fetch_bytes) * fetch_bytes;
        let reach = self.table_bytes() >> (self.count_bits - self.group_bits);
        let missing = (1.0 - l2_bytes as f64 / reach as f64).max(0.0);
        once.max(((count * fetch_bytes) as f64 * missing) as usize)
    }
    // ANCHOR_END: model
}

/// The permutation of the numbers below 2^`bits` that the kernel uses.
fn mix(mut x: u32, bits: u32) -> u32 {
    for odd in [0x9E37_79B1u32, 0x85EB_CA6B, 0xC2B2_AE35] {
        x = x.wrapping_mul(odd) & ((1 << bits) - 1);
        x ^= x >> bits.div_ceil(2);
    }
    x
}
