//! The order of tiles: a copy by persistent blocks, which take their tiles from a queue.

use lab::launch::blocks;
use lab::{Lab, Result};

use crate::device::{Arrays, FACTOR};
use crate::{THREADS, resident};

pub(crate) fn measure(lab: &mut Lab, arrays: &mut Arrays) -> Result<()> {
    let grid = blocks(resident(lab, "copy_16x4", THREADS)?, THREADS);
    let mut next = arrays.stream.alloc_zeros(1)?;
    let case = arrays.case("copy_queue", 1, 1);
    arrays.measure(lab, case, FACTOR, |arrays, words| {
        let Arrays { a, out, kernels, stream, .. } = arrays;
        stream.memset_zeros(&mut next)?;
        kernels.copy_queue(stream, grid, a, out, words / 4, &mut next)
    })
}
