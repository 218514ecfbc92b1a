//! Which volatile loads are those of flags.

use std::collections::HashSet;

use crate::program::{Op, Program, Strength};
use crate::registers::{Class, Slot};

/// Makes a volatile load atomic, if its value decides where threads go: they wait for what
/// another one writes. It must happen before registers are [reused](super::reuse).
pub(super) fn mark(program: &mut Program) {
    for place in 0..program.code.len() {
        let Op::Load(access) = &program.code[place].operation else { continue };
        if access.strength != Strength::Volatile {
            continue;
        }
        let values = access.registers.iter().flatten().copied().collect();
        if decides(program, values)
            && let Op::Load(access) = &mut program.code[place].operation
        {
            access.strength = Strength::Atomic;
        }
    }
}

/// Does a branch depend on these registers?
fn decides(program: &mut Program, mut values: HashSet<Slot>) -> bool {
    loop {
        let before = values.len();
        for instruction in &mut program.code {
            let operation = &mut instruction.operation;
            let guard = instruction.guard.map(|(index, _)| index);
            let guard = guard.map(|index| Slot { class: Class::Predicate, index });
            let jumps = matches!(operation, Op::Branch(_) | Op::BranchTable(..) | Op::Exit);
            let mut depends = jumps && guard.is_some_and(|g| values.contains(&g));
            if matches!(operation, Op::Load(_) | Op::Store(_) | Op::Atomic(_)) {
                continue;
            }
            operation.operands(&mut |slot, how| {
                depends |= !how.writes() && values.contains(slot);
                if how.writes() && depends {
                    values.insert(*slot);
                }
            });
            if jumps && depends {
                return true;
            }
        }
        if values.len() == before {
            return false;
        }
    }
}
