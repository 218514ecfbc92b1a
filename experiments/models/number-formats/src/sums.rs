//! Sums: random numbers, added up in four ways. What helps when a long sum goes wrong?

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::threads;
use lab::{Case, Lab, Result, check};

use crate::formats::Rounding;
use crate::{Kernels, SUMS, TERMS, random};

lab::words! {
    /// How a sum is taken.
    enum Summation {
        Naive = "naive",
        Pairwise = "pairwise",
        Kahan = "kahan",
        Wide = "wide",
    }
}

pub(crate) fn sums(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    formats: &[Rounding],
) -> Result<()> {
    let mut sums = stream.alloc_zeros::<f32>(SUMS + check::GUARD)?;
    for rounding in formats.iter().filter(|r| r.format.bits() == 16) {
        // Numbers from 0 to 1 that the format has: what is lost is lost in the sum. Those of
        // a thread are `SUMS` from each other.
        let number = |i| rounding.keep(random(i) as f32 / 2f32.powi(32));
        let numbers: Vec<f32> = (0..SUMS * TERMS).map(number).collect();
        let input = stream.clone_htod(&numbers)?;
        let mut folded = stream.alloc_zeros::<f32>(SUMS * TERMS)?;
        for terms in (1..).map(|n| 1 << (2 * n)).take_while(|terms| *terms <= TERMS)
        {
            for way in Summation::ALL {
                stream.memset_zeros(&mut sums)?;
                let timed = Case::new("sum")
                    .with("kind", rounding.format.name)
                    .with("way", way)
                    .with("terms", terms)
                    .time_on_gpu(lab, stream, |_| {
                        if way == Summation::Pairwise {
                            let from = input.slice(..SUMS * terms);
                            stream.memcpy_dtod(&from, &mut folded)?;
                            fold(stream, kernels, rounding, &mut folded, terms)?;
                            let mut to = sums.slice_mut(..SUMS);
                            return Ok(stream
                                .memcpy_dtod(&folded.slice(..SUMS), &mut to)?);
                        }
                        let (count, length) = (SUMS as u32, terms as u32);
                        let (launch, words) =
                            (threads(SUMS), rounding.format.words());
                        kernels.sum(
                            way.name(),
                            stream,
                            launch,
                            &input,
                            &mut sums,
                            count,
                            length,
                            words,
                        )
                    })?;
                let own = |i: usize| numbers[i..].iter().step_by(SUMS).take(terms);
                let expected: Vec<f32> = (0..SUMS)
                    .map(|i| on_the_host(rounding, way, own(i).copied().collect()))
                    .collect();
                let checked =
                    check::output("sum", stream, &sums, SUMS, |i| expected[i])?;
                // ANCHOR: error
                let got = stream.clone_dtoh(&sums.slice(..SUMS))?;
                let error = |(i, sum): (usize, &f32)| {
                    let exact: f64 = own(i).map(|number| f64::from(*number)).sum();
                    (f64::from(*sum) - exact).abs() / exact
                };
                let worst = got.iter().enumerate().map(error).fold(0.0, f64::max);
                // ANCHOR_END: error
                timed
                    .checked(checked)
                    .note(|case, ()| Ok(case.model("error_percent", worst)))?
                    .record(lab)?;
            }
        }
    }
    Ok(())
}

// ANCHOR: fold
/// Adds the second half to the first until one number is left for each sum.
fn fold(
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    rounding: &Rounding,
    numbers: &mut CudaSlice<f32>,
    mut terms: usize,
) -> Result<()> {
    while terms > 1 {
        terms /= 2;
        let half = SUMS * terms;
        kernels.fold(
            stream,
            threads(half),
            numbers,
            half,
            rounding.format.words(),
        )?;
    }
    Ok(())
}
// ANCHOR_END: fold

/// A sum on the host, step by step as on the GPU.
fn on_the_host(rounding: &Rounding, way: Summation, mut numbers: Vec<f32>) -> f32 {
    let keep = |number: f32| rounding.keep(number);
    match way {
        Summation::Naive => {
            numbers.into_iter().fold(0.0, |sum, number| keep(sum + number))
        }
        Summation::Wide => keep(numbers.into_iter().sum()),
        Summation::Kahan => {
            let add = |(sum, too_much): (f32, f32), number| {
                let number = keep(number - too_much);
                let next = keep(sum + number);
                (next, keep(keep(next - sum) - number))
            };
            numbers.into_iter().fold((0.0, 0.0), add).0
        }
        Summation::Pairwise => {
            while numbers.len() > 1 {
                let second = numbers.split_off(numbers.len() / 2);
                for (number, other) in numbers.iter_mut().zip(second) {
                    *number = keep(*number + other);
                }
            }
            numbers[0]
        }
    }
}
