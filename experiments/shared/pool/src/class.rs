//! Size classes: which sizes of blocks there are.

/// The smallest block, and the step between the smallest classes.
const GRANULE_BYTES: usize = 512;
const GRANULE_BITS: u32 = GRANULE_BYTES.trailing_zeros();
/// What the driver gives out memory in, if more than half of it is wanted.
const PIECE_BYTES: usize = 2 << 20;
/// Classes from one power of two to the next, which bound the waste: a block is at most
/// an eighth larger than what was asked for, in whole granules or pieces.
const STEPS: usize = 1 << STEP_BITS;
const STEP_BITS: u32 = 3;
/// No GPU has more memory.
const LARGEST_BYTES: usize = 1 << 48;

/// A size of blocks: 512 bytes times 1 to 16, and then times 18, 20 … 32, 36, 40 … 64, 72
/// and so on, with eight steps from each power of two to the next. Above 1 MiB only
/// multiples of 2 MiB are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class(u16);

impl Class {
    /// How many there are.
    pub const COUNT: usize =
        (LARGEST_BYTES.trailing_zeros() - GRANULE_BITS - STEP_BITS + 1) as usize * STEPS;

    /// The class for `bytes`; `None` above 256 TiB. What has pieces of its own gets all of
    /// them, because nobody else could use the rest.
    #[inline]
    pub fn of(bytes: usize) -> Option<Class> {
        if bytes > LARGEST_BYTES {
            return None;
        }
        let shared = bytes <= PIECE_BYTES / 2;
        let bytes = if shared { bytes } else { bytes.next_multiple_of(PIECE_BYTES) };
        // The last granule that is needed, counted from 0. Its four highest bits say
        // which step; the bits below them are rounded up.
        let last = bytes.saturating_sub(1) >> GRANULE_BITS;
        let shift = (usize::BITS - last.leading_zeros()).saturating_sub(STEP_BITS + 1);
        Some(Class((shift as usize * STEPS + (last >> shift)) as u16))
    }

    /// The size of its blocks.
    #[inline]
    pub fn bytes(self) -> usize {
        let index = self.index();
        let shift = (index / STEPS).saturating_sub(1);
        (index - shift * STEPS + 1) << shift << GRANULE_BITS
    }

    /// Number of the class, below [`Class::COUNT`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// All classes, the largest first.
    pub(crate) fn largest_first() -> impl Iterator<Item = Class> {
        (0..Class::COUNT as u16).rev().map(Class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_are_numbered_by_size() {
        for pair in Class::largest_first().collect::<Vec<_>>().windows(2) {
            assert!(pair[0].bytes() > pair[1].bytes());
        }
        let largest = Class::of(LARGEST_BYTES).unwrap();
        assert_eq!((largest.index() + 1, largest.bytes()), (Class::COUNT, 1 << 48));
        assert_eq!(Class::of(LARGEST_BYTES + 1), None);
        assert_eq!(Class::of(0), Class::of(GRANULE_BYTES));
        assert_eq!(Class::of(1_000_000 * 4).unwrap().bytes(), 4 << 20);
    }

    proptest! {
        #[test]
        fn a_block_fits_and_wastes_little(
            bytes in (0u32..48).prop_flat_map(|bits| 0usize..=1 << bits)
        ) {
            let class = Class::of(bytes).unwrap();
            let block = class.bytes();
            prop_assert!(block >= bytes);
            prop_assert_eq!(Class::of(block), Some(class));
            let step = if bytes > 1 << 20 { PIECE_BYTES } else { GRANULE_BYTES };
            let whole = bytes.next_multiple_of(step).max(step);
            prop_assert!(block - whole <= whole / 8);
        }
    }
}
