//! What the default pool's counters say after each step of a course.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::CudaStream;
use lab::{Case, Clock, Lab, Result};
use pool::driver::DriverPool;

use crate::BYTES;
use crate::memory::Unpooled;

const STEPS: [&str; 7] =
    ["start", "alloc", "free", "alloc_async", "free_async", "synchronize", "trim"];

pub(crate) fn counters(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let pool = DriverPool::of_the_gpu(stream.context())?;
    let default = pool.threshold()?;
    for (threshold, bytes) in [("default", default), ("unlimited", u64::MAX)] {
        pool.set_threshold(bytes)?;
        for (index, step) in STEPS.iter().enumerate() {
            Case::new("counters")
                .with("step", *step)
                .with("threshold", threshold)
                .with("threshold_bytes", bytes)
                .time_turns(lab, Clock::Host, || Ok(course(stream, &pool)?[index]))?
                .note(with_bytes)?
                .record(lab)?;
        }
    }
    Ok(pool.set_threshold(default)?)
}

/// Bytes in use, and bytes that the pool holds.
pub(crate) fn used_and_reserved(pool: &DriverPool) -> Result<(u64, u64)> {
    Ok((pool.used_bytes()?, pool.reserved_bytes()?))
}

/// Adds them to a case.
pub(crate) fn with_bytes(case: Case, bytes: &(u64, u64)) -> Result<Case> {
    Ok(case.with("used_bytes", bytes.0).with("reserved_bytes", bytes.1))
}

/// Seconds of each step, with what the pool says then of memory used and reserved.
fn course(
    stream: &Arc<CudaStream>,
    pool: &DriverPool,
) -> Result<Vec<(f64, (u64, u64))>> {
    let mut seen = vec![];
    let mut start = Instant::now();
    let mut done = || -> Result<()> {
        seen.push((start.elapsed().as_secs_f64(), used_and_reserved(pool)?));
        start = Instant::now();
        Ok(())
    };
    // ANCHOR: course
    stream.synchronize()?;
    pool.trim()?;
    done()?; // start
    let memory = Unpooled::new(BYTES)?;
    done()?; // alloc: cuMemAlloc
    drop(memory);
    done()?; // free: cuMemFree
    // SAFETY: the memory is given back without having been looked at.
    let memory = unsafe { stream.alloc::<u8>(BYTES) }?;
    done()?; // alloc_async: cuMemAllocAsync
    drop(memory);
    done()?; // free_async: cuMemFreeAsync
    stream.synchronize()?;
    done()?; // synchronize
    pool.trim()?;
    done()?; // trim: cuMemPoolTrimTo
    // ANCHOR_END: course
    Ok(seen)
}
