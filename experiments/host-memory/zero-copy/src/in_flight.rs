//! How fast: how many reads must be in flight to fill the link? Few threads read 16 MiB,
//! one word at a time each.

use lab::memory::Mapped;
use lab::{Case, Ceiling, Lab, Result};

use crate::device::{BLOCK, Runner, SCATTERED, Shape, WORD};

pub(crate) fn measure(
    lab: &mut Lab,
    gpu: &mut Runner,
    source: &Mapped<u32>,
) -> Result<()> {
    let stream = gpu.stream.clone();
    let words = gpu.output.len().min((16 << 20) / WORD);
    let resident = lab.resident_threads()?;
    for (order, step) in [("coalesced", 1), ("scattered", SCATTERED)] {
        let counts = (0..).map(|n| BLOCK << n);
        for threads in counts.take_while(|threads| *threads <= resident) {
            let (reads, jump) = (words / threads, threads * step % words);
            let shape = Shape { words, count: threads, step, reads, jump };
            stream.memset_zeros(&mut gpu.output)?;
            // Only the kernel is of interest, so the GPU's clock.
            let timed = Case::new("in_flight")
                .with("order", order)
                .with("threads", threads)
                .reads(threads * reads * WORD)
                .ceiling(Ceiling::HostLink)
                .time_on_gpu(lab, &stream, |_| gpu.read(source.device, &shape))?;
            timed.checked(gpu.check(&shape)?).record(lab)?;
        }
    }
    Ok(())
}
