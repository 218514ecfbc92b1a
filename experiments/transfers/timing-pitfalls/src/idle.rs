//! 7\. A kernel of which 31 threads in 32 do nothing; and, for 4, one that is not waited
//! for.

use cudarc::driver::CudaSlice;
use lab::check::{self, value};
use lab::launch::threads;
use lab::{Case, Lab, Result};

use crate::kernels::{Kernels, filled};
use crate::{RIGHT, in_the_way};

const STRIDE: usize = 32;

pub(crate) fn measure(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let count = lab.l2_bytes() / 4;
    let input = filled(&kernels, &stream, count * STRIDE)?;
    let mut output = stream.alloc_zeros::<u32>(count)?;
    let launch = |output: &mut CudaSlice<u32>, working| {
        kernels.gather(&stream, threads(count), &input, output, working, STRIDE)
    };
    // Each claims to have moved all elements.
    let case = |timed| {
        in_the_way(timed, Case::new("gather")).reads(4 * count).writes(4 * count)
    };

    // ANCHOR: skipping
    // Right: each thread moves an element. Wrong: a guard lets one in 32 do so.
    for (timed, working) in [(RIGHT, count), ("skipping", count / STRIDE)] {
        stream.memset_zeros(&mut output)?;
        let timed = case(timed)
            .footprint(36 * working, lab.l2_bytes())
            .time_on_gpu(lab, &stream, |_| launch(&mut output, working))?;
        let word = |i| value(i * STRIDE);
        let checked = check::output("gather", &stream, &output, working, word)?;
        timed.checked(checked).record(lab)?;
    }
    // ANCHOR_END: skipping

    // Launched, and not waited for.
    let idle = || Ok(stream.synchronize()?);
    let called = case("call")
        .time_on_host_after(lab, idle, |()| launch(&mut output, count))?;
    stream.synchronize()?;
    called.record(lab)
}
