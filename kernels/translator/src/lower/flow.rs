//! Blocks: their ends, and what is moved on the way from one to another.

use crate::code::{Arg, Block, Part, Reg};
use crate::ir::{Id, Instruction, Op, Value};
use crate::lower::Lower;
use crate::types::{Scalar, Type};
use crate::{Error, Result};

impl<'m> Lower<'m> {
    /// Registers in which all that leads to this block leaves its value.
    pub(super) fn phi(&mut self, phi: &Instruction<'_>) -> Result<Vec<Part>> {
        let mut parts = self.results(&phi.of.parts()?);
        if let (Type::Scalar(Scalar::Pointer(_)), Some(id)) = (&phi.of, phi.result) {
            parts[0].kind = Scalar::Pointer(self.spaces[id]);
        }
        Ok(parts)
    }

    /// The end of the block that is written.
    pub(super) fn end(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let (mut by, mut next) = (None, instruction.blocks.clone());
        match (instruction.op, &instruction.operands[..], &instruction.blocks[..]) {
            (Op::Br, [], [_]) => {}
            (Op::Br, [condition], [_, _]) => {
                let part = self.one(condition)?;
                by = self.in_register(part)?.base.reg();
            }
            (Op::Switch, [by, cases @ ..], [otherwise, ways @ ..]) => {
                let part = self.one(by)?;
                let value = self.widened(part, false)?;
                // One comparison after the other.
                for (case, to) in cases.iter().zip(ways) {
                    let case = self.one(case)?;
                    let parts = [value, self.widened(case, false)?];
                    let text = format!("setp.eq.u{}", value.kind.width());
                    let is_it = self.pure(Scalar::BOOL, &text, &parts)?;
                    let other = self.add_block(self.block);
                    self.finish(is_it.base.reg(), vec![*to, other]);
                    self.block = other;
                }
                next = vec![*otherwise];
            }
            (Op::Ret, ..) => self.emit("ret;", &[], vec![]),
            (Op::Unreachable, ..) => self.emit("trap;\n\texit;", &[], vec![]),
            _ => return Err(Error::unknown("such an end of a block")),
        }
        self.finish(by, next);
        Ok(Vec::new())
    }

    fn finish(&mut self, by: Option<Reg>, next: Vec<usize>) {
        let block = &mut self.kernel.blocks[self.block];
        (block.by, block.next, block.line) = (by, next, self.line);
    }

    /// A block that is executed only after another one.
    fn add_block(&mut self, after: usize) -> usize {
        self.kernel.blocks.push(Block::default());
        self.above.push(after);
        self.kernel.blocks.len() - 1
    }

    /// Moves what phis need, on the ways to their blocks: at the end of a block that leads nowhere
    /// else, or in a block of its own.
    pub(super) fn edges(&mut self) -> Result<()> {
        let count = self.function.blocks.len();
        for from in 0..self.kernel.blocks.len() {
            // The block of the IR that an added one was made for.
            let mut original = from;
            while original >= count {
                original = self.above[original];
            }
            let targets = self.kernel.blocks[from].next.clone();
            for (number, to) in targets.iter().enumerate().filter(|(_, to)| **to < count) {
                let has_phis = self.function.blocks[*to].first().is_some_and(|i| i.op == Op::Phi);
                if !has_phis {
                    continue;
                }
                (self.line, self.block) = (self.kernel.blocks[from].line, from);
                if targets.len() > 1 {
                    self.block = self.add_block(from);
                    self.finish(None, vec![*to]);
                    self.kernel.blocks[from].next[number] = self.block;
                }
                let moves = self.moves(original, *to).map_err(|error| error.at(self.line))?;
                self.move_at_once(moves);
            }
        }
        Ok(())
    }

    /// What the phis of one block have if it is reached from another one.
    fn moves(&mut self, from: Id, to: Id) -> Result<Vec<(Part, Arg)>> {
        let mut moves = Vec::new();
        for phi in self.function.blocks[to].iter().take_while(|one| one.op == Op::Phi) {
            let place = phi.blocks.iter().position(|block| *block == from);
            let value = place.and_then(|place| phi.operands.get(place));
            let value = value.ok_or_else(|| Error::unknown("a phi without this way"))?;
            if matches!(value.value, Value::Undefined) {
                continue;
            }
            let targets = phi.result.and_then(|id| self.values[id].clone()).unwrap_or_default();
            for (target, mut part) in targets.into_iter().zip(self.parts(value)?) {
                if let Scalar::Pointer(space) = target.kind {
                    part = self.in_space(part, space)?;
                    part = self.address(part)?;
                }
                let value = self.arg(part)?;
                if value != target.base {
                    moves.push((target, value));
                }
            }
        }
        Ok(moves)
    }

    fn move_at_once(&mut self, mut moves: Vec<(Part, Arg)>) {
        while !moves.is_empty() {
            let is_read = |to: Part| moves.iter().any(|(_, value)| *value == to.base);
            if let Some(free) = moves.iter().position(|(to, _)| !is_read(*to)) {
                let (to, value) = moves.remove(free);
                self.copy(to, value);
                continue;
            }
            // All are read: a circle, which is opened with one more register.
            let kept = moves[0].0;
            let aside = self.results(&[(kept.kind, 0)])[0];
            self.copy(aside, kept.base);
            for (_, value) in moves.iter_mut().filter(|(_, value)| *value == kept.base) {
                *value = aside.base;
            }
        }
    }
}
