//! Blocks: their order, ends, and what is moved on the way from one to another.

use crate::code::{Arg, Block, End, Reg};
use crate::ir::{Function, Op, Typed, Value};
use crate::lower::{Lower, Part, Place};
use crate::types::{Class, Type};
use crate::{Error, Result};

/// How control flows between the blocks of a kernel.
pub(super) struct Flow {
    /// The blocks that can be reached, each after those that dominate it.
    pub(super) order: Vec<usize>,
    /// For each block the one before it that is always executed before it. Blocks that were
    /// added come last, and are dominated by the one that they were made for.
    above: Vec<usize>,
}

impl Flow {
    pub(super) fn new(function: &Function) -> Self {
        let targets = |block: usize| {
            let last = function.blocks[block].code.last();
            last.map(|last| last.op.targets()).unwrap_or_default()
        };
        let mut order = Vec::new();
        let mut seen = vec![false; function.blocks.len()];
        let mut path = vec![(0, targets(0))];
        seen[0] = true;
        while let Some((block, left)) = path.last_mut() {
            match left.pop() {
                Some(next) if !seen[next] => {
                    seen[next] = true;
                    path.push((next, targets(next)));
                }
                Some(_) => {}
                None => {
                    order.push(*block);
                    path.pop();
                }
            }
        }
        order.reverse();
        let mut place = vec![usize::MAX; seen.len()];
        let mut before = vec![Vec::new(); seen.len()];
        for (at, block) in order.iter().enumerate() {
            place[*block] = at;
            targets(*block).into_iter().for_each(|next| before[next].push(*block));
        }
        let mut above = vec![usize::MAX; seen.len()];
        above[0] = 0;
        loop {
            let mut changed = false;
            for block in &order[1..] {
                let known = before[*block].iter().filter(|other| above[**other] != usize::MAX);
                let common = known.copied().reduce(|mut a, mut b| {
                    while a != b {
                        if place[a] > place[b] {
                            a = above[a];
                        } else {
                            b = above[b];
                        }
                    }
                    a
                });
                let common = common.unwrap_or(0);
                changed |= above[*block] != common;
                above[*block] = common;
            }
            if !changed {
                return Self { order, above };
            }
        }
    }

    /// Whether a block is executed before another one, whenever that is.
    pub(super) fn dominates(&self, one: usize, mut other: usize) -> bool {
        while other != one && other != 0 {
            other = self.above[other];
        }
        other == one
    }
}

impl Lower<'_> {
    /// Gives each phi its registers, in which all that leads to its block leaves its value.
    pub(super) fn phis(&mut self) -> Result<()> {
        for (id, kind) in self.function.kinds.iter().enumerate() {
            let Some((_, instruction)) = self.definitions[id] else { continue };
            if !matches!(instruction.op, Op::Phi(_)) {
                continue;
            }
            let mut parts = Vec::new();
            for (part, _) in kind.parts().map_err(|error| error.at(instruction.line))? {
                let reg = self.kernel.register(part.class()?);
                parts.push(match (&part, kind) {
                    (Type::Pointer(_), Type::Pointer(_)) => {
                        let space = self.space_of(id);
                        Part::Place(Place { base: Arg::Reg(reg), offset: 0, space })
                    }
                    _ => self.part(Arg::Reg(reg), &part),
                });
            }
            self.values[id] = Some(parts);
        }
        Ok(())
    }

    /// The end of the block that is written.
    pub(super) fn end(&mut self, op: &Op) -> Result<()> {
        let end = match op {
            Op::Jump(to) => End::Jump(*to),
            Op::Branch { by, yes, no } => {
                let (by, when) = self.condition(by)?;
                End::Branch(by, when, *yes, *no)
            }
            Op::Switch { by, cases, otherwise } => return self.switch(by, cases, *otherwise),
            Op::Return => End::Return,
            _ => End::Trap,
        };
        self.finish(end);
        Ok(())
    }

    fn finish(&mut self, end: End) {
        let block = &mut self.kernel.blocks[self.block];
        (block.end, block.line) = (end, self.line);
    }

    /// The predicate of a branch, and whether it is to be true: `xor %p, true` needs none.
    fn condition(&mut self, by: &Value) -> Result<(Reg, bool)> {
        if let Some((_, Op::Binary { name, a, b: Value::Bits(1), .. })) = self.definition(by)
            && name == "xor"
        {
            let (reg, when) = self.condition(&a.value)?;
            return Ok((reg, !when));
        }
        let by = Typed { kind: Type::BOOL, value: by.clone() };
        match self.reg_of(&by)? {
            Arg::Reg(reg) => Ok((reg, true)),
            Arg::Text(_) => Err(Error::unknown("a branch by this")),
        }
    }

    /// One comparison after the other.
    fn switch(&mut self, by: &Typed, cases: &[(u64, usize)], otherwise: usize) -> Result<()> {
        let part = self.one(&by.value, &by.kind)?;
        let value = self.widened(&part, &by.kind, false)?;
        let width = if by.kind.class()? == Class::Long { 64 } else { 32 };
        for (number, to) in cases {
            let text = format!("setp.eq.u{width} $0, $1, {number};");
            let is_it = self.pure(Class::Predicate, &text, vec![value.clone()]);
            let Arg::Reg(is_it) = is_it else { continue };
            let next = self.add_block(self.block);
            self.finish(End::Branch(is_it, true, *to, next));
            self.block = next;
        }
        self.finish(End::Jump(otherwise));
        Ok(())
    }

    /// A block that is executed only after another one.
    fn add_block(&mut self, after: usize) -> usize {
        let block = Block { code: Vec::new(), end: End::Trap, line: self.line };
        self.kernel.blocks.push(block);
        self.flow.above.push(after);
        self.kernel.blocks.len() - 1
    }

    /// Moves what phis need, on the ways to their blocks: at the end of a block that leads nowhere
    /// else, or in a block of its own.
    pub(super) fn edges(&mut self) -> Result<()> {
        let count = self.function.blocks.len();
        for from in 0..self.kernel.blocks.len() {
            let original = self.original(from);
            let targets = self.kernel.blocks[from].end.targets();
            for (number, to) in targets.iter().enumerate() {
                if *to >= count || !self.has_phis(*to) {
                    continue;
                }
                self.line = self.kernel.blocks[from].line;
                self.block = from;
                if targets.len() > 1 {
                    self.block = self.add_block(from);
                    self.finish(End::Jump(*to));
                    if let End::Branch(_, _, yes, no) = &mut self.kernel.blocks[from].end {
                        *[yes, no][number] = self.block;
                    }
                }
                self.moves(original, *to).map_err(|error| error.at(self.line))?;
            }
        }
        Ok(())
    }

    /// The block of the IR that an added one was made for.
    fn original(&self, mut block: usize) -> usize {
        while block >= self.function.blocks.len() {
            block = self.flow.above[block];
        }
        block
    }

    fn has_phis(&self, block: usize) -> bool {
        let first = self.function.blocks[block].code.first();
        first.is_some_and(|first| matches!(first.op, Op::Phi(_)))
    }

    /// Moves what the phis of one block have if it is reached from another one: all at once.
    fn moves(&mut self, from: usize, to: usize) -> Result<()> {
        let mut moves: Vec<(Reg, Arg)> = Vec::new();
        for instruction in &self.function.blocks[to].code {
            let (Op::Phi(incoming), Some(id)) = (&instruction.op, instruction.result) else {
                break;
            };
            let kind = &self.function.kinds[id];
            let value = incoming.iter().find(|(_, block)| *block == from);
            let (value, _) = value.ok_or_else(|| Error::unknown("a phi without this way"))?;
            if *value == Value::Undefined {
                continue;
            }
            let parts = self.parts(value, kind)?;
            let targets = self.values[id].clone().unwrap_or_default();
            for ((part, target), (kind, _)) in parts.iter().zip(targets).zip(kind.parts()?) {
                let (to, value) = match target {
                    Part::Place(Place { base: Arg::Reg(to), space, .. }) => {
                        let place = self.place_of(part, &kind)?;
                        let place = self.in_space(&place, space)?;
                        (to, self.address(&place))
                    }
                    Part::Reg(to) => (to, self.arg(part, &kind)?),
                    _ => continue,
                };
                moves.push((to, value));
            }
        }
        moves.retain(|(to, value)| *value != Arg::Reg(*to));
        while !moves.is_empty() {
            let is_read = |to: Reg| moves.iter().any(|(_, value)| *value == Arg::Reg(to));
            match moves.iter().position(|(to, _)| !is_read(*to)) {
                Some(free) => {
                    let (to, value) = moves.remove(free);
                    self.copy(to, value);
                }
                // All are read: a circle, which is opened with one more register.
                None => {
                    let kept = moves[0].0;
                    let aside = self.kernel.register(self.kernel.classes[kept]);
                    self.copy(aside, Arg::Reg(kept));
                    for (_, value) in &mut moves {
                        if *value == Arg::Reg(kept) {
                            *value = Arg::Reg(aside);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
