//! Blocks: their ends, and what is moved on the way from one to another.

use std::collections::HashSet;

use crate::code::{Block, Part, Reg};
use crate::ir::{Id, Instruction, Origin};
use crate::lower::Lower;
use crate::types::{Scalar, Space, Type};
use crate::{Error, Result};

impl Lower<'_> {
    /// Registers in which all that leads to a block leaves a value.
    pub(super) fn phi(&self, id: Id, phi: &Instruction<'_>) -> Vec<Part> {
        let mut parts = self.results(&phi.of);
        if let [Part { kind: kind @ Scalar::Pointer(_), .. }] = &mut parts[..] {
            *kind = Scalar::Pointer(self.space(id, &mut HashSet::new()).unwrap_or(Space::Generic));
        }
        self.values.borrow_mut().insert(id, parts.clone());
        parts
    }

    /// In which space a pointer is that need not have been computed yet, by those that it may come
    /// from and that have not been seen: so one that walks through an array in a loop has the space
    /// that it began with, and an access through it is an instruction of that space.
    fn space(&self, id: Id, seen: &mut HashSet<Id>) -> Option<Space> {
        if let Some(parts) = self.values.borrow().get(&id) {
            return parts.first().map(|part| part.space());
        }
        let by = match &self.function.values[id].origin {
            Origin::Constant(parts) => return parts.first().map(|part| part.space()),
            Origin::Computed(by) if seen.insert(id) => by,
            _ => return None,
        };
        let operands = match (by.op, &by.of) {
            ("getelementptr" | "freeze", _) => by.operands.get(..1)?,
            ("select", _) => by.operands.get(1..)?,
            (_, Type::Scalar(Scalar::Pointer(own))) if *own != Space::Generic => return Some(*own),
            ("addrspacecast" | "phi", _) => &by.operands[..],
            _ => return Some(Space::Generic),
        };
        operands.iter().filter_map(|id| self.space(*id, seen)).reduce(Space::common)
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
            ("ret", ..) => self.push(true, "ret", &[], vec![]),
            ("unreachable", ..) => self.push(true, "trap;\n\texit", &[], vec![]),
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
            if let Origin::Undefined = function.values[*value].origin {
                continue;
            }
            let targets = self.parts(id);
            for (target, part) in targets.into_iter().zip(self.parts(*value)) {
                let value = match target.kind {
                    Scalar::Pointer(space) => self.address_in(part, space).base,
                    _ => self.arg(part),
                };
                moves.push((target, value));
            }
        }
        // All are moved at once, and so put aside first.
        for (to, value) in &mut moves {
            let aside = self.register(to.kind);
            self.copy(aside, *value);
            *value = aside.base;
        }
        moves.into_iter().for_each(|(to, value)| self.copy(to, value));
    }
}
