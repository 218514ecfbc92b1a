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

#[cfg(test)]
mod tests {
    use super::*;

    const SORTED: Pick =
        Pick { count_bits: 12, table_bits: 12, group_bits: 0, step_bits: 0 };

    #[test]
    fn an_order_takes_every_element_once() {
        let groups = (0..=12).map(|group_bits| Pick { group_bits, ..SORTED });
        let steps = (0..=6).map(|step_bits| Pick { step_bits, ..SORTED });
        for pick in groups.chain(steps) {
            let picked: BTreeSet<_> = (0..1 << 12).map(|i| pick.index(i)).collect();
            assert_eq!(picked, (0..1 << 12).collect());
            // Of a larger table, one element of each stretch.
            let large = Pick { table_bits: 16, ..pick };
            let picked: BTreeSet<_> =
                (0..1 << 12).map(|i| large.index(i) >> 4).collect();
            assert_eq!(picked, (0..1 << 12).collect());
        }
    }

    #[test]
    fn sorted_indices_share_sectors_and_random_ones_do_not() {
        assert_eq!(SORTED.sectors_per_request(), 4.0);
        assert_eq!(Pick { step_bits: 3, ..SORTED }.sectors_per_request(), 32.0);
        let random = Pick { table_bits: 20, group_bits: 12, ..SORTED };
        assert!(random.sectors_per_request() > 31.9);
    }

    #[test]
    fn a_table_is_fetched_once_or_for_each_index() {
        let large = Pick { table_bits: 16, ..SORTED };
        assert_eq!(large.fetched_bytes(64, large.table_bytes()), 0); // the cache holds it
        assert_eq!(large.fetched_bytes(64, 1 << 10), 64 << 12); // an element in each fetch
        assert_eq!(SORTED.fetched_bytes(64, 1 << 10), 4 << 12); // all of it, once
        let random = Pick { group_bits: 12, ..SORTED };
        assert!(random.fetched_bytes(64, 1) > 63 << 12); // again for each index
    }
}
