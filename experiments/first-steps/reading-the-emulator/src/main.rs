//! # What does the emulated GPU say of a kernel?
//!
//! Page: `book/src/first-steps/reading-the-emulator.md`. Its sections show each file, or what
//! it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | how many sectors does a warp's request touch? |
//! | `bin/mistakes.rs` | Mistakes; A race; Memory that was never written | what does it say of a program that is wrong? |
//!
//! Memory moves in *sectors* of 32 bytes. A warp's load is one *request*, and takes as many
//! sectors as its 32 addresses lie in.
//!
//! **Prediction:** at step 1 a warp's load touches 4 sectors, at step 2 it is 8, at step 8
//! one for each thread.

use std::process::ExitCode;

use cudarc::driver::CudaSlice;
use lab::check::value;
use lab::{Case, Lab, Result, launch};

const COUNT: usize = 1024;
const STEPS: [usize; 3] = [1, 2, 8];

// SAFETY: thread i of `every` reads element i * step, for which the input has room; the
// other uses element i of both. Blocks of `shift` have 256 threads, as its tile has
// places, and `wait` is 1.
lab::kernels! { unsafe "reading-the-emulator" {
    fn every(input: &CudaSlice<u32>, output: &mut CudaSlice<u32>, step: u32);
    fn shift(input: &CudaSlice<u32>, output: &mut CudaSlice<u32>, wait: u32);
} }

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let config = launch::threads(COUNT);
    let longest = STEPS.iter().max().copied().unwrap_or(1);
    let input: Vec<u32> = (0..COUNT * longest).map(value).collect();
    let input = stream.clone_htod(&input)?;
    let mut output = stream.alloc_zeros::<u32>(COUNT)?;

    // ANCHOR: every
    for step in STEPS {
        Case::new("every")
            .with("step", step)
            .time_on_gpu(lab, &stream, |_| {
                kernels.every(&stream, config, &input, &mut output, step as u32)
            })?
            .check_device(&stream, &output, |i| value(i * step))?
            .record(lab)?;
    }
    // ANCHOR_END: every

    Case::new("shift")
        .time_on_gpu(lab, &stream, |_| {
            kernels.shift(&stream, config, &input, &mut output, 1)
        })?
        .check_device(&stream, &output, |i| match i % 256 {
            0 => value(i),
            _ => value(i - 1),
        })?
        .record(lab)
}
