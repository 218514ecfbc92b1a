//! Precision and range: what is lost, by the size of a number. The same numbers are scaled by
//! smaller and smaller powers of two, which changes only their exponents.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::launch::threads;
use lab::{Case, Lab, Result, check};

use crate::formats::Rounding;
use crate::{Kernels, random};

/// Numbers of each size; no block divides them.
const COUNT: usize = 4095;
/// The smallest numbers are near 2 to the minus this.
const SMALLEST: usize = 32;

pub(crate) fn precision(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    formats: &[Rounding],
) -> Result<()> {
    let mut patterns = stream.alloc_zeros::<u32>(COUNT + check::GUARD)?;
    // From 1 to 2: the exponent of 1, and random bits as the fraction.
    let unscaled = |i| f32::from_bits(127 << 23 | random(i) >> 9);
    let unscaled: Vec<f32> = (0..COUNT).map(unscaled).collect();
    let input = stream.clone_htod(&unscaled)?;
    for halvings in (0..=SMALLEST).step_by(2) {
        let scale = 2f32.powi(-(halvings as i32));
        let numbers: Vec<f32> =
            unscaled.iter().map(|number| number * scale).collect();
        // Floats lose nothing in FP32.
        for rounding in formats.iter().filter(|r| r.format.fraction_bits < 23) {
            let format = rounding.format;
            stream.memset_zeros(&mut patterns)?;
            let timed = Case::new("precision")
                .with("kind", format.name)
                .with("halvings", halvings)
                .time_on_gpu(lab, stream, |_| {
                    let (launch, words) = (threads(COUNT), format.words());
                    kernels.scaled(
                        stream,
                        launch,
                        &input,
                        &mut patterns,
                        COUNT,
                        scale,
                        words,
                    )
                })?;
            let expected = |i: usize| rounding.nearest(numbers[i]);
            let checked =
                check::output("precision", stream, &patterns, COUNT, expected)?;
            // ANCHOR: error
            let error = |(number, pattern): (&f32, &u32)| {
                f64::from((format.value(*pattern) - number) / number).abs()
            };
            let got = stream.clone_dtoh(&patterns.slice(..COUNT))?;
            let worst = numbers.iter().zip(&got).map(error).fold(0.0, f64::max);
            // ANCHOR_END: error
            timed
                .checked(checked)
                .note(|case, ()| Ok(case.model("error_percent", worst)))?
                .record(lab)?;
        }
    }
    Ok(())
}
