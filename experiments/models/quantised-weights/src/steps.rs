//! What keeps INT4 from the bytes' bound? Three changes, one after the other: the next chunk is
//! asked for before this one is multiplied; an instruction unpacks, and multiplies, a pair of
//! halves; and tensor cores multiply.

use lab::{Case, Lab, Result};

use crate::formats::{Format, Scheme, of_floats, of_halves};
use crate::measure;
use crate::products::Products;

type Step = (&'static str, &'static str, usize, fn(usize) -> f64);

/// The kernel, how its floats are made, the rows of a warp, and how far a sum may be off.
const STEPS: [Step; 3] = [
    ("int4_ahead", "bits", 4, of_floats),
    ("int4_pairs", "pairs", 4, of_halves),
    ("int4_tensor", "pairs", 32, of_floats),
];

pub(crate) fn steps() -> [Scheme; 3] {
    STEPS.map(|(kernel, unpacking, rows, rounding)| {
        let scheme = Scheme::of((kernel, Format::Integer(4), unpacking));
        Scheme { rows, rounding, ..scheme }
    })
}

pub(crate) fn cases(lab: &mut Lab, products: &Products, rows: usize) -> Result<()> {
    // Where there is room for few, as many as a warp takes that has most.
    let rows = rows.max(2 * 32 - 1);
    let before = Scheme::of(("int4_bits", Format::Integer(4), "bits"));
    for scheme in [before].into_iter().chain(steps()) {
        measure(lab, products, Case::new("step"), scheme, rows)?;
    }
    Ok(())
}
