//! Types and operations, and what the old value costs.

use lab::{Case, Lab, Result};

use crate::EACH;
use crate::changes::{Change, Launch, Order};
use crate::device::Cells;

/// What is compared. The last three count: one does nothing with the old value, one makes
/// tickets of it, and one only tries to be the first.
const KINDS: [Change; 8] = [
    Change::AddU32,
    Change::AddU64,
    Change::AddF32,
    Change::AddF64,
    Change::MaxU32,
    Change::CountU32,
    Change::TicketU32,
    Change::CasU32,
];

pub(crate) fn measure(lab: &mut Lab, cells: &mut Cells, count: usize) -> Result<()> {
    for change in KINDS {
        for number in [1, 32, 1024, 1 << 20, count] {
            if number > count {
                continue; // on the emulated GPU, which has fewer changes to make
            }
            let launch = Launch::new(change, Order::Neighbours, number, count, EACH);
            let case = Case::new("kind").with("change", change);
            cells.measure(lab, case, &launch)?;
        }
    }
    Ok(())
}
