//! # What does random access cost, and what does it help to sort the indices?
//!
//! Page: `book/src/access-patterns/gather.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | sorted indices, random ones, and what is between |
//! | [`pieces`] | How much in one place? | how long must a piece be to be read fast? |
//! | [`model`] | The same bytes, and slower | how many bytes have to move? |
//! | [`device`] | | the table, the indices, the kernels, the check |
//!
//! Thread i reads `table[indices[i]]` and writes element i. Indices and results are
//! contiguous; access to the table is not. Every case has as many indices, spread evenly
//! over the table. Only their order differs:
//!
//! ```text
//! sorted:         0 1 2 3 4 5 6 7 8 9 …
//! in groups of 4: 2 0 3 1 6 5 4 7 9 8 …   shuffled among neighbours
//! random:         6 2 9 0 5 8 1 7 3 4 …   one group of all
//! in steps of 4:  0 4 8 … 1 5 9 … 2 6 …   round after round
//! ```
//!
//! **Prediction:** a warp with random indices touches 32 sectors, and the L2 cache
//! fetches 64 bytes for each. From a table that is much larger than the cache, an element
//! moves 64 bytes, and 4 for its index and 4 for the result: so the 12 useful bytes reach
//! 12/72 = 17% of the memory's peak, whatever the table's size. Sorting saves what
//! neighbours share: nothing if the indices are more than 64 bytes apart, and with one
//! index for every 4 bytes it makes a random read a contiguous one.

mod device;
mod model;
mod pieces;

use std::process::ExitCode;

use lab::{Case, Ceiling, Lab, Result, check};

use device::{Access, Arrays};
use model::{Pick, WORD_BYTES};

const SMALLEST_TABLE_BITS: u32 = 20;
const LARGEST_TABLE_BITS: u32 = 31;

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. As many indices as fill the L2 cache four times. Tables up to 8 GiB, or up to
    //    what there is room for.
    let wanted =
        lab.l2_bytes().next_power_of_two() / if lab.emulated() { 4 } else { 1 };
    let (count, count_bits) = (1 << wanted.ilog2(), wanted.ilog2());
    let room = (lab.free_bytes()? / 10 * 9 / WORD_BYTES).saturating_sub(2 * count);
    let most_bits = room.max(1).ilog2().min(LARGEST_TABLE_BITS);
    let mut arrays = Arrays::new(lab, count, 1 << most_bits)?;

    // 2. A number of indices that no block divides.
    let table_bits = count_bits.min(most_bits);
    let some = Pick { count_bits, table_bits, group_bits: 10, step_bits: 0 };
    for access in Access::ALL {
        arrays.prepare(access, &some)?;
        arrays.launch(access, check::ragged(count))?;
        arrays.check(access, &some, check::ragged(count))?;
    }

    // ANCHOR: cases
    // 3. What to measure: sorted and random, from tables of all sizes; what is between the
    //    two, in groups and in steps, from one large table; and the other way, into it.
    let mut cases = vec![];
    let orders = [("sorted", 0), ("random", count_bits)];
    for table_bits in SMALLEST_TABLE_BITS..=LARGEST_TABLE_BITS {
        for (order, group_bits) in orders {
            let case = Case::new("table").with("order", order);
            cases.push((
                case,
                Access::Gather,
                Pick { table_bits, group_bits, ..some },
            ));
        }
    }
    let table_bits = most_bits.min(LARGEST_TABLE_BITS - 1);
    let large = Pick { table_bits, group_bits: 0, ..some };
    for group_bits in (0..=count_bits).step_by(2) {
        let case = Case::new("group").with("group", 1usize << group_bits);
        cases.push((case, Access::Gather, Pick { group_bits, ..large }));
    }
    for step_bits in (0..=count_bits - 6).step_by(2) {
        let case = Case::new("step").with("step", 1usize << step_bits);
        cases.push((case, Access::Gather, Pick { step_bits, ..large }));
    }
    for (order, group_bits) in orders {
        let case = Case::new("scatter").with("order", order);
        cases.push((case, Access::Scatter, Pick { group_bits, ..large }));
    }
    // ANCHOR_END: cases

    for (case, access, pick) in cases {
        let case = case.with("bytes", pick.table_bytes());
        if pick.table_bits > most_bits {
            let mib = pick.table_bytes() >> 20;
            lab.skip(case, format!("needs {mib} MiB of free device memory"));
            continue;
        }

        // 4. For each index, it and an element are read and one is written: 4 bytes each.
        //    Beside it, what the model says.
        let bytes = count * WORD_BYTES;
        let from_table = pick.fetched_bytes(lab.l2_fetch_bytes(), lab.l2_bytes());
        let mut case = case
            .reads(2 * bytes)
            .writes(bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(2 * bytes + pick.table_bytes(), lab.l2_bytes())
            .model("sectors_per_request", pick.sectors_per_request());
        if access == Access::Gather {
            case = case.model("dram_read_bytes", (bytes + from_table) as f64);
            if let Some(peak) = lab.memory_peak() {
                let share = 3.0 * bytes as f64 / (2 * bytes + from_table) as f64;
                case = case.model("bound_bytes_per_second", peak * share);
            }
        }

        // 5. Time it, on new indices, with what is written cleared.
        arrays.prepare(access, &pick)?;
        let stream = arrays.stream.clone();
        let timed =
            case.time_on_gpu(lab, &stream, |_| arrays.launch(access, count))?;
        let checked = arrays.check(access, &pick, count)?;
        timed.checked(checked).record(lab)?;
    }
    pieces::measure(lab, &mut arrays, count_bits, most_bits)
}
