//! At what clock does a product run, by a thread of the kernel itself?
//!
//! cuBLAS's kernels cannot be asked, so it is one of ours. The clock that is read after the
//! product is noted as well.

use std::sync::Arc;

use anyhow::ensure;
use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::blocks;
use lab::{Case, Lab, Result, check};

use crate::Kernels;
use crate::data::rows;
use crate::lasting::matrices;
use crate::matrix::{Element, Product};
use crate::tensor::Clocked;

/// Launches that are remembered, each with the cycles and nanoseconds of its begin and its end.
const LAUNCHES: usize = 64;

/// A product that no tile divides, compared in each element.
pub(crate) fn check(
    stream: &Arc<CudaStream>,
    clocked: &Clocked,
    product: &Product,
) -> Result<()> {
    let (n, expected) = (product.side(), product.expected::<u16>());
    let (a, b) = (product.left::<u16>(), product.right::<u16>());
    let (a, b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut c = stream.alloc_zeros(n * n + check::GUARD)?;
    clocked.multiply(&a, &b, &mut c, n, &stream.alloc_zeros(1)?, 0)?;
    check::output("clocked", stream, &c, n * n, |i| expected[i])?;
    Ok(())
}

/// Products of random and of small whole numbers, in bursts and for two seconds.
pub(crate) fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    clocked: &Clocked,
    n: usize,
) -> Result<()> {
    let product = Product::new(n);
    let whole = [product.left::<u16>(), product.right()];
    for (numbers, [a, b]) in
        [("random", matrices(n, u16::nearest)), ("whole", whole)]
    {
        let (left, right) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
        let mut c = stream.alloc_zeros(n * n)?;
        let clocks = stream.alloc_zeros::<[u64; 4]>(LAUNCHES)?;
        // After each burst and at the end, and the last of them is that of what lasts.
        let mut within = vec![];
        let found = lab.time_in_bursts_and_lasting(
            stream,
            &mut |turn| {
                clocked.multiply(&left, &right, &mut c, n, &clocks, turn % LAUNCHES)
            },
            &mut |out, nanoseconds| {
                kernels.read_clocks(stream, blocks(1, 1), out, nanoseconds)?;
                within.push(mean_khz(stream, &clocks)?);
                Ok(())
            },
        )?;
        let got = stream.clone_dtoh(&c)?;
        stream.synchronize()?;
        let checked = rows(&a, &b, &got, n)?;
        let lasting = within.pop().unwrap_or(f64::NAN); // none where nothing is timed
        let bursts = within.iter().sum::<f64>() / within.len() as f64;
        for ((regime, khz), (samples, after)) in
            [("burst", bursts), ("lasting", lasting)].into_iter().zip(found)
        {
            Case::new("clocked")
                .with("regime", regime)
                .with("numbers", numbers)
                .with("side", n)
                .computes(2 * n * n * n)
                .model("clock_khz", khz)
                .model("clock_after_khz", after)
                .timed(samples, ())
                .checked(checked)
                .record(lab)?;
        }
    }
    Ok(())
}

/// The mean clock of all remembered launches.
fn mean_khz(stream: &Arc<CudaStream>, clocks: &CudaSlice<[u64; 4]>) -> Result<f64> {
    let noted = stream.clone_dtoh(clocks)?;
    stream.synchronize()?;
    let [mut cycles, mut nanoseconds] = [0; 2];
    for [cycle, time, last_cycle, last_time] in noted {
        cycles += last_cycle.saturating_sub(cycle);
        nanoseconds += last_time.saturating_sub(time);
    }
    ensure!(
        cycles > 0 && nanoseconds > 0,
        "the clock made {cycles} cycles in {nanoseconds} ns"
    );
    Ok(cycles as f64 / nanoseconds as f64 * 1e6)
}
