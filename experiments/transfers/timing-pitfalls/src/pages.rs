//! 2\. Pages that fault in while the clock runs. To the GPU a clone is made first, as in
//! the chapter: into a new `Vec`, and into one that is there. To the host, the `Vec` that
//! receives the data is new.

use lab::{Lab, Result};

use crate::{Buffers, FLOATS, down, up};

pub(crate) fn measure(lab: &mut Lab, buffers: &mut Buffers) -> Result<()> {
    let Buffers { stream, data, back, device, .. } = buffers;
    up("pageable", "clone")
        .time_on_host_after(lab, fresh, |mut clone| {
            clone[..FLOATS].copy_from_slice(data);
            stream.memcpy_htod(&clone[..FLOATS], device)?;
            stream.synchronize()?;
            Ok(clone) // dropped when the clock has stopped
        })?
        .record(lab)?;
    let idle = || Ok(stream.synchronize()?);
    up("pageable", "clone_into_pages")
        .time_on_host_after(lab, idle, |()| {
            back.copy_from_slice(data);
            stream.memcpy_htod(back, device)?;
            Ok(stream.synchronize()?)
        })?
        .record(lab)?;
    down("pageable", "new_pages")
        .time_on_host_after(lab, fresh, |mut result| {
            stream.memcpy_dtoh(device, &mut result[..FLOATS])?;
            stream.synchronize()?;
            Ok(result)
        })?
        .record(lab)
}

/// A `Vec` without pages, such as a program's first one is. It is far larger than the 4 MB
/// that are used of it: for a small one the allocator would hand out the pages of the
/// last sample again, for a large one it asks the system each time.
fn fresh() -> Result<Vec<f32>> {
    Ok(vec![0.0; 16 << 20])
}
