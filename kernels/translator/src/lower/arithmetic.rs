//! Numbers and truth values: instructions of tables, and what is fused to one.

use crate::Result;
use crate::code::Part;
use crate::ir::{Id, Instruction};
use crate::lower::Lower;
use crate::table::find;
use crate::types::{Scalar, Space, Type};

/// Whether a product may become a part of a fused multiply-add.
fn may_fuse(instruction: &Instruction<'_>) -> bool {
    instruction.has("contract") || instruction.has("fast")
}

impl<'m> Lower<'m> {
    pub(super) fn arithmetic(&self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let op = instruction.op;
        let [first] = instruction.operands()?;
        Ok(self.each(&instruction.operands, |at, parts| {
            let kind = parts[0].kind;
            if let (Scalar::BOOL, [x, y]) = (kind, parts) {
                return self.logic(op, *x, *y);
            }
            let one = match op {
                "mul" | "shl" if kind == Scalar::LONG => self.wide_product(first, instruction),
                "add" | "fadd" | "fsub" => self.sum_with_product(instruction, kind, at),
                _ => None,
            };
            let mut parts = parts.to_vec();
            if let ("shl" | "lshr" | "ashr", [_, by]) = (op, &mut parts[..]) {
                // By how many bits is a number of 32 bits.
                *by = self.truncated(self.widened(*by, false), Scalar::WORD);
            }
            let result = one.unwrap_or_else(|| self.by_table(op, kind, &parts));
            if let ("and", [Part { kind: Scalar::Int(..=32), .. }, mask]) = (op, &parts[..])
                && let Some(mask) = mask.bits()
            {
                self.zeros_from(result, u64::BITS - mask.leading_zeros());
            }
            result
        }))
    }

    pub(super) fn by_table(&self, name: &str, kind: Scalar, parts: &[Part]) -> Part {
        match find("instruction", name) {
            Some(text) => self.steps(&text, kind, parts),
            None => self.refuse(format_args!("the instruction {name}")),
        }
    }

    /// The result of the last one of such instructions as [the table](crate::table) has.
    pub(super) fn steps(&self, text: &str, kind: Scalar, parts: &[Part]) -> Part {
        let of = parts.first().map_or(kind, |part| part.kind);
        if matches!(of, Scalar::Int(bits) if bits != of.width()) && text.contains(".bN") {
            let function = text.split('.').next().unwrap_or_default();
            return self.refuse(format_args!("{function} of {} bits", of.bits()));
        }
        let is_unsigned = text.contains(".u");
        let parts = parts.iter().map(|part| match part.kind {
            Scalar::Int(_) if !text.contains('M') => self.widened(*part, !is_unsigned),
            _ => *part,
        });
        let mut operands: Vec<_> = parts.collect();
        let count = operands.len();
        let text = text.replace('F', kind.ptx()).replace('A', of.ptx());
        let text = text.replace('B', &of.width().to_string());
        let text = text.replace(['N', 'M'], &kind.width().to_string());
        for step in text.split("; ") {
            let step = step.replace("$r", &format!("${}", operands.len()));
            // These have 32 bits, whatever they count.
            let counts = step.starts_with("popc") || step.starts_with("clz");
            let result = self.pure(if counts { Scalar::WORD } else { kind }, &step, &operands);
            operands.truncate(count);
            operands.push(if counts { self.extended(result, kind, false) } else { result });
        }
        let result = operands[count];
        match (of, kind) {
            (Scalar::Int(_), Scalar::Int(bits)) if is_unsigned => self.zeros_from(result, bits),
            _ => result,
        }
    }

    pub(super) fn negated(&self, part: Part) -> Part {
        self.pure(part.kind, &format!("neg.{}", part.kind.ptx().replace('b', "s")), &[part])
    }

    /// The instruction that a value comes from, if it is one of these in the block that is
    /// translated; and how many use it.
    fn near(&self, id: Id, op: &str) -> Option<(usize, &'m Instruction<'m>)> {
        let function = self.function;
        let by =
            function.computed(id).filter(|by| by.op == op && by.block == Some(self.from.get()));
        Some((function.values[id].uses, by?))
    }

    /// A product of words that are extended to 64 bits.
    fn wide_product(&self, a: Id, instruction: &Instruction<'_>) -> Option<Part> {
        let b = *instruction.operands.get(1)?;
        let (signed, word) = self.word_of(a)?;
        let factor = self.function.number(b).and_then(|by| match instruction.op {
            "shl" => 1i64.checked_shl(by as u32),
            _ => Some(by as i64),
        });
        let range = if signed { i32::MIN.into()..=i32::MAX.into() } else { 0..=u32::MAX.into() };
        let other = match (factor, self.word_of(b)) {
            (Some(by), _) if range.contains(&by) => Part::number(Scalar::LONG, by as u64),
            (None, Some((sign, other))) if sign == signed && instruction.op == "mul" => {
                self.one(other)
            }
            _ => return None,
        };
        let text = if signed { "mul.wide.s32" } else { "mul.wide.u32" };
        Some(self.pure(Scalar::LONG, text, &[self.in_register(self.one(word)), other]))
    }

    /// Of a word that is extended to 64 bits: whether with its sign, and the word.
    pub(super) fn word_of(&self, id: Id) -> Option<(bool, Id)> {
        let by = self.function.computed(id).filter(|by| matches!(by.op, "sext" | "zext"))?;
        let word = *by.operands.first()?;
        let is_word = self.function.values[word].kind == Scalar::WORD && by.of == Scalar::LONG;
        is_word.then_some((by.op == "sext", word))
    }

    /// A sum with a product in the same block: of floats, a fused multiply-add where LLVM makes one
    /// for NVPTX, of two products that with fewer uses; of integers, if nothing else uses it.
    fn sum_with_product(
        &self,
        instruction: &'m Instruction<'m>,
        kind: Scalar,
        at: usize,
    ) -> Option<Part> {
        let [a, b] = instruction.operands().ok()?;
        let product = |id| match kind {
            _ if kind.is_float() => self.near(id, "fmul").filter(|(_, by)| may_fuse(by)),
            // The product of extended numbers is an instruction already.
            Scalar::WORD | Scalar::LONG => self.near(id, "mul").filter(|(uses, by)| {
                *uses == 1 && by.operands.first().is_some_and(|id| self.word_of(*id).is_none())
            }),
            _ => None,
        };
        let (first, second) = (product(a), product(b));
        let takes_first = match (&first, &second) {
            (Some((few, _)), Some((many, _))) => few <= many,
            _ => first.is_some(),
        };
        let ((_, product), other) = if takes_first { (first?, b) } else { (second?, a) };
        if kind.is_float() && !may_fuse(instruction) {
            return None;
        }
        let [x, y] = product.operands().ok()?;
        let [mut x, y, mut z] = [self.parts(x)[at], self.parts(y)[at], self.parts(other)[at]];
        if instruction.op == "fsub" {
            let subtracted = if takes_first { &mut z } else { &mut x };
            *subtracted = self.negated(*subtracted);
        }
        let text = if kind.is_float() { "fma.rn." } else { "mad.lo." };
        let text = format!("{text}{}", kind.ptx().replace('b', "s"));
        Some(self.pure(kind, &text, &[self.in_register(x), y, z]))
    }

    /// Predicates.
    fn logic(&self, op: &str, x: Part, y: Part) -> Part {
        match (op, y.bits()) {
            ("xor", Some(1)) => self.not(x),
            ("and" | "or" | "xor", _) => {
                self.pure(Scalar::BOOL, &format!("{op}.pred"), &[self.in_register(x), y])
            }
            _ => self.refuse(format_args!("{op} of truth values")),
        }
    }

    fn not(&self, part: Part) -> Part {
        self.pure(Scalar::BOOL, "not.pred", &[part])
    }

    pub(super) fn compare(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let name = format!("{}.{}", instruction.op, instruction.name);
        Ok(self.each(&instruction.operands::<2>()?, |_, parts| {
            let (mut x, mut y) = (parts[0], parts[1]);
            if x.kind == Scalar::BOOL {
                return self.logic(&name, x, y);
            }
            if let Scalar::Pointer(own) = x.kind {
                let is_same = own.suffix() == y.space().suffix();
                let space = if is_same { own } else { Space::Generic };
                (x, y) = (self.address_in(x, space), self.address_in(y, space));
            }
            self.by_table(&name, Scalar::BOOL, &[self.in_register(x), y])
        }))
    }

    /// The second, if the first one holds, or else the third.
    pub(super) fn select(&self, id: Id, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let operands = instruction.operands::<3>()?;
        // Of pointers in an aggregate, the space is not followed.
        let space = match self.function.values[operands[1]].kind {
            Type::Scalar(_) => self.spaces[id],
            _ => Space::Generic,
        };
        Ok(self.each(&operands, |_, parts| {
            let (by, mut x, mut y) = (parts[0], parts[1], parts[2]);
            if x.kind == Scalar::BOOL {
                return self.choose_truth(by, x, y);
            }
            let (by, mut kind) = (self.in_register(by), x.kind);
            if let Scalar::Pointer(_) = kind {
                kind = Scalar::Pointer(space);
                (x, y) = (self.address_in(x, space), self.address_in(y, space));
            }
            self.pure(kind, &format!("selp.{}", kind.ptx()), &[x, y, by])
        }))
    }

    /// Of truth values: by `and` and `or`.
    fn choose_truth(&self, by: Part, x: Part, y: Part) -> Part {
        match (x.bits(), y.bits()) {
            (Some(1), _) => self.logic("or", by, y),
            (_, Some(0)) => self.logic("and", by, x),
            _ => self.logic("or", self.logic("and", by, x), self.logic("and", self.not(by), y)),
        }
    }
}
