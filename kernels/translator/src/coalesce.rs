//! Fewer moves: registers between which values are moved become one, if no value is in the other
//! while it is needed.

use std::collections::{HashMap, HashSet};

use crate::code::{Arg, Code, Kernel, Reg};

/// Makes one register of those that moves connect, as far as possible, and drops these moves.
pub(crate) fn coalesce(kernel: &mut Kernel) {
    let copies: Vec<(Reg, Reg)> =
        kernel.blocks.iter().flat_map(|block| &block.code).filter_map(ends).collect();
    let mut conflicts = conflicts(kernel, &copies);
    let mut one = HashMap::new();
    for (to, from) in copies {
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
        for code in &mut block.code {
            for arg in &mut code.args {
                if let Arg::Reg(reg) = arg {
                    *reg = root(&one, *reg);
                }
            }
        }
        block.code.retain(|code| ends(code).is_none_or(|(to, from)| to != from));
        if let crate::code::End::Branch(by, ..) = &mut block.end {
            *by = root(&one, *by);
        }
    }
}

fn root(one: &HashMap<Reg, Reg>, mut reg: Reg) -> Reg {
    while let Some(next) = one.get(&reg) {
        reg = *next;
    }
    reg
}

/// The registers of a move: to and from.
fn ends(code: &Code) -> Option<(Reg, Reg)> {
    match code.args[..] {
        [Arg::Reg(to), Arg::Reg(from)] if code.copy => Some((to, from)),
        _ => None,
    }
}

/// For each register in a move, those in others that hold something else at the same time.
fn conflicts(kernel: &Kernel, copies: &[(Reg, Reg)]) -> HashMap<Reg, HashSet<Reg>> {
    let moved: HashSet<Reg> = copies.iter().flat_map(|(to, from)| [*to, *from]).collect();
    let needed = needed(kernel, &moved);
    let mut conflicts: HashMap<Reg, HashSet<Reg>> = HashMap::new();
    for (block, after) in kernel.blocks.iter().zip(needed) {
        let mut live = after;
        for code in block.code.iter().rev() {
            let (set, used) = code.registers();
            let set: Vec<Reg> = set.filter(|reg| moved.contains(reg)).collect();
            let same = ends(code).map(|(_, from)| from);
            for reg in &set {
                // What is set at once differs, too.
                let others = live.iter().chain(&set).filter(|other| *other != reg);
                for other in others.filter(|other| Some(**other) != same) {
                    conflicts.entry(*reg).or_default().insert(*other);
                    conflicts.entry(*other).or_default().insert(*reg);
                }
            }
            for reg in &set {
                live.remove(reg);
            }
            live.extend(used.filter(|reg| moved.contains(reg)));
        }
    }
    conflicts
}

/// For each block, which of these registers are needed after it.
fn needed(kernel: &Kernel, moved: &HashSet<Reg>) -> Vec<HashSet<Reg>> {
    let mut before = vec![HashSet::new(); kernel.blocks.len()];
    let mut after = before.clone();
    loop {
        let mut changed = false;
        for number in (0..kernel.blocks.len()).rev() {
            let block = &kernel.blocks[number];
            let mut live = HashSet::new();
            for next in block.end.targets() {
                live.extend(before[next].iter().copied());
            }
            after[number].clone_from(&live);
            if let crate::code::End::Branch(by, ..) = block.end {
                live.extend(Some(by).filter(|by| moved.contains(by)));
            }
            for code in block.code.iter().rev() {
                let (set, used) = code.registers();
                for reg in set {
                    live.remove(&reg);
                }
                live.extend(used.filter(|reg| moved.contains(reg)));
            }
            changed |= live != before[number];
            before[number] = live;
        }
        if !changed {
            break;
        }
    }
    for (number, block) in kernel.blocks.iter().enumerate() {
        if let crate::code::End::Branch(by, ..) = block.end {
            after[number].extend(Some(by).filter(|by| moved.contains(by)));
        }
    }
    after
}
