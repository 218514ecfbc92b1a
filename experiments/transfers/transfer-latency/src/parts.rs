//! Parts: what the GPU, the driver's call and the wait take of an empty kernel's launch,
//! and of a copy of 4 bytes.

use cudarc::driver::CudaStream;
use lab::launch::blocks;
use lab::memory::pinned;
use lab::{Case, Lab, Result, Timed};

use crate::Kernels;

/// The parts of some work on an idle stream: if it can be queued, what the GPU needs for
/// it when it was, and the host's call alone; then the call with a wait for its end.
fn parts(
    lab: &Lab,
    stream: &CudaStream,
    name: &str,
    can_be_queued: bool,
    mut work: impl FnMut() -> Result<()>,
) -> Result<Vec<Timed>> {
    let idle = || Ok(stream.synchronize()?);
    let case = |timed| Case::new(name).with("timed", timed);
    let mut parts = vec![];
    // ANCHOR: timed
    if can_be_queued {
        parts.push(case("gpu").time_on_gpu(lab, stream, |_| work())?);
        parts.push(case("call").time_on_host_after(lab, idle, |()| work())?);
    }
    parts.push(case("call_and_wait").time_on_host_after(lab, idle, |()| {
        work()?;
        Ok(stream.synchronize()?)
    })?);
    // ANCHOR_END: timed
    Ok(parts)
}

/// A kernel that does nothing, and a wait for nothing. What is left of a launch without
/// work is what it costs to have any run.
pub(crate) fn launches(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let nothing = || kernels.nothing(&stream, blocks(1, 1));
    for part in parts(lab, &stream, "launch", true, nothing)? {
        part.record(lab)?;
    }
    let idle = || Ok(stream.synchronize()?);
    let case = Case::new("launch").with("timed", "wait");
    case.time_on_host_after(lab, idle, |()| idle())?.record(lab)
}

/// A copy of 4 bytes, each way.
pub(crate) fn copies(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let mut pinned = pinned(lab.context(), 1, |_| 0u32)?;
    let mut pageable = [0u32];
    let mut device = stream.alloc_zeros::<u32>(1)?;
    // A pageable copy may not return while its stream is held shut: it cannot be queued.
    for (host, queued, to_device, to_host) in [
        (pinned.as_mut_slice()?, true, "copy_to_device", "copy_to_host"),
        (&mut pageable[..], false, "pageable_to_device", "pageable_to_host"),
    ] {
        host[0] = 7;
        let copy = || Ok(stream.memcpy_htod(&*host, &mut device)?);
        for part in parts(lab, &stream, to_device, queued, copy)? {
            part.check_device(&stream, &device, |_| 7)?.record(lab)?;
        }
        stream.memcpy_htod(&[11], &mut device)?;
        stream.synchronize()?;
        let copy = || Ok(stream.memcpy_dtoh(&device, host)?);
        for part in parts(lab, &stream, to_host, queued, copy)? {
            part.check(host, |_| 11)?.record(lab)?;
        }
    }
    Ok(())
}
