//! Cells that belong to a block: in shared memory, or in device memory, where an addition is
//! atomic for the threads of the block or for all.

use lab::{Case, Lab, Result};

use crate::changes::{Change, Launch, Order, THREADS};
use crate::device::Cells;

/// The most cells that the kernel has shared memory for.
const MOST_CELLS: usize = 1024;
/// Blocks of each multiprocessor.
const BLOCKS: usize = 8;

pub(crate) fn measure(lab: &mut Lab, cells: &mut Cells, count: usize) -> Result<()> {
    let resident = (lab.multiprocessors() * BLOCKS)
        .min(count / THREADS)
        .min(count / MOST_CELLS);
    for change in
        [Change::OwnShared, Change::OwnBlock, Change::OwnDevice, Change::AddU32]
    {
        for number in [1, 32, MOST_CELLS] {
            let order = Order::Random;
            let launch =
                Launch { change, order, cells: number, count, blocks: resident };
            let case = Case::new("scope").with("change", change);
            cells.measure(lab, case, &launch)?;
        }
    }
    Ok(())
}
