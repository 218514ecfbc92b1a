//! Numbers of 16 bits: `f16`, and `bf16`, which is the upper half of an `f32`.

/// An `f16`: 1 bit of sign, 5 of exponent, 10 of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct F16(pub(crate) u16);

/// A `bf16`: 1 bit of sign, 8 of exponent, 7 of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bf16(pub(crate) u16);

impl F16 {
    pub(crate) fn to_f64(self) -> f64 {
        let sign = if self.0 >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (self.0 >> 10 & 31, f64::from(self.0 & 1023));
        sign * match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1.0 + fraction / 1024.0) * 2f64.powi(i32::from(exponent) - 15),
        }
    }

    /// The nearest; of two that are equally near, the even one.
    pub(crate) fn from_f64(value: f64) -> Self {
        Self::scaled(value, f64::round_ties_even)
    }

    /// The nearest that is not further from zero.
    pub(crate) fn truncated(value: f64) -> Self {
        Self::scaled(value, f64::trunc)
    }

    fn scaled(value: f64, round: fn(f64) -> f64) -> Self {
        let sign = if value.is_sign_negative() { 1 << 15 } else { 0 };
        let size = value.abs();
        if value.is_nan() {
            return Self(0x7fff);
        }
        // One unit in the last place is 2^(exponent - 10), and 2^-24 at least.
        let exponent = (size.to_bits() >> 52) as i32 - 1023;
        let unit = 2f64.powi((exponent - 10).max(-24));
        let rounded = round(size / unit) * unit;
        if rounded > 65504.0 {
            let largest = size.is_finite() && round(0.9) == 0.0;
            return Self(sign | if largest { 0x7bff } else { 0x7c00 });
        }
        if rounded < 2f64.powi(-14) {
            return Self(sign | (rounded * 2f64.powi(24)) as u16);
        }
        let exponent = (rounded.to_bits() >> 52) as i32 - 1023;
        let fraction = (rounded / 2f64.powi(exponent) - 1.0) * 1024.0;
        Self(sign | ((exponent + 15) as u16) << 10 | fraction as u16)
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
}

/// Computes in double precision with both halves of registers of 32 bits.
pub(crate) fn each_half<const COUNT: usize>(
    operands: [u32; COUNT],
    operation: fn([f64; COUNT]) -> f64,
) -> u32 {
    let at = |shift: u32| {
        let numbers = operands.map(|bits| F16((bits >> shift) as u16).to_f64());
        u32::from(F16::from_f64(operation(numbers)).0)
    };
    at(0) | at(16) << 16
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
                assert_eq!(F16::truncated(value).0, bits, "{value}");
            }
        }
    }

    #[test]
    fn f16_rounds_to_the_nearest_and_to_even() {
        assert_eq!(F16::from_f64(1.0 + 2f64.powi(-11)).0, 0x3c00);
        assert_eq!(F16::from_f64(1.0 + 3.0 * 2f64.powi(-11)).0, 0x3c02);
        assert_eq!(F16::from_f64(65519.9).0, 0x7bff);
        assert_eq!(F16::from_f64(65520.0).0, 0x7c00);
        assert_eq!(F16::truncated(1e9).0, 0x7bff);
        assert_eq!(F16::from_f64(2f64.powi(-25)).0, 0);
        assert_eq!(F16::from_f64(-1e-9).0, 0x8000);
    }

    #[test]
    fn bf16_rounds_to_the_nearest_and_to_even() {
        assert_eq!(Bf16::from_f32(1.0).0, 0x3f80);
        assert_eq!(Bf16::from_f32(1.0 + 2f32.powi(-8)).0, 0x3f80);
        assert_eq!(Bf16::from_f32(1.0 + 3.0 * 2f32.powi(-8)).0, 0x3f82);
        assert_eq!(Bf16::from_f32(f32::INFINITY).to_f32(), f32::INFINITY);
    }
}
