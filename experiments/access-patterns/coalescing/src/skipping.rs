//! The trap: an input that is not lengthened for the stride, with a guard that keeps the
//! kernel inside it. All threads start, and 1 in 32 works.

use lab::Case;

use crate::device::Arrays;
use crate::model::{Kind, Shape};

pub(crate) fn case(arrays: &Arrays) -> (Case, Shape) {
    let (full, stride) = (arrays.plain(Kind::Gather, 4), 32);
    let shape = Shape { stride, count: full.count / stride, ..full };
    (Case::new("skipping").with("stride", stride), shape)
}
