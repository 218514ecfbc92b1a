//! Bytes in flight: each thread loads one element and waits for it. What do wider elements
//! change, and persistent threads?

use lab::Case;

use crate::device::Arrays;
use crate::model::{Kind, Shape};

pub(crate) const WIDTHS: [usize; 5] = [1, 2, 4, 8, 16];

pub(crate) fn cases(arrays: &Arrays) -> impl Iterator<Item = (Case, Shape)> {
    let plain = |bytes| (Case::new("width"), arrays.plain(Kind::Gather, bytes));
    WIDTHS.into_iter().map(plain)
}

/// As many threads as the GPU holds take element after element, one load at a time.
pub(crate) fn persistent_threads(arrays: &Arrays) -> (Case, Shape) {
    (Case::new("resident"), arrays.persistent())
}
