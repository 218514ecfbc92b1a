//! Blocks: their ends, and what is moved on the way from one to another.

use crate::code::{Block, Part, Reg};
use crate::ir::{Id, Instruction, Origin};
use crate::lower::Lower;
use crate::types::Scalar;
use crate::{Error, Result};

impl Lower<'_> {
    /// Registers in which all that leads to a block leaves a value.
    pub(super) fn phi(&mut self, id: Id, phi: &Instruction<'_>) -> Result<()> {
        let mut parts = self.results(&phi.of.parts()?);
        if let [Part { kind: kind @ Scalar::Pointer(_), .. }] = &mut parts[..] {
            *kind = Scalar::Pointer(self.spaces[id]);
        }
        self.values[id] = Some(parts);
        Ok(())
    }

    /// The end of the block that is translated.
    pub(super) fn end(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let ways = &instruction.blocks[..];
        match (instruction.op, &instruction.operands[..], ways) {
            ("br", [], [_]) => self.lead(None, ways)?,
            ("br", [condition], [_, _]) => {
                let part = self.one(*condition)?;
                let by = self.in_register(part)?.base.reg();
                self.lead(by, ways)?;
            }
            ("switch", [by, cases @ ..], [otherwise, ways @ ..]) => {
                let by = self.one(*by)?;
                // One comparison after the other.
                for (case, to) in cases.iter().zip(ways) {
                    let parts = [by, self.one(*case)?];
                    let is_it = self.by_table("icmp.eq", Scalar::BOOL, &parts)?;
                    let other = self.add_block();
                    self.lead(is_it.base.reg(), &[*to, other])?;
                    self.block = other;
                }
                self.lead(None, &[*otherwise])?;
            }
            ("ret", ..) => self.emit("ret;", &[], vec![]),
            ("unreachable", ..) => self.emit("trap;\n\texit;", &[], vec![]),
            _ => return Err(Error::unknown("such an end of a block")),
        }
        Ok(Vec::new())
    }

    /// A block that is executed only after the one that is written.
    fn add_block(&mut self) -> usize {
        self.kernel.blocks.push(Block::default());
        self.above.push(self.block);
        self.kernel.blocks.len() - 1
    }

    /// Ends the block that is written: it leads to one, or to the first of two if the predicate is
    /// true. What phis need is moved before that, or on one of two ways in a block of its own.
    fn lead(&mut self, by: Option<Reg>, ways: &[usize]) -> Result<()> {
        let (from, mut next) = (self.block, ways.to_vec());
        for to in &mut next {
            let first = self.function.instructions(*to).next();
            if first.is_some_and(|(_, first)| first.op == "phi") {
                let target = *to;
                if ways.len() > 1 {
                    *to = self.add_block();
                    self.block = *to;
                    let block = &mut self.kernel.blocks[*to];
                    (block.next, block.line) = (vec![target], self.line);
                }
                self.move_to(target)?;
                self.block = from;
            }
        }
        let block = &mut self.kernel.blocks[from];
        (block.by, block.next, block.line) = (by, next, self.line);
        Ok(())
    }

    /// Moves what the phis of a block have if it is reached from the one that is translated.
    fn move_to(&mut self, to: Id) -> Result<()> {
        let (function, mut moves) = (self.function, Vec::new());
        for (id, phi) in function.instructions(to).take_while(|(_, one)| one.op == "phi") {
            let place = phi.blocks.iter().position(|block| *block == self.from);
            let value = place.and_then(|place| phi.operands.get(place));
            let value = *value.ok_or_else(|| Error::unknown("a phi without this way"))?;
            if let Origin::Undefined = function.values[value].origin {
                let targets = self.parts(id)?;
                self.kernel.kept.extend(targets.iter().filter_map(|part| part.base.reg()));
                continue;
            }
            for (target, mut part) in self.parts(id)?.into_iter().zip(self.parts(value)?) {
                if let Scalar::Pointer(space) = target.kind {
                    part = self.address_in(part, space)?;
                }
                let value = self.arg(part)?;
                if value != target.base {
                    moves.push((target, value));
                }
            }
        }
        // All are moved at once: what is in a register that gets another value is put aside first.
        for at in 0..moves.len() {
            let (to, value) = moves[at];
            if moves.iter().any(|(to, _)| to.base == value) {
                let aside = Part::new(to.kind, self.kernel.register(to.kind));
                self.copy(aside, value);
                moves[at].1 = aside.base;
            }
        }
        moves.into_iter().for_each(|(to, value)| self.copy(to, value));
        Ok(())
    }
}
