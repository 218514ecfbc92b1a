//! How long does the host take for the same product?
//!
//! With a library that is written for the CPU's caches and vectors. It uses at most four
//! threads, however many there are.

use lab::{Case, Lab, Result};

use crate::matrix::Product;

pub(crate) fn measure(lab: &mut Lab, n: usize) -> Result<()> {
    let product = Product::new(n);
    let (a, b) = (product.left::<f32>(), product.right::<f32>());
    let (mut c, expected) = (vec![0.0; n * n], product.expected::<f32>());
    let down = n as isize;
    Case::new("host")
        .with("way", "library")
        .with("side", n)
        .computes(2 * n * n * n)
        .time_on_host(lab, || {
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            // SAFETY: three matrices of n * n elements, row by row.
            unsafe {
                matrixmultiply::sgemm(
                    n, n, n, 1.0, a, down, 1, b, down, 1, 0.0, c, down, 1,
                );
            }
            Ok(())
        })?
        .check(&c, |i| expected[i])?
        .record(lab)
}
