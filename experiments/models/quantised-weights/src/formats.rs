//! Rounding: how a row of floats becomes a row of narrower numbers, and what these stand
//! for. It is done on the host, once; the kernels undo it for each product.

use half::{bf16, f16};

/// What a weight is stored as.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    Fp32,
    Fp16,
    Bf16,
    /// A whole number of so many bits, times the scale of its group.
    Integer(usize),
}

impl Format {
    /// Bits of a weight, without scales.
    pub(crate) fn bits(self) -> usize {
        match self {
            Format::Fp32 => 32,
            Format::Fp16 | Format::Bf16 => 16,
            Format::Integer(bits) => bits,
        }
    }
}

/// A format, the kernel that multiplies with it, and how many weights share a scale.
#[derive(Clone, Copy)]
pub(crate) struct Scheme {
    pub(crate) kernel: &'static str,
    pub(crate) format: Format,
    pub(crate) unpacking: &'static str,
    /// 2^`group_bits` neighbours in a row.
    pub(crate) group_bits: u32,
    /// Rows that a warp takes at once.
    pub(crate) rows: usize,
    /// How far the sum of so many terms may be off, as a share of what they add up to without
    /// their signs.
    pub(crate) rounding: fn(usize) -> f64,
}

/// 4096 roundings of FP32 in a random walk, and room for an unlucky one.
pub(crate) fn of_floats(_: usize) -> f64 {
    1e-5
}

/// x is rounded to FP16, and so is the sum of up to 16 terms: in a random walk as well.
pub(crate) fn of_halves(terms: usize) -> f64 {
    8e-3 / (terms as f64).sqrt()
}

impl Scheme {
    pub(crate) fn of(
        (kernel, format, unpacking): (&'static str, Format, &'static str),
    ) -> Scheme {
        let group_bits = crate::GROUP_BITS;
        let (rows, rounding) = (4, of_floats as fn(usize) -> f64);
        Scheme { kernel, format, unpacking, group_bits, rows, rounding }
    }
}

/// Rows in a format: words that weights are packed into, the first in the lowest bits;
/// scales, as bits of FP16; and the numbers that these stand for.
#[derive(Default)]
pub(crate) struct Packed {
    pub(crate) words: Vec<u32>,
    pub(crate) scales: Vec<u16>,
    pub(crate) values: Vec<f32>,
}

/// Rounds and packs rows of `columns` weights.
pub(crate) fn pack(weights: &[f32], columns: usize, scheme: Scheme) -> Packed {
    let mut packed = Packed::default();
    let mut stored: Vec<u32> = vec![];
    for group in
        weights.chunks(columns).flat_map(|row| row.chunks(1 << scheme.group_bits))
    {
        match scheme.format {
            Format::Fp32 => stored.extend(group.iter().map(|w| w.to_bits())),
            Format::Fp16 => {
                stored.extend(
                    group.iter().map(|w| u32::from(f16::from_f32(*w).to_bits())),
                );
            }
            Format::Bf16 => {
                stored.extend(
                    group.iter().map(|w| u32::from(bf16::from_f32(*w).to_bits())),
                );
            }
            Format::Integer(bits) => {
                let (scale, whole) = quantise(group, bits);
                packed.scales.push(scale.to_bits());
                packed
                    .values
                    .extend(whole.iter().map(|q| *q as f32 * scale.to_f32()));
                stored.extend(whole.iter().map(|q| *q as u32 & ((1 << bits) - 1)));
            }
        }
    }
    packed.values.extend(stored.iter().filter_map(|bits| match scheme.format {
        Format::Fp32 => Some(f32::from_bits(*bits)),
        Format::Fp16 => Some(f16::from_bits(*bits as u16).to_f32()),
        Format::Bf16 => Some(bf16::from_bits(*bits as u16).to_f32()),
        Format::Integer(_) => None,
    }));
    let bits = scheme.format.bits();
    let word = |some: &[u32]| {
        some.iter().rev().fold(0u64, |word, w| word << bits | u64::from(*w))
    };
    packed.words = stored.chunks(32 / bits).map(|some| word(some) as u32).collect();
    packed
}

// ANCHOR: quantise
/// The nearest whole numbers of so many bits, times one scale: the largest weight of the
/// group becomes the largest number, 7 with 4 bits. (-8 is not used, so that zero is in
/// the middle.)
fn quantise(group: &[f32], bits: usize) -> (f16, Vec<i32>) {
    let most = (1 << (bits - 1)) - 1;
    let largest = group.iter().fold(0.0f32, |largest, w| largest.max(w.abs()));
    let scale = f16::from_f32(largest / most as f32);
    let nearest = |w: &f32| (w / scale.to_f32()).round() as i32;
    (scale, group.iter().map(|w| nearest(w).clamp(-most, most)).collect())
}
// ANCHOR_END: quantise

#[cfg(test)]
mod tests {
    use super::{Format, Scheme, pack};

    const COLUMNS: usize = 256;

    fn weights() -> Vec<f32> {
        (0..2 * COLUMNS).map(|i| ((37 * i % 101) as f32 - 50.0) / 64.0).collect()
    }

    #[test]
    fn whole_numbers_are_at_most_half_a_step_off() {
        for bits in [4, 8] {
            let scheme = Scheme::of(("", Format::Integer(bits), ""));
            let packed = pack(&weights(), COLUMNS, scheme);
            assert_eq!(packed.words.len(), 2 * COLUMNS * bits / 32);
            assert_eq!(packed.scales.len(), (2 * COLUMNS) >> scheme.group_bits);
            // The scale is rounded to FP16, so the step may be 2⁻¹¹ longer.
            let step = 50.0 / 64.0 / ((1 << (bits - 1)) - 1) as f32 * 1.001;
            for (weight, value) in weights().iter().zip(&packed.values) {
                assert!((weight - value).abs() <= step / 2.0, "{weight}: {value}");
            }
        }
    }

    #[test]
    fn the_first_weight_is_in_the_lowest_bits() {
        let scheme = Scheme::of(("", Format::Fp16, ""));
        let packed = pack(&[1.0, -2.0, 0.5, 0.0], 4, scheme);
        assert_eq!(packed.words, [0xc000_3c00, 0x0000_3800]);
        assert_eq!(packed.values, [1.0, -2.0, 0.5, 0.0]);
    }
}
