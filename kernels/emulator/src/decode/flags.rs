//! Which volatile loads are those of flags.

use std::collections::HashSet;

use crate::decode::order::{Block, blocks};
use crate::decode::origins::Origins;
use crate::program::{Address, Op, Program, Strength};
use crate::registers::{Class, Slot};
use crate::space::Space;

/// Makes a volatile load atomic if its thread polls: it goes round a loop until another one has
/// written what it waits for. It must happen before registers are [reused](super::reuse).
pub(super) fn mark(program: &mut Program, origins: &Origins) {
    let places = 0..program.code.len();
    let address_of = |at| volatile_load(program, at).map(|address| origins.address(address));
    let loads: Vec<_> = places.filter_map(|at| Some((at, address_of(at)?))).collect();
    if loads.is_empty() {
        return;
    }
    let blocks = blocks(&program.code);
    let mut flags = HashSet::new();
    for inside in loops(&blocks) {
        let waits = Loop::new(program, origins, &blocks, inside);
        let inside = loads.iter().filter(|(at, _)| waits.holds(*at));
        let inside: Vec<_> = inside.copied().collect();
        // Who writes there as well does not wait, but computes.
        if !inside.iter().any(|(_, address)| waits.stores(*address)) {
            let polled = inside.iter().filter(|(at, address)| waits.is_left_by(*at, *address));
            flags.extend(polled.map(|(_, address)| *address));
        }
    }
    // Compilers ask once before a loop that asks again.
    for (at, _) in loads.iter().filter(|(_, address)| flags.contains(address)) {
        if let Op::Load(access) = &mut program.code[*at].operation {
            access.strength = Strength::Atomic;
        }
    }
}

fn volatile_load(program: &Program, at: usize) -> Option<Address> {
    match &program.code[at].operation {
        Op::Load(access) => (access.strength == Strength::Volatile).then_some(access.address),
        _ => None,
    }
}

/// For each jump back the blocks of its loop: those from which it is reached without the block
/// that it leads to, which is the first of them.
fn loops(blocks: &[Block]) -> Vec<Vec<usize>> {
    let mut loops = Vec::new();
    for (last, block) in blocks.iter().enumerate() {
        for first in block.next.iter().copied().filter(|first| *first <= last) {
            let (mut inside, mut left) = (vec![first], vec![last]);
            while let Some(block) = left.pop() {
                if !inside.contains(&block) {
                    inside.push(block);
                    let leads_here = |other: &usize| blocks[*other].next.contains(&block);
                    left.extend((first..blocks.len()).filter(leads_here));
                }
            }
            loops.push(inside);
        }
    }
    loops
}

struct Loop<'a> {
    blocks: &'a [Block],
    inside: Vec<usize>,
    /// Its instructions: where they are, and what they read and write, guards among it.
    code: Vec<(usize, Op, [Vec<Slot>; 2])>,
}

impl<'a> Loop<'a> {
    fn new(program: &Program, origins: &Origins, blocks: &'a [Block], inside: Vec<usize>) -> Self {
        let places = inside.iter().flat_map(|block| blocks[*block].start..blocks[*block].end);
        let code = places.map(|at| {
            let (mut operation, guard) =
                (program.code[at].operation.clone(), program.code[at].guard);
            let guard = guard.map(|(index, _)| Slot { class: Class::Predicate, index });
            let mut operands = [Vec::from_iter(guard), Vec::new()];
            operation.operands(&mut |slot, how| operands[usize::from(how.writes())].push(*slot));
            if let Op::Load(access) | Op::Store(access) = &mut operation {
                access.address = origins.address(access.address);
            }
            (at, operation, operands)
        });
        Self { blocks, code: code.collect(), inside }
    }

    fn holds(&self, place: usize) -> bool {
        self.code.iter().any(|(at, ..)| *at == place)
    }

    fn stores(&self, address: Address) -> bool {
        let is_one = |op: &Op| matches!(op, Op::Store(access) if access.address == address);
        self.code.iter().any(|(_, operation, _)| is_one(operation))
    }

    /// Does what is loaded decide whether threads leave? That from which the next address is
    /// computed is no flag.
    fn is_left_by(&self, load: usize, address: Address) -> bool {
        self.spread(load, true).1 && !self.spread(load, false).0.contains(&address.base)
    }

    /// Registers whose values come from a load, also by branches if asked, and whether one of
    /// them decides that threads leave.
    fn spread(&self, load: usize, branches: bool) -> (HashSet<Slot>, bool) {
        // They may be kept in a thread's or a block's memory meanwhile, by a generic address, too.
        let (mut values, mut stored) = (HashSet::new(), HashSet::new());
        let mut is_left = false;
        loop {
            let before = values.len() + stored.len();
            for (at, operation, [read, written]) in &self.code {
                let mut depends = read.iter().any(|slot| values.contains(slot));
                match operation {
                    Op::Load(access) => depends = *at == load || stored.contains(&access.address),
                    Op::Store(access) if depends => {
                        let is_near = access.address.space != Space::Global;
                        stored.extend(is_near.then_some(access.address));
                    }
                    Op::Branch(_) | Op::BranchTable(..) | Op::Exit if depends => {
                        let next = self.next(*at);
                        is_left |= matches!(operation, Op::Exit)
                            || next.iter().any(|block| !self.inside.contains(block));
                        if branches {
                            values.extend(self.on_one_side(next));
                        }
                    }
                    _ => {}
                }
                if depends {
                    // What is chosen by a value does not come from it, but from a branch.
                    let goes_on = |slot: &&Slot| branches || slot.class != Class::Predicate;
                    values.extend(written.iter().filter(goes_on));
                }
            }
            if values.len() + stored.len() == before {
                return (values, is_left);
            }
        }
    }

    /// Where a jump leads to.
    fn next(&self, jump: usize) -> &'a [usize] {
        let block = self.blocks.partition_point(|block| block.end <= jump);
        &self.blocks[block].next
    }

    /// What is written after some ways of a branch and not after others, before the loop begins
    /// again.
    fn on_one_side(&self, ways: &[usize]) -> impl Iterator<Item = Slot> {
        let reached: Vec<_> = ways.iter().map(|way| self.reached(*way)).collect();
        let differs = move |block: usize| {
            let mut on = reached.iter().map(|reached| reached.contains(&block));
            let first = on.next();
            on.any(|one| Some(one) != first)
        };
        let written = self
            .code
            .iter()
            .filter(move |(at, ..)| differs(self.blocks.partition_point(|block| block.end <= *at)));
        written.flat_map(|(.., [_, written])| written.iter().copied())
    }

    fn reached(&self, from: usize) -> Vec<usize> {
        let (mut reached, mut left) = (Vec::new(), vec![from]);
        while let Some(block) = left.pop() {
            let goes_on = self.inside.contains(&block) && block != self.inside[0];
            if goes_on && !reached.contains(&block) {
                reached.push(block);
                left.extend(&self.blocks[block].next);
            }
        }
        reached
    }
}
