//! # Does twice as much take twice as long?
//!
//! Page: `book/src/FOLDER/NAME.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | do two sizes take as long as their ratio says? |
//!
//! TODO(author): your question, in the title above, and here what a reader has to know to
//! understand it. This one copies an array on the GPU, and another that is twice as
//! large. Both are too large for the L2 cache.
//!
//! **Prediction:** twice the elements take 2.0 times as long.

use std::process::ExitCode;

use cudarc::driver::CudaSlice;
use lab::check::{self, value};
use lab::launch::threads;
use lab::{Case, Ceiling, Lab, Result};

// SAFETY: threads at or past `count` do nothing; others use element i of both, which have
// at least that many.
lab::kernels! { unsafe "NAME" {
    fn copy(input: &CudaSlice<u32>, output: &mut CudaSlice<u32>, count: usize);
} }

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream and kernel.
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);

    // 2. Input: elements of 4 bytes, all different; once is four times the L2 cache.
    let once = 4 * lab.l2_bytes() / size_of::<u32>();
    let input: Vec<u32> = (0..2 * once).map(value).collect();
    let input = stream.clone_htod(&input)?;
    let mut output = stream.alloc_zeros::<u32>(2 * once)?;

    // 3. The sweep, with a size that no block divides.
    let counts = [("once", once), ("twice", 2 * once), ("ragged", once - 1)];
    for (case, count) in counts {
        // 4. Clear what the kernel writes; time it, compare every element, record.
        stream.memset_zeros(&mut output)?;
        let bytes = count * size_of::<u32>();
        let timed = Case::new(case)
            .with("elements", count)
            .reads(bytes)
            .writes(bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(2 * bytes, lab.l2_bytes())
            .time_on_gpu(lab, &stream, |_| {
                kernels.copy(&stream, threads(count), &input, &mut output, count)
            })?;
        let checked = check::output(case, &stream, &output, count, value)?;
        timed.checked(checked).record(lab)?;
    }
    Ok(())
}
