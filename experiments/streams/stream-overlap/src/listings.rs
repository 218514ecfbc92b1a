//! The CuPy article's listings, as printed, and with the second copy in the second stream.

use lab::{Case, Clock, Lab, Result, Span};

use crate::device::Work;

pub(crate) fn measure(
    lab: &mut Lab,
    gpu: &mut Work,
    host: &mut [u32],
    case: Case,
) -> Result<()> {
    for (code, second) in [("printed", 0), ("repaired", 1)] {
        gpu.clear(host)?;
        gpu.streams[0].memset_zeros(&mut gpu.arrays[0])?;
        gpu.streams[0].synchronize()?;
        case.clone()
            .with("code", code)
            .time_turns(lab, Clock::Host, || listing(gpu, second, host))?
            .spans()
            .checked(gpu.check(host)?)
            .record(lab)?;
    }
    Ok(())
}

/// The article's listing: two copies to the GPU, a wait for the first stream, and
/// the kernel on the first array in the default stream. As printed, the second copy
/// is in the first stream, too.
fn listing(gpu: &Work, second: usize, host: &mut [u32]) -> Result<(f64, Vec<Span>)> {
    let (line, streams) = (&gpu.line, &gpu.streams);
    let (array_1, array_2) = host.split_at_mut(gpu.words());
    let copy = |n: usize, stream: usize, array| {
        let (label, lane) = (format!("copy {n}"), format!("stream {}", stream + 1));
        let stream = &streams[stream];
        let copy =
            || line.gpu(&lane, &label, stream, || gpu.copy(n - 1, stream, array));
        line.host("host", &label, copy)
    };
    line.begin(&streams[0])?;
    // ANCHOR: listing
    copy(1, 0, array_1)?;
    copy(2, second, array_2)?;
    line.host("host", "wait 1", || Ok(streams[0].synchronize()?))?;
    let launch = || gpu.launch(&gpu.default, gpu.steps);
    let launch = || line.gpu("default", "kernel", &gpu.default, launch);
    line.host("host", "launch", launch)?;
    // ANCHOR_END: listing
    line.host("host", "wait 2", || gpu.wait())?;
    line.finish()
}
