//! What a number format is, and which of its numbers is the nearest to another: by
//! definition, without the kernels' bit tricks, so that each checks the other.

/// A format of binary floating-point numbers: a sign, an exponent, a fraction.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) exponent_bits: u32,
    pub(crate) fraction_bits: u32,
    /// The bit pattern of the largest finite number.
    pub(crate) largest: u32,
    /// The bit pattern of what is larger: infinity, or the largest number again.
    beyond: u32,
}

// ANCHOR: formats
pub(crate) const ALL: [Format; 6] = [
    Format::ieee("fp32", 8, 23),
    Format::ieee("tf32", 8, 10),
    Format::ieee("bf16", 8, 7),
    Format::ieee("fp16", 5, 10),
    // What is too large for a format of 8 bits becomes its largest number, as the
    // conversion instructions have it.
    Format { beyond: 0x7b, ..Format::ieee("e5m2", 5, 2) },
    // No infinity: only one pattern of each sign is not a number.
    Format { largest: 0x7e, beyond: 0x7e, ..Format::ieee("e4m3", 4, 3) },
];

/// Every pattern is a number.
pub(crate) const E2M1: Format =
    Format { largest: 0x7, beyond: 0x7, ..Format::ieee("e2m1", 2, 1) };
// ANCHOR_END: formats

impl Format {
    /// The largest exponent is for infinities and for what is not a number.
    const fn ieee(
        name: &'static str,
        exponent_bits: u32,
        fraction_bits: u32,
    ) -> Format {
        let infinity = ((1 << exponent_bits) - 1) << fraction_bits;
        let (largest, beyond) = (infinity - 1, infinity);
        Format { name, exponent_bits, fraction_bits, largest, beyond }
    }

    /// The format as the kernels take it.
    pub(crate) fn words(&self) -> [u32; 4] {
        [self.exponent_bits, self.fraction_bits, self.largest, self.beyond]
    }

    /// Bits of a number.
    pub(crate) fn bits(&self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    // ANCHOR: value
    /// The number that a bit pattern stands for.
    pub(crate) fn value(&self, pattern: u32) -> f32 {
        let sign_bit = 1 << (self.bits() - 1);
        let size = pattern & (sign_bit - 1);
        let exponent = size >> self.fraction_bits;
        let fraction = f64::from(size - (exponent << self.fraction_bits));
        let of_one = 2f64.powi(self.fraction_bits as i32); // fraction bits of a whole
        let bias = (1 << (self.exponent_bits - 1)) - 1;
        let value = match exponent {
            _ if size > self.largest && fraction > 0.0 => f64::NAN,
            _ if size > self.largest => f64::INFINITY,
            0 => fraction / of_one * 2f64.powi(1 - bias),
            _ => (1.0 + fraction / of_one) * 2f64.powi(exponent as i32 - bias),
        };
        (if pattern & sign_bit == 0 { value } else { -value }) as f32
    }
    // ANCHOR_END: value
}

/// A format with all its numbers in order, from zero on.
pub(crate) struct Rounding {
    pub(crate) format: Format,
    /// The last is where the next number would be, if the format went on. Of FP32, none.
    numbers: Vec<f64>,
}

impl Rounding {
    pub(crate) fn new(format: Format) -> Rounding {
        if format.fraction_bits == 23 {
            return Rounding { format, numbers: vec![] };
        }
        let all = 0..=format.largest;
        let mut numbers: Vec<f64> =
            all.map(|p| f64::from(format.value(p))).collect();
        let [.., before, last] = numbers[..] else { unreachable!("there are more") };
        numbers.push(last + (last - before));
        Rounding { format, numbers }
    }

    // ANCHOR: nearest
    /// The bit pattern of the number nearest to `x`; of two, the one with an even pattern.
    pub(crate) fn nearest(&self, x: f32) -> u32 {
        if self.numbers.is_empty() {
            return x.to_bits();
        }
        let sign_bit = 1 << (self.format.bits() - 1);
        if x.is_nan() {
            return sign_bit - 1;
        }
        let (size, last) = (f64::from(x.abs()), self.numbers.len() - 1);
        let upper = self.numbers.partition_point(|number| *number < size).min(last);
        let lower = upper.saturating_sub(1);
        let middle = (self.numbers[lower] + self.numbers[upper]) / 2.0;
        let is_lower = size < middle || size == middle && lower.is_multiple_of(2);
        let pattern = if is_lower { lower } else { upper } as u32;
        let is_beyond = pattern > self.format.largest;
        let pattern = if is_beyond { self.format.beyond } else { pattern };
        if x.is_sign_negative() { sign_bit | pattern } else { pattern }
    }
    // ANCHOR_END: nearest

    /// What is left of `x` in the format.
    pub(crate) fn keep(&self, x: f32) -> f32 {
        self.format.value(self.nearest(x))
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Format, Rounding};

    fn rounding(name: &str) -> Rounding {
        let is_it = |format: &Format| format.name == name;
        Rounding::new(ALL.into_iter().find(is_it).expect("a format of this name"))
    }

    #[test]
    fn largest_numbers_and_what_is_larger() {
        for (name, largest, pattern, beyond) in [
            ("bf16", 3.389_531_4e38, 0x7f7f, 0x7f80),
            ("fp16", 65_504.0, 0x7bff, 0x7c00),
            ("e5m2", 57_344.0, 0x7b, 0x7b),
            ("e4m3", 448.0, 0x7e, 0x7e),
        ] {
            let rounding = rounding(name);
            assert_eq!(rounding.nearest(largest), pattern, "{name}");
            assert_eq!(rounding.format.value(pattern), largest, "{name}");
            assert_eq!(rounding.nearest(f32::INFINITY), beyond, "{name}");
        }
    }

    #[test]
    fn counting_ends_where_one_is_half_a_step() {
        for (name, end) in [("bf16", 256.0), ("fp16", 2048.0), ("e4m3", 16.0)] {
            let rounding = rounding(name);
            let sum = (0..4096).fold(0.0, |sum, _| rounding.keep(sum + 1.0));
            assert_eq!(sum, end, "{name}");
        }
    }

    #[test]
    fn every_number_of_a_format_is_the_nearest_to_itself() {
        for name in ["tf32", "bf16", "fp16", "e5m2", "e4m3"] {
            let rounding = rounding(name);
            let format = rounding.format;
            for pattern in 0..=format.largest {
                assert_eq!(
                    rounding.nearest(format.value(pattern)),
                    pattern,
                    "{name}"
                );
            }
        }
    }
}
