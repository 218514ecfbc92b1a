//! Fewer registers. PTX takes a new one for almost every result; a register that is used
//! in one block only can share its place with others, and what a warp keeps stays small
//! enough for the processor's fastest cache.

use std::collections::{HashMap, HashSet};

use crate::decode::order::block_starts;
use crate::program::{Multiply, Op, Program};
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
        each_slot(&mut instruction.operation, &mut |slot, _| {
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
        each_slot(&mut instruction.operation, &mut |slot, is_result| {
            note(*slot, place, is_result && guard.is_none());
        });
    }
    lives
}

/// Calls `visit` for each register of an operation, first for those that are read, and
/// tells whether it is written.
pub(super) fn each_slot(operation: &mut Op, visit: &mut dyn FnMut(&mut Slot, bool)) {
    let loads = matches!(operation, Op::Load(_));
    match operation {
        Op::Compute(operation, operands) => {
            let mut visit_index = |class, index: &mut u16, is_result| {
                let mut slot = Slot { class, index: *index };
                visit(&mut slot, is_result);
                *index = slot.index;
            };
            for (class, source) in operation.sources.iter().zip(&mut operands.sources) {
                visit_index(*class, source, false);
            }
            visit_index(operation.result, &mut operands.result, true);
        }
        Op::Load(access) | Op::Store(access) => {
            visit(&mut access.address.base, false);
            access.registers.iter_mut().flatten().for_each(|slot| visit(slot, loads));
        }
        Op::Atomic(atomic) => {
            visit(&mut atomic.address.base, false);
            visit(&mut atomic.operand, false);
            atomic.swap.iter_mut().for_each(|slot| visit(slot, false));
            atomic.result.iter_mut().for_each(|slot| visit(slot, true));
        }
        Op::CopyAsync(copy) => {
            visit(&mut copy.to.base, false);
            visit(&mut copy.from.base, false);
            copy.source_bytes.iter_mut().for_each(|slot| visit(slot, false));
        }
        Op::BranchTable(slot, _) | Op::WarpBarrier(slot) => visit(slot, false),
        Op::ActiveMask(slot) | Op::Clock(slot) => visit(slot, true),
        Op::Barrier(barrier) => {
            visit(&mut barrier.number, false);
            barrier.threads.iter_mut().for_each(|slot| visit(slot, false));
            if let Some((_, value, result)) = &mut barrier.reduction {
                visit(value, false);
                visit(result, true);
            }
        }
        Op::Shuffle(shuffle) => {
            visit(&mut shuffle.value, false);
            visit(&mut shuffle.lane, false);
            visit(&mut shuffle.clamp, false);
            visit(&mut shuffle.members, false);
            shuffle.result.iter_mut().for_each(|slot| visit(slot, true));
            shuffle.in_range.iter_mut().for_each(|slot| visit(slot, true));
        }
        Op::Vote(vote) => {
            visit(&mut vote.value, false);
            visit(&mut vote.members, false);
            visit(&mut vote.result, true);
        }
        Op::Match(matching) => {
            visit(&mut matching.value, false);
            visit(&mut matching.members, false);
            visit(&mut matching.result, true);
            matching.agreed.iter_mut().for_each(|slot| visit(slot, true));
        }
        Op::Reduce(reduce) => {
            visit(&mut reduce.value, false);
            visit(&mut reduce.members, false);
            visit(&mut reduce.result, true);
        }
        Op::LoadMatrices(load) => {
            visit(&mut load.address.base, false);
            load.results.iter_mut().for_each(|slot| visit(slot, true));
        }
        Op::Multiply(multiply) => {
            let Multiply { a, b, c, d, .. } = &mut **multiply;
            for matrix in [a, b, c] {
                matrix.registers.iter_mut().for_each(|slot| visit(slot, false));
            }
            d.registers.iter_mut().for_each(|slot| visit(slot, true));
        }
        Op::CommitCopies
        | Op::Aligned(_)
        | Op::Fence(_)
        | Op::WaitForCopies(_)
        | Op::Branch(_)
        | Op::Exit
        | Op::Trap
        | Op::Print(_)
        | Op::AssertionFailed(_)
        | Op::Nothing => {}
    }
}
