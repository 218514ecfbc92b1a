//! What does it take to start a block, and how much should its threads have to do?
//!
//! First blocks of 64 to 1,024 threads that end at once, always as many threads in all.
//! Then a copy and a write by blocks of these sizes, with 4 or 16 bytes for each thread,
//! and the copy in both grids: so it shows whether fewer blocks, larger ones or more work
//! for each thread is what helps.

use lab::launch::blocks;
use lab::{Case, Lab, Result};

use crate::device::{Arrays, FACTOR, RAGGED_COUNT, Walk};
use crate::{one_shot, resident};

/// Threads of a block.
const BLOCKS: [usize; 5] = [64, 128, 256, 512, 1024];
/// The case, its kernel, how many arrays that reads, and the bytes of an element and the
/// elements of each thread: `copy_4x4` and `copy_16x1` move as much with each thread.
const KERNELS: [(&str, &str, usize, (usize, usize)); 5] = [
    ("sized_copy", "copy_4x1", 1, (4, 1)),
    ("sized_copy", "copy_4x4", 1, (4, 4)),
    ("sized_copy", "copy_16x1", 1, (16, 1)),
    ("sized_write", "write_4x1", 0, (4, 1)),
    ("sized_write", "write_16x1", 0, (16, 1)),
];
/// Bytes of each array that are moved: enough to be cold, little enough to be checked soon.
const MOVED_BYTES: usize = 1 << 30;

pub(crate) fn measure(lab: &mut Lab, arrays: &mut Arrays) -> Result<()> {
    let moved = if lab.emulated() { 1 << 18 } else { MOVED_BYTES };
    let bytes = moved.min(arrays.bytes);
    let stream = arrays.stream.clone();
    for block in BLOCKS {
        let (kernels, all_threads) = (arrays.kernels.clone(), bytes / 16);
        Case::new("empty")
            .with("block", block)
            .with("threads", all_threads)
            .time_on_gpu(lab, &stream, |_| {
                kernels.empty(&stream, blocks(all_threads / block, block))
            })?
            .record(lab)?;
    }
    for threads in BLOCKS {
        for (name, kernel, reads, version) in KERNELS {
            // 1. A size that no tile divides.
            let (kernel, factor, some) =
                (kernel.to_owned(), FACTOR, 16 * RAGGED_COUNT);
            let mut walk =
                Walk { kernel, version, factor, bytes: some, threads, blocks: 0 };
            walk.blocks = one_shot(&walk);
            arrays.clear()?;
            arrays.launch(&walk)?;
            arrays.check(&walk)?;

            // 2. A block for every tile; a copy by as many as the GPU holds, too.
            walk.bytes = bytes;
            let mut grids = vec![("one_shot", one_shot(&walk))];
            if reads > 0 {
                grids.push(("resident", resident(lab, &walk.kernel, threads)?));
            }
            for (grid, blocks) in grids {
                walk.blocks = blocks;
                arrays.clear()?;
                let timed = arrays
                    .case_of(bytes, name, reads, 1)
                    .with("block", threads)
                    .with("element_bytes", version.0)
                    .with("loads", version.1)
                    .with("grid", grid)
                    .time_on_gpu(lab, &stream, |_| arrays.launch(&walk))?;
                timed.checked(arrays.check(&walk)?).record(lab)?;
            }
        }
    }
    Ok(())
}
