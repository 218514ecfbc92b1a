//! The model: in how many wavefronts a warp's read is served.

use std::collections::BTreeSet;

pub(crate) const WARP: usize = 32;
pub(crate) const WORD_BYTES: usize = 4;
const BANKS: usize = 32;

/// The element at which each lane of a warp starts to read.
pub(crate) type Pattern = [usize; WARP];

// ANCHOR: model
pub(crate) fn wavefronts(start: &Pattern, access_bytes: usize) -> usize {
    // One wavefront gives 32 words. So a warp that reads two words in each lane is
    // served by halves, and one that reads four words by quarters …
    let mut groups = access_bytes / WORD_BYTES;
    // … or by groups of twice as many lanes, if the lanes share their elements in
    // pairs: each with the lane beside it, or each with the lane two away (lane ^ 2).
    // (Stores never are.)
    let shared =
        |distance| (0..WARP).all(|lane| start[lane] == start[lane ^ distance]);
    if groups > 1 && (shared(1) || shared(2)) {
        groups /= 2;
    }
    // A group takes as many wavefronts as there are words in its fullest bank.
    let lanes_each = WARP / groups;
    start.chunks(lanes_each).map(|lanes| fullest_bank(lanes, access_bytes)).sum()
}
// ANCHOR_END: model

// ANCHOR: fullest
/// The largest number of different words that `lanes` want of one bank.
fn fullest_bank(lanes: &[usize], access_bytes: usize) -> usize {
    let words_each = access_bytes / WORD_BYTES;
    let words = lanes.iter().flat_map(|element| {
        (0..words_each).map(move |word| element * words_each + word)
    });
    let mut wanted = [0; BANKS];
    for word in words.collect::<BTreeSet<_>>() {
        wanted[word % BANKS] += 1;
    }
    wanted.into_iter().max().unwrap_or(0)
}
// ANCHOR_END: fullest

#[cfg(test)]
mod tests {
    use super::wavefronts;
    use std::array::from_fn;

    #[test]
    fn rows_take_as_many_wavefronts_as_they_have_words_for_32_banks() {
        assert_eq!(
            [4, 8, 16].map(|bytes| wavefronts(&from_fn(|i| i), bytes)),
            [1, 2, 4]
        );
        assert_eq!([4, 8, 16].map(|bytes| wavefronts(&[7; 32], bytes)), [1, 1, 2]);
    }

    #[test]
    fn a_column_conflicts_unless_the_padding_is_odd() {
        let column =
            |padding: usize| wavefronts(&from_fn(|row| row * (32 + padding)), 4);
        assert_eq!([0, 1, 2, 3, 4, 8, 16].map(column), [32, 1, 2, 1, 4, 8, 16]);
    }

    #[test]
    fn it_does_not_matter_where_a_pattern_begins() {
        let pattern = |begin| from_fn(|i| begin + i * i % 61);
        for begin in 0..64 {
            assert_eq!(wavefronts(&pattern(begin), 4), wavefronts(&pattern(0), 4));
        }
    }
}
