//! What one thread of a staged copy does, without the copy engine: it carries pieces of
//! pageable memory to a ring of slots, or back.

use std::mem::MaybeUninit;

use lab::check::every_element;
use lab::{Case, Lab, Result};
use staging::{Options, copy_non_temporal};

use crate::UP;
use crate::buffers::Buffers;

/// Carries a piece between a slot and pageable memory, from which it may read and to
/// which it may write.
type Carry = fn(&mut [u8], &[u8], &mut [MaybeUninit<u8>]);

/// Times it, and returns the rate in bytes per second: to the host, that of the stores
/// which `Staging` uses. Plain stores are timed beside them.
pub(crate) fn measure(
    lab: &mut Lab,
    buffers: &mut Buffers,
    direction: &str,
    Options { piece_bytes, slots, .. }: Options,
) -> Result<f64> {
    // SAFETY: a u32 is four bytes, and what is initialised may be taken for memory that
    // may be uninitialised.
    let (source, target) = unsafe {
        (buffers.source.align_to::<u8>().1, buffers.target.align_to_mut().1)
    };
    let mut rate = 0.0;
    // ANCHOR: carry
    let ways: &[(&str, Carry)] = match direction {
        UP => &[("plain", |slot, from, _| slot.copy_from_slice(from))],
        _ => &[
            ("plain", |slot, _, to| _ = to.write_copy_of_slice(slot)),
            ("past_caches", |slot, _, to| copy_non_temporal(slot, to)),
        ],
    };
    for (stores, carry) in ways {
        let slot = |n| vec![(n % 255) as u8 + 1; piece_bytes];
        let mut ring: Vec<_> = (0..slots).map(slot).collect();
        target.fill(MaybeUninit::new(0));
        let timed = Case::new("carry")
            .with("bytes", source.len())
            .with("direction", direction)
            .with("stores", *stores)
            .writes(source.len())
            .time_on_host(lab, || {
                let pieces = source.chunks(piece_bytes);
                let pieces = pieces.zip(target.chunks_mut(piece_bytes));
                for (turn, (from, to)) in pieces.enumerate() {
                    carry(&mut ring[turn % slots][..from.len()], from, to);
                }
                Ok(())
            })?;
        // ANCHOR_END: carry
        // To slots, the last pieces are still there; back, each piece is its slot's.
        let mut checked = 0;
        let from = source.chunks(piece_bytes);
        let to = target.chunks(piece_bytes);
        let kept = from.len().saturating_sub(slots);
        for (turn, (from, to)) in from.zip(to).enumerate() {
            let slot = &ring[turn % slots];
            let arrived = match direction {
                UP if turn < kept => continue,
                UP => from,
                // SAFETY: `target` was filled above, and only written to since.
                _ => unsafe { to.assume_init_ref() },
            };
            checked += every_element(stores, arrived, |i| slot[i])?;
        }
        rate = source.len() as f64 / timed.samples.median();
        timed.checked(checked).record(lab)?;
    }
    Ok(rate)
}
