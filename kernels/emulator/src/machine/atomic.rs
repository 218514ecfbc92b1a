//! Atomic operations. The lanes of a warp do theirs one after the other.

use crate::WARP;
use crate::access::{Places, active, atomic_sectors_of, atomic_wavefronts_of};
use crate::counts::NoteKind;
use crate::half::{Bf16, F16, Half, each_half};
use crate::machine::access::Part;
use crate::machine::lane::{Direction, LaneAccess};
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result};
use crate::program::{Atomic, AtomicKind, Number};
use crate::rounding::{add_to_odd, flush};
use crate::space::Space;

/// Instructions that the operation of one lane counts as, against the budget.
const ATOMIC_COST: u64 = 4;

impl Machine<'_> {
    /// True, if memory is another afterwards.
    pub(super) fn atomic(&mut self, warp: &mut Warp, atomic: &Atomic, lanes: u32) -> Result<bool> {
        let (mut changed, mut is_noted) = (false, false);
        let mut places = self.addresses(warp, &atomic.address);
        let addresses = places;
        let direction = Direction::change(atomic.scope);
        if atomic.releases {
            self.fence(warp, lanes, atomic.scope);
        }
        self.each_space(atomic.address.space, &mut places, lanes, |machine, part| {
            let tally = &mut machine.tallies[warp.pc];
            let bytes = atomic.bytes as u64;
            let Part { space, places } = part;
            let Places { addresses, lanes, .. } = places;
            match (space, atomic.is_reduction) {
                (Space::Shared, _) => {
                    let wavefronts = atomic_wavefronts_of(places, bytes, atomic.counts);
                    tally.shared_atomics += wavefronts;
                    // Both operands of a compare-and-swap have to come.
                    if atomic.kind == AtomicKind::CompareAndSwap {
                        tally.shared_atomics.wavefronts += wavefronts.wavefronts;
                    }
                }
                (_, false) => {
                    tally.global_atomics += atomic_sectors_of(addresses, lanes, bytes);
                }
                (_, true) => {
                    tally.global_reductions += atomic_sectors_of(addresses, lanes, bytes);
                }
            }
            if space == Space::Global {
                let first = addresses[lanes.trailing_zeros() as usize];
                let buffer = machine.find_buffer(warp.pc, first);
                is_noted = machine.memory.holds_lanes(buffer, places, atomic.bytes)
                    && machine.note_lanes(warp, places, atomic.bytes, direction);
            }
            Ok(())
        })?;
        self.executed += ATOMIC_COST * u64::from(lanes.count_ones());
        for lane in active(lanes) {
            let address = addresses[lane];
            let (space, address) = match atomic.address.space {
                Space::Generic => Space::of(address),
                space => (space, address),
            };
            let mut bytes = [0; 8];
            let there = &mut bytes[..atomic.bytes];
            self.read_lane(warp, space, lane, address, there, direction)?;
            // What an exchange finds may be of no interest.
            if atomic.kind != AtomicKind::Exchange {
                self.use_unwritten(warp)?;
            }
            let old = u64::from_le_bytes(bytes);
            let operand = warp.registers.get(atomic.operand, lane);
            let swapped = old == truncated(operand, atomic.bytes);
            if atomic.after_plain_read && !swapped {
                let what = "expects what a plain read found, which is another value by now: that \
                            is right, because a loop goes round again; a volatile or atomic read \
                            would say that it may be old";
                self.note(NoteKind::PlainRead, warp.pc, what.to_owned());
            }
            let new = match atomic.swap {
                Some(swap) if swapped => warp.registers.get(swap, lane),
                Some(_) => old,
                None => {
                    let operands = [old, operand].map(|bits| match atomic.flushes(space) {
                        true => flush(f32::from_bits(bits as u32)).to_bits().into(),
                        false => bits,
                    });
                    let [old, operand] = operands;
                    combine(atomic.kind, atomic.number, atomic.bytes, old, operand)
                }
            };
            let new = match atomic.flushes(space) {
                true => flush(f32::from_bits(new as u32)).to_bits().into(),
                false => truncated(new, atomic.bytes),
            };
            if new != old {
                (self.stalled, changed) = (0, true);
            }
            let bytes = &new.to_le_bytes()[..atomic.bytes];
            let access = LaneAccess { lane, address, bytes: atomic.bytes, direction };
            match space {
                // The read has looked for races, also those of the write.
                Space::Shared => self.shared.write(address, bytes),
                Space::Global => {
                    if !is_noted {
                        self.touch_global_lane(warp, access, None)?;
                    }
                    let at = self.locate(warp, access)?;
                    let offset = address - self.memory.store(at).address;
                    self.memory.write_at(at, offset, bytes);
                }
                _ => self.write_lane(warp, space, lane, address, bytes, direction)?,
            }
            if !self.shared.order.is_quiet() {
                let thread = warp.index * WARP + lane;
                let scope = direction.scope_in(space);
                self.shared.order.acquire(thread, address, atomic.acquires);
                if atomic.swap.is_none() || swapped {
                    self.shared.order.release(thread, address, true, scope);
                }
            }
            if let Some(result) = atomic.result {
                warp.registers.set(result, lane, old);
            }
        }
        self.mark_exchanged(warp, atomic.result);
        Ok(changed)
    }
}

impl Atomic {
    /// Sums of `f32` in device memory have no numbers too small for the usual form.
    fn flushes(&self, space: Space) -> bool {
        let is_sum = self.kind == AtomicKind::Add && self.number == Number::Float;
        is_sum && self.bytes == 4 && space == Space::Global
    }
}

fn truncated(bits: u64, bytes: usize) -> u64 {
    bits & u64::MAX >> (64 - 8 * bytes)
}

/// The bits of a signed number as wide as an operand.
fn signed(bits: u64, bytes: usize) -> i64 {
    let unused = 64 - 8 * bytes;
    ((bits << unused) as i64) >> unused
}

/// What is in memory after an atomic operation.
pub(super) fn combine(
    kind: AtomicKind,
    number: Number,
    bytes: usize,
    old: u64,
    operand: u64,
) -> u64 {
    let (old, operand) = (truncated(old, bytes), truncated(operand, bytes));
    match (kind, number) {
        (AtomicKind::Add, Number::Float) => add(bytes, old, operand),
        (AtomicKind::Add, Number::Pair) => {
            let pair = [old as u32, operand as u32];
            each_half::<F16, 2>(pair, 2, &|[a, b]| a + b).into()
        }
        (AtomicKind::Add, Number::BrainFloat) => {
            let half = |bits: u64| f64::from(Bf16(bits as u16).to_f32());
            Bf16::nearest(add_to_odd(half(old), half(operand))).0.into()
        }
        (AtomicKind::Add, Number::BrainPair) => {
            let pair = [old as u32, operand as u32];
            each_half::<Bf16, 2>(pair, 2, &|[a, b]| add_to_odd(a, b)).into()
        }
        (AtomicKind::Add, _) => old.wrapping_add(operand),
        (AtomicKind::Min, Number::Signed) => signed(old, bytes).min(signed(operand, bytes)) as u64,
        (AtomicKind::Max, Number::Signed) => signed(old, bytes).max(signed(operand, bytes)) as u64,
        (AtomicKind::Min, _) => old.min(operand),
        (AtomicKind::Max, _) => old.max(operand),
        (AtomicKind::And, _) => old & operand,
        (AtomicKind::Or, _) => old | operand,
        (AtomicKind::Xor, _) => old ^ operand,
        (AtomicKind::Increment, _) => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        (AtomicKind::Decrement, _) => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        (AtomicKind::Exchange | AtomicKind::CompareAndSwap, _) => operand,
    }
}

fn add(bytes: usize, a: u64, b: u64) -> u64 {
    match bytes {
        2 => {
            let half = |bits: u64| F16(bits as u16).to_f64();
            F16::from_f64(half(a) + half(b)).0.into()
        }
        4 => {
            let sum = f32::from_bits(a as u32) + f32::from_bits(b as u32);
            sum.to_bits().into()
        }
        _ => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combined() {
        let unsigned = |kind, a, b| combine(kind, Number::Unsigned, 4, a, b);
        assert_eq!(unsigned(AtomicKind::Increment, 3, 3), 0);
        assert_eq!(unsigned(AtomicKind::Increment, 2, 3), 3);
        assert_eq!(unsigned(AtomicKind::Decrement, 0, 9), 9);
        assert_eq!(unsigned(AtomicKind::Max, 0xffff_ffff, 1), 0xffff_ffff);
        let signed = combine(AtomicKind::Max, Number::Signed, 4, 0xffff_ffff, 1);
        assert_eq!(signed, 1);
        let float = |value: f32| u64::from(value.to_bits());
        let sum = combine(AtomicKind::Add, Number::Float, 4, float(1.5), float(2.0));
        assert_eq!(sum, float(3.5));
    }
}
