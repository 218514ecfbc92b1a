//! # What does a number lose in fewer bits?
//!
//! Page: `book/src/models/number-formats.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | Measured | how far can you count in each format? |
//! | [`formats`] | The experiment | what is a format, and which of its numbers is the nearest? |
//! | [`sums`] | Few bits of fraction | what helps when a long sum goes wrong? |
//! | [`ranges`] | Few bits of exponent | what are the largest and the smallest number? |
//! | [`precision`] | Few bits of exponent | what is lost, by the size of a number? |
//! | [`conversions`] | The experiment | is the rounding right, and how long does it take? |
//! | [`instructions`] | | those of newer GPUs |
//!
//! A floating-point number is a sign, a fraction and an exponent. The exponent says between
//! which two powers of two it lies, the fraction where. So the bits of the exponent set the
//! *range*, those of the fraction the *precision*: so many steps between neighbouring
//! powers of two, near 1 as near a million.
//!
//! ```text
//! FP32   s eeeeeeee fffffffffffffffffffffff    2^23 steps
//! BF16   s eeeeeeee fffffff                    2^7
//! FP16   s eeeee ffffffffff                    2^10
//! E4M3   s eeee fff                            2^3
//! ```
//!
//! **Prediction:** counting by ones ends where the step reaches 2: then 1 is half a step,
//! and a tie goes to the even neighbour, which is the old number. With f bits of fraction
//! that is 2^(f + 1): 256 in BF16, 2,048 in FP16 and in TF32, 16 in E4M3, 8 in E5M2.

mod conversions;
mod formats;
mod instructions;
mod precision;
mod ranges;
mod sums;

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::threads;
use lab::{Case, Lab, Result, check};

use formats::Rounding;

// SAFETY: threads at or past `threads`, `half`, `count` or `fours` do nothing. Others use
// numbers below threads * terms and their sum; numbers below 2 * half; their element of
// each array; four elements from 4 * i on. The arrays have at least so many.
lab::kernels! { unsafe "number-formats" {
    fn sum["naive", "wide", "kahan"](
        numbers: &CudaSlice<f32>, sums: &mut CudaSlice<f32>, threads: u32, terms: u32,
        format: [u32; 4],
    );
    fn fold(numbers: &mut CudaSlice<f32>, half: usize, format: [u32; 4]);
    fn list(numbers: &mut CudaSlice<f32>, count: usize, step: u32, format: [u32; 4]);
    fn scaled(
        numbers: &CudaSlice<f32>, patterns: &mut CudaSlice<u32>, count: usize,
        scale: f32, format: [u32; 4],
    );
    fn to["to_fp32", "to_tf32", "to_bf16", "to_fp16", "to_e5m2", "to_e4m3"](
        from: &CudaSlice<u32>, to: &mut CudaSlice<u8>, fours: usize,
    );
} }

/// How far we count, and how long the longest sums are: past where all but FP32 stand still.
pub(crate) const TERMS: usize = 4096;
/// Threads that count, or add up numbers of their own; no block divides them.
pub(crate) const SUMS: usize = 37;

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernels; and for each format the host's own way to round to it.
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let formats: Vec<Rounding> =
        formats::ALL.into_iter().map(Rounding::new).collect();

    // 2. The first experiment, then the other files.
    for rounding in &formats {
        count(lab, &stream, &kernels, rounding)?;
    }
    ranges::ranges(lab, &stream, &kernels)?;
    precision::precision(lab, &stream, &kernels, &formats)?;
    sums::sums(lab, &stream, &kernels, &formats)?;
    conversions::conversions(lab, &stream, &kernels, &formats)
}

// ANCHOR: count
/// Adds 1 to 0 again and again; each sum is rounded to the format.
fn count(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    rounding: &Rounding,
) -> Result<()> {
    let ones = stream.clone_htod(&vec![1.0f32; SUMS * TERMS])?;
    let mut sums = stream.alloc_zeros::<f32>(SUMS + check::GUARD)?;
    let (launch, format) = (threads(SUMS), rounding.format.words());
    for terms in (0..).map(|n| 1 << n).take_while(|terms| *terms <= TERMS) {
        // The host counts in the same way, and every thread must arrive where it does.
        let expected = (0..terms).fold(0.0, |sum, _| rounding.keep(sum + 1.0));
        stream.memset_zeros(&mut sums)?;
        let timed = Case::new("count")
            .with("kind", rounding.format.name)
            .with("terms", terms)
            .model("sum", f64::from(expected))
            .time_on_gpu(lab, stream, |_| {
                let (count, terms) = (SUMS as u32, terms as u32);
                kernels.sum(
                    "naive", stream, launch, &ones, &mut sums, count, terms, format,
                )
            })?;
        let checked = check::output("count", stream, &sums, SUMS, |_| expected)?;
        timed.checked(checked).record(lab)?;
        if terms == TERMS {
            lab.print(&format!(
                "{terms} ones in {} are {expected}",
                rounding.format.name
            ));
        }
    }
    Ok(())
}
// ANCHOR_END: count

/// Random bits, for each i the same in each run. (The words of `check::value` are evenly
/// spread, so sums of them would not be random; this stirs them, as MurmurHash3 ends.)
pub(crate) fn random(i: usize) -> u32 {
    let stir = |x: u32, shift: u32, factor| (x ^ x >> shift).wrapping_mul(factor);
    let x = stir(check::value(i), 16, 0x85eb_ca6b);
    let x = stir(x, 13, 0xc2b2_ae35);
    x ^ x >> 16
}
