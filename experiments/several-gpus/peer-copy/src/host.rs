//! Through the host: over the sender's link into pinned memory, and over the receiver's
//! link out of it.

use cudarc::driver::{CudaEvent, PinnedHostSlice, result, sys};
use lab::memory::pinned_with_flags;
use lab::{Case, Lab, Result};

use crate::device::{Peer, WORD};
use crate::transfer::Transfer;

/// How many pieces, and how many buffers take turns.
const PIECES: [usize; 4] = [1024, 256, 64, 16];
const BUFFERS: [usize; 2] = [2, 3];

/// A pinned buffer, and when it is full and free again.
struct Slot {
    memory: PinnedHostSlice<u32>,
    full: CudaEvent,
    free: CudaEvent,
}

fn slots(from: &Peer, to: &Peer, count: usize, bytes: usize) -> Result<Vec<Slot>> {
    let slot = |_| {
        // Memory that all contexts know as pinned.
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE;
        let memory = pinned_with_flags(&from.context, bytes / WORD, flags, |_| 0)?;
        let (full, free) =
            (from.context.new_event(None)?, to.context.new_event(None)?);
        Ok(Slot { memory, full, free })
    };
    (0..count).map(slot).collect()
}

// ANCHOR: pipelined
/// Sends the source of one GPU to the target of the other, through these buffers in turn,
/// and waits until it is there.
fn send(from: &Peer, to: &Peer, slots: &mut [Slot], bytes: usize) -> Result<()> {
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

fn download(from: &Peer, memory: &mut [u32], offset: usize) -> Result<()> {
    from.context.bind_to_thread()?;
    let queue = from.stream.cu_stream();
    // SAFETY: the source has that many bytes from there on, and events, or a wait for the
    // end of the stream's work, keep everything else away from the buffer.
    unsafe {
        result::memcpy_dtoh_async(memory, from.source + offset as u64, queue)
    }?;
    Ok(())
}

fn upload(to: &Peer, memory: &[u32], offset: usize) -> Result<()> {
    to.context.bind_to_thread()?;
    let queue = to.stream.cu_stream();
    // SAFETY: likewise, with the target.
    unsafe { result::memcpy_htod_async(to.target + offset as u64, memory, queue) }?;
    Ok(())
}

/// Each link alone, and both one after the other and at the same time.
pub(crate) fn cases(lab: &mut Lab, there: Transfer<'_>) -> Result<()> {
    let Transfer { from, to, bytes, .. } = there;
    let whole = &mut slots(from, to, 1, bytes)?;
    let memory = whole[0].memory.as_mut_slice()?;
    let link = |direction| {
        let case = Case::new("link").with("direction", direction);
        case.with("bytes", bytes).writes(bytes)
    };
    let down = link("device_to_host").time_on_host(lab, || {
        download(from, memory, 0)?;
        Ok(from.stream.synchronize()?)
    })?;
    there.clear(bytes)?;
    let up = link("host_to_device").time_on_host(lab, || {
        upload(to, memory, 0)?;
        Ok(to.stream.synchronize()?)
    })?;
    let checked = there.check(bytes)?;
    for direction in [down, up] {
        direction.checked(checked).record(lab)?;
    }

    // One after the other: the whole, then the whole. And at the same time: pieces in
    // buffers that take turns.
    staged(lab, there, "store_and_forward", whole)?;
    for pieces in PIECES {
        for buffers in BUFFERS {
            let ring = &mut slots(from, to, buffers, bytes / pieces)?;
            staged(lab, there, "pipelined", ring)?;
        }
    }
    Ok(())
}

fn staged(
    lab: &mut Lab,
    there: Transfer<'_>,
    kind: &str,
    slots: &mut [Slot],
) -> Result<()> {
    let Transfer { from, to, bytes, .. } = there;
    let case = Case::new("staged").with("kind", kind).with("bytes", bytes);
    let case = case.with("piece_bytes", slots[0].memory.len() * WORD);
    there.clear(bytes)?;
    case.with("buffers", slots.len())
        .writes(bytes)
        .time_on_host(lab, || send(from, to, slots, bytes))?
        .checked(there.check(bytes)?)
        .record(lab)
}
