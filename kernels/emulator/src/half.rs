//! Numbers of 16 and of 8 bits: `f16`; `bf16`, which is the upper half of an `f32`; `e4m3` and
//! `e5m2`, which have their bits of exponent and of fraction in their names.

use crate::rounding::{Towards, directed};

/// An `f16`: 1 bit of sign, 5 of exponent, 10 of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct F16(pub(crate) u16);

/// An `f16` that is zero if it is too small for the usual form: `.ftz`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FlushedF16(pub(crate) u16);

/// A `bf16`: 1 bit of sign, 8 of exponent, 7 of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bf16(pub(crate) u16);

/// An `e4m3`, which has no infinity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct E4m3(pub(crate) u8);

/// An `e5m2`: the upper half of an `f16`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct E5m2(pub(crate) u8);

/// A number that a pair in a register of 32 bits is made of.
pub(crate) trait Half: Copy {
    fn of_bits(bits: u16) -> Self;
    fn bits(self) -> u16;
    fn value(self) -> f64;
    /// The nearest; of two that are equally near, the even one.
    fn nearest(value: f64) -> Self;
}

impl F16 {
    pub(crate) fn to_f64(self) -> f64 {
        let size = u32::from(self.0 & 0x7fff) << 13;
        let size = match self.0 & 0x7c00 {
            0x7c00 => f32::from_bits(0x7f80_0000 | size),
            // Its exponent counts from -15, that of an `f32` from -127.
            _ => f32::from_bits(size) * 2f32.powi(112),
        };
        f64::from(if self.0 >> 15 == 1 { -size } else { size })
    }

    /// The nearest; of two that are equally near, the even one.
    pub(crate) fn from_f64(value: f64) -> Self {
        Self::rounded(value, f64::round_ties_even)
    }

    /// The next in a direction, unless it is the number itself.
    pub(crate) fn directed(value: f64, towards: Towards) -> Self {
        let is_further = match towards {
            Towards::Zero => false,
            Towards::Down => value.is_sign_negative(),
            Towards::Up => value.is_sign_positive(),
        };
        Self::rounded(value, if is_further { f64::ceil } else { f64::trunc })
    }

    fn rounded(value: f64, round: fn(f64) -> f64) -> Self {
        let sign = if value.is_sign_negative() { 1 << 15 } else { 0 };
        if value.is_nan() {
            return Self(0x7fff);
        }
        let code = code(value.abs(), 10, 15, round);
        let largest = value.is_finite() && round(0.9) == 0.0; // it truncates
        Self(sign | code.min(if largest { 0x7bff } else { 0x7c00 }) as u16)
    }
}

impl Bf16 {
    pub(crate) fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    /// The nearest; of two that are equally near, the even one.
    pub(crate) fn from_f32(value: f32) -> Self {
        if value.is_nan() {
            return Self(0x7fff);
        }
        let bits = value.to_bits();
        let up = 0x7fff + (bits >> 16 & 1);
        Self((bits.wrapping_add(up) >> 16) as u16)
    }

    /// The nearest that is not further from zero.
    pub(crate) fn truncated(value: f32) -> Self {
        match value.is_nan() {
            true => Self(0x7fff),
            false => Self((value.to_bits() >> 16) as u16),
        }
    }
}

impl Half for F16 {
    fn of_bits(bits: u16) -> Self {
        Self(bits)
    }

    fn bits(self) -> u16 {
        self.0
    }

    fn value(self) -> f64 {
        self.to_f64()
    }

    fn nearest(value: f64) -> Self {
        Self::from_f64(value)
    }
}

impl Half for FlushedF16 {
    fn of_bits(bits: u16) -> Self {
        Self(if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits })
    }

    fn bits(self) -> u16 {
        self.0
    }

    fn value(self) -> f64 {
        F16(Self::of_bits(self.0).0).to_f64()
    }

    fn nearest(value: f64) -> Self {
        Self::of_bits(F16::from_f64(value).0)
    }
}

impl Half for Bf16 {
    fn of_bits(bits: u16) -> Self {
        Self(bits)
    }

    fn bits(self) -> u16 {
        self.0
    }

    fn value(self) -> f64 {
        self.to_f32().into()
    }

    fn nearest(value: f64) -> Self {
        // A last bit that is set says that something is below it.
        let near = directed(value, 0.0, Towards::Zero);
        let rest = u32::from(f64::from(near) != value && !value.is_nan());
        Self::from_f32(f32::from_bits(near.to_bits() | rest))
    }
}

impl E4m3 {
    pub(crate) fn to_f64(self) -> f64 {
        let size = match self.0 & 0x7f {
            0x7f => f32::NAN,
            bits => f32::from_bits(u32::from(bits) << 20) * 2f32.powi(120),
        };
        f64::from(if self.0 >> 7 == 1 { -size } else { size })
    }

    /// The nearest, and the largest for what is larger.
    pub(crate) fn from_f64(value: f64) -> Self {
        Self(of_8_bits(value, 3, 7, 0x7e))
    }
}

impl E5m2 {
    pub(crate) fn to_f64(self) -> f64 {
        F16(u16::from(self.0) << 8).to_f64()
    }

    /// The nearest, and the largest for what is larger.
    pub(crate) fn from_f64(value: f64) -> Self {
        Self(of_8_bits(value, 2, 15, 0x7b))
    }
}

fn of_8_bits(value: f64, fraction: i32, bias: i32, largest: u64) -> u8 {
    let sign = if value.is_sign_negative() { 1 << 7 } else { 0 };
    if value.is_nan() {
        return 0x7f;
    }
    let code = code(value.abs(), fraction, bias, f64::round_ties_even);
    sign | code.min(largest) as u8
}

/// The exponent and the fraction of a number that is not negative, as bits: of so many bits of
/// fraction, and an exponent that counts from `-bias`.
fn code(size: f64, fraction: i32, bias: i32, round: fn(f64) -> f64) -> u64 {
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    // In units of the last place. The first bit of it counts as one of the exponent.
    let units = round(size / 2f64.powi(exponent - fraction)) as u64;
    (((exponent + bias - 1) as u64) << fraction).saturating_add(units)
}

/// Computes in double precision with so many halves of registers of 32 bits.
pub(crate) fn each_half<H: Half, const COUNT: usize>(
    operands: [u32; COUNT],
    halves: u32,
    operation: &dyn Fn([f64; COUNT]) -> f64,
) -> u32 {
    let at = |shift: u32| {
        let numbers = operands.map(|bits| H::of_bits((bits >> shift) as u16).value());
        u32::from(H::nearest(operation(numbers)).bits())
    };
    (0..halves).map(|half| at(16 * half) << (16 * half)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_survives() {
        for bits in 0..=u16::MAX {
            let value = F16(bits).to_f64();
            if value.is_nan() {
                assert_eq!(F16::from_f64(value).0 & 0x7fff, 0x7fff);
            } else {
                assert_eq!(F16::from_f64(value).0, bits, "{value}");
                assert_eq!(F16::directed(value, Towards::Zero).0, bits, "{value}");
                assert_eq!(F16::directed(value, Towards::Up).0, bits, "{value}");
            }
        }
    }

    #[test]
    fn the_same_as_the_crate_half() {
        use ::half::{bf16, f16};
        for bits in 0..u16::MAX {
            let (number, next) = (f16::from_bits(bits), f16::from_bits(bits + 1));
            if number.is_finite() && next.is_finite() {
                assert_eq!(F16(bits).to_f64(), number.to_f64());
                let half_way = (number.to_f32() + next.to_f32()) / 2.0;
                for value in [half_way.next_down(), half_way, half_way.next_up()] {
                    let expected = f16::from_f32(value).to_bits();
                    assert_eq!(F16::from_f64(value.into()).0, expected, "{value}");
                }
            }
            let number = bf16::from_bits(bits);
            if number.is_finite() {
                assert_eq!(Bf16(bits).to_f32(), number.to_f32());
                let half_way = f32::from_bits(u32::from(bits) << 16 | 1 << 15);
                for value in [half_way.next_down(), half_way, half_way.next_up()] {
                    let expected = bf16::from_f32(value).to_bits();
                    assert_eq!(Bf16::from_f32(value).0, expected, "{value}");
                }
            }
        }
    }

    #[test]
    fn f16_rounds_to_the_nearest_and_to_even() {
        assert_eq!(F16(0x3c01).to_f64(), 1.0 + 2f64.powi(-10));
        assert_eq!(F16(0x8001).to_f64(), -(2f64.powi(-24)));
        assert_eq!(F16(0xfc00).to_f64(), f64::NEG_INFINITY);
        assert_eq!(F16::from_f64(1.0 + 2f64.powi(-11)).0, 0x3c00);
        assert_eq!(F16::from_f64(1.0 + 3.0 * 2f64.powi(-11)).0, 0x3c02);
        assert_eq!(F16::from_f64(65519.9).0, 0x7bff);
        assert_eq!(F16::from_f64(65520.0).0, 0x7c00);
        assert_eq!(F16::from_f64(f64::INFINITY).0, 0x7c00);
        assert_eq!(F16::directed(1e9, Towards::Zero).0, 0x7bff);
        assert_eq!(F16::directed(1e9, Towards::Up).0, 0x7c00);
        assert_eq!(F16::directed(-1e-9, Towards::Down).0, 0x8001);
        assert_eq!(F16::directed(-1e-9, Towards::Up).0, 0x8000);
        assert_eq!(F16::directed(f64::NEG_INFINITY, Towards::Zero).0, 0xfc00);
        assert_eq!(F16::from_f64(2f64.powi(-25)).0, 0);
        assert_eq!(F16::from_f64(-1e-9).0, 0x8000);
    }

    #[test]
    fn bf16_rounds_to_the_nearest_and_to_even() {
        assert_eq!(Bf16::from_f32(1.0).0, 0x3f80);
        assert_eq!(Bf16::from_f32(1.0 + 2f32.powi(-8)).0, 0x3f80);
        assert_eq!(Bf16::from_f32(1.0 + 3.0 * 2f32.powi(-8)).0, 0x3f82);
        assert_eq!(Bf16::from_f32(f32::INFINITY).to_f32(), f32::INFINITY);
        // Rounded once: a little more than half way between two.
        let half_way = 1.0 + 2f64.powi(-8);
        assert_eq!(Bf16::nearest(half_way).0, 0x3f80);
        assert_eq!(Bf16::nearest(half_way + 2f64.powi(-40)).0, 0x3f81);
        assert_eq!(Bf16::nearest(-1e300).to_f32(), f32::NEG_INFINITY);
        assert_eq!(Bf16::truncated(1.9999).to_f32(), 1.9921875);
    }

    #[test]
    fn numbers_of_8_bits() {
        for bits in 0..=u8::MAX {
            let (small, wide) = (E4m3(bits).to_f64(), E5m2(bits).to_f64());
            if small.is_finite() {
                assert_eq!(E4m3::from_f64(small).0, bits);
            }
            if wide.is_finite() {
                assert_eq!(E5m2::from_f64(wide).0, bits);
            }
        }
        assert_eq!(E4m3(0x7e).to_f64(), 448.0);
        assert_eq!(E4m3(0x01).to_f64(), 2f64.powi(-9));
        assert_eq!(E4m3::from_f64(1e9).to_f64(), 448.0);
        assert_eq!(E4m3::from_f64(f64::NEG_INFINITY).to_f64(), -448.0);
        assert_eq!(E4m3::from_f64(f64::NAN).0, 0x7f);
        assert_eq!(E4m3::from_f64(17.0).to_f64(), 16.0);
        assert_eq!(E4m3::from_f64(19.0).to_f64(), 20.0);
        assert_eq!(E5m2::from_f64(1e9).to_f64(), 57344.0);
        assert!(E5m2(0x7f).to_f64().is_nan());
    }
}
