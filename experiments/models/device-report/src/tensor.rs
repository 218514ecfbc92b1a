//! Tensor cores: how many multiplications does a product of small matrices do in a cycle?

use cudarc::driver::CudaSlice;
use lab::launch::blocks;
use lab::{Case, Lab, Result};

use crate::device::with_rate;

/// Multiplications with an addition in one product: 16 × 16 times 16 × 8.
const PRODUCT: u64 = 16 * 16 * 8;
/// Products in a turn of the loop, and chains of them.
const TURN: u32 = 32;
const CHAINS: u32 = 4;

// SAFETY: `out` has 16 floats for each thread that is started, `cycles` a word for each
// block; blocks are of full warps.
lab::kernels! { unsafe "device-report-tensor" {
    fn mma_bf16(out: &mut CudaSlice<f32>, cycles: &mut CudaSlice<u64>, turns: u32);
} }

pub(crate) fn measure(lab: &mut Lab, turns: u32) -> Result<()> {
    let name = || Case::new("tensor").with("operation", "mma_bf16");
    let Some(module) = lab.load(KERNEL)? else {
        lab.skip(
            name(),
            "the GPU is emulated, or older than compute capability 8.0",
        );
        return Ok(());
    };
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::of(&module)?);
    let count = lab.multiprocessors();
    let per_thread = 4 * CHAINS as usize;
    let mut out = stream.alloc_zeros::<f32>(count * 1024 * per_thread)?;
    let mut cycles = stream.alloc_zeros::<u64>(count)?;
    for threads in [128, 256, 512, 1024] {
        stream.memset_zeros(&mut out)?;
        let config = blocks(count, threads);
        let timed = name()
            .with("threads", threads)
            .time_on_gpu(lab, &stream, |_| {
                kernels.mma_bf16(&stream, config, &mut out, &mut cycles, turns)
            })?
            .check_device(
                &stream,
                &out.slice(..count * threads * per_thread),
                |i| {
                    // Of four numbers, two belong to a row of the upper half, and two to one
                    // eight rows farther down.
                    let row = i / per_thread % 32 / 4 + i % 4 / 2 * 8;
                    (16 * (row as u32 + 1) * turns * TURN / CHAINS) as f32
                },
            )?;
        let taken = stream.clone_dtoh(&cycles)?;
        stream.synchronize()?;
        let warps = threads as u64 / 32;
        let products = u64::from(turns * TURN) * warps;
        with_rate(timed, taken, PRODUCT * products)?.record(lab)?;
    }
    Ok(())
}
