//! The end of a pool: what becomes of the memory that it holds, unused. And the trap:
//! memory of a pool, given back by `cuMemFree`.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::CudaStream;
use lab::{Case, Clock, Lab, Result};
use pool::driver::{DriverPool, Properties};

use crate::counters::{used_and_reserved, with_bytes};
use crate::memory::{Unpooled, memory};
use crate::{BYTES, MIB};

pub(crate) fn destroy(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    let free = || -> Result<usize> { Ok(stream.context().mem_get_info()?.0) };
    let turn = || {
        // ANCHOR: destroy
        let before = free()?;
        let pool = DriverPool::new(&plain)?;
        pool.set_threshold(u64::MAX)?;
        drop(memory(&pool, stream, BYTES / size_of::<u32>())?);
        stream.synchronize()?;
        let held = before.saturating_sub(free()?);

        let start = Instant::now();
        drop(pool); // cuMemPoolDestroy
        let seconds = start.elapsed().as_secs_f64();
        let left = before.saturating_sub(free()?);
        // ANCHOR_END: destroy
        Ok((seconds, (held, left)))
    };
    Case::new("destroy")
        .time_turns(lab, Clock::Host, turn)?
        .note(|case, (held, left)| {
            Ok(case.with("held_bytes", *held).with("left_bytes", *left))
        })?
        .record(lab)
}

/// The life that the article lists: at most 1 GiB, 1 MiB of it, given back in two ways.
pub(crate) fn listing(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    let properties = Properties { maxSize: 1024 * MIB, ..plain };
    for (call, unpools) in [("free_async", false), ("free", true)] {
        let turn = || {
            let start = Instant::now();
            // ANCHOR: listing
            let pool = DriverPool::new(&properties)?;
            let memory = memory(&pool, stream, MIB / size_of::<u32>())?;
            match unpools {
                true => drop(Unpooled::from(memory)), // cuMemFree
                false => drop(memory),                // cuMemFreeAsync
            }
            stream.synchronize()?;
            // ANCHOR_END: listing
            Ok((start.elapsed().as_secs_f64(), used_and_reserved(&pool)?))
        };
        let case = Case::new("listing").with("call", call);
        case.time_turns(lab, Clock::Host, turn)?.note(with_bytes)?.record(lab)?;
    }
    Ok(())
}
