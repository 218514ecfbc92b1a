//! Independent work: how many warps, and how many chains in each thread, does it take to
//! keep a multiprocessor busy?

use lab::{Case, Lab, Result};

use crate::device::{Bench, Operation};
use crate::rates::OPERATIONS;

/// Kernels that differ only in how many chains a thread has.
const KERNELS: [(&str, u32); 4] =
    [("fma1", 1), ("fma2", 2), ("fma4", 4), ("fma8", 8)];
/// Threads on a multiprocessor; up to 128, each of its four schedulers has one warp.
const THREADS: [usize; 6] = [32, 64, 128, 256, 512, 1024];

pub(crate) fn measure(lab: &mut Lab, bench: &mut Bench, turns: u32) -> Result<()> {
    for (kernel, chains) in KERNELS {
        let operation = Operation { kernel, chains, ..OPERATIONS[0] };
        bench.check_ragged(operation)?;
        for threads in THREADS {
            bench.measure(lab, Case::new("chains"), operation, threads, turns)?;
        }
    }
    Ok(())
}
