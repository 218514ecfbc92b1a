//! What is left to do when all instructions are chosen: those that nobody needs go, and so do
//! moves and blocks with nothing in them.

use std::collections::BTreeSet;

use crate::code::{Arg, Block, Code, Effect, Kernel, Reg};

/// Registers whose values are needed later.
type Live = BTreeSet<Reg>;

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

/// Drops what nobody needs. Then makes one register of those that moves connect, if no value is in
/// the other while it is needed, and drops these moves.
pub(crate) fn coalesce(kernel: &mut Kernel) {
    let code = kernel.blocks.iter().flat_map(|block| &block.code);
    let moves: Vec<(Reg, Reg)> = code.filter_map(Code::ends).collect();
    let mut conflicts = conflicts(kernel, &moves);
    // Each register, or one that it has become.
    let mut one: Vec<Reg> = (0..kernel.registers.len()).collect();
    let root = |one: &[Reg], mut reg: Reg| {
        while one[reg] != reg {
            reg = one[reg];
        }
        reg
    };
    for (to, from) in moves {
        let (to, from) = (root(&one, to), root(&one, from));
        if to == from || conflicts[to].contains(&from) {
            continue;
        }
        one[from] = to;
        let with = std::mem::take(&mut conflicts[from]);
        for other in &with {
            conflicts[*other].remove(&from);
            conflicts[*other].insert(to);
        }
        conflicts[to].extend(with);
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

/// Drops what nobody needs. For each register in a move, those in others that hold something else
/// at the same time.
fn conflicts(kernel: &mut Kernel, moves: &[(Reg, Reg)]) -> Vec<Live> {
    // For each block, what is needed when it begins.
    let mut needed = vec![Live::new(); kernel.blocks.len()];
    let mut is_known = false;
    while !is_known {
        is_known = true;
        for (number, block) in kernel.blocks.iter().enumerate().rev() {
            let live = backwards(block, &needed, |_, _| {});
            is_known &= live.len() == needed[number].len();
            needed[number] = live;
        }
    }
    let mut moved = vec![false; kernel.registers.len()];
    moves.iter().for_each(|(to, from)| (moved[*to], moved[*from]) = (true, true));
    let mut conflicts = vec![Live::new(); kernel.registers.len()];
    for block in &mut kernel.blocks {
        let mut kept = vec![false; block.code.len()];
        backwards(block, &needed, |at, live| {
            kept[at] = true;
            let code = &block.code[at];
            let same = code.ends().map(|(_, from)| from);
            for reg in code.set().filter(|reg| moved[*reg]) {
                // What is set at once differs, too.
                let others = live.iter().copied().chain(code.set());
                let others = others.filter(|other| *other != reg && Some(*other) != same);
                for other in others.filter(|other| moved[*other]) {
                    conflicts[reg].insert(other);
                    conflicts[other].insert(reg);
                }
            }
        });
        let mut kept = kept.into_iter();
        block.code.retain(|_| kept.next() == Some(true));
    }
    conflicts
}

/// Goes backwards through the instructions of a block that are needed, each with what is needed
/// after it; returns what is needed before all.
fn backwards(block: &Block, needed: &[Live], mut visit: impl FnMut(usize, &Live)) -> Live {
    let later = block.next.iter().flat_map(|next| &needed[*next]).copied();
    let mut live: Live = later.chain(block.by).collect();
    for (at, code) in block.code.iter().enumerate().rev() {
        if code.effect == Effect::Acts || code.set().any(|reg| live.contains(&reg)) {
            visit(at, &live);
            code.set().for_each(|reg| _ = live.remove(&reg));
            live.extend(code.used());
        }
    }
    live
}
