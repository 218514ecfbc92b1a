//! The table: the largest and the smallest numbers of each format, and the step at 1. The
//! GPU lists what every bit pattern stands for, and the host has the same by definition.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::launch::threads;
use lab::{Case, Lab, Result, check};

use crate::Kernels;
use crate::formats::{ALL, E2M1};

/// Patterns of at most so many bits are all listed; of FP32, every 2^13th.
const LISTED_BITS: u32 = 19;

pub(crate) fn ranges(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
) -> Result<()> {
    let mut numbers =
        stream.alloc_zeros::<f32>((1 << LISTED_BITS) + check::GUARD)?;
    for format in ALL.into_iter().chain([E2M1]) {
        let listed_bits = format.bits().min(LISTED_BITS);
        let (count, step) = (1 << listed_bits, 1 << (format.bits() - listed_bits));
        stream.memset_zeros(&mut numbers)?;
        // ANCHOR: ranges
        let value = |pattern| f64::from(format.value(pattern));
        let one = ((1 << (format.exponent_bits - 1)) - 1) << format.fraction_bits;
        let timed = Case::new("range")
            .with("kind", format.name)
            .model("bits", f64::from(format.bits()))
            .model("fraction_bits", f64::from(format.fraction_bits))
            .model("largest_log2", value(format.largest).log2())
            .model("smallest_normal_log2", value(1 << format.fraction_bits).log2())
            .model("smallest_log2", value(1).log2())
            .model("step_at_1", value(one + 1) - value(one))
            .time_on_gpu(lab, stream, |_| {
                let words = format.words();
                kernels.list(
                    stream,
                    threads(count),
                    &mut numbers,
                    count,
                    step,
                    words,
                )
            })?;
        // ANCHOR_END: ranges
        let got = stream.clone_dtoh(&numbers.slice(..count))?;
        check::untouched("range", stream, &numbers, count)?;
        let got: Vec<u32> = got.into_iter().map(bits).collect();
        let expected = |i| bits(format.value(i as u32 * step));
        timed.check(&got, expected)?.record(lab)?;
    }
    Ok(())
}

/// The bits of a float: 0 and -0 differ, and there is only one that is not a number.
fn bits(number: f32) -> u32 {
    if number.is_nan() { 0x7fff_ffff } else { number.to_bits() }
}
