//! Which registers may be read before anything was written to them.

use std::collections::HashSet;

use crate::decode::order::blocks;
use crate::program::Program;
use crate::registers::{Class, Slot};

/// Registers that a lane may read before it has written them, in no order.
pub(super) fn unset(program: &mut Program) -> Vec<Slot> {
    let blocks = blocks(&program.code);
    // For each block what it reads before it writes it, and what it writes for sure.
    let uses = blocks.iter().map(|block| {
        let (mut read, mut written) = (HashSet::new(), HashSet::new());
        for instruction in &mut program.code[block.start..block.end] {
            let guard = instruction.guard;
            if let Some((index, _)) = guard {
                let slot = Slot { class: Class::Predicate, index };
                read.extend((!written.contains(&slot)).then_some(slot));
            }
            instruction.operation.operands(&mut |slot, how| {
                if !how.writes() {
                    read.extend((!written.contains(slot)).then_some(*slot));
                } else if guard.is_none() {
                    written.insert(*slot);
                }
            });
        }
        (read, written)
    });
    let mut uses = uses.collect::<Vec<_>>();
    // What comes after a block may read, too.
    let mut changed = true;
    while changed {
        changed = false;
        for (number, block) in blocks.iter().enumerate().rev() {
            for next in &block.next {
                let wanted = uses[*next].0.iter().copied().collect::<Vec<_>>();
                let (read, written) = &mut uses[number];
                for slot in wanted {
                    changed |= !written.contains(&slot) && read.insert(slot);
                }
            }
        }
    }
    let mut unset = uses.into_iter().next().map_or_else(HashSet::new, |first| first.0);
    for (slot, _) in &program.presets {
        unset.remove(slot);
    }
    unset.into_iter().collect()
}
