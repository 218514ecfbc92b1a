//! An addition of floats by a loop of compare-and-swap, beside the instruction for it.
//!
//! Of all who try at once one succeeds. So the attempts grow with the square of the threads,
//! and these are few.

use lab::{Case, Lab, Result};

use crate::changes::{Change, Launch, Order};
use crate::device::Cells;

pub(crate) fn measure(lab: &mut Lab, cells: &mut Cells) -> Result<()> {
    let count = if lab.emulated() { 1 << 11 } else { 1 << 14 };
    for change in [Change::AddF32, Change::AddF32Loop] {
        for number in [1, 32, 1024, count] {
            let launch = Launch::new(change, Order::Neighbours, number, count, 1);
            let case = Case::new("retry").with("change", change);
            cells.measure(lab, case, &launch)?;
        }
    }
    Ok(())
}
