//! How fast can the GPU multiply at all?
//!
//! A kernel that only multiplies and adds numbers in registers, in eight independent chains for
//! each thread, on all multiprocessors.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::launch::blocks;
use lab::{Case, Lab, Result};

use crate::Kernels;

/// Numbers that each thread counts up in.
const CHAINS: usize = 8;
const THREADS: usize = 256;

pub(crate) fn measure(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
) -> Result<()> {
    // As many blocks as run at once, so that none waits. A small GPU gets less to do.
    let count = lab.resident_threads()? / THREADS;
    let steps = 32 * lab.multiprocessors();
    let config = blocks(count, THREADS);
    let mut out = stream.alloc_zeros(count * THREADS)?;
    Case::new("multiply_add")
        .with("steps", steps)
        .writes(out.len() * size_of::<f32>())
        .computes(2 * out.len() * CHAINS * steps)
        .time_on_gpu(lab, stream, |_| {
            kernels.multiply_add(stream, config, &mut out, steps as u32, 1.0, 1.0)
        })?
        // Every chain was counted up by one in each step.
        .check_device(stream, &out, |i| {
            let first = i % THREADS;
            (CHAINS * (first + steps) + CHAINS * (CHAINS - 1) / 2) as f32
        })?
        .record(lab)
}
