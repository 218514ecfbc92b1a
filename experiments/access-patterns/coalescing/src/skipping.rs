//! The trap: an input that is not lengthened for the stride, with a guard that keeps the
//! kernel inside it. All threads start, and 1 in `stride` works.

use lab::Case;

use crate::arrays::Arrays;
use crate::model::Shape;

pub(crate) fn cases(arrays: &Arrays) -> impl Iterator<Item = (Case, Shape)> {
    let full = arrays.plain("gather4");
    [1, 2, 4, 8, 16, 32].into_iter().map(move |stride| {
        let case = Case::new("skipping").with("stride", stride);
        (case, Shape { stride, count: full.count / stride, ..full })
    })
}
