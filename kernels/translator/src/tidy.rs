//! What is left to do when all instructions are chosen: those that nobody needs go, and so do
//! moves and blocks with nothing in them.

use std::collections::BTreeSet;

use crate::code::{Arg, Block, Code, Effect, Kernel, Reg};

/// Drops instructions whose results nobody reads.
pub(crate) fn drop_unused(kernel: &mut Kernel) {
    loop {
        let mut used = vec![false; kernel.registers.len()];
        for block in &kernel.blocks {
            let read = block.code.iter().flat_map(Code::used).chain(block.by);
            read.for_each(|reg| used[reg] = true);
        }
        let mut dropped = false;
        for block in &mut kernel.blocks {
            let before = block.code.len();
            block
                .code
                .retain(|code| code.effect == Effect::Acts || code.set().any(|reg| used[reg]));
            dropped |= block.code.len() < before;
        }
        if !dropped {
            return;
        }
    }
}

/// Leads around blocks that do nothing but jump.
pub(crate) fn skip_empty(kernel: &mut Kernel) {
    let shortcut = |mut at: usize| {
        // No further than through all blocks: a loop may be empty.
        for _ in 0..kernel.blocks.len() {
            match &kernel.blocks[at] {
                Block { code, next, .. } if code.is_empty() && next.len() == 1 => at = next[0],
                _ => break,
            }
        }
        at
    };
    let shortcuts: Vec<usize> = (0..kernel.blocks.len()).map(shortcut).collect();
    for block in &mut kernel.blocks {
        block.next.iter_mut().for_each(|to| *to = shortcuts[*to]);
        block.next.dedup();
        block.by = block.by.filter(|_| block.next.len() == 2);
    }
}

/// Makes one register of those that moves connect, if no value is in the other while it is needed,
/// and drops these moves.
pub(crate) fn coalesce(kernel: &mut Kernel) {
    let code = kernel.blocks.iter().flat_map(|block| &block.code);
    let moves: Vec<(Reg, Reg)> = code.filter_map(Code::ends).collect();
    let mut conflicts = conflicts(kernel, &moves);
    // For each register the one that it has become, or itself.
    let mut one: Vec<Reg> = (0..kernel.registers.len()).collect();
    let root = |one: &[Reg], mut reg: Reg| {
        while one[reg] != reg {
            reg = one[reg];
        }
        reg
    };
    for (to, from) in moves {
        let (to, from) = (root(&one, to), root(&one, from));
        if to != from && !conflicts[to].contains(&from) {
            one[from] = to;
            for other in std::mem::take(&mut conflicts[from]) {
                conflicts[other].insert(to);
                conflicts[to].insert(other);
            }
        }
    }
    for block in &mut kernel.blocks {
        for arg in block.code.iter_mut().flat_map(|code| &mut code.args) {
            if let Arg::Reg(reg) = arg {
                *reg = root(&one, *reg);
            }
        }
        block.code.retain(|code| code.ends().is_none_or(|(to, from)| to != from));
        block.by = block.by.map(|by| root(&one, by));
    }
}

/// For each register in a move, those in others that hold something else at the same time.
fn conflicts(kernel: &Kernel, moves: &[(Reg, Reg)]) -> Vec<BTreeSet<Reg>> {
    let moved: BTreeSet<Reg> = moves.iter().flat_map(|(to, from)| [*to, *from]).collect();
    let count = kernel.registers.len();
    let mut conflicts = vec![BTreeSet::new(); count];
    // For each block, which registers are needed when it begins.
    let mut needed = vec![vec![false; count]; kernel.blocks.len()];
    let (mut is_known, mut is_last) = (false, false);
    while !is_last {
        (is_last, is_known) = (is_known, true);
        for (number, block) in kernel.blocks.iter().enumerate().rev() {
            let mut live = vec![false; count];
            for next in &block.next {
                live.iter_mut().zip(&needed[*next]).for_each(|(live, later)| *live |= later);
            }
            block.by.into_iter().for_each(|by| live[by] = true);
            for code in block.code.iter().rev() {
                // What is set at once differs, too.
                code.set().for_each(|reg| live[reg] = true);
                let same = code.ends().map(|(_, from)| from);
                for reg in code.set().filter(|reg| is_last && moved.contains(reg)) {
                    let others = moved.iter().copied().filter(|other| live[*other]);
                    for other in others.filter(|other| *other != reg && Some(*other) != same) {
                        conflicts[reg].insert(other);
                        conflicts[other].insert(reg);
                    }
                }
                code.set().for_each(|reg| live[reg] = false);
                code.used().for_each(|reg| live[reg] = true);
            }
            is_known &= live == needed[number];
            needed[number] = live;
        }
    }
    conflicts
}
