//! Sharing: patterns in which lanes read the same element, a row, and a random one.

use std::array::from_fn;

use crate::model::Pattern;

pub(crate) fn patterns() -> [(&'static str, Pattern); 5] {
    let mut random = 1u32;
    let next = |_| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        random as usize >> 21
    };
    [
        ("row", from_fn(|lane| lane)),
        ("broadcast", from_fn(|_| 0)),
        // Both read 16 different elements, each of them in two lanes: in neighbours,
        // or in lanes that are half a warp apart.
        ("neighbours_share", from_fn(|lane| lane / 2)),
        ("halves_share", from_fn(|lane| lane % 16)),
        ("random", from_fn(next)),
    ]
}
