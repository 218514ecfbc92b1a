//! Bytes in flight: each thread loads one element and waits for it. What do wider elements
//! change, and persistent threads?

use lab::Case;

use crate::arrays::Arrays;
use crate::model::Shape;

pub(crate) const WIDTHS: [&str; 5] =
    ["gather1", "gather2", "gather4", "gather8", "gather16"];

pub(crate) fn cases(arrays: &Arrays) -> impl Iterator<Item = (Case, Shape)> {
    WIDTHS.into_iter().map(|kernel| (Case::new("width"), arrays.plain(kernel)))
}

/// As many threads as the GPU holds take element after element, one load at a time.
pub(crate) fn persistent_threads(arrays: &Arrays) -> (Case, Shape) {
    (Case::new("resident"), arrays.plain("gather4_resident"))
}
