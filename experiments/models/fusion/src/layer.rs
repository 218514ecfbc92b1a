//! What torch.compile gains: y = gelu(x · scale + bias) + residual, an operation at a time or
//! all in one kernel. `scripts/baselines` has the same for PyTorch.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::launch::threads;
use lab::{Case, Ceiling, Lab, Result};
use rayon::prelude::*;

use crate::chain::{Kernels, QUAD, QUAD_BYTES, Strategy, number, table};

const SCALE: f32 = 3.0;
const BIAS: f32 = -1.5;
/// Results are of about 1. The compiler joins a product and a sum of one kernel into one
/// rounding; two kernels round twice.
const TOLERANCE: f32 = 1e-5;

pub(crate) fn measure(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    // 1. Not a multiple of the block's 256 threads, and from four times the L2 cache on.
    let quads = 4 * lab.l2_bytes() / QUAD_BYTES + 1;
    let numbers = quads * QUAD;
    let kernels = Kernels::load(lab)?;
    let residual = |i: usize| number(7 * i);
    let of = |number: fn(usize) -> f32| -> Vec<f32> {
        (0..numbers).into_par_iter().map(number).collect()
    };
    let (x, r) =
        (stream.clone_htod(&of(number))?, stream.clone_htod(&of(residual))?);
    let array = || stream.alloc_zeros::<f32>(numbers);
    let (mut a, mut b, mut out) = (array()?, array()?, array()?);
    let activated = table(|x| gelu(SCALE * x + BIAS));

    for strategy in [Strategy::Separate, Strategy::Fused] {
        // 2. Arrays that are read and written: x, the residual and the result; separate,
        //    three are read and written besides.
        let (read, written) =
            if strategy == Strategy::Fused { (2, 1) } else { (5, 4) };
        stream.memset_zeros(&mut out)?;
        let grid = threads(quads);
        // ANCHOR: ways
        let timed = Case::new("layer")
            .with("kind", strategy)
            .with("elements", numbers)
            .reads(read * quads * QUAD_BYTES)
            .writes(written * quads * QUAD_BYTES)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(3 * quads * QUAD_BYTES, lab.l2_bytes())
            .time_on_gpu(lab, stream, |_| match strategy {
                Strategy::Fused => {
                    kernels.layer(stream, grid, &x, &r, &mut out, quads, SCALE, BIAS)
                }
                Strategy::Separate => {
                    kernels.with_number(
                        "multiply", stream, grid, &x, &mut a, quads, SCALE,
                    )?;
                    kernels.with_number(
                        "shift", stream, grid, &a, &mut b, quads, BIAS,
                    )?;
                    kernels.activate(stream, grid, &b, &mut a, quads)?;
                    kernels.add(stream, grid, &a, &r, &mut out, quads)
                }
            })?;
        // ANCHOR_END: ways
        let got = stream.clone_dtoh(&out)?;
        let right = |i: usize| activated(i) + residual(i);
        timed.check(&got, near(&got, right, |_| TOLERANCE))?.record(lab)?;
    }
    Ok(())
}

/// GELU in the form with tanh, as the kernel has it.
fn gelu(x: f32) -> f32 {
    let x = f64::from(x);
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    (x * 0.5 * (1.0 + inner.tanh())) as f32
}

/// What was computed where it is within a tolerance of what is right, and else that.
pub(crate) fn near(
    got: &[f32],
    right: impl Fn(usize) -> f32,
    tolerance: impl Fn(f32) -> f32,
) -> impl Fn(usize) -> f32 {
    move |i| {
        let right = right(i);
        if (got[i] - right).abs() <= tolerance(right) { got[i] } else { right }
    }
}
