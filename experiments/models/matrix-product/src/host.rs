//! How long does the host take for the same product?
//!
//! With a library that is written for the CPU's caches and vectors, on all cores: each
//! computes some rows of the product, and packs the right-hand matrix for itself. And on one.

use lab::{Case, Lab, Result};
use rayon::prelude::*;

use crate::matrix::Product;

pub(crate) fn measure(lab: &mut Lab, n: usize) -> Result<()> {
    let product = Product::new(n);
    let (a, b) = (product.left::<f32>(), product.right::<f32>());
    let (mut c, expected) = (vec![0.0; n * n], product.expected::<f32>());
    let cores = rayon::current_num_threads();
    for (way, rows) in [("library", n.div_ceil(cores)), ("one_core", n)] {
        let down = n as isize;
        c.fill(0.0);
        Case::new("host")
            .with("way", way)
            .with("side", n)
            .computes(2 * n * n * n)
            .time_on_host(lab, || {
                let shares = c.par_chunks_mut(rows * n).zip(a.par_chunks(rows * n));
                shares.for_each(|(c, a)| {
                    let (rows, a, b, c) =
                        (a.len() / n, a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                    // SAFETY: `a` and `c` are `rows` rows of n elements, and `b` is n of them.
                    unsafe {
                        matrixmultiply::sgemm(
                            rows, n, n, 1.0, a, down, 1, b, down, 1, 0.0, c, down, 1,
                        );
                    }
                });
                Ok(())
            })?
            .check(&c, |i| expected[i])?
            .record(lab)?;
    }
    Ok(())
}
