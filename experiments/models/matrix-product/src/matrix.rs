//! What is in the matrices, what their product must be, and what a way to multiply is.

use cudarc::driver::CudaSlice;
use lab::{Result, check};

use crate::tensor::Clocked;

/// A number format of matrices.
pub(crate) trait Element:
    PartialEq + std::fmt::Display + Copy + Default + Sync
{
    /// The name in the record.
    const NAME: &'static str;
    /// The nearest number of the format; ties go to the even one.
    fn nearest(number: f32) -> Self;
    /// The number itself.
    fn number(self) -> f64;
}

impl Element for f32 {
    const NAME: &'static str = "f32";
    fn nearest(number: f32) -> f32 {
        number
    }
    fn number(self) -> f64 {
        self.into()
    }
}

/// The bits of a BF16.
impl Element for u16 {
    const NAME: &'static str = "bf16";
    fn nearest(number: f32) -> u16 {
        half::bf16::from_f32(number).to_bits()
    }
    fn number(self) -> f64 {
        half::bf16::from_bits(self).into()
    }
}

/// The bits of an E4M3, an FP8 with 4 bits of exponent and 3 of mantissa. Only operands are of
/// this format: whole numbers up to 16, which it has.
impl Element for u8 {
    const NAME: &'static str = "e4m3";
    fn nearest(number: f32) -> u8 {
        assert!(number.fract() == 0.0 && number.abs() <= 16.0, "{number}");
        // The sign, 8 bits of exponent and 3 of mantissa; the lowest exponent is 120 less.
        let bits = number.to_bits() >> 20;
        let magnitude = (bits & 0x7ff).saturating_sub(120 << 3);
        (bits >> 4 & 0x80 | magnitude) as u8
    }
    /// Of what `nearest` makes: nothing below 2⁻⁶ but zero.
    fn number(self) -> f64 {
        let bits = u32::from(self);
        let magnitude =
            if bits & 0x7f == 0 { 0 } else { (bits & 0x7f) + (120 << 3) };
        f32::from_bits((bits & 0x80) << 24 | magnitude << 20).into()
    }
}

/// Two matrices of n × n whose product is known without multiplying them. Each is the sum of
/// two columns times rows of small whole numbers, so the product needs few operations, and every
/// sum on the way to it is a whole number that a float holds exactly.
pub(crate) struct Product {
    left: [[Vec<i32>; 2]; 2],
    right: [[Vec<i32>; 2]; 2],
}

impl Product {
    /// Matrices of `side` × `side`.
    pub(crate) fn new(side: usize) -> Product {
        // -1 to 2, without a pattern.
        let small = |which: usize| -> Vec<i32> {
            (0..side)
                .map(|i| (check::value(8 * i + which) >> 30) as i32 - 1)
                .collect()
        };
        let pair = |which| [small(which), small(which + 1)];
        Product { left: [pair(0), pair(2)], right: [pair(4), pair(6)] }
    }

    pub(crate) fn side(&self) -> usize {
        self.left[0][0].len()
    }

    /// The left matrix, row by row.
    pub(crate) fn left<T: Element>(&self) -> Vec<T> {
        sum(&self.left)
    }

    /// The right matrix, row by row.
    pub(crate) fn right<T: Element>(&self) -> Vec<T> {
        sum(&self.right)
    }

    /// The right matrix, column by column.
    pub(crate) fn right_by_columns<T: Element>(&self) -> Vec<T> {
        sum(&self.right.clone().map(|[down, across]| [across, down]))
    }

    /// Their product, row by row, rounded once.
    pub(crate) fn expected<T: Element>(&self) -> Vec<T> {
        let dot =
            |a: &[i32], b: &[i32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i32>();
        let side = self.side();
        let mut rows = [vec![0; side], vec![0; side]];
        for (row, [_, across]) in rows.iter_mut().zip(&self.left) {
            for [down, right] in &self.right {
                let factor = dot(across, down);
                row.iter_mut().zip(right).for_each(|(x, y)| *x += factor * y);
            }
        }
        let [first, second] = &self.left;
        let element = |i: usize, j: usize| {
            first[0][i] * rows[0][j] + second[0][i] * rows[1][j]
        };
        (0..side * side)
            .map(|at| T::nearest(element(at / side, at % side) as f32))
            .collect()
    }
}

/// The sum of two columns times rows.
fn sum<T: Element>(of: &[[Vec<i32>; 2]; 2]) -> Vec<T> {
    let side = of[0][0].len();
    let element = |i: usize, j: usize| {
        of.iter().map(|[down, across]| down[i] * across[j]).sum::<i32>()
    };
    (0..side * side)
        .map(|at| T::nearest(element(at / side, at % side) as f32))
        .collect()
}

/// A kernel or a library that multiplies.
pub(crate) struct Multiplier<T> {
    /// The name in the record.
    pub(crate) name: &'static str,
    /// The side has to be a multiple of this.
    pub(crate) multiple_of: usize,
    /// The longest side that does not take too long to be measured.
    pub(crate) largest: usize,
    /// c = a · b for matrices of n × n: (a, b, c, n).
    pub(crate) multiply: Box<Multiply<T>>,
}

type Multiply<T> =
    dyn Fn(&CudaSlice<T>, &CudaSlice<T>, &mut CudaSlice<T>, usize) -> Result<()>;

impl<T> Multiplier<T> {
    /// One that takes all sides.
    pub(crate) fn new<F>(name: &'static str, multiply: F) -> Multiplier<T>
    where
        F: Fn(&CudaSlice<T>, &CudaSlice<T>, &mut CudaSlice<T>, usize) -> Result<()>
            + 'static,
    {
        let multiply = Box::new(multiply);
        Multiplier { name, multiple_of: 1, largest: usize::MAX, multiply }
    }

    pub(crate) fn takes(&self, n: usize) -> bool {
        n.is_multiple_of(self.multiple_of)
    }
}

/// What multiplies floats, and what multiplies BF16; and what counts the clock meanwhile.
#[derive(Default)]
pub(crate) struct Multipliers {
    pub(crate) floats: Vec<Multiplier<f32>>,
    pub(crate) halves: Vec<Multiplier<u16>>,
    pub(crate) clocked: Option<Clocked>,
}

#[cfg(test)]
mod tests {
    use super::{Element, Product};

    #[test]
    fn the_product_is_that_of_the_matrices() {
        let side = 9;
        let product = Product::new(side);
        let (a, b) = (product.left::<f32>(), product.right::<f32>());
        let element = |at: usize| -> f32 {
            let (i, j) = (at / side, at % side);
            (0..side).map(|k| a[i * side + k] * b[k * side + j]).sum()
        };
        let expected: Vec<f32> = (0..side * side).map(element).collect();
        assert_eq!(product.expected::<f32>(), expected);
        let by_columns = product.right_by_columns::<f32>();
        let turned = |at: usize| b[at % side * side + at / side];
        assert!(by_columns.into_iter().eq((0..side * side).map(turned)));
    }

    #[test]
    fn small_whole_numbers_as_e4m3() {
        let bits = [0.0, 1.0, 2.0, 3.0, 16.0, -1.0].map(u8::nearest);
        assert_eq!(bits, [0, 0x38, 0x40, 0x44, 0x58, 0xb8]);
        assert_eq!(bits.map(Element::number), [0.0, 1.0, 2.0, 3.0, 16.0, -1.0]);
    }
}
