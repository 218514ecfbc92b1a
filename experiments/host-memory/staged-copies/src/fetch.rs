//! How fast the copy engine fetches what a core has just written.

use std::hint::black_box;
use std::time::Instant;

use lab::check::value;
use lab::memory::pinned;
use lab::{Case, Ceiling, Clock, Lab, Result};

use crate::buffers::{Buffers, bytes};
use crate::carry::STORES;

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
    let [plain, past_caches] = STORES;
    for ((stores, write), then) in
        [(plain, "at_once"), (past_caches, "at_once"), (plain, "later")]
    {
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
                write(to, from);
                if then == "later" {
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
