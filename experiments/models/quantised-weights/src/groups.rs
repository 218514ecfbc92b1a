//! How many weights share a scale? A large weight makes the scale of its whole group
//! large, and the steps between the group's numbers with it. Smaller groups round better,
//! and have more scales to store and to read.

use lab::{Case, Lab, Result};

use crate::formats::{Format, Scheme};
use crate::products::Products;
use crate::{COLUMNS, measure};

/// From a whole row down to 32 weights, which one thread loads at once.
const GROUP_BITS: [u32; 4] = [COLUMNS.ilog2(), 9, 7, 5];

pub(crate) fn cases(lab: &mut Lab, products: &Products, rows: usize) -> Result<()> {
    for (kernel, bits) in [("int8_bits", 8), ("int4_bits", 4)] {
        for group_bits in GROUP_BITS {
            let scheme = Scheme::of((kernel, Format::Integer(bits), "bits"));
            let case = Case::new("group").with("group", 1usize << group_bits);
            measure(lab, products, case, Scheme { group_bits, ..scheme }, rows)?;
        }
    }
    Ok(())
}
