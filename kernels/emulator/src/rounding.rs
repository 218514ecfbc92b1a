//! Rounding in a direction, flushing and saturating of numbers: what Rust's arithmetic,
//! which always rounds to the nearest, does not do.

use std::cmp::Ordering;

/// Where a number between two floats goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Towards {
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// The `f32` for the exact number `value + rest`, where `rest` is less than `value` can
/// express.
pub(crate) fn directed(value: f64, rest: f64, towards: Towards) -> f32 {
    let near = value as f32;
    if near.is_nan() || value.is_infinite() {
        return near;
    }
    let above = f64::from(near) > value || f64::from(near) == value && rest < 0.0;
    let below = f64::from(near) < value || f64::from(near) == value && rest > 0.0;
    let down = match towards {
        Towards::Down => true,
        Towards::Up => false,
        Towards::Zero => value > 0.0 || value == 0.0 && rest > 0.0,
    };
    match down {
        true if above => near.next_down(),
        false if below => near.next_up(),
        _ => near,
    }
}

/// `a + b`, and what the sum lost.
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

pub(crate) fn add(a: f32, b: f32, towards: Towards) -> f32 {
    let (sum, rest) = two_sum(a.into(), b.into());
    directed(sum, rest, towards)
}

pub(crate) fn multiply(a: f32, b: f32, towards: Towards) -> f32 {
    directed(f64::from(a) * f64::from(b), 0.0, towards)
}

pub(crate) fn multiply_add(a: f32, b: f32, c: f32, towards: Towards) -> f32 {
    let (sum, rest) = two_sum(f64::from(a) * f64::from(b), c.into());
    directed(sum, rest, towards)
}

pub(crate) fn divide(a: f32, b: f32, towards: Towards) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let quotient = a / b;
    let remainder = (-quotient).mul_add(b, a);
    directed(quotient, remainder * b.signum(), towards)
}

pub(crate) fn square_root(a: f32, towards: Towards) -> f32 {
    let a = f64::from(a);
    let root = a.sqrt();
    directed(root, (-root).mul_add(root, a), towards)
}

/// `a + b` with a last bit that is set if the sum lost something, so that rounding it to fewer
/// bits is right.
pub(crate) fn add_to_odd(a: f64, b: f64) -> f64 {
    let (sum, rest) = two_sum(a, b);
    let is_even = sum.to_bits() & 1 == 0;
    match rest.partial_cmp(&0.0) {
        Some(Ordering::Greater) if is_even => sum.next_up(),
        Some(Ordering::Less) if is_even => sum.next_down(),
        _ => sum,
    }
}

/// Nothing below zero: `.relu`.
pub(crate) fn relu(value: f64) -> f64 {
    if value <= 0.0 { 0.0 } else { value }
}

/// The float for an integer.
pub(crate) fn from_integer(value: i128, towards: Towards) -> f32 {
    let near = value as f64;
    directed(near, (value - near as i128) as f64, towards)
}

/// Numbers too small for the usual form become zero: `.ftz`.
pub(crate) fn flush(value: f32) -> f32 {
    if value.is_subnormal() { value * 0.0 } else { value }
}

/// What is below 0 or above 1 becomes 0 or 1, and no number becomes 0: `.sat`.
pub(crate) fn saturate(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions() {
        let third = divide(1.0, 3.0, Towards::Down);
        assert!(f64::from(third) < 1.0 / 3.0);
        assert_eq!(divide(1.0, 3.0, Towards::Up), third.next_up());
        assert_eq!(divide(-1.0, 3.0, Towards::Zero), -third);
        let tiny = f32::MIN_POSITIVE;
        assert_eq!(add(1.0, tiny, Towards::Up), 1f32.next_up());
        assert_eq!(add(1.0, -tiny, Towards::Zero), 1f32.next_down());
        assert_eq!(add(1.0, tiny, Towards::Down), 1.0);
        assert_eq!(multiply(f32::MAX, 2.0, Towards::Zero), f32::MAX);
        assert_eq!(square_root(4.0, Towards::Up), 2.0);
        assert_eq!(from_integer(16_777_217, Towards::Up), 16_777_218.0);
        assert_eq!(from_integer(i128::from(u64::MAX), Towards::Zero), 1.8446743e19);
    }

    #[test]
    fn sums_that_are_rounded_again() {
        let tiny = 2f64.powi(-90);
        assert!(add_to_odd(1.0, tiny) > 1.0);
        assert!(add_to_odd(1.0, -tiny) < 1.0);
        assert_eq!(add_to_odd(1.5, 2.5), 4.0);
        assert_eq!(add_to_odd(f64::INFINITY, 1.0), f64::INFINITY);
        assert_eq!(relu(-3.0).to_bits(), 0);
        assert!(relu(f64::NAN).is_nan());
    }

    #[test]
    fn small_numbers() {
        assert_eq!(flush(-1e-40).to_bits(), (-0.0f32).to_bits());
        assert_eq!(saturate(f32::NAN), 0.0);
        assert_eq!(saturate(7.0), 1.0);
    }
}
