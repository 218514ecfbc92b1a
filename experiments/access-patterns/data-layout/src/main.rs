//! # In which order should the fields of many elements lie in memory?
//!
//! Page: `book/src/access-patterns/data-layout.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Writing | some and all fields, in all layouts |
//! | [`model`] | The experiment | where is a field, and how many bytes move for it? |
//! | [`device`] | | the elements, the kernels, the check |
//!
//! A particle has eight fields of 4 bytes: position, velocity, mass, charge. An *array of
//! structures* keeps the fields of one particle contiguous, a *structure of arrays*
//! keeps equal fields of all particles contiguous. In between, *tiles* are structures
//! of arrays for a few particles each. Thread i works on particle i. Digits are the
//! threads of a warp that read the first field, a box is a sector of 32 bytes:
//!
//! ```text
//! array of structures:  |0.......|1.......|2.......|3.......|…
//! tiles of 4:           |0123....|........|........|........|4567…
//! structure of arrays:  |01234567|89abcdef|…
//! ```
//!
//! **Prediction:** whatever is used of a sector, all of it moves. A kernel that reads one
//! field of eight and writes its result moves 32 + 4 bytes for each particle out of an
//! array of structures, and 4 + 4 out of a structure of arrays, which is therefore
//! 36/8 = 4.5 times as fast. A kernel that reads all eight moves the same either way, and
//! is equally fast. Tiles of 16 are enough: then 64 bytes of one field are contiguous,
//! which is what the L2 cache fetches.

mod device;
mod model;

use std::process::ExitCode;

use lab::memory::power_of_two_within;
use lab::{Case, Lab, Result, check};

use device::Arrays;
use model::{Access, Layout, MOST_FIELDS, WORD_BYTES};

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. So many elements that one field of each, read and written, is four times the L2
    //    cache. A GPU with too little memory for that gets fewer.
    let wanted =
        lab.l2_bytes().next_power_of_two() / if lab.emulated() { 8 } else { 2 };
    let affordable = lab.free_bytes()? / 2 / WORD_BYTES / (MOST_FIELDS as usize + 1);
    let count = wanted.min(power_of_two_within(affordable)) as u32;
    let mut arrays = Arrays::new(lab, count as usize)?;

    // 2. The layouts are tiles of 2^shift elements: of one, of some and of all.
    let whole = count.trailing_zeros();
    let layouts = [
        ("array_of_structures", 0),
        ("tiles_of_32", 5),
        ("structure_of_arrays", whole),
    ];
    let layout =
        |shift, fields, used| Layout { count, shift, fields, used, suffix: "" };
    let vectors = Layout { suffix: "_vectors", ..layout(0, 8, 8) };

    // 3. A number of elements that no block and no tile divides: every field is where
    //    the layout says, and every sum is right.
    let count = check::ragged(count as usize) as u32;
    let shapes =
        [layout(0, 8, 8), vectors, layout(3, 8, 8), layout(whole.min(17), 8, 8)];
    let few = [1, 2, 3, 4, 16].map(|used| layout(3, used, used));
    for shape in shapes.into_iter().chain(few) {
        arrays.check_places(&Layout { count, ..shape })?;
    }

    // ANCHOR: cases
    // 4. What to measure: some and all of eight fields, read and written; elements of
    //    other sizes; structures in vectors of 16 bytes; and all tiles.
    let mut cases = vec![];
    for (name, shift) in layouts {
        let read = [1, 2, 4, 8].map(|used| (Access::Read, 8, used));
        let written = [1, 8].map(|used| (Access::Write, 8, used));
        let sizes = [(3, 1), (3, 3), (4, 1), (4, 4), (16, 1), (16, 16)];
        let sizes = sizes.map(|(fields, used)| (Access::Read, fields, used));
        for (access, fields, used) in read.into_iter().chain(written).chain(sizes) {
            let case = Case::new(access.name()).with("layout", name);
            cases.push((case, access, layout(shift, fields, used)));
        }
    }
    for access in Access::ALL {
        let name = "array_of_structures_as_vectors";
        cases.push((Case::new(access.name()).with("layout", name), access, vectors));
    }
    for shift in 0..=10 {
        let case = Case::new("tile").with("tile", 1usize << shift);
        cases.push((case, Access::Read, layout(shift, 8, 1)));
    }
    // ANCHOR_END: cases

    // 5. To be read, all fields are written first; to be written, all are cleared. After
    //    writing, a kernel that reads all fields gives the sums.
    for (case, access, layout) in cases {
        let case = layout.describe(case, access, lab);
        let (kernel, stream) = (layout.kernel(access), arrays.stream.clone());
        let all = Layout { used: layout.fields, suffix: "", ..layout };
        arrays.clear()?;
        if access == Access::Read {
            arrays.launch(&all.kernel(Access::Write), &all)?;
        }
        let timed =
            case.time_on_gpu(lab, &stream, |_| arrays.launch(&kernel, &layout))?;
        if access == Access::Write {
            arrays.launch(&all.kernel(Access::Read), &all)?;
        }
        timed.checked(arrays.check_sums(&layout)?).record(lab)?;
    }
    Ok(())
}
