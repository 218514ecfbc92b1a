//! One instruction.

use crate::ir::Instruction;
use crate::read::cursor::Cursor;
use crate::types::{Scalar, Type};
use crate::{Error, Known, Result};

/// Instructions of two operands of one type, which stands before the first only.
const ALIKE: &str = "add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv \
    icmp fcmp";

const OTHERS: &str = "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr \
    bitcast addrspacecast getelementptr alloca load store atomicrmw cmpxchg fneg select freeze \
    extractvalue insertvalue extractelement insertelement shufflevector call phi br switch ret \
    unreachable";

/// Calls that say something to the optimiser only.
const IGNORED: [&str; 4] =
    ["llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias.", "llvm.dbg."];

impl<'t> Cursor<'_, 't> {
    /// The instruction that comes next, and the name of its result.
    pub(super) fn instruction(&mut self) -> Result<(Option<&'t str>, Instruction<'t>)> {
        let name = self.local();
        if name.is_some() {
            self.expect("=")?;
        }
        self.flags();
        let op = self.word();
        let is_one = |words: &str| words.split(' ').any(|word| word == op);
        let alike = is_one(ALIKE);
        if !alike && !is_one(OTHERS) {
            return Err(Error::unknown(format_args!("the instruction {op}")));
        }
        let mut read = Instruction { op, flags: self.flags(), ..Instruction::default() };
        if read.has("disjoint") {
            read.op = "add"; // an `or` that is a sum
        }
        match op {
            "call" => self.call(&mut read)?,
            "unreachable" => {}
            "phi" => {
                read.of = self.kind()?;
                while self.take("[") {
                    read.operands.push(self.value(read.of.clone())?);
                    self.expect(",")?;
                    self.way(&mut read)?;
                    self.expect("]")?;
                    self.take(",");
                }
            }
            _ => {
                if matches!(op, "icmp" | "fcmp" | "atomicrmw") {
                    read.name = self.word();
                }
                self.list(&mut read, alike)?;
            }
        }
        if matches!(op, "atomicrmw" | "cmpxchg") {
            // The prelude asks for no order, and by PTX for all others.
            while self.take("monotonic") {}
            if !self.rest().starts_with(", align") {
                let what = format!("the order {} of atomic operations", self.word());
                return Err(Error::unknown(what + "; use __threadfence()"));
            }
        }
        if self.take(", align") {
            read.align = Some(self.number()?);
        }
        if op == "switch" {
            self.expect("[")?;
            while !self.take("]") {
                self.list(&mut read, false)?;
            }
        }
        Ok((name, read))
    }

    /// Types, values, blocks and numbers with commas between them. If they are alike, the type
    /// stands before the first only.
    pub(super) fn list(&mut self, read: &mut Instruction<'t>, alike: bool) -> Result<()> {
        loop {
            if self.take("label") {
                self.way(read)?;
            } else if self.take("align") {
                read.align = Some(self.number()?);
            } else if alike && let [first] = read.operands[..] {
                read.operands.push(self.value(self.values[first].kind.clone())?);
            } else if self.rest().starts_with(|letter: char| letter.is_ascii_digit()) {
                read.indices.push(self.number()?);
            } else {
                let kind = self.kind()?;
                let flags = self.flags();
                if let Type::Scalar(Scalar::Pointer(_)) = kind {
                    // As far as it is known of all of them.
                    let align =
                        flags.iter().find_map(|flag| flag.strip_prefix("align ")?.parse().ok());
                    read.align = Some(align.unwrap_or(1).min(read.align.unwrap_or(u64::MAX)));
                }
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

    /// What is called, and with what. A call that does nothing has no name then.
    fn call(&mut self, read: &mut Instruction<'t>) -> Result<()> {
        let of = self.kind()?;
        self.parentheses(); // the types of a function with any number of parameters
        if self.take("asm") {
            self.flags();
            self.expect("\"")?;
            (read.op, read.name) = ("asm", self.until_quote());
            self.expect(", \"")?;
            read.constraints = self.until_quote();
        } else if self.take("@") {
            read.name = self.name();
        } else {
            return Err(Error::unknown("calls through a pointer"));
        }
        if IGNORED.iter().any(|ignored| read.name.starts_with(ignored)) {
            read.op = "";
            return Ok(());
        }
        self.expect("(")?;
        if !self.take(")") {
            self.list(read, false)?;
            self.expect(")")?;
        }
        read.of = of;
        Ok(())
    }

    /// A block that may come next, or before.
    fn way(&mut self, read: &mut Instruction<'t>) -> Result<()> {
        let name = self.local().known(format_args!("a block at `{}`", self.rest()))?;
        read.blocks.push(self.block(name));
        Ok(())
    }
}
