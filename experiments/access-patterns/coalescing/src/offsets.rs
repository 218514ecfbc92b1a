//! Offsets: a shifted warp touches one more sector. What does that cost?

use lab::Case;

use crate::device::Arrays;
use crate::model::{Kind, Shape};

const OFFSETS: [usize; 8] = [0, 1, 2, 4, 7, 8, 16, LARGEST];
pub(crate) const LARGEST: usize = 32;

pub(crate) fn cases(arrays: &Arrays) -> Vec<(Case, Shape)> {
    let mut cases = vec![];
    for offset in OFFSETS {
        // Writes are tried at one offset: the cache puts their parts together.
        let writes = (offset < 2).then_some((Kind::Scatter, 4));
        for (kind, bytes) in
            [(Kind::Gather, 4), (Kind::Gather, 16)].into_iter().chain(writes)
        {
            let case = Case::new("offset").with("offset", offset);
            cases.push((case, Shape { offset, ..arrays.plain(kind, bytes) }));
        }
    }
    cases
}
