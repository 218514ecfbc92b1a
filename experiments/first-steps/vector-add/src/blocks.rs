//! Which thread of which block has which element, and what the size of blocks changes.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError, sys};
use lab::check::every_element;
use lab::{Case, Ceiling, Lab, Result, launch};

use crate::Kernels;

/// Try other numbers.
const ELEMENTS: usize = 10;
const THREADS: usize = 4;

/// Prints the block and the thread of each element.
pub(crate) fn show_who(
    lab: &Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
) -> Result<()> {
    let mut block = stream.alloc_zeros::<u32>(ELEMENTS)?;
    let mut thread = stream.alloc_zeros::<u32>(ELEMENTS)?;

    // ANCHOR: who
    let blocks = ELEMENTS.div_ceil(THREADS); // 10 elements, 4 threads: 3 blocks
    let config = launch::blocks(blocks, THREADS);
    kernels.who(stream, config, &mut block, &mut thread, ELEMENTS)?;
    // ANCHOR_END: who

    let (block, thread) = (stream.clone_dtoh(&block)?, stream.clone_dtoh(&thread)?);
    stream.synchronize()?;
    every_element("block", &block, |i| (i / THREADS) as u32)?;
    every_element("thread", &thread, |i| (i % THREADS) as u32)?;

    let row = |name: &str, numbers: &mut dyn Iterator<Item = u32>| {
        let numbers: String = numbers.map(|n| format!("{n:3}")).collect();
        lab.print(&format!("{name:8}{numbers}"));
    };
    lab.print("");
    row("element", &mut (0..ELEMENTS as u32));
    row("block", &mut block.into_iter());
    row("thread", &mut thread.into_iter());
    let idle = blocks * THREADS - ELEMENTS;
    lab.print(&format!(
        "{blocks} blocks of {THREADS} threads, {idle} of them without an element"
    ));
    Ok(())
}

/// The guide's million elements, in blocks of every size that has only full warps: on a
/// GPU the times tell which sizes matter. Then one block, as large as the GPU takes it.
pub(crate) fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
) -> Result<()> {
    let count = 1_000_000;
    let a: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..count).map(|i| 10.0 * i as f32).collect();
    let (a, b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut sum = stream.alloc_zeros::<f32>(count)?;
    let bytes = count * size_of::<f32>();
    for threads in [32, 64, 128, 256, 512, 1024] {
        let blocks = count.div_ceil(threads);
        stream.memset_zeros(&mut sum)?;
        Case::new("add")
            .with("elements", count)
            .with("threads", threads)
            .with("blocks", blocks)
            .reads(2 * bytes)
            .writes(bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(3 * bytes, lab.l2_bytes())
            .time_on_gpu(lab, stream, |_| {
                let config = launch::blocks(blocks, threads);
                kernels.add(stream, config, &a, &b, &mut sum, count)
            })?
            .check_device(stream, &sum, |i| 11.0 * i as f32)?
            .record(lab)?;
    }

    // The largest block: the driver refuses larger ones when they are launched.
    let mut threads = 2048;
    let mut start = |threads| {
        kernels.add(stream, launch::blocks(1, threads), &a, &b, &mut sum, threads)
    };
    let refusal = DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    while let Err(error) = start(threads) {
        if error.downcast_ref() != Some(&refusal) {
            return Err(error);
        }
        threads -= 1;
    }
    stream.memset_zeros(&mut sum)?;
    Case::new("largest_block")
        .with("threads", threads)
        .time_on_gpu(lab, stream, |_| {
            let config = launch::blocks(1, threads);
            kernels.add(stream, config, &a, &b, &mut sum, threads)
        })?
        .check_device(stream, &sum.slice(..threads), |i| 11.0 * i as f32)?
        .record(lab)
}
