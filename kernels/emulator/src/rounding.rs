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

impl Towards {
    /// What `.rz` and its like mean; `.rn` is none.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "rz" => Some(Self::Zero),
            "rm" => Some(Self::Down),
            "rp" => Some(Self::Up),
            _ => None,
        }
    }

    /// The one with this number.
    pub(crate) fn of(number: u8) -> Self {
        match number {
            0 => Self::Zero,
            1 => Self::Down,
            _ => Self::Up,
        }
    }
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
    match cancels(sum, a.into(), b.into(), towards) {
        true => -0.0,
        false => directed(sum, rest, towards),
    }
}

/// Whether numbers cancel out and rounding is downwards: then their sum is -0.
fn cancels(sum: f64, a: f64, b: f64, towards: Towards) -> bool {
    towards == Towards::Down && sum == 0.0 && a.is_sign_negative() != b.is_sign_negative()
}

pub(crate) fn multiply(a: f32, b: f32, towards: Towards) -> f32 {
    directed(f64::from(a) * f64::from(b), 0.0, towards)
}

pub(crate) fn multiply_add(a: f32, b: f32, c: f32, towards: Towards) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let (sum, rest) = two_sum(product, c);
    match cancels(sum, product, c, towards) {
        true => -0.0,
        false => directed(sum, rest, towards),
    }
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

/// Operations on doubles, rounded in a direction.
pub(crate) mod double {
    use super::{Ordering, Towards, cancels, sign_of_products};

    /// The next to `near` on the other side of an exact result, which compares with `near` like
    /// this.
    fn directed(near: f64, exact: Ordering, towards: Towards) -> f64 {
        let is_below = match exact {
            Ordering::Equal => return near,
            exact => exact == Ordering::Less,
        };
        let down = match towards {
            Towards::Down => true,
            Towards::Up => false,
            Towards::Zero => near > 0.0 || near == 0.0 && !is_below,
        };
        match down {
            true if is_below => near.next_down(),
            false if !is_below => near.next_up(),
            _ => near,
        }
    }

    pub(crate) fn add(a: f64, b: f64, towards: Towards) -> f64 {
        multiply_add(a, 1.0, b, towards)
    }

    pub(crate) fn subtract(a: f64, b: f64, towards: Towards) -> f64 {
        add(a, -b, towards)
    }

    pub(crate) fn multiply(a: f64, b: f64, towards: Towards) -> f64 {
        let near = a * b;
        directed(near, sign_of_products([(a, b), (-near, 1.0)]), towards)
    }

    pub(crate) fn multiply_add(a: f64, b: f64, c: f64, towards: Towards) -> f64 {
        let near = a.mul_add(b, c);
        let exact = sign_of_products([(a, b), (c, 1.0), (-near, 1.0)]);
        let product = a.signum() * b.signum();
        match exact.is_eq() && cancels(near, product, c, towards) {
            true => -0.0,
            false => directed(near, exact, towards),
        }
    }

    pub(crate) fn divide(a: f64, b: f64, towards: Towards) -> f64 {
        let near = a / b;
        let exact = sign_of_products([(a, 1.0), (-near, b)]);
        directed(near, if b < 0.0 { exact.reverse() } else { exact }, towards)
    }

    pub(crate) fn reciprocal(a: f64, towards: Towards) -> f64 {
        divide(1.0, a, towards)
    }

    pub(crate) fn square_root(a: f64, towards: Towards) -> f64 {
        let near = a.sqrt();
        directed(near, sign_of_products([(a, 1.0), (-near, near)]), towards)
    }
}

/// Words of 32 bits that hold every product of two doubles, and sums of a few.
const WORDS: usize = 136;

/// How the exact sum of products compares with zero. If there is no such sum but an infinite one
/// that was rounded, only the last product is infinite.
fn sign_of_products<const COUNT: usize>(products: [(f64, f64); COUNT]) -> Ordering {
    let is_finite = |(a, b): (f64, f64)| a.is_finite() && b.is_finite();
    if !products.into_iter().all(is_finite) {
        let (last, others) = products.split_last().expect("there are some");
        let overflow = others.iter().all(|product| is_finite(*product)) && last.0.is_infinite();
        return match overflow && last.1.is_finite() && last.1 != 0.0 {
            true if (last.0 > 0.0) == (last.1 > 0.0) => Ordering::Greater,
            true => Ordering::Less,
            false => Ordering::Equal,
        };
    }
    // In units of the square of the smallest double, those below zero apart from the others.
    let mut sums = [[0u64; WORDS]; 2];
    for (a, b) in products {
        let parts = |value: f64| {
            let (exponent, fraction) = (value.to_bits() >> 52 & 0x7ff, value.to_bits() << 12 >> 12);
            (fraction | u64::from(exponent > 0) << 52, exponent.max(1) - 1)
        };
        let ((a_fraction, a_shift), (b_fraction, b_shift)) = (parts(a), parts(b));
        let shift = (a_shift + b_shift) as usize;
        let is_negative = a.is_sign_negative() != b.is_sign_negative();
        let product = u128::from(a_fraction) * u128::from(b_fraction);
        // Of 106 bits, shifted by less than a word.
        let (low, high) = (product as u64, (product >> 64) as u64);
        let words = [low & 0xffff_ffff, low >> 32, high & 0xffff_ffff, high >> 32];
        for (place, word) in words.into_iter().enumerate() {
            let shifted = word << (shift % 32);
            sums[usize::from(is_negative)][shift / 32 + place] += shifted & 0xffff_ffff;
            sums[usize::from(is_negative)][shift / 32 + place + 1] += shifted >> 32;
        }
    }
    for sum in &mut sums {
        for place in 1..WORDS {
            sum[place] += sum[place - 1] >> 32;
            sum[place - 1] &= 0xffff_ffff;
        }
    }
    let [above, below] = sums;
    above.iter().rev().cmp(below.iter().rev())
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

/// The double for an integer.
pub(crate) fn double_from_integer(value: i128, towards: Towards) -> f64 {
    let near = value as f64;
    match (value.cmp(&(near as i128)), towards) {
        (Ordering::Less, Towards::Down) => near.next_down(),
        (Ordering::Greater, Towards::Up) => near.next_up(),
        (Ordering::Less, Towards::Zero) if value > 0 => near.next_down(),
        (Ordering::Greater, Towards::Zero) if value < 0 => near.next_up(),
        _ => near,
    }
}

/// The integer as a double whose last bit is set if it lost something, so that rounding it to
/// fewer bits is right.
pub(crate) fn integer_to_odd(value: i128) -> f64 {
    let near = value as f64;
    add_to_odd(near, (value - near as i128) as f64)
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
        assert_eq!(add(1.0, -1.0, Towards::Down).to_bits(), 1 << 31);
        assert_eq!(multiply_add(1.0, -2.0, 2.0, Towards::Down).to_bits(), 1 << 31);
        assert_eq!(multiply_add(1.0, -2.0, 2.0, Towards::Zero).to_bits(), 0);
        assert_eq!(multiply(f32::MAX, 2.0, Towards::Zero), f32::MAX);
        assert_eq!(square_root(4.0, Towards::Up), 2.0);
        assert_eq!(from_integer(16_777_217, Towards::Up), 16_777_218.0);
        assert_eq!(from_integer(i128::from(u64::MAX), Towards::Zero), 1.8446743e19);
    }

    #[test]
    fn directions_of_doubles() {
        let tiny = f64::from_bits(1);
        assert_eq!(double::add(1.0, tiny, Towards::Up), 1f64.next_up());
        assert_eq!(double::add(1.0, -tiny, Towards::Zero), 1f64.next_down());
        assert_eq!(double::add(1.0, tiny, Towards::Down), 1.0);
        assert_eq!(double::add(2.5, -2.5, Towards::Down).to_bits(), 1 << 63);
        assert_eq!(double::add(2.5, -2.5, Towards::Up).to_bits(), 0);
        assert_eq!(double::multiply(f64::MAX, 2.0, Towards::Zero), f64::MAX);
        assert_eq!(double::multiply(-f64::MAX, 2.0, Towards::Up), -f64::MAX);
        assert_eq!(double::multiply(tiny, 0.5, Towards::Up), tiny);
        assert_eq!(double::multiply(tiny, -0.5, Towards::Down), -tiny);
        assert_eq!(double::multiply(tiny, 0.5, Towards::Zero).to_bits(), 0);
        let third = double::divide(1.0, 3.0, Towards::Down);
        assert_eq!(double::divide(1.0, 3.0, Towards::Up), third.next_up());
        assert_eq!(double::divide(-1.0, 3.0, Towards::Zero), -third);
        assert_eq!(double::divide(1.0, -3.0, Towards::Down), -third.next_up());
        assert_eq!(double::divide(1.0, 0.0, Towards::Zero), f64::INFINITY);
        assert_eq!(double::square_root(4.0, Towards::Up), 2.0);
        let root = double::square_root(2.0, Towards::Down);
        assert_eq!(double::square_root(2.0, Towards::Up), root.next_up());
        let fused = double::multiply_add(1e300, 1e300, -tiny, Towards::Zero);
        assert_eq!(fused, f64::MAX);
        let two_60 = 2f64.powi(60);
        assert_eq!(double_from_integer((1 << 60) + 1, Towards::Up), two_60.next_up());
        assert_eq!(double_from_integer((1 << 60) + 1, Towards::Zero), two_60);
        assert_eq!(double_from_integer(-(1 << 60) - 1, Towards::Down), (-two_60).next_down());
        assert!(integer_to_odd((1 << 60) + 1) > two_60);
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
