//! 3\. Device memory that is allocated while the clock runs: by cudarc, which takes it from
//! the driver's pool, and by `cuMemAlloc`.

use std::time::Instant;

use cudarc::driver::result;
use lab::{Clock, Lab, Result};

use crate::{BYTES, Buffers, up};

pub(crate) fn measure(lab: &mut Lab, buffers: &Buffers) -> Result<()> {
    let Buffers { stream, data, .. } = buffers;
    let idle = || Ok(stream.synchronize()?);
    up("pageable", "pool")
        .time_on_host_after(lab, idle, |()| {
            let device = stream.clone_htod(data)?;
            stream.synchronize()?;
            Ok(device) // freed when the clock has stopped
        })?
        .record(lab)?;
    up("pageable", "allocation")
        .time_turns(lab, Clock::Host, || {
            idle()?;
            let start = Instant::now();
            // SAFETY: nothing reads the memory before the copy has written it.
            let device = unsafe { result::malloc_sync(BYTES) }?;
            // SAFETY: the allocation has as many bytes as the data.
            unsafe { result::memcpy_htod_async(device, data, stream.cu_stream()) }?;
            stream.synchronize()?;
            let seconds = start.elapsed().as_secs_f64();
            // SAFETY: it was allocated above, and the copy into it has ended.
            unsafe { result::free_sync(device) }?;
            Ok((seconds, ()))
        })?
        .record(lab)
}
