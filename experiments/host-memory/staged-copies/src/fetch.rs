//! How fast the copy engine fetches what a core has just written, and which stores are best for
//! whole copies.

use std::hint::black_box;
use std::time::Instant;

use lab::check::value;
use lab::memory::pinned;
use lab::{Case, Ceiling, Clock, Lab, Result};
use staging::{Options, Staging};

use crate::UP;
use crate::buffers::{Buffers, bytes};
use crate::carry::stores;

/// Half of what a core's own cache holds, on the CPUs that we know.
const BYTES: usize = 1 << 20;
/// A multiple of what it holds.
const OTHER: usize = 16 << 20;

/// One core writes pinned memory, and the engine copies it to the GPU: at once, or after
/// the core has written so much else that nothing of it is left in the core's cache.
pub(crate) fn measure(lab: &mut Lab, buffers: &mut Buffers) -> Result<()> {
    let Buffers { source, device, stream, .. } = buffers;
    let words = BYTES / size_of::<u32>();
    let mut slot = pinned(stream.context(), words, |_| 0u32)?;
    let mut other = vec![0u8; OTHER];
    // ANCHOR: fetch
    let at_once = stores(UP).map(|kind| (kind, "at_once", false));
    let later = stores(UP).take(1).map(|kind| (kind, "later", true));
    for ((stores, how), then, waits) in at_once.chain(later) {
        let (mut turn, mut start) = (0, 0);
        stream.memset_zeros(device)?;
        let timed = Case::new("fetch")
            .with("stores", stores)
            .with("fetched", then)
            .with("bytes", BYTES)
            .writes(BYTES)
            .ceiling(Ceiling::HostLink)
            .time_turns(lab, Clock::Host, || {
                turn += 1;
                start = turn * words % source.len();
                let piece = &source[start..start + words];
                let (from, to) = bytes(piece, slot.as_mut_slice()?);
                how.copy(to, from);
                if waits {
                    black_box(&mut other).fill(turn as u8);
                }
                stream.synchronize()?;
                let clock = Instant::now();
                stream.memcpy_htod(&slot, device)?;
                stream.synchronize()?;
                Ok((clock.elapsed().as_secs_f64(), ()))
            })?;
        // ANCHOR_END: fetch
        let got = device.slice(..words);
        timed.check_device(stream, &got, |i| value(start + i))?.record(lab)?;
    }
    Ok(())
}

/// Staged copies of three sizes to the GPU, with each kind of stores.
pub(crate) fn stage(
    lab: &mut Lab,
    buffers: &mut Buffers,
    options: Options,
) -> Result<()> {
    for (name, stores) in stores(UP) {
        let context = buffers.stream.context().clone();
        let by = &mut Staging::new(&context, Options { stores, ..options })?;
        for part in [64, 16, 1] {
            let bytes = size_of_val(buffers.source) / part;
            let case = Case::new("stores").with("stores", name).with("bytes", bytes);
            buffers.copy(lab, case, UP, bytes, by)?;
        }
    }
    Ok(())
}
