//! What is left to do when all instructions are chosen: those that nobody needs go, and so do
//! blocks with nothing in them.

use std::collections::HashSet;

use crate::code::{End, Kernel, Reg};

/// Drops instructions whose results nobody reads.
pub(crate) fn drop_unused(kernel: &mut Kernel) {
    loop {
        let mut read: HashSet<Reg> = HashSet::new();
        for block in &kernel.blocks {
            for code in &block.code {
                read.extend(code.registers().1);
            }
            if let End::Branch(by, ..) = block.end {
                read.insert(by);
            }
        }
        let mut dropped = false;
        for block in &mut kernel.blocks {
            let before = block.code.len();
            block
                .code
                .retain(|code| !code.pure || code.registers().0.any(|reg| read.contains(&reg)));
            dropped |= block.code.len() < before;
        }
        if !dropped {
            return;
        }
    }
}

/// Leads around blocks that do nothing but jump, and drops those that nothing leads to.
pub(crate) fn drop_empty(kernel: &mut Kernel) {
    let jump = |number: usize| match &kernel.blocks[number] {
        block if !block.code.is_empty() => None,
        block => match block.end {
            End::Jump(to) if to != number => Some(to),
            _ => None,
        },
    };
    let shortcuts: Vec<usize> = (0..kernel.blocks.len())
        .map(|number| {
            let mut at = number;
            // No further than through all blocks: a loop may be empty.
            for _ in 0..kernel.blocks.len() {
                at = jump(at).unwrap_or(at);
            }
            at
        })
        .collect();
    for block in &mut kernel.blocks {
        block.end.retarget(|to| shortcuts[to]);
        if let End::Branch(_, _, yes, no) = block.end
            && yes == no
        {
            block.end = End::Jump(yes);
        }
    }
}

/// The order in which blocks are written: each after all that lead to it, loops in one piece, and
/// what follows a loop after it.
pub(crate) fn order(kernel: &mut Kernel) {
    let next: Vec<Vec<usize>> = kernel.blocks.iter().map(|block| block.end.targets()).collect();
    // In the order of a search in depth, what leads to a block that is open leads back.
    let mut state = vec![State::New; next.len()];
    let mut back = Vec::new();
    let mut path = vec![(0, 0)];
    state[0] = State::Open;
    while let Some((block, tried)) = path.last_mut() {
        let Some(to) = next[*block].get(*tried).copied() else {
            state[*block] = State::Done;
            path.pop();
            continue;
        };
        *tried += 1;
        match state[to] {
            State::New => {
                state[to] = State::Open;
                path.push((to, 0));
            }
            State::Open => back.push((*block, to)),
            State::Done => {}
        }
    }
    let mut before = vec![Vec::new(); next.len()];
    for from in (0..next.len()).filter(|from| state[*from] == State::Done) {
        next[from].iter().for_each(|to| before[*to].push(from));
    }
    // How many loops each block is in.
    let mut depth = vec![0; next.len()];
    for (last, first) in &back {
        let (mut inside, mut left) = (HashSet::from([*first, *last]), vec![*last]);
        while let Some(block) = left.pop().filter(|block| block != first) {
            left.extend(before[block].iter().filter(|other| inside.insert(**other)));
        }
        inside.into_iter().for_each(|block| depth[block] += 1);
    }
    let is_back = |from: usize, to: usize| back.contains(&(from, to));
    let mut awaited: Vec<usize> = (0..next.len())
        .map(|to| before[to].iter().filter(|from| !is_back(**from, to)).count())
        .collect();
    let mut ready = vec![0];
    while let Some(block) = ready.pop() {
        kernel.order.push(block);
        let mut freed: Vec<usize> = Vec::new();
        for to in next[block].iter().copied().filter(|to| !is_back(block, *to)) {
            awaited[to] -= 1;
            if awaited[to] == 0 {
                freed.push(to);
            }
        }
        // The last is written next: what is inside of the loop, and what follows without a jump.
        freed.reverse();
        freed.sort_by_key(|block| depth[*block]);
        ready.extend(freed);
    }
}

/// How far a search has come with a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}
