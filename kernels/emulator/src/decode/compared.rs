//! Plain reads that only say what a compare-and-swap expects. What they find may be old: then
//! the operation finds another value, and the loop around it goes round again.

use std::collections::{BTreeMap, BTreeSet};

use crate::decode::order::blocks;
use crate::decode::origins::Origins;
use crate::program::{Address, Op, Program, Strength};
use crate::registers::{Class, Slot};

/// Lets such reads count as volatile, so that they race with no atomic operation. It must
/// happen before registers are [reused](super::reuse).
pub(super) fn mark(program: &mut Program, origins: &Origins) {
    let is_swap = |op: &Op| matches!(op, Op::Atomic(atomic) if atomic.swap.is_some());
    if !program.code.iter().any(|instruction| is_swap(&instruction.operation)) {
        return;
    }
    let place_of = |address: Address| (origins.of(address.base), address.offset);
    for place in 0..program.code.len() {
        let Op::Load(access) = &program.code[place].operation else { continue };
        let ([Some(value)], Strength::Weak) = (&access.registers[..], access.strength) else {
            continue;
        };
        let (value, address) = (*value, place_of(access.address));
        let swaps = compared(program, place, value, |atomic| place_of(atomic) == address);
        for swap in swaps.iter().flatten() {
            if let Op::Atomic(atomic) = &mut program.code[*swap].operation {
                atomic.after_plain_read = true;
            }
        }
        if let (Some(_), Op::Load(access)) = (swaps, &mut program.code[place].operation) {
            access.strength = Strength::Volatile;
        }
    }
}

/// The compare-and-swaps of the same place that expect the value which was read. None, if
/// anything but a branch uses it before that.
fn compared(
    program: &mut Program,
    read: usize,
    value: Slot,
    is_same: impl Fn(Address) -> bool,
) -> Option<BTreeSet<usize>> {
    let blocks = blocks(&program.code);
    let mut swaps = BTreeSet::new();
    // On the way to a place, registers that have the value or come from it.
    let mut known = BTreeMap::<usize, BTreeSet<(u8, u16)>>::new();
    let key = |slot: &Slot| (slot.class as u8, slot.index);
    let mut left = vec![(read + 1, BTreeSet::from([key(&value)]))];
    while let Some((place, mut values)) = left.pop() {
        let before = known.entry(place).or_default();
        let count = before.len();
        before.append(&mut values);
        if before.len() == count && count > 0 || place >= program.code.len() {
            continue;
        }
        values.clone_from(before);
        let instruction = &mut program.code[place];
        if let Op::Atomic(atomic) = &instruction.operation
            && atomic.swap.is_some()
            && is_same(atomic.address)
        {
            let expects = values.contains(&key(&atomic.operand));
            swaps.extend(expects.then_some(place));
            continue; // it has told whether the value was old
        }
        let guard = instruction.guard.map(|(index, _)| index);
        let mut uses = guard.is_some_and(|index| values.contains(&(Class::Predicate as u8, index)));
        let is_guarded = guard.is_some();
        let decides = matches!(instruction.operation, Op::Branch(_) | Op::BranchTable(..));
        let computes = matches!(instruction.operation, Op::Compute(..));
        instruction.operation.operands(&mut |slot, how| {
            uses |= !how.writes() && values.contains(&key(slot));
            if how.writes() && computes && uses {
                values.insert(key(slot));
            } else if how.writes() && !is_guarded {
                values.remove(&key(slot));
            }
        });
        if uses && !decides && !computes {
            return None;
        }
        if values.is_empty() {
            continue;
        }
        let block = blocks.partition_point(|block| block.end <= place);
        match blocks[block].end == place + 1 {
            true => {
                let next = blocks[block].next.iter().map(|next| blocks[*next].start);
                left.extend(next.map(|next| (next, values.clone())));
            }
            false => left.push((place + 1, values)),
        }
    }
    (!swaps.is_empty()).then_some(swaps)
}
