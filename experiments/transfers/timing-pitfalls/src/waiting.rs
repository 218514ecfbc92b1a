//! 4\. The clock stops when the call returns. 5\. The clock starts while older work is
//! still in flight.

use lab::{Lab, Result};

use crate::{Buffers, FLOATS, down, up};

// ANCHOR: not_waiting
pub(crate) fn not_waiting(lab: &mut Lab, buffers: &mut Buffers) -> Result<()> {
    let Buffers { stream, data, back, pinned_data, device, .. } = buffers;
    let idle = || Ok(stream.synchronize()?);
    for (kind, data) in
        [("pageable", &data[..]), ("pinned", pinned_data.as_slice()?)]
    {
        let call = |()| Ok(stream.memcpy_htod(data, device)?);
        up(kind, "call").time_on_host_after(lab, idle, call)?.record(lab)?;
    }
    let call = |()| Ok(stream.memcpy_dtoh(device, back)?);
    let timed = down("pageable", "call").time_on_host_after(lab, idle, call)?;
    stream.synchronize()?;
    timed.record(lab)
}
// ANCHOR_END: not_waiting

// ANCHOR: behind_others
/// Eight more such copies are still queued.
pub(crate) fn behind_others(lab: &mut Lab, buffers: &mut Buffers) -> Result<()> {
    let Buffers { stream, pinned_data, pinned_back, device, .. } = buffers;
    let mut older = stream.alloc_zeros::<f32>(FLOATS)?;
    let queue_older_work = || {
        stream.synchronize()?;
        for _ in 0..8 {
            stream.memcpy_htod(pinned_data.as_slice()?, &mut older)?;
        }
        Ok(())
    };
    down("pinned", "behind")
        .time_on_host_after(lab, queue_older_work, |()| {
            stream.memcpy_dtoh(device, pinned_back.as_mut_slice()?)?;
            Ok(stream.synchronize()?)
        })?
        .record(lab)
}
// ANCHOR_END: behind_others
