//! One instruction.

use crate::ir::{Instruction, Op};
use crate::read::cursor::Cursor;
use crate::{Error, Result};

/// What an instruction may promise, and how it accesses memory.
const FLAGS: &str = "nuw nsw exact disjoint nneg samesign fast nnan ninf nsz arcp contract afn \
    reassoc inbounds nusw atomic volatile weak sideeffect alignstack unwind tail notail musttail";

/// Calls that say something to the optimiser only.
const IGNORED: [&str; 4] =
    ["llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias.", "llvm.dbg."];

impl<'t> Cursor<'t> {
    /// An instruction of which only flags have been read.
    pub(super) fn instruction(&mut self, op: Op) -> Instruction<'t> {
        let flags = self.flags(FLAGS);
        // Such an `or` is a sum.
        let op = if flags.contains(&"disjoint") { Op::Add } else { op };
        Instruction { op, flags, ..Instruction::default() }
    }

    /// The instruction that comes next. Nothing, if it does nothing.
    pub(super) fn next(&mut self) -> Result<Option<Instruction<'t>>> {
        let name = self.local();
        if name.is_some() {
            self.expect("=")?;
        }
        self.flags(FLAGS);
        let word = self.word();
        let op = Op::named(word);
        let op = op.ok_or_else(|| Error::unknown(format!("the instruction {word}")))?;
        let mut read = self.instruction(op);
        match op {
            Op::Call if !self.call(&mut read)? => return Ok(None),
            Op::Call | Op::Unreachable => {}
            Op::Phi => {
                read.of = self.kind()?;
                while self.take("[") {
                    read.operands.push(self.value(read.of.clone())?);
                    self.expect(",")?;
                    read.blocks.push(self.block()?);
                    self.expect("]")?;
                    self.take(",");
                }
            }
            Op::ICmp | Op::FCmp | Op::AtomicRmw => {
                read.name = self.word();
                self.list(&mut read, op != Op::AtomicRmw)?;
            }
            op => self.list(&mut read, op.is_binary())?,
        }
        if read.has("atomic") || matches!(op, Op::AtomicRmw | Op::CmpXchg) {
            self.relaxed()?;
        }
        if self.take(", align") {
            read.align = Some(self.number()?);
        }
        if op == Op::Switch {
            self.expect("[")?;
            while !self.take("]") {
                self.list(&mut read, false)?;
            }
        }
        read.result = name.map(|name| self.id(name));
        Ok(Some(read))
    }

    /// Types, values, blocks and numbers with commas between them. If they are alike, the type
    /// stands before the first only.
    pub(super) fn list(&mut self, read: &mut Instruction<'t>, alike: bool) -> Result<()> {
        loop {
            if self.take("label") {
                read.blocks.push(self.block()?);
            } else if self.take("align") {
                read.align = Some(self.number()?);
            } else if alike && let [first] = &read.operands[..] {
                read.operands.push(self.value(first.kind.clone())?);
            } else if self.rest().starts_with(|letter: char| letter.is_ascii_digit()) {
                read.indices.push(self.number()?);
            } else {
                let kind = self.kind()?;
                self.attributes();
                if self.rest().is_empty() || self.rest().starts_with(',') {
                    read.of = kind;
                } else {
                    read.operands.push(self.value(kind)?);
                }
            }
            if self.take("to") {
                read.of = self.kind()?;
            }
            if self.rest().starts_with(", !") || !self.take(",") {
                return Ok(());
            }
        }
    }

    /// Reads what is called; says whether the call does anything.
    fn call(&mut self, read: &mut Instruction<'t>) -> Result<bool> {
        self.attributes();
        let of = self.kind()?;
        self.parentheses(); // the types of a function with any number of parameters
        if self.take("asm") {
            self.flags(FLAGS);
            self.expect("\"")?;
            (read.op, read.name) = (Op::Assembly, self.until_quote());
            self.expect(", \"")?;
            read.constraints = self.until_quote();
        } else if self.take("@") {
            read.name = self.name();
        } else {
            return Err(Error::unknown("calls through a pointer"));
        }
        if IGNORED.iter().any(|ignored| read.name.starts_with(ignored)) {
            return Ok(false);
        }
        self.expect("(")?;
        if !self.take(")") {
            self.list(read, false)?;
            self.expect(")")?;
        }
        read.of = of;
        Ok(true)
    }

    /// The order of an atomic access: the prelude asks for none, and by PTX for all others.
    fn relaxed(&mut self) -> Result<()> {
        if self.take("syncscope") {
            let scope = self.rest();
            self.parentheses();
            if !scope.starts_with("(\"\")") {
                let what = format!("the scope of an atomic operation at `{scope}`");
                return Err(Error::unknown(what));
            }
        }
        let order = self.word();
        if order == "monotonic" && self.flags("monotonic").len() < 2 {
            return Ok(());
        }
        Err(Error::unknown(format!("the order {order} of atomic operations; use __threadfence()")))
    }
}
