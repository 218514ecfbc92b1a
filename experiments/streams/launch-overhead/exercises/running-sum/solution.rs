// For each frame the sum of all frames up to it.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use trial::{Kernels, Result, pinned};

pub fn running(
    context: &Arc<CudaContext>,
    kernels: &Kernels,
    read: &dyn Fn(usize, &mut [f32]), // writes frame s into memory
    length: usize,                    // numbers of a frame
    sums: &mut [f32],                 // pinned; one sum behind the other
) -> Result<()> {
    let up = context.new_stream()?;
    let compute = context.new_stream()?;
    let down = context.new_stream()?;
    let new = || pinned(context, length, |_| 0.0f32);
    let (mut slots, zeros) = ([new()?, new()?], || compute.alloc_zeros(length));
    let mut frames = [zeros()?, zeros()?];
    let mut totals = [zeros()?, zeros()?]; // the sum before the first is 0
    up.join(&compute)?; // the memory is there
    // For each buffer, when the stage behind was last done with it.
    let copied = [up.record_event(None)?, up.record_event(None)?];
    let added = [compute.record_event(None)?, compute.record_event(None)?];
    let gone = [down.record_event(None)?, down.record_event(None)?];
    for (turn, sum) in sums.chunks_mut(length).enumerate() {
        let own = turn % 2;
        let (slot, frame) = (&mut slots[own], &mut frames[own]);
        copied[own].synchronize()?;
        let slot = slot.as_mut_slice()?;
        read(turn, slot);

        up.wait(&added[own])?;
        up.memcpy_htod(slot, frame)?;
        copied[own].record(&up)?;

        compute.join(&up)?;
        compute.wait(&gone[own])?;
        let [first, second] = &mut totals;
        let (before, total) =
            if own == 0 { (second, first) } else { (first, second) };
        let (frame, before) = (frame.as_view(), before.as_view());
        kernels.add(&compute, &frame, &before, &mut total.as_view_mut())?;
        added[own].record(&compute)?;

        down.join(&compute)?;
        down.memcpy_dtoh(total, sum)?;
        gone[own].record(&down)?;
    }
    down.synchronize()?; // it has waited for all others
    Ok(())
}
