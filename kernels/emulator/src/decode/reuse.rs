//! Fewer registers. PTX takes a new one for almost every result; a register that is used
//! in one block only can share its place with others, and what a warp keeps stays small
//! enough for the processor's fastest cache.

use std::collections::{HashMap, HashSet};

use crate::decode::order::block_starts;
use crate::program::Program;
use crate::registers::{Class, Slot};

/// Where a register is used.
struct Life {
    block: usize,
    first_is_result: bool,
    last: usize,
    /// Used in one block only.
    local: bool,
}

/// Gives registers of `program` that live in one block only their places anew.
pub(super) fn reuse(program: &mut Program) {
    let starts = block_starts(&program.code);
    let preset = program.presets.iter().map(|(slot, _)| *slot).collect::<HashSet<_>>();
    let lives = lives(program, &starts);
    let is_free =
        |slot: &Slot, life: &Life| life.local && life.first_is_result && !preset.contains(slot);
    let moves = |slot: &Slot| lives.get(slot).is_some_and(|life| is_free(slot, life));
    // Those that stay come first, in their old order.
    let mut counts = [0; 3];
    let mut new_place = |class| {
        let count = &mut counts[class as usize];
        *count += 1;
        (*count - 1) as u16
    };
    let mut places = HashMap::new();
    let mut kept =
        (lives.keys().chain(&preset).copied()).filter(|slot| !moves(slot)).collect::<Vec<_>>();
    kept.sort_unstable_by_key(|slot| slot.index);
    for slot in kept {
        places.entry(slot).or_insert_with(|| new_place(slot.class));
    }
    let mut free = HashMap::<Class, Vec<u16>>::new();
    for (place, instruction) in program.code.iter_mut().enumerate() {
        if let Some((guard, _)) = &mut instruction.guard {
            let slot = Slot { class: Class::Predicate, index: *guard };
            *guard = places.get(&slot).copied().unwrap_or_default();
        }
        let mut ended = Vec::new();
        instruction.operation.operands(&mut |slot, _| {
            let old = *slot;
            let new = *places.entry(old).or_insert_with(|| {
                let free = free.entry(old.class).or_default();
                free.pop().unwrap_or_else(|| new_place(old.class))
            });
            slot.index = new;
            if moves(&old) && lives[&old].last == place {
                ended.push((old, new));
            }
        });
        // Not before: an instruction may write its result before it reads the last operand.
        ended.sort_unstable_by_key(|(old, _)| (old.class as u8, old.index));
        ended.dedup();
        for (old, new) in ended {
            free.entry(old.class).or_default().push(new);
        }
    }
    for (slot, _) in &mut program.presets {
        slot.index = places[slot];
    }
    program.registers = counts;
}

fn lives(program: &mut Program, starts: &[usize]) -> HashMap<Slot, Life> {
    let mut lives = HashMap::<Slot, Life>::new();
    let mut note = |slot: Slot, place: usize, is_result: bool| {
        let block = starts.partition_point(|start| *start <= place);
        let first = Life { block, first_is_result: is_result, last: place, local: true };
        let life = lives.entry(slot).or_insert(first);
        life.local &= life.block == block;
        life.last = place;
    };
    for (place, instruction) in program.code.iter_mut().enumerate() {
        let guard = instruction.guard;
        if let Some((index, _)) = guard {
            note(Slot { class: Class::Predicate, index }, place, false);
        }
        // What is written under a guard keeps its old value in some lanes.
        instruction.operation.operands(&mut |slot, how| {
            note(*slot, place, how.writes() && guard.is_none());
        });
    }
    lives
}
