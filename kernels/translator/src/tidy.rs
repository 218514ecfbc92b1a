//! What is left to do when all instructions are chosen: those that nobody needs go, and so do
//! moves and blocks with nothing in them.

use std::collections::BTreeMap;

use crate::code::{Arg, Block, Code, Kernel, Reg};

/// Registers whose values are needed, and the last place of a block where they are.
type Live = BTreeMap<Reg, usize>;

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

/// Drops what nobody needs, and moves between registers of which none has a value while that of the
/// other is needed.
pub(crate) fn drop_moves(kernel: &mut Kernel) {
    let mut ranges = ranges(kernel);
    let mut one: Vec<Reg> = (0..ranges.len()).collect();
    for (to, from) in kernel.blocks.iter().flat_map(|block| &block.code).filter_map(Code::ends) {
        let (to, from) = (root(&one, to), root(&one, from));
        let mut both = [&ranges[to][..], &ranges[from]].concat();
        both.sort_unstable();
        if to != from && both.windows(2).all(|pair| pair[0].1 <= pair[1].0) {
            (one[from], ranges[to]) = (to, both);
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

/// The register that one has become, by what each has become at first.
fn root(one: &[Reg], mut reg: Reg) -> Reg {
    while one[reg] != reg {
        reg = one[reg];
    }
    reg
}

/// Drops what nobody needs. For each register, from where to where its value is needed.
fn ranges(kernel: &mut Kernel) -> Vec<Vec<(usize, usize)>> {
    // For each block, what is needed when it begins.
    let mut needed = vec![Live::new(); kernel.blocks.len()];
    let mut is_known = false;
    while !is_known {
        is_known = true;
        for (number, block) in kernel.blocks.iter().enumerate().rev() {
            let live = backwards(block, &needed, |_, _, _| {});
            is_known &= live.len() == needed[number].len();
            needed[number] = live;
        }
    }
    let (mut ranges, mut first) = (vec![Vec::new(); kernel.registers.len()], 1);
    for block in &mut kernel.blocks {
        let mut kept = vec![false; block.code.len()];
        let live = backwards(block, &needed, |at, reg, last| {
            kept[at] = true;
            ranges[reg].push((first + at, first + last));
        });
        live.into_iter().for_each(|(reg, last)| ranges[reg].push((first - 1, first + last)));
        first += block.code.len() + 1;
        let mut kept = kept.into_iter();
        block.code.retain(|code| kept.next() == Some(true) || code.acts);
    }
    ranges
}

/// Goes backwards through the instructions of a block that are needed, and says of each register
/// where it is set, and where it is needed last; returns what is needed before all.
fn backwards(block: &Block, needed: &[Live], mut set: impl FnMut(usize, Reg, usize)) -> Live {
    let later = block.next.iter().flat_map(|next| needed[*next].keys().copied());
    let mut live: Live = later.chain(block.by).map(|reg| (reg, block.code.len())).collect();
    for (at, code) in block.code.iter().enumerate().rev() {
        if code.acts || code.set().any(|reg| live.contains_key(&reg)) {
            code.set().for_each(|reg| set(at, reg, live.remove(&reg).unwrap_or(at + 1)));
            code.used().for_each(|reg| _ = live.entry(reg).or_insert(at));
        }
    }
    live
}
