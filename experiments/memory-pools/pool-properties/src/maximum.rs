//! How much a pool with a maximum gives, and whom the maximum limits.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::{Case, Lab, Result};
use pool::driver::{DriverPool, Properties};

use crate::memory::{Unpooled, memory};
use crate::{BYTES, MIB, answered};

/// How much a pool with a maximum gives, and what it answers then.
pub(crate) fn limit(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    for max_bytes in [1, 2 * MIB, 33 * MIB, 100 * MIB, 1024 * MIB] {
        // ANCHOR: limit
        let pool = DriverPool::new(&Properties { maxSize: max_bytes, ..plain })?;
        let piece = || memory(&pool, stream, MIB / size_of::<u32>());
        let most = 2 * max_bytes / MIB + 256; // should nothing limit it
        let mut pieces: Vec<_> = (0..most).map_while(|_| piece().ok()).collect();
        // ANCHOR_END: limit
        let case = Case::new("limit").with("max_bytes", max_bytes);
        answered(lab, case.with("given_bytes", pieces.len() * MIB), piece)?;
        // What is given back can be had again.
        pieces.pop();
        pieces.push(piece()?);
        drop(pieces);
        stream.synchronize()?; // nothing is left when the pool is destroyed
    }
    Ok(())
}

/// Whom a maximum limits, when the pool that has it is the GPU's current one.
pub(crate) fn current(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    let own = DriverPool::new(&Properties { maxSize: BYTES, ..plain })?;
    let default = DriverPool::of_the_gpu(stream.context())?;
    for (current, pool) in [("default", &*default), ("own", &own)] {
        pool.make_current(stream.context())?;
        let case = Case::new("twice_the_limit").with("current", current);
        let asynchronous = case.clone().with("call", "alloc_async");
        // SAFETY: the memory is given back without having been looked at.
        answered(lab, asynchronous, || unsafe { stream.alloc::<u8>(2 * BYTES) })?;
        answered(lab, case.with("call", "alloc"), || Unpooled::new(2 * BYTES))?;
    }
    Ok(default.make_current(stream.context())?)
}
