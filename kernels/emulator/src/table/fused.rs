//! The fused multiply-add of single precision, which is in the innermost loop of much that
//! kernels do. Processors that are not known to have it need a function call for each.

use crate::WARP;
use crate::registers::{Class, Compute, Operands, Operation, Registers, Role, Value};

/// The bits of a double that a float has no room for, and the pattern that stands half way
/// between two floats. Both are in the lower half.
const REST: u32 = (1 << 29) - 1;
const HALF_WAY: u32 = 1 << 28;
/// In the upper half: the sign, and what the smallest number has for which floats are not
/// sparse.
const SIGN: u32 = 1 << 31;
const NORMAL: u32 = ((f32::MIN_POSITIVE as f64).to_bits() >> 32) as u32;

pub(crate) const MULTIPLY_ADD: Operation = Operation {
    compute: Compute::All(multiply_add),
    style: 0,
    result: Class::Narrow,
    sources: &[Class::Narrow, Class::Narrow, Class::Narrow],
    role: Role::Computes,
};

/// In double precision the product is exact and the sum nearly so. Rounding the sum to
/// single precision gives the right result, unless the sum is half way between two floats
/// or so small that floats become sparse. Only then it is done the long way.
fn multiply_add(registers: &mut Registers, operands: &Operands) {
    let row = |source: usize| &registers.narrow[usize::from(operands.sources[source])];
    let (a, b, c) = (row(0), row(1), row(2));
    let mut results = [0; WARP];
    let mut in_doubt = 0;
    for lane in 0..WARP {
        let number = |bits: u32| f64::from(f32::from_bits(bits));
        let sum = number(a[lane]) * number(b[lane]) + number(c[lane]);
        // In halves: processors compare four numbers of 32 bits at once.
        let (lower, upper) = (sum.to_bits() as u32, (sum.to_bits() >> 32) as u32);
        let near_zero = (upper & !SIGN).wrapping_sub(1) < NORMAL - 1;
        in_doubt |= u32::from(lower & REST == HALF_WAY) | u32::from(near_zero);
        results[lane] = (sum as f32).to_bits();
    }
    if in_doubt != 0 {
        for lane in 0..WARP {
            let number = f32::from_bits;
            let exact = number(a[lane]).mul_add(number(b[lane]), number(c[lane]));
            results[lane] = exact.to_bits();
        }
    }
    u32::put(registers, operands.result, &results);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn computed(a: f32, b: f32, c: f32) -> f32 {
        let mut registers = Registers::new([4, 0, 0]);
        registers.narrow[0] = [a.to_bits(); WARP];
        registers.narrow[1] = [b.to_bits(); WARP];
        registers.narrow[2] = [c.to_bits(); WARP];
        let operands = Operands { result: 3, sources: [0, 1, 2, 0] };
        multiply_add(&mut registers, &operands);
        f32::from_bits(registers.narrow[3][7])
    }

    fn floats() -> impl Strategy<Value = f32> {
        prop_oneof![
            any::<u32>().prop_map(f32::from_bits),
            // Few bits, so that sums are often half way between two floats.
            (0u32..16, 0u32..32, 100u32..140).prop_map(|(low, high, exponent)| {
                f32::from_bits(exponent << 23 | high << 18 | low)
            }),
        ]
    }

    proptest! {
        #[test]
        fn the_same_as_the_long_way(a in floats(), b in floats(), c in floats()) {
            let (short, long) = (computed(a, b, c), a.mul_add(b, c));
            prop_assert!(short.to_bits() == long.to_bits() || short.is_nan() && long.is_nan());
        }
    }
}
