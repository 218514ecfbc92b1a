//! # How do eight threads add two arrays?
//!
//! Pages: `book/src/first-steps/vector-add.md`, and for the other files
//! `book/src/first-steps/blocks.md` and `book/src/first-steps/first-program.md`.
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | how do eight threads add two arrays? |
//! | [`blocks`] | | which thread of which block has which element? |
//! | `bin/first-program.rs` | | what does a program need to run a kernel? |
//!
//! A kernel is a function that runs once in each thread that was started. Each thread has
//! a number, its *index*, and that is all that tells one from the other.
//!
//! **Prediction:** eight threads fill eight elements, each its own.

mod blocks;

use std::process::ExitCode;

use cudarc::driver::CudaSlice;
use lab::{Case, Lab, Result};

/// Try other numbers.
const ELEMENTS: usize = 8;
const THREADS: usize = 8;

// SAFETY: thread i of `add_threads` uses element i of all three, which have as many
// elements as threads are started, or more. Threads of the others at or past `count` do
// nothing; the arrays have at least `count` elements.
lab::kernels! { unsafe "vector-add" {
    fn add_threads(a: &CudaSlice<f32>, b: &CudaSlice<f32>, sum: &mut CudaSlice<f32>);
    fn add(
        a: &CudaSlice<f32>, b: &CudaSlice<f32>, sum: &mut CudaSlice<f32>, count: usize,
    );
    fn who(block: &mut CudaSlice<u32>, thread: &mut CudaSlice<u32>, count: usize);
} }

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);

    // ANCHOR: host
    // Two arrays in the host's memory, and copies of them in the GPU's.
    let a: Vec<f32> = (0..ELEMENTS).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..ELEMENTS).map(|i| 10.0 * i as f32).collect();
    let (a, b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut sum = stream.alloc_zeros::<f32>(ELEMENTS)?;

    // One block of threads, each of which runs the kernel once.
    let launch = lab::launch::blocks(1, THREADS);
    kernels.add_threads(&stream, launch, &a, &b, &mut sum)?;

    // Back to the host.
    let result = stream.clone_dtoh(&sum)?;
    stream.synchronize()?;
    lab.print(&format!("sum: {result:?}"));
    // ANCHOR_END: host

    Case::new("add_threads")
        .with("threads", THREADS)
        .time_on_gpu(lab, &stream, |_| {
            kernels.add_threads(&stream, launch, &a, &b, &mut sum)
        })?
        .check_device(&stream, &sum, |i| 11.0 * i as f32)?
        .record(lab)?;

    blocks::show_who(lab, &stream, &kernels)?;
    blocks::measure(lab, &stream, &kernels)
}
