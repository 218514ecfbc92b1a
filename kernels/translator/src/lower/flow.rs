//! Blocks: their ends, and what is moved on the way from one to another.

use crate::code::{Block, Part, Reg};
use crate::ir::{Id, Instruction, Origin};
use crate::lower::Lower;
use crate::types::Scalar;
use crate::{Error, Result};

impl Lower<'_> {
    /// Registers in which all that leads to a block leaves a value.
    pub(super) fn phi(&self, id: Id, phi: &Instruction<'_>) -> Vec<Part> {
        let mut parts = self.results(&phi.of);
        if let [Part { kind: kind @ Scalar::Pointer(_), .. }] = &mut parts[..] {
            *kind = Scalar::Pointer(self.spaces[id]);
        }
        self.values.borrow_mut().insert(id, parts.clone());
        parts
    }

    /// The end of the block that is translated.
    pub(super) fn end(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let ways = &instruction.blocks[..];
        match (instruction.op, &instruction.operands[..], ways) {
            ("br", [], [_]) => self.lead(None, ways),
            ("br", [condition], [_, _]) => {
                self.lead(self.in_register(self.one(*condition)).base.reg(), ways);
            }
            ("switch", [by, cases @ ..], [otherwise, ways @ ..]) => {
                // One comparison after the other.
                for (case, to) in cases.iter().zip(ways) {
                    let parts = [self.one(*by), self.one(*case)];
                    let is_it = self.by_table("icmp.eq", Scalar::BOOL, &parts);
                    let other = self.add_block();
                    self.lead(is_it.base.reg(), &[*to, other]);
                    self.block.set(other);
                }
                self.lead(None, &[*otherwise]);
            }
            ("ret", ..) => self.emit("ret", &[], vec![]),
            ("unreachable", ..) => self.emit("trap;\n\texit", &[], vec![]),
            _ => return Err(Error::unknown("such an end of a block")),
        }
        Ok(Vec::new())
    }

    /// A block that is executed only after the one that is written.
    fn add_block(&self) -> usize {
        let blocks = &mut self.kernel.borrow_mut().blocks;
        blocks.push(Block { above: self.block.get(), ..Block::default() });
        blocks.len() - 1
    }

    /// Ends the block that is written: it leads to one, or to the first of two if the predicate is
    /// true. What phis need is moved before that, or on one of two ways in a block of its own.
    fn lead(&self, by: Option<Reg>, ways: &[usize]) {
        let (from, mut next) = (self.block.get(), ways.to_vec());
        for to in &mut next {
            let first = self.function.instructions(*to).next();
            if first.is_some_and(|(_, first)| first.op == "phi") {
                let target = *to;
                if ways.len() > 1 {
                    *to = self.add_block();
                    self.block.set(*to);
                    self.close(None, vec![target]);
                }
                self.move_to(target);
                self.block.set(from);
            }
        }
        self.close(by, next);
    }

    fn close(&self, by: Option<Reg>, next: Vec<usize>) {
        let block = &mut self.kernel.borrow_mut().blocks[self.block.get()];
        (block.by, block.next, block.line) = (by, next, self.line.get());
    }

    /// Moves what the phis of a block have if it is reached from the one that is translated.
    fn move_to(&self, to: Id) {
        let (function, mut moves) = (self.function, Vec::new());
        for (id, phi) in function.instructions(to).take_while(|(_, one)| one.op == "phi") {
            let mut ways = phi.blocks.iter().zip(&phi.operands);
            let Some((_, value)) = ways.find(|(block, _)| **block == self.from.get()) else {
                self.refuse("a phi without this way");
                return;
            };
            let targets = self.parts(id);
            if let Origin::Undefined = function.values[*value].origin {
                let kept = targets.iter().filter_map(|part| part.base.reg());
                self.kernel.borrow_mut().kept.extend(kept);
                continue;
            }
            for (target, part) in targets.into_iter().zip(self.parts(*value)) {
                let value = match target.kind {
                    Scalar::Pointer(space) => self.address_in(part, space).base,
                    _ => self.arg(part),
                };
                if value != target.base {
                    moves.push((target, value));
                }
            }
        }
        // All are moved at once: what is in a register that gets another value is put aside first.
        for at in 0..moves.len() {
            let (to, value) = moves[at];
            if moves.iter().any(|(to, _)| to.base == value) {
                let aside = self.register(to.kind);
                self.copy(aside, value);
                moves[at].1 = aside.base;
            }
        }
        moves.into_iter().for_each(|(to, value)| self.copy(to, value));
    }
}
