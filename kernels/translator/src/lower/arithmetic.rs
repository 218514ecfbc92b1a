//! Numbers and truth values: instructions of tables, and what is fused to one.

use crate::code::Part;
use crate::ir::{Id, Instruction};
use crate::lower::Lower;
use crate::table::find;
use crate::types::{Scalar, Space, Type};
use crate::{Error, Result};

/// Whether a product may become a part of a fused multiply-add.
fn may_fuse(instruction: &Instruction<'_>) -> bool {
    instruction.has("contract") || instruction.has("fast")
}

impl<'m> Lower<'m> {
    pub(super) fn arithmetic(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let op = instruction.op;
        self.each(&instruction.operands, |lower, at, parts| {
            let [Part { kind, .. }, ..] = *parts else {
                return Err(Error::unknown(format!("{op} of nothing")));
            };
            let mut parts = parts.to_vec();
            if let (Scalar::BOOL, [x, y]) = (kind, &parts[..]) {
                return lower.logic(op, *x, *y);
            }
            let one = match op {
                "mul" | "shl" if kind == Scalar::LONG => lower.wide_product(instruction)?,
                "add" | "fadd" | "fsub" => lower.sum_with_product(instruction, kind, at)?,
                _ => None,
            };
            if let ("shl" | "lshr" | "ashr", [_, by]) = (op, &mut parts[..]) {
                // By how many bits is a number of 32 bits.
                let wide = lower.widened(*by, false)?;
                *by = lower.truncated(wide, Scalar::WORD)?;
            }
            let result = one.map_or_else(|| lower.by_table(op, kind, &parts), Ok)?;
            if let ("and", [Part { kind: Scalar::Int(..=32), .. }, mask]) = (op, &parts[..])
                && let Some(mask) = mask.bits()
            {
                lower.short.insert(result.base, u64::BITS - mask.leading_zeros());
            }
            Ok(result)
        })
    }

    pub(super) fn by_table(&mut self, name: &str, kind: Scalar, parts: &[Part]) -> Result<Part> {
        let text = find("instruction", name);
        let text = text.ok_or_else(|| Error::unknown(format!("the instruction {name}")))?;
        self.steps(&text, kind, parts)
    }

    /// The result of the last one of such instructions as [the table](crate::table) has.
    pub(super) fn steps(&mut self, text: &str, kind: Scalar, parts: &[Part]) -> Result<Part> {
        let of = parts.first().map_or(kind, |part| part.kind);
        if matches!(of, Scalar::Int(bits) if bits != of.width()) && text.contains(".bN") {
            let function = text.split('.').next().unwrap_or_default();
            return Err(Error::unknown(format!("{function} of {} bits", of.bits())));
        }
        let is_unsigned = text.contains(".u");
        let parts = parts.iter().map(|part| match part.kind {
            Scalar::Int(_) if !text.contains('M') => self.widened(*part, !is_unsigned),
            _ => Ok(*part),
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let text = text.replace('F', kind.ptx()).replace('A', of.ptx());
        let text = text.replace('B', &of.width().to_string());
        let text = text.replace(['N', 'M'], &kind.width().to_string());
        let mut last = None;
        for step in text.split("; ") {
            let operands = [&parts[..], last.as_slice()].concat();
            let step = step.replace("$r", &format!("${}", operands.len()));
            // These have 32 bits, whatever they count.
            let counts = step.starts_with("popc") || step.starts_with("clz");
            let result = self.pure(if counts { Scalar::WORD } else { kind }, &step, &operands)?;
            last = Some(if counts { self.extended(result, kind, false)? } else { result });
        }
        let result = last.ok_or_else(|| Error::unknown("nothing to do"))?;
        if is_unsigned && let (Scalar::Int(_), Scalar::Int(bits)) = (of, kind) {
            self.short.insert(result.base, bits);
        }
        Ok(result)
    }

    pub(super) fn negated(&mut self, part: Part) -> Result<Part> {
        self.pure(part.kind, &format!("neg.{}", part.kind.ptx().replace('b', "s")), &[part])
    }

    /// The instruction that a value comes from, if it is one of these in the block that is
    /// translated; and how many use it.
    fn near(&self, id: Id, op: &str) -> Option<(usize, &'m Instruction<'m>)> {
        let function = self.function;
        let by = function.computed(id).filter(|by| by.op == op && by.block == Some(self.from));
        Some((function.values[id].uses, by?))
    }

    /// A product of words that are extended to 64 bits.
    fn wide_product(&mut self, instruction: &Instruction<'_>) -> Result<Option<Part>> {
        let [a, b] = instruction.operands()?;
        let Some((signed, word)) = self.word_of(a) else { return Ok(None) };
        let factor = self.function.number(b).and_then(|by| match instruction.op {
            "shl" => 1i64.checked_shl(by as u32),
            _ => Some(by as i64),
        });
        let range = if signed { i32::MIN.into()..=i32::MAX.into() } else { 0..=u32::MAX.into() };
        let other = match (factor, self.word_of(b)) {
            (Some(by), _) if range.contains(&by) => Part::number(Scalar::LONG, by as u64),
            (None, Some((sign, other))) if sign == signed && instruction.op == "mul" => {
                self.one(other)?
            }
            _ => return Ok(None),
        };
        let word = self.one(word)?;
        let text = if signed { "mul.wide.s32" } else { "mul.wide.u32" };
        let word = self.in_register(word)?;
        self.pure(Scalar::LONG, text, &[word, other]).map(Some)
    }

    /// Of a word that is extended to 64 bits: whether with its sign, and the word.
    pub(super) fn word_of(&self, id: Id) -> Option<(bool, Id)> {
        let by = self.function.computed(id).filter(|by| matches!(by.op, "sext" | "zext"))?;
        let [word] = by.operands().ok()?;
        let is_word = self.function.values[word].kind == Scalar::WORD && by.of == Scalar::LONG;
        is_word.then_some((by.op == "sext", word))
    }

    /// A sum with a product in the same block: of floats, a fused multiply-add where LLVM makes one
    /// for NVPTX, of two products that with fewer uses; of integers, if nothing else uses it.
    fn sum_with_product(
        &mut self,
        instruction: &'m Instruction<'m>,
        kind: Scalar,
        at: usize,
    ) -> Result<Option<Part>> {
        let [a, b] = instruction.operands()?;
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
        let (chosen, other) = if takes_first { (first, b) } else { (second, a) };
        let Some((_, product)) = chosen else { return Ok(None) };
        if kind.is_float() && !may_fuse(instruction) {
            return Ok(None);
        }
        let [x, y] = product.operands()?;
        let [mut x, y, mut z] = [self.parts(x)?[at], self.parts(y)?[at], self.parts(other)?[at]];
        if instruction.op == "fsub" {
            let subtracted = if takes_first { &mut z } else { &mut x };
            *subtracted = self.negated(*subtracted)?;
        }
        let text = if kind.is_float() { "fma.rn." } else { "mad.lo." };
        let x = self.in_register(x)?;
        self.pure(kind, &format!("{text}{}", kind.ptx().replace('b', "s")), &[x, y, z]).map(Some)
    }

    /// Predicates.
    fn logic(&mut self, op: &str, x: Part, y: Part) -> Result<Part> {
        let x = self.in_register(x)?;
        let text = match op {
            "xor" if y.bits() == Some(1) => return self.pure(Scalar::BOOL, "not.pred", &[x]),
            "and" | "mul" => "and.pred",
            "or" => "or.pred",
            "xor" | "add" | "sub" => "xor.pred",
            _ => return Err(Error::unknown(format!("{op} of truth values"))),
        };
        self.pure(Scalar::BOOL, text, &[x, y])
    }

    fn not(&mut self, part: Part) -> Result<Part> {
        self.logic("xor", part, Part::number(Scalar::BOOL, 1))
    }

    pub(super) fn compare(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let name = format!("{}.{}", instruction.op, instruction.name);
        self.each(&instruction.operands::<2>()?, |lower, _, parts| {
            let (mut x, mut y) = (parts[0], parts[1]);
            if x.kind == Scalar::BOOL {
                let differs = lower.logic("xor", x, y)?;
                return match instruction.name {
                    "ne" => Ok(differs),
                    "eq" => lower.not(differs),
                    how => Err(Error::unknown(format!("{how} of truth values"))),
                };
            }
            if let Scalar::Pointer(own) = x.kind {
                let is_same = own.suffix() == y.space().suffix();
                let space = if is_same { own } else { Space::Generic };
                (x, y) = (lower.address_in(x, space)?, lower.address_in(y, space)?);
            }
            let x = lower.in_register(x)?;
            lower.by_table(&name, Scalar::BOOL, &[x, y])
        })
    }

    /// The second, if the first one holds, or else the third.
    pub(super) fn select(&mut self, id: Id, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let operands = instruction.operands::<3>()?;
        // Of pointers in an aggregate, the space is not followed.
        let space = match self.function.values[operands[1]].kind {
            Type::Scalar(_) => self.spaces[id],
            _ => Space::Generic,
        };
        self.each(&operands, |lower, _, parts| {
            let (by, mut x, mut y) = (parts[0], parts[1], parts[2]);
            if x.kind == Scalar::BOOL {
                return lower.choose_truth(by, x, y);
            }
            let (by, mut kind) = (lower.in_register(by)?, x.kind);
            if let Scalar::Pointer(_) = kind {
                kind = Scalar::Pointer(space);
                (x, y) = (lower.address_in(x, space)?, lower.address_in(y, space)?);
            }
            lower.pure(kind, &format!("selp.{}", kind.ptx()), &[x, y, by])
        })
    }

    /// Of truth values: by `and` and `or`.
    fn choose_truth(&mut self, by: Part, x: Part, y: Part) -> Result<Part> {
        match (x.bits(), y.bits()) {
            (Some(1), _) => self.logic("or", by, y),
            (_, Some(0)) => self.logic("and", by, x),
            _ => {
                let not = self.not(by)?;
                let (x, y) = (self.logic("and", by, x)?, self.logic("and", not, y)?);
                self.logic("or", x, y)
            }
        }
    }
}
