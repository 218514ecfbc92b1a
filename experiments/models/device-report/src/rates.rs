//! Units: how many operations of each kind does a multiprocessor do in a cycle?

use lab::check::repeated;
use lab::{Case, Lab, Result};

use crate::device::{Bench, Operation};

/// Multiplier and summand of a chain of integers, of which every bit changes.
const MAD: (u32, u32) = (1_664_525, 1_013_904_223);
/// What the words start from that are rotated, besides their number, and by how many bits.
const ROTATE: (u32, u32) = (7, 0x9e37_79b9);

// ANCHOR: operations
/// The kinds. A chain of floating-point numbers counts up in steps of one.
pub(crate) const OPERATIONS: [Operation; 6] = [
    of("fma4", 1, (1, 1), |start, steps| start + steps),
    of("fma_f64", 1, (1, 1), |start, steps| start + steps),
    of("fma_f16x2", 2, (1, 1), |start, steps| halves((start + steps).min(2048))),
    of("mad_u32", 1, MAD, |start, steps| repeated(MAD.0, MAD.1, steps)(start)),
    of("add_u32", 2, (0, 1), |start, steps| {
        let step = |(x, y): (u32, u32), _| {
            let x = x.wrapping_add(y);
            (x, y.wrapping_add(x))
        };
        let (x, y) = (0..steps).fold((start, 1), step);
        x ^ y
    }),
    of("rotate_u32", 1, ROTATE, |start, steps| {
        let bits = u64::from(ROTATE.0) * u64::from(steps) % 32;
        start.wrapping_add(ROTATE.1).rotate_left(bits as u32)
    }),
];
// ANCHOR_END: operations

/// A kind with four chains.
const fn of(
    kernel: &'static str,
    per_step: u32,
    (factor, addend): (u32, u32),
    after: fn(u32, u32) -> u32,
) -> Operation {
    Operation { kernel, chains: 4, per_step, factor, addend, after }
}

/// A whole number from 1 to 2048 in half precision, in both halves of a word.
fn halves(number: u32) -> u32 {
    let exponent = number.ilog2();
    let fraction = (number << 10 >> exponent) & 0x3ff;
    let half = (exponent + 15) << 10 | fraction;
    half << 16 | half
}

pub(crate) fn measure(lab: &mut Lab, bench: &mut Bench, turns: u32) -> Result<()> {
    for operation in OPERATIONS {
        bench.check_ragged(operation)?;
        let case = Case::new("rate").with("operation", operation.kernel);
        bench.measure(lab, case, operation, 1024, turns)?;
    }
    Ok(())
}
