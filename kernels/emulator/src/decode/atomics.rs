//! What the driver's compiler makes of atomic operations, however PTX writes them.

use std::collections::HashSet;

use crate::decode::origins::Origins;
use crate::program::{AtomicKind, Number, Op, Preset, Program};
use crate::registers::{Class, Slot};

/// Takes an operation whose old value nobody reads for a reduction, and finds those that count.
pub(super) fn recognise(program: &mut Program, origins: &Origins) {
    let mut read = HashSet::<Slot>::new();
    for instruction in &mut program.code {
        instruction.operation.operands(&mut |slot, how| {
            read.extend((!how.writes()).then_some(*slot));
        });
    }
    let one = program.presets.iter().filter(|(_, preset)| *preset == Preset::Bits(1));
    let one = one.map(|(slot, _)| *slot).find(|slot| slot.class == Class::Narrow);
    for instruction in &mut program.code {
        let Op::Atomic(atomic) = &mut instruction.operation else { continue };
        let has_reduction =
            !matches!(atomic.kind, AtomicKind::Exchange | AtomicKind::CompareAndSwap);
        atomic.result = atomic.result.filter(|result| read.contains(result));
        atomic.is_reduction |= has_reduction && atomic.result.is_none();
        atomic.counts = atomic.kind == AtomicKind::Add
            && matches!(atomic.number, Number::Unsigned | Number::Signed)
            && Some(origins.of(atomic.operand)) == one;
    }
}
