//! The life of a pool: what its counters say, and what is left when it is destroyed.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::CudaStream;
use lab::{Case, Clock, Lab, Result};

use crate::pool::{self, Pool, Properties, Unpooled};
use crate::{BYTES, MIB};

const STEPS: [&str; 7] =
    ["start", "alloc", "free", "alloc_async", "free_async", "synchronize", "trim"];

/// What the default pool's counters say after each step of a course.
pub(crate) fn counters(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let pool = pool::default(stream)?;
    let default = pool.threshold()?;
    for (threshold, bytes) in [("default", default), ("unlimited", u64::MAX)] {
        pool.set_threshold(bytes)?;
        for (index, step) in STEPS.iter().enumerate() {
            let (samples, (used, reserved)) =
                lab.time_turns(Clock::Host, || Ok(course(stream, &pool)?[index]))?;
            let case = Case::new("counters").with("step", *step);
            let case =
                case.with("threshold", threshold).with("threshold_bytes", bytes);
            let case =
                case.with("used_bytes", used).with("reserved_bytes", reserved);
            lab.record(case.samples(samples))?;
        }
    }
    Ok(pool.set_threshold(default)?)
}

/// Seconds of each step, with what the pool says then of memory used and reserved.
fn course(stream: &Arc<CudaStream>, pool: &Pool) -> Result<Vec<(f64, (u64, u64))>> {
    let mut seen = vec![];
    let mut start = Instant::now();
    let mut done = || -> Result<()> {
        seen.push((start.elapsed().as_secs_f64(), pool.counters()?));
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

/// What becomes of the memory that a pool holds, unused, when the pool is destroyed.
pub(crate) fn destroy(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    let free = || -> Result<usize> { Ok(stream.context().mem_get_info()?.0) };
    let (samples, (held, left)) = lab.time_turns(Clock::Host, || {
        // ANCHOR: destroy
        let before = free()?;
        let pool = Pool::new(&plain)?;
        pool.set_threshold(u64::MAX)?;
        drop(pool.memory(stream, BYTES / size_of::<u32>())?);
        stream.synchronize()?;
        let held = before.saturating_sub(free()?);

        let start = Instant::now();
        drop(pool); // cuMemPoolDestroy
        let seconds = start.elapsed().as_secs_f64();
        let left = before.saturating_sub(free()?);
        // ANCHOR_END: destroy
        Ok((seconds, (held, left)))
    })?;
    let case = Case::new("destroy").with("held_bytes", held);
    lab.record(case.with("left_bytes", left).samples(samples))
}

/// The life that the article lists: at most 1 GiB, 1 MiB of it, given back in two ways.
pub(crate) fn listing(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    let properties = Properties { maxSize: 1024 * MIB, ..plain };
    for call in ["free_async", "free"] {
        let (samples, (used, reserved)) = lab.time_turns(Clock::Host, || {
            let start = Instant::now();
            // ANCHOR: listing
            let pool = Pool::new(&properties)?;
            let memory = pool.memory(stream, MIB / size_of::<u32>())?;
            match call {
                "free" => drop(Unpooled::from(memory)), // cuMemFree
                _ => drop(memory),                      // cuMemFreeAsync
            }
            stream.synchronize()?;
            // ANCHOR_END: listing
            Ok((start.elapsed().as_secs_f64(), pool.counters()?))
        })?;
        let case = Case::new("listing").with("call", call);
        let case = case.with("used_bytes", used).with("reserved_bytes", reserved);
        lab.record(case.samples(samples))?;
    }
    Ok(())
}
