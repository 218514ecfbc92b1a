//! What one thread of a staged copy does, without the copy engine: it carries pieces of
//! pageable memory to a ring of slots, or back.

use std::mem::MaybeUninit;

use lab::check::every_element;
use lab::{Case, Lab, Result};
use staging::{Options, Stores};

use crate::UP;
use crate::buffers::{Buffers, bytes};

/// The stores that this CPU has, with their names in the record. For copies to the host those
/// that demote are left out. The last are those that [`staging`] uses.
pub(crate) fn stores(
    direction: &str,
) -> impl Iterator<Item = (&'static str, Stores)> {
    let all = Stores::all().iter().map(|stores| match stores {
        Stores::Plain => ("plain", *stores),
        Stores::PastCaches => ("past_caches", *stores),
        Stores::Demoted => ("demoted", *stores),
    });
    all.filter(move |(_, stores)| direction == UP || *stores != Stores::Demoted)
}

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
    for (stores, how) in stores(direction) {
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
                    match direction {
                        UP => how.copy(slot, from),
                        _ => how.copy(to, slot),
                    }
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
