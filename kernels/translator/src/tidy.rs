//! What is left to do when all instructions are chosen: those that nobody needs go, and so do
//! moves and blocks with nothing in them.

use std::collections::{HashMap, HashSet};

use crate::code::{Arg, Block, Code, Effect, Kernel, Reg};

/// Drops instructions whose results nobody reads.
pub(crate) fn drop_unused(kernel: &mut Kernel) {
    loop {
        let used = kernel
            .blocks
            .iter()
            .flat_map(|block| block.code.iter().flat_map(Code::used).chain(block.by));
        let used: HashSet<Reg> = used.collect();
        let mut dropped = false;
        for block in &mut kernel.blocks {
            let before = block.code.len();
            block.code.retain(|code| {
                code.effect == Effect::Acts || code.set().any(|reg| used.contains(&reg))
            });
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
    let mut one: HashMap<Reg, Reg> = HashMap::new();
    let root = |one: &HashMap<Reg, Reg>, mut reg: Reg| {
        while let Some(next) = one.get(&reg) {
            reg = *next;
        }
        reg
    };
    for (to, from) in moves {
        let (to, from) = (root(&one, to), root(&one, from));
        if to == from || conflicts.get(&to).is_some_and(|with| with.contains(&from)) {
            continue;
        }
        one.insert(from, to);
        let with = conflicts.remove(&from).unwrap_or_default();
        for other in &with {
            let others = conflicts.entry(*other).or_default();
            others.remove(&from);
            others.insert(to);
        }
        conflicts.entry(to).or_default().extend(with);
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
fn conflicts(kernel: &Kernel, moves: &[(Reg, Reg)]) -> HashMap<Reg, HashSet<Reg>> {
    let moved: HashSet<Reg> = moves.iter().flat_map(|(to, from)| [*to, *from]).collect();
    let mut conflicts: HashMap<Reg, HashSet<Reg>> = HashMap::new();
    // For each block, which of them are needed when it begins.
    let mut needed = vec![HashSet::new(); kernel.blocks.len()];
    let mut is_known = false;
    loop {
        let earlier = needed.clone();
        for (number, block) in kernel.blocks.iter().enumerate().rev() {
            let later = block.next.iter().flat_map(|next| &needed[*next]).copied();
            let mut live: HashSet<Reg> = later.chain(block.by).collect();
            for code in block.code.iter().rev() {
                let same = code.ends().map(|(_, from)| from);
                for reg in code.set().filter(|reg| is_known && moved.contains(reg)) {
                    // What is set at once differs, too.
                    let others = live.iter().copied().chain(code.set());
                    let others = others.filter(|other| *other != reg && Some(*other) != same);
                    for other in others.filter(|other| moved.contains(other)) {
                        conflicts.entry(reg).or_default().insert(other);
                        conflicts.entry(other).or_default().insert(reg);
                    }
                }
                code.set().for_each(|reg| {
                    live.remove(&reg);
                });
                live.extend(code.used().filter(|reg| moved.contains(reg)));
            }
            needed[number] = live;
        }
        if is_known {
            return conflicts;
        }
        is_known = needed == earlier;
    }
}
