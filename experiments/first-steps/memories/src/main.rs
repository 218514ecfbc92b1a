//! # Who sees a count, and how long does it live?
//!
//! Page: `book/src/first-steps/memories.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | what do three counts say after each of two launches? |
//!
//! Every thread adds 1 three times: to a register, to shared memory, and to device memory.
//! What each count says at the end tells who shares that memory.
//!
//! **Prediction:** the register says 1, shared memory the threads of a block, device memory
//! the threads of all launches so far.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute as A;
use cudarc::driver::{CudaSlice, CudaStream};
use lab::check::every_element;
use lab::{Case, Lab, Result, launch};

/// Try other numbers.
const BLOCKS: usize = 4;
const THREADS: usize = 64;
const LAUNCHES: usize = 2;

// SAFETY: `total` has an element, and `seen` two for each block.
lab::kernels! { unsafe "memories" {
    fn visit(total: &mut CudaSlice<u32>, seen: &mut CudaSlice<u32>);
} }

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let config = launch::blocks(BLOCKS, THREADS);

    // ANCHOR: launches
    let mut total = stream.alloc_zeros::<u32>(1)?;
    let mut seen = stream.alloc_zeros::<u32>(2 * BLOCKS)?;
    for number in 1..=LAUNCHES {
        kernels.visit(&stream, config, &mut total, &mut seen)?;
        tell(lab, &stream, number, &total, &seen)?;
    }
    // ANCHOR_END: launches
    sizes(lab)?;

    Case::new("visit")
        .with("blocks", BLOCKS)
        .with("threads", THREADS)
        .time_on_gpu(lab, &stream, |_| {
            kernels.visit(&stream, config, &mut total, &mut seen)
        })?
        .check_device(&stream, &seen, expected)?
        .record(lab)
}

/// What a block has seen in its register and in shared memory, one after the other.
fn expected(i: usize) -> u32 {
    if i.is_multiple_of(2) { 1 } else { THREADS as u32 }
}

/// Compares the counts after a launch, and prints them.
fn tell(
    lab: &Lab,
    stream: &Arc<CudaStream>,
    number: usize,
    total: &CudaSlice<u32>,
    seen: &CudaSlice<u32>,
) -> Result<()> {
    let (device, seen) = (stream.clone_dtoh(total)?, stream.clone_dtoh(seen)?);
    stream.synchronize()?;
    every_element("register and shared memory", &seen, expected)?;
    every_element("device memory", &device, |_| (number * BLOCKS * THREADS) as u32)?;
    lab.print(&format!(
        "after launch {number}: register {}, shared memory {}, device memory {}",
        seen[0], seen[1], device[0]
    ));
    Ok(())
}

/// How much of each memory this GPU has.
fn sizes(lab: &Lab) -> Result<()> {
    let ask = |what| lab.context().attribute(what);
    let registers = ask(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?;
    let shared = ask(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?;
    let l2 = ask(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
    let device = lab.context().total_mem()?;
    lab.print(&format!(
        "\nThis GPU has {} multiprocessors, each with {} KiB of registers and {} KiB of\n\
         shared memory, an L2 cache of {} KiB, and {} MiB of device memory.",
        lab.multiprocessors(),
        registers * 4 / 1024,
        shared / 1024,
        l2 / 1024,
        device >> 20
    ));
    Ok(())
}
