//! 6\. A kernel that reads what a cache can hold.

use lab::launch::threads;
use lab::{Case, Ceiling, Lab, Result};

use crate::kernels::{Kernels, filled, sum_of};
use crate::{RIGHT, in_the_way};

pub(crate) fn measure(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    // Buffers of half the L2 cache each, and four times the L2 cache in all.
    let resident = lab.resident_threads()?;
    let vectors = lab.l2_bytes() / 2 / 16;
    let (words, bytes) = (4 * vectors, 16 * vectors);
    let all = (4 * lab.l2_bytes()).div_ceil(bytes);
    let input = filled(&kernels, &stream, all * words)?;
    let mut sums = stream.alloc_zeros::<u32>(resident)?;

    // ANCHOR: again
    // Right: another buffer each time. Wrong: the same one each time; and the same one
    // sixteen times over in one launch, to make it last longer.
    // The memory's peak is no ceiling for bytes that come from a cache.
    for (timed, buffers, passes, ceiling) in [
        (RIGHT, all, 1u32, Ceiling::DeviceMemory),
        ("again", 1, 1, Ceiling::None),
        ("passes", 1, 16, Ceiling::None),
    ] {
        let mut first = 0;
        stream.memset_zeros(&mut sums)?;
        in_the_way(timed, Case::new("read"))
            .reads(bytes * passes as usize)
            .writes(4 * resident)
            .ceiling(ceiling)
            .footprint(bytes * buffers, lab.l2_bytes())
            .time_on_gpu(lab, &stream, |turn| {
                first = turn % buffers * words;
                let buffer = input.slice(first..first + words);
                let grid = threads(resident);
                kernels.sum(&stream, grid, &buffer, &mut sums, vectors, passes)
            })?
            .check_device(&stream, &sums, |thread| {
                sum_of(thread, resident, first, vectors).wrapping_mul(passes)
            })?
            .record(lab)?;
    }
    // ANCHOR_END: again
    Ok(())
}
