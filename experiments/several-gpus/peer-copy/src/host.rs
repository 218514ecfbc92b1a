//! By way of the host: over the sender's link into pinned memory, and over the receiver's
//! link out of it.

use cudarc::driver::{CudaEvent, PinnedHostSlice, result, sys};
use lab::{Case, Lab, Result};

use crate::gpu::{Gpu, WORD};

/// How many pieces, and how many buffers take turns.
const PIECES: [usize; 4] = [1024, 256, 64, 16];
const BUFFERS: [usize; 2] = [2, 3];

/// A pinned buffer, and when it is full and free again.
struct Slot {
    memory: PinnedHostSlice<u32>,
    full: CudaEvent,
    free: CudaEvent,
}

fn slots(from: &Gpu, to: &Gpu, count: usize, bytes: usize) -> Result<Vec<Slot>> {
    let slot = |_| {
        // Memory that all contexts know as pinned.
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: it is written before it is read, by the first copy.
        let memory =
            unsafe { from.context.alloc_pinned_with_flags(bytes / WORD, flags) }?;
        let (full, free) =
            (from.context.new_event(None)?, to.context.new_event(None)?);
        Ok(Slot { memory, full, free })
    };
    (0..count).map(slot).collect()
}

// ANCHOR: pipelined
/// Sends the source of one GPU to the target of the other, through these buffers in turn,
/// and waits until it is there.
fn send(from: &Gpu, to: &Gpu, slots: &mut [Slot], bytes: usize) -> Result<()> {
    let count = slots.len();
    let piece = slots[0].memory.len() * WORD;
    for (i, offset) in (0..bytes).step_by(piece).enumerate() {
        let Slot { memory, full, free } = &mut slots[i % count];
        from.stream.wait(free)?; // what it held before has left it
        download(from, memory.as_mut_slice()?, offset)?;
        full.record(&from.stream)?;
        to.stream.wait(full)?;
        upload(to, memory.as_slice()?, offset)?;
        free.record(&to.stream)?;
    }
    Ok(to.stream.synchronize()?)
}
// ANCHOR_END: pipelined

fn download(from: &Gpu, memory: &mut [u32], offset: usize) -> Result<()> {
    from.context.bind_to_thread()?;
    let queue = from.stream.cu_stream();
    // SAFETY: the source has so many bytes from there on, and events, or a wait for the
    // end of the stream's work, keep everybody else away from the buffer.
    unsafe {
        result::memcpy_dtoh_async(memory, from.source + offset as u64, queue)
    }?;
    Ok(())
}

fn upload(to: &Gpu, memory: &[u32], offset: usize) -> Result<()> {
    to.context.bind_to_thread()?;
    let queue = to.stream.cu_stream();
    // SAFETY: likewise, with the target.
    unsafe { result::memcpy_htod_async(to.target + offset as u64, memory, queue) }?;
    Ok(())
}

/// The two links alone, and both one after the other and at the same time.
pub(crate) fn staged(lab: &mut Lab, from: &Gpu, to: &Gpu) -> Result<()> {
    let bytes = from.bytes;
    let whole = &mut slots(from, to, 1, bytes)?;

    // Each link alone.
    let memory = whole[0].memory.as_mut_slice()?;
    let down = lab.time_on_host(|| {
        download(from, memory, 0)?;
        Ok(from.stream.synchronize()?)
    })?;
    to.clear(to.target, bytes, from)?;
    let up = lab.time_on_host(|| {
        upload(to, memory, 0)?;
        Ok(to.stream.synchronize()?)
    })?;
    let checked = to.check(to.target, bytes, from)?;
    for (direction, samples) in [("device_to_host", down), ("host_to_device", up)] {
        let case = Case::new("link").with("direction", direction).writes(bytes);
        lab.record(case.with("bytes", bytes).checked(checked).samples(samples))?;
    }

    // One after the other: the whole, then the whole.
    let case = |kind: &str, piece_bytes: usize, buffers: usize| {
        let case = Case::new("staged").with("kind", kind).with("bytes", bytes);
        case.with("piece_bytes", piece_bytes).with("buffers", buffers).writes(bytes)
    };
    to.clear(to.target, bytes, from)?;
    let samples = lab.time_on_host(|| send(from, to, whole, bytes))?;
    let checked = to.check(to.target, bytes, from)?;
    lab.record(
        case("store_and_forward", bytes, 1).checked(checked).samples(samples),
    )?;

    // At the same time: pieces in buffers that take turns.
    for pieces in PIECES {
        let piece_bytes = bytes / pieces;
        for buffers in BUFFERS {
            let ring = &mut slots(from, to, buffers, piece_bytes)?;
            to.clear(to.target, bytes, from)?;
            let samples = lab.time_on_host(|| send(from, to, ring, bytes))?;
            let checked = to.check(to.target, bytes, from)?;
            let case = case("pipelined", piece_bytes, buffers);
            lab.record(case.checked(checked).samples(samples))?;
        }
    }
    Ok(())
}
