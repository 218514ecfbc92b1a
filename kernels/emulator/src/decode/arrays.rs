//! Which accesses are to one array in shared memory, whatever the index.

use std::collections::HashMap;
use std::ops::Range;

use crate::program::{Op, Preset, Program};
use crate::registers::{Role, Slot};
use crate::space::Space;

/// What a register's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It is no address, as far as one sees.
    Number,
    /// The address of the array with this number, and an index if any.
    Array(u16),
    /// Of several, or of an array and something else.
    Several,
}

impl Origin {
    /// That of a register that has values of both.
    fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Several }
    }

    /// That of what is computed of both.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number, one) | (one, Self::Number) => one,
            _ => Self::Several,
        }
    }
}

/// For each instruction the range of the array that it accesses. None, if it is of no array, or of
/// any. It must happen before registers are [reused](super::reuse).
pub(super) fn bounds(program: &mut Program) -> Vec<Option<Range<u64>>> {
    let origins = origins(program);
    let shared = &program.shared;
    let range = |operation: &Op| {
        let address = match operation {
            Op::Load(access) | Op::Store(access) => &access.address,
            Op::Atomic(atomic) => &atomic.address,
            Op::CopyAsync(copy) => &copy.to,
            Op::LoadMatrices(load) => &load.address,
            _ => return None,
        };
        let Some(Origin::Array(number)) = origins.get(&address.base) else { return None };
        let array = &shared[usize::from(*number)];
        let start = u64::from(array.start?);
        let is_shared = matches!(address.space, Space::Shared | Space::Generic);
        is_shared.then_some(start..start + array.bytes)
    };
    program.code.iter().map(|instruction| range(&instruction.operation)).collect()
}

fn origins(program: &mut Program) -> HashMap<Slot, Origin> {
    let mut origins = HashMap::new();
    for (slot, preset) in &program.presets {
        let origin = match preset {
            Preset::Shared { array, .. } => Origin::Array(*array),
            _ => Origin::Number,
        };
        origins.insert(*slot, origin);
    }
    loop {
        let mut is_done = true;
        for instruction in &mut program.code {
            let origin = match &instruction.operation {
                Op::Compute(operation, operands) => {
                    let slots = operation.sources.iter().zip(operands.sources);
                    let slots = slots.map(|(class, index)| Slot { class: *class, index });
                    // What is not known yet comes with the next round.
                    let mut known = slots.filter_map(|slot| origins.get(&slot).copied());
                    let first = known.next();
                    match operation.role {
                        Role::Chooses => first.zip(known.next()).map(|(a, b)| a.or(b)).or(first),
                        _ => first.map(|first| known.fold(first, Origin::with)),
                    }
                }
                _ => Some(Origin::Number),
            };
            let Some(origin) = origin else { continue };
            instruction.operation.operands(&mut |slot, how| {
                if how.writes() {
                    let before = origins.get(slot).copied();
                    let now = before.map_or(origin, |before| before.or(origin));
                    is_done &= before == Some(now);
                    origins.insert(*slot, now);
                }
            });
        }
        if is_done {
            return origins;
        }
    }
}
