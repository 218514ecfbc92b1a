//! 8\. A kernel that takes no longer than a launch does.

use cudarc::driver::sys::CUevent_flags;
use lab::launch::threads;
use lab::{Case, Clock, Lab, Result};

use crate::kernels::{Kernels, filled, sum_of};
use crate::{BYTES, RIGHT, in_the_way};

pub(crate) fn measure(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let resident = lab.resident_threads()?;
    let vectors = BYTES / 16;
    let input = filled(&kernels, &stream, 4 * vectors)?;
    let mut sums = stream.alloc_zeros::<u32>(resident)?;
    let (all, grid) = (input.as_view(), threads(resident));
    let mut launch = || kernels.sum(&stream, grid, &all, &mut sums, vectors, 1);
    let case = |timed| {
        let case = in_the_way(timed, Case::new("short")).reads(BYTES);
        case.writes(4 * resident).footprint(BYTES, lab.l2_bytes())
    };
    // ANCHOR: short
    // Right: the launches are queued before the first one starts. Wrong: one launch by
    // the host's clock; and one between two events, queued while the GPU waits for what
    // comes next.
    let queued = case(RIGHT).time_on_gpu(lab, &stream, |_| launch())?;
    let by_host = case("host").time_on_host(lab, || {
        launch()?;
        Ok(stream.synchronize()?)
    })?;
    let timing = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.context().new_event(timing)?;
    let end = stream.context().new_event(timing)?;
    let by_events = case("events").time_turns(lab, Clock::CudaEvents, || {
        start.record(&stream)?;
        launch()?;
        end.record(&stream)?;
        Ok((f64::from(start.elapsed_ms(&end)?) * 1e-3, ())) // waits for the end
    })?;
    // ANCHOR_END: short
    for timed in [queued, by_host, by_events] {
        timed
            .check_device(&stream, &sums, |i| sum_of(i, resident, 0, vectors))?
            .record(lab)?;
    }
    Ok(())
}
