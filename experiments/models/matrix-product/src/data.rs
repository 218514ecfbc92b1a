//! Does the time of a product depend on what is in the matrices?
//!
//! The instructions are the same. But a circuit that does not switch takes less power, and at
//! the power limit a GPU lowers its clock.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::{Case, Lab, Result, check};

use crate::matrix::{Element, Multiplier};

/// The fastest way to multiply BF16, on three kinds of matrices.
pub(crate) fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    ways: &[Multiplier<u16>],
    n: usize,
) -> Result<()> {
    let Some(way) = ways.last() else {
        lab.skip(Case::new("data"), "needs tensor cores");
        return Ok(());
    };
    let kinds: [(&str, &dyn Fn(usize) -> f32); 3] = [
        ("zeros", &|_| 0.0),
        ("ones", &|i| if random(i) < 0.0 { -1.0 } else { 1.0 }),
        ("random", &random),
    ];
    for (name, number) in kinds {
        let matrix = |first: usize| -> Vec<u16> {
            (first..first + n * n).map(|i| u16::nearest(number(i))).collect()
        };
        let hosts = [matrix(0), matrix(n * n)];
        let (a, b) = (stream.clone_htod(&hosts[0])?, stream.clone_htod(&hosts[1])?);
        let mut c = stream.alloc_zeros::<u16>(n * n)?;
        let timed = Case::new("data")
            .with("numbers", name)
            .with("side", n)
            .computes(2 * n * n * n)
            .time_on_gpu(lab, stream, |_| (way.multiply)(&a, &b, &mut c, n))?;
        let got = stream.clone_dtoh(&c)?;
        stream.synchronize()?;
        timed.checked(rows(&hosts[0], &hosts[1], &got, n)?).record(lab)?;
    }
    Ok(())
}

/// Number i of many, uniform from -1 to 1, with all bits of a BF16.
pub(crate) fn random(i: usize) -> f32 {
    check::value(i ^ check::value(i) as usize >> 7) as f32 / 2f32.powi(31) - 1.0
}

/// Compares the sum of each row of the product: the left matrix times the sums of the right
/// one's rows. Each element may be off by its rounding to BF16, 2⁻⁹ of it, and by that of the sums.
pub(crate) fn rows<T: Element, C: Element>(
    a: &[T],
    b: &[T],
    c: &[C],
    n: usize,
) -> Result<u64> {
    let sums: Vec<f64> =
        b.chunks_exact(n).map(|row| row.iter().map(|x| x.number()).sum()).collect();
    for (i, (of_a, of_c)) in a.chunks_exact(n).zip(c.chunks_exact(n)).enumerate() {
        let products = of_a.iter().zip(&sums).map(|(a, sum)| a.number() * sum);
        let expected: f64 = products.sum();
        let got: f64 = of_c.iter().map(|x| x.number()).sum();
        let bound = of_c.iter().map(|x| x.number().abs()).sum::<f64>() / 256.0;
        if (got - expected).abs() > bound {
            anyhow::bail!(
                "row {i} sums up to {got}, and should to {expected} ± {bound}"
            );
        }
    }
    Ok(n as u64)
}
