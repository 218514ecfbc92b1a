//! Where the values of registers come from, through moves.

use std::collections::HashMap;

use crate::program::{Address, Op, Program};
use crate::registers::{Compute, Role, Slot};

/// Of registers that are written once, with the value of another: that one. It holds before
/// registers are [reused](super::reuse).
pub(super) struct Origins(HashMap<Slot, Slot>);

impl Origins {
    pub(super) fn new(program: &mut Program) -> Self {
        let (mut origins, mut written) = (HashMap::new(), HashMap::<Slot, u32>::new());
        for instruction in &mut program.code {
            instruction.operation.operands(&mut |slot, how| {
                *written.entry(*slot).or_default() += u32::from(how.writes());
            });
            if let (Op::Compute(operation, operands), None) =
                (&instruction.operation, instruction.guard)
                && operation.role == Role::Moves
            {
                let result = Slot { class: operation.result, index: operands.result };
                let source = Slot { class: operation.sources[0], index: operands.sources[0] };
                origins.insert(result, source);
            }
        }
        let once = |slot: &Slot| written.get(slot).is_none_or(|times| *times <= 1);
        origins.retain(|result, source| once(result) && once(source));
        let mut origins = Self(origins);
        // What is not optimised makes the address of a variable generic wherever it needs it.
        let mut made = HashMap::new();
        for instruction in &program.code {
            if let (Op::Compute(operation, operands), None) =
                (&instruction.operation, instruction.guard)
                && let (Compute::Lane(compute), [class]) = (operation.compute, operation.sources)
                && operation.role == Role::Computes
            {
                let result = Slot { class: operation.result, index: operands.result };
                let source = origins.of(Slot { class: *class, index: operands.sources[0] });
                let is_fixed = written.get(&source).is_none_or(|times| *times == 0);
                let how = (compute as usize, operation.style, result.class);
                let first = *made.entry((how, source)).or_insert(result);
                if is_fixed && first != result && once(&first) && once(&result) {
                    origins.0.insert(result, first);
                }
            }
        }
        origins
    }

    /// The same address, by the register that it has its value from.
    pub(super) fn address(&self, address: Address) -> Address {
        Address { base: self.of(address.base), ..address }
    }

    /// The register that this one has its value from.
    pub(super) fn of(&self, mut slot: Slot) -> Slot {
        while let Some(source) = self.0.get(&slot) {
            slot = *source;
        }
        slot
    }
}
