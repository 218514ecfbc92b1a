//! The order of a program's blocks.
//!
//! A [warp](crate::machine) lets its lowest lanes run first, so that the others meet them
//! further on. That needs code in which every way leads forward, but for those that go
//! round a loop. Compilers mostly lay it out so; but they may put the end of a loop's body
//! before its beginning. Such programs are put in order here.

use crate::program::{Instruction, Op};

/// A stretch of code that is entered only at its start and left only at its end.
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Blocks that may come next. The one that follows in the code is the last.
    pub(super) next: Vec<usize>,
}

/// Puts the blocks of `code` in order, if they are not.
pub(super) fn in_order(code: Vec<Instruction>) -> Vec<Instruction> {
    let blocks = blocks(&code);
    let (order, has_detour) = walk(&blocks);
    if !has_detour {
        return code;
    }
    let mut moved = Vec::with_capacity(code.len());
    let mut place_of = vec![0; blocks.len()];
    for (number, &block) in order.iter().enumerate() {
        let Block { start, end, next } = &blocks[block];
        place_of[block] = moved.len();
        moved.extend_from_slice(&code[*start..*end]);
        // What followed in the code may be elsewhere now.
        let follows = next.last().filter(|next| blocks[**next].start == *end);
        let last = &code[*end - 1];
        if let Some(follows) = follows.filter(|f| order.get(number + 1) != Some(f)) {
            let operation = Op::Branch(blocks[*follows].start as u32);
            let guard = None;
            moved.push(Instruction { operation, guard, weight: 0, ..*last });
        }
    }
    for instruction in &mut moved {
        for target in targets(&mut instruction.operation) {
            let block = blocks.partition_point(|block| block.start < *target as usize);
            *target = place_of[block] as u32;
        }
    }
    moved
}

pub(super) fn targets(operation: &mut Op) -> &mut [u32] {
    match operation {
        Op::Branch(target) => std::slice::from_mut(target),
        Op::BranchTable(_, targets) => targets,
        _ => &mut [],
    }
}

fn targets_of(instruction: &Instruction) -> Vec<u32> {
    targets(&mut instruction.operation.clone()).to_vec()
}

/// Where blocks start.
pub(super) fn block_starts(code: &[Instruction]) -> Vec<usize> {
    let mut starts = vec![false; code.len() + 1];
    starts[0] = true;
    for (place, instruction) in code.iter().enumerate() {
        let targets = targets_of(instruction);
        let ends = !targets.is_empty() || matches!(instruction.operation, Op::Exit);
        starts[place + 1] |= ends;
        for target in targets {
            starts[target as usize] = true;
        }
    }
    (0..code.len()).filter(|place| starts[*place]).collect()
}

pub(super) fn blocks(code: &[Instruction]) -> Vec<Block> {
    let starts = block_starts(code);
    let block_at = |place: usize| starts.partition_point(|start| *start < place);
    let mut blocks = Vec::new();
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(code.len());
        let last = &code[end - 1];
        let mut next = targets_of(last)
            .into_iter()
            .map(|target| block_at(target as usize))
            .collect::<Vec<_>>();
        let stops = matches!(last.operation, Op::Exit | Op::Branch(_));
        if end < code.len() && (last.guard.is_some() || !stops) {
            next.push(number + 1);
        }
        blocks.push(Block { start, end, next });
    }
    blocks
}

/// The blocks in reverse postorder, later ones in the code after earlier ones where both
/// are possible; and whether in the code some way leads back without going round a loop.
fn walk(blocks: &[Block]) -> (Vec<usize>, bool) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; blocks.len()];
    let (mut order, mut has_detour) = (Vec::new(), false);
    let ways = |block: usize| {
        let mut next = blocks[block].next.clone();
        next.sort_unstable();
        next
    };
    let mut path = vec![(0, ways(0))];
    state[0] = State::Open;
    while let Some((block, ways_left)) = path.last_mut() {
        let block = *block;
        let Some(next) = ways_left.pop() else {
            state[block] = State::Done;
            order.push(block);
            path.pop();
            continue;
        };
        has_detour |= next <= block && state[next] != State::Open;
        if state[next] == State::New {
            state[next] = State::Open;
            path.push((next, ways(next)));
        }
    }
    order.reverse();
    (order, has_detour)
}
