// Replaces all GPUs' data by the sum of all of them.

use std::ops::Range;

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result, anyhow};

pub fn all_reduce(
    gpus: &[Gpu],
    data: &mut [CudaSlice<f32>], // one on each GPU, of one length
    inboxes: &mut [CudaSlice<f32>], // one on each GPU, for a chunk: length / n, rounded up
) -> Result<()> {
    let (n, length) = (gpus.len(), data[0].len());
    // Chunks are counted around the ring, too.
    let chunk = |number: usize| -> Range<usize> {
        let place = number % n;
        place * length / n..(place + 1) * length / n
    };
    for step in 0..n - 1 {
        // Whoever is next has added what is in its inbox.
        wait_for(gpus, |rank| (rank + 1) % n)?;
        for (rank, gpu) in gpus.iter().enumerate() {
            let chunk = chunk(rank + n - step);
            let mut inbox = inboxes[(rank + 1) % n].slice_mut(..chunk.len());
            gpu.stream.memcpy_dtod(&data[rank].slice(chunk), &mut inbox)?;
        }
        // What has been sent has arrived.
        wait_for(gpus, |rank| (rank + n - 1) % n)?;
        for (rank, gpu) in gpus.iter().enumerate() {
            let chunk = chunk(rank + n - 1 - step);
            let inbox = inboxes[rank].slice(..chunk.len());
            let mut sum = data[rank].slice_mut(chunk);
            gpu.kernels.accumulate(&gpu.stream, &inbox, &mut sum)?;
        }
    }
    // Each GPU has finished the chunk that follows its own number.
    for step in 0..n - 1 {
        for (rank, gpu) in gpus.iter().enumerate() {
            let (next, chunk) = ((rank + 1) % n, chunk(rank + 1 + n - step));
            let [from, to] = data
                .get_disjoint_mut([rank, next])
                .map_err(|_| anyhow!("a ring of one"))?;
            let mut to = to.slice_mut(chunk.clone());
            gpu.stream.memcpy_dtod(&from.slice(chunk), &mut to)?;
        }
        wait_for(gpus, |rank| (rank + n - 1) % n)?;
    }
    Ok(())
}

/// Lets each GPU's stream wait for what is in that of another one by now.
fn wait_for(gpus: &[Gpu], whom: impl Fn(usize) -> usize) -> Result<()> {
    let marks = gpus.iter().map(|gpu| gpu.stream.record_event(None));
    let marks = marks.collect::<Result<Vec<_>, _>>()?;
    for (rank, gpu) in gpus.iter().enumerate() {
        gpu.stream.wait(&marks[whom(rank)])?;
    }
    Ok(())
}
