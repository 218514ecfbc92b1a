//! How long does the host take for the same product?
//!
//! One thread, all threads, and a library that is written for the CPU's caches and vectors.

use lab::{Case, Lab, Result};
use rayon::prelude::*;

use crate::matrix::Product;

/// Fills the product.
type Multiply<'a> = &'a dyn Fn(&mut [f32]);

pub(crate) fn measure(lab: &mut Lab, n: usize) -> Result<()> {
    let product = Product::new(n);
    let (a, b) = (product.left::<f32>(), product.right::<f32>());
    let expected = product.expected::<f32>();
    // A row of the product: each row of b, times a number. The compiler makes vectors of it.
    let row = |i: usize, c: &mut [f32]| {
        c.fill(0.0);
        for (factor, of_b) in a[i * n..][..n].iter().zip(b.chunks_exact(n)) {
            c.iter_mut().zip(of_b).for_each(|(c, b)| *c += factor * b);
        }
    };
    let one = |c: &mut [f32]| {
        c.chunks_exact_mut(n).enumerate().for_each(|(i, c)| row(i, c))
    };
    let all = |c: &mut [f32]| {
        c.par_chunks_exact_mut(n).enumerate().for_each(|(i, c)| row(i, c))
    };
    let library = |c: &mut [f32]| {
        let down = n as isize;
        // SAFETY: three matrices of n * n elements, row by row.
        unsafe {
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            matrixmultiply::sgemm(
                n, n, n, 1.0, a, down, 1, b, down, 1, 0.0, c, down, 1,
            );
        }
    };
    let ways: [(&str, Multiply); 3] =
        [("one_thread", &one), ("all_threads", &all), ("library", &library)];
    for (name, multiply) in ways {
        let mut c = vec![0.0; n * n];
        Case::new("host")
            .with("way", name)
            .with("side", n)
            .computes(2 * n * n * n)
            .time_on_host(lab, || {
                multiply(&mut c);
                Ok(())
            })?
            .check(&c, |i| expected[i])?
            .record(lab)?;
    }
    Ok(())
}
