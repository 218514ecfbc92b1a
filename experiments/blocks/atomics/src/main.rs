//! # What does an atomic operation cost?
//!
//! Page: `book/src/blocks/atomics.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | one cell for all, or a million? |
//! | [`kinds`] | Not only additions | which types and operations are fast, and with the old value? |
//! | [`scope`] | Cells of a block | what if a block has cells of its own, and where? |
//! | [`retry`] | A loop instead | what if there is no instruction for it? |
//! | [`changes`] | The experiment | which cell does each change go to, and what does it make of it? |
//! | [`device`] | The experiment | the cells, the kernels, the check |
//!
//! Each thread makes 16 *changes*, each to one of so many *cells* of a word or two. Always as
//! many changes; only the number of cells differs, and whether neighbouring threads have
//! neighbouring cells or random ones:
//!
//! ```text
//! 1 cell:     0 0 0 0 0 0 0 0 …    all threads queue at one
//! 4 cells:    0 1 2 3 0 1 2 3 …
//! as many as changes:  0 1 2 3 4 5 6 7 …   no two meet
//! ```
//!
//! **Prediction:** an address can be changed once per clock of the L2 cache, so additions to
//! one cell come at about 1.7 billion a second, and 32 cells in one place are no faster.

mod changes;
mod device;
mod kinds;
mod retry;
mod scope;

use std::process::ExitCode;

use lab::{Case, Lab, Result};

use changes::{Change, Launch, Order};
use device::Cells;

/// Changes that a thread makes.
const EACH: usize = 16;

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. So many changes that cells of 4 bytes, one for each, are four times the L2 cache; or
    //    fewer, if there is no room for so many cells of 8 bytes.
    let wanted =
        if lab.emulated() { 1 << 14 } else { lab.l2_bytes().next_power_of_two() };
    let count = 1 << wanted.min(lab.free_bytes()? / 16).ilog2();
    let mut cells = Cells::new(lab, count, count)?;

    // ANCHOR: spread
    // 2. The same additions to one cell, to two, and so on, to one for each addition.
    for bits in 0..=count.ilog2() {
        for order in Order::ALL {
            if bits == 0 && order == Order::Random {
                continue; // one cell has no order
            }
            let launch = Launch::new(Change::AddU32, order, 1 << bits, count, EACH);
            let case = Case::new("spread").with("order", order);
            cells.measure(lab, case, &launch)?;
        }
    }
    // ANCHOR_END: spread

    // 3. Other changes, other places, and a loop.
    kinds::measure(lab, &mut cells, count)?;
    scope::measure(lab, &mut cells, count)?;
    retry::measure(lab, &mut cells)
}
