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
