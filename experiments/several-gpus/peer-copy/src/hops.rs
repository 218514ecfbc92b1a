//! A pointer chase: how long one load takes that nothing else hides.

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{LaunchConfig, PushKernelArg};
use lab::{Lab, Result, Samples, check};

use crate::gpu::Gpu;

/// What GPUs' caches keep together. A hop leads from one line to another.
pub(crate) const LINE: usize = 128;
const ONE_THREAD: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };

// ANCHOR: hops
/// Samples of one hop: a thread of `gpu` walks through `bytes` from `memory` on, its own
/// or another GPU's, in an order of chance.
pub(crate) fn hops(
    lab: &Lab,
    gpu: &Gpu,
    memory: CUdeviceptr,
    bytes: usize,
) -> Result<(Samples, u64)> {
    let stream = &gpu.stream;
    let order = check::shuffled((bytes / LINE) as u32);
    let count = order.len() as u32;
    let on_device = stream.clone_htod(&order)?;
    let mut launch = stream.launch_builder(&gpu.tie);
    launch.arg(&on_device).arg(&count).arg(&memory);
    // SAFETY: the kernel takes (order, count, memory) and writes a word of each line.
    unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }?;

    let mut place = stream.clone_htod(&order[..1])?;
    let hops: u32 = if lab.quick() { 1 << 11 } else { 1 << 14 };
    let mut walked = 0;
    let mut walk = |hops: u32| {
        let mut launch = stream.launch_builder(&gpu.chase);
        launch.arg(&memory).arg(&mut place).arg(&hops);
        // SAFETY: the kernel takes (memory, place, hops) and stays in the cycle.
        unsafe { launch.launch(ONE_THREAD) }?;
        walked += hops as usize;
        Ok(())
    };
    // Once around, or as far as no L2 cache reaches; each sample goes on from there.
    walk(count.min(1 << 19))?;
    let samples = lab.time_on_gpu(stream, |_| walk(hops))?;
    let end = order[walked % order.len()];
    let checked =
        check::every_element("hops", &stream.clone_dtoh(&place)?, |_| end)?;
    let seconds = samples.seconds.iter().map(|s| s / f64::from(hops)).collect();
    let operations = samples.operations * hops;
    Ok((Samples { operations, seconds, ..samples }, checked))
}
// ANCHOR_END: hops
