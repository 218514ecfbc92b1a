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
