//! The matrices, and what a way to transpose one is.

use cudarc::driver::CudaSlice;
use lab::{Case, Result, check};

pub(crate) type Matrix = CudaSlice<u32>;
type Transpose = dyn Fn(&Shape, &Matrix, &mut Matrix) -> Result<()>;

/// A matrix of `height` rows of `width` elements.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Shape {
    pub(crate) fn elements(&self) -> usize {
        self.width * self.height
    }

    pub(crate) fn is_square(&self) -> bool {
        self.width == self.height
    }

    pub(crate) fn case(&self, name: &str) -> Case {
        if self.is_square() {
            return Case::new(name).with("side", self.width);
        }
        let case = Case::new("rectangle").with("kind", name);
        case.with("width", self.width).with("height", self.height)
    }

    pub(crate) fn input(&self) -> Vec<u32> {
        (0..self.elements()).map(element).collect()
    }

    /// Row x, column y of the output must be row y, column x of the input.
    pub(crate) fn transposed(&self) -> Vec<u32> {
        let column = |x| (0..self.height).map(move |y| element(y * self.width + x));
        (0..self.width).flat_map(column).collect()
    }
}

/// Element i holds i times an odd constant modulo 2²⁸, all different up to 16384², so
/// that an element in a wrong place shows; and above a number that makes it a normal
/// float and never zero, because cuBLAS multiplies by one, which keeps no other bits.
fn element(i: usize) -> u32 {
    0x2000_0000 + (check::value(i) & 0x0fff_ffff)
}

/// A way to transpose.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// Whether rows have to begin at multiples of 16 bytes.
    pub(crate) aligned: bool,
    pub(crate) transpose: Box<Transpose>,
}

impl Way {
    pub(crate) fn takes(&self, shape: &Shape) -> bool {
        !self.aligned
            || (shape.width.is_multiple_of(4) && shape.height.is_multiple_of(4))
    }
}
