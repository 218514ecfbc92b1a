//! What one thread of a staged copy does, without the copy engine: it carries pieces of
//! pageable memory to a ring of slots, or back.

use std::mem::MaybeUninit;

use lab::check::every_element;
use lab::{Case, Lab, Result};
use staging::{Options, copy_non_temporal};

use crate::UP;
use crate::buffers::{Buffers, Bytes, bytes};

// ANCHOR: stores
type Carry = fn(&mut Bytes, &Bytes);

/// Ways to write a copy's target, with their names in the record.
pub(crate) const STORES: [(&str, Carry); 2] =
    [("plain", <[_]>::copy_from_slice), ("past_caches", copy_non_temporal)];
// ANCHOR_END: stores

/// Times a carry of all memory with each kind of stores, and returns the rate of the last
/// in bytes per second.
pub(crate) fn measure(
    lab: &mut Lab,
    buffers: &mut Buffers,
    direction: &str,
    Options { piece_bytes, slots, .. }: Options,
) -> Result<f64> {
    let (source, target) = bytes(buffers.source, buffers.target);
    let mut rate = 0.0;
    for (stores, carry) in STORES {
        let slot = |n| vec![MaybeUninit::new((n % 255) as u8 + 1); piece_bytes];
        let mut ring: Vec<_> = (0..slots).map(slot).collect();
        target.fill(MaybeUninit::new(0));
        // ANCHOR: carry
        let timed = Case::new("carry")
            .with("bytes", source.len())
            .with("direction", direction)
            .with("stores", stores)
            .writes(source.len())
            .time_on_host(lab, || {
                let pieces = source.chunks(piece_bytes);
                let pieces = pieces.zip(target.chunks_mut(piece_bytes));
                for (turn, (from, to)) in pieces.enumerate() {
                    let slot = &mut ring[turn % slots][..from.len()];
                    if direction == UP { carry(slot, from) } else { carry(to, slot) }
                }
                Ok(())
            })?;
        // ANCHOR_END: carry
        // To slots, the last pieces are still there; back, each piece is its slot's.
        let mut checked = 0;
        let kept = source.chunks(piece_bytes).len().saturating_sub(slots);
        let pieces = source.chunks(piece_bytes).zip(target.chunks(piece_bytes));
        for (turn, (from, to)) in pieces.enumerate() {
            let slot = &ring[turn % slots][..from.len()];
            let arrived = match direction {
                UP if turn < kept => continue,
                UP => from,
                _ => to,
            };
            // SAFETY: both were filled above, or by `main`, and only written to since.
            let [slot, arrived] =
                [slot, arrived].map(|bytes| unsafe { bytes.assume_init_ref() });
            checked += every_element(stores, arrived, |i| slot[i])?;
        }
        rate = source.len() as f64 / timed.samples.median();
        timed.checked(checked).record(lab)?;
    }
    Ok(rate)
}
