//! Loss scaling: which gradients become zero, and which become too large, if all are
//! multiplied by a power of two first?

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::launch::threads;
use lab::{Case, Lab, Result, check};

use crate::formats::Rounding;
use crate::precision::COUNT;
use crate::{Kernels, random};

/// Scales by powers of two, up to this one.
const LARGEST_SCALE: usize = 40;

// ANCHOR: gradient
/// A made-up gradient: its size is about 2^-24, and two thirds are within a factor of 16
/// of that. The sum of twelve random numbers from 0 to 1 has a bell curve around 6, of
/// width 1.
fn gradient(i: usize) -> f32 {
    let uniform = |k| f64::from(random(12 * i + k)) / 2f64.powi(32);
    let bell = (0..12).map(uniform).sum::<f64>() - 6.0;
    let exponent = (-24.0 + 4.0 * bell).floor() as i32;
    f32::from_bits(random(i) & 0x807f_ffff | ((exponent + 127) as u32) << 23)
}
// ANCHOR_END: gradient

pub(crate) fn gradients(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    formats: &[Rounding],
) -> Result<()> {
    let gradients: Vec<f32> = (0..COUNT).map(gradient).collect();
    let input = stream.clone_htod(&gradients)?;
    let mut patterns = stream.alloc_zeros::<u32>(COUNT + check::GUARD)?;
    for rounding in formats.iter().filter(|rounding| rounding.format.bits() <= 16) {
        let format = rounding.format;
        for exponent in (0..=LARGEST_SCALE).step_by(4) {
            let scale = 2f32.powi(exponent as i32);
            stream.memset_zeros(&mut patterns)?;
            let timed = Case::new("gradients")
                .with("kind", format.name)
                .with("scale_exponent", exponent)
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
            let expected = |i: usize| rounding.nearest(gradients[i] * scale);
            let checked =
                check::output("gradients", stream, &patterns, COUNT, expected)?;
            // ANCHOR: lost
            let got = stream.clone_dtoh(&patterns.slice(..COUNT))?;
            let kept = |pattern: &u32| format.value(*pattern).abs();
            let most = format.value(format.largest);
            let zero = got.iter().filter(|pattern| kept(pattern) == 0.0).count();
            let beyond = gradients.iter().zip(&got).filter(|(gradient, pattern)| {
                kept(pattern) >= most && (**gradient * scale).abs() > most
            });
            let beyond = beyond.count();
            // ANCHOR_END: lost
            let share = |count| count as f64 / COUNT as f64;
            timed
                .checked(checked)
                .note(|case, ()| {
                    let case = case.model("zero_percent", share(zero));
                    let case = case.model("beyond_percent", share(beyond));
                    Ok(case.model("lost_percent", share(zero + beyond)))
                })?
                .record(lab)?;
        }
    }
    Ok(())
}
