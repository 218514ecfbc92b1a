//! Arithmetic with numbers: sums, products, and instructions that have both.

use crate::code::Part;
use crate::ir::{Instruction, Op, Typed};
use crate::lower::Lower;
use crate::types::Scalar;
use crate::{Error, Result};

/// Two operands.
type Two<'m> = &'m [Typed<'m>; 2];

/// Whether a product may become a part of a fused multiply-add.
fn may_fuse(instruction: &Instruction<'_>) -> bool {
    instruction.has("contract") || instruction.has("fast")
}

impl<'m> Lower<'m> {
    /// What is done with each part of two operands.
    pub(super) fn binary(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let (op, operands) = (instruction.op, instruction.operands::<2>()?);
        self.each(operands, |lower, at, parts| {
            let &[x, y] = parts else { return Err(Error::unknown("such arithmetic")) };
            let one = match x.kind {
                Scalar::BOOL => return lower.logic(op, x, y),
                Scalar::Float | Scalar::Double if may_fuse(instruction) => {
                    lower.fused(op, operands, at)?
                }
                Scalar::LONG if matches!(op, Op::Mul | Op::Shl) => {
                    lower.wide_product(op, operands)?
                }
                Scalar::LONG | Scalar::WORD if op == Op::Add => lower.sum_with_product(operands)?,
                _ => None,
            };
            match one {
                Some(one) => Ok(one),
                None if x.kind.is_float() => {
                    lower.pure(x.kind, &format!("{}{}", op.ptx(), x.kind.bits()), parts)
                }
                None => lower.integer(op, x, y),
            }
        })
    }

    fn integer(&mut self, op: Op, mut x: Part, mut y: Part) -> Result<Part> {
        let (kind, width, bits) = (x.kind, x.kind.width(), y.bits());
        let shifts = matches!(op, Op::Shl | Op::LShr | Op::AShr);
        // Of others the unused upper bits may be anything.
        if matches!(op, Op::LShr | Op::AShr | Op::UDiv | Op::URem | Op::SDiv | Op::SRem) {
            let signed = op.ptx().ends_with('s');
            x = self.widened(x, signed)?;
            y = if shifts { y } else { self.widened(y, signed)? };
        }
        if shifts {
            // By how many bits is a number of 32 bits.
            let by = self.widened(y, false)?;
            y = self.truncated(by, Scalar::WORD)?;
        }
        let result = self.pure(kind, &format!("{}{width}", op.ptx()), &[x, y])?;
        let short = match (op, bits) {
            (Op::And, Some(mask)) if width == 32 => 64 - mask.leading_zeros(),
            (Op::LShr | Op::UDiv | Op::URem, _) => kind.bits(),
            _ => width,
        };
        self.short.insert(result.base, short);
        Ok(result)
    }

    pub(super) fn negated(&mut self, part: Part) -> Result<Part> {
        self.pure(part.kind, &format!("neg.{}", part.kind.ptx()), &[part])
    }

    fn sum_with_product(&mut self, [a, b]: Two<'m>) -> Result<Option<Part>> {
        for (one, other) in [(a, b), (b, a)] {
            let Some((1, product)) = self.near(one, Op::Mul) else { continue };
            let [x, y] = product.operands()?;
            // The product of extended numbers is an instruction already.
            if a.kind == Scalar::LONG && self.extended(x).is_some() {
                continue;
            }
            let parts = [self.one(x)?, self.one(y)?, self.one(other)?];
            let x = self.in_register(parts[0])?;
            let text = format!("mad.lo.s{}", x.kind.bits());
            return self.pure(x.kind, &text, &[x, parts[1], parts[2]]).map(Some);
        }
        Ok(None)
    }

    /// A product of words that are extended to 64 bits.
    fn wide_product(&mut self, op: Op, [a, b]: Two<'m>) -> Result<Option<Part>> {
        let Some((signed, word)) = self.extended(a) else { return Ok(None) };
        let shift = |by: u64| 1i64.checked_shl(by as u32);
        let factor =
            b.number().and_then(|by| if op == Op::Shl { shift(by) } else { Some(by as i64) });
        let range = if signed { i32::MIN.into()..=i32::MAX.into() } else { 0..=u32::MAX.into() };
        let other = match (factor, self.extended(b)) {
            (Some(by), _) if range.contains(&by) => Part::number(Scalar::LONG, by as u64),
            (None, Some((sign, other))) if sign == signed && op == Op::Mul => self.one(other)?,
            _ => return Ok(None),
        };
        let word = self.one(word)?;
        let text = format!("mul.wide.{}32", if signed { 's' } else { 'u' });
        let word = self.in_register(word)?;
        self.pure(Scalar::LONG, &text, &[word, other]).map(Some)
    }

    /// Of a word that is extended to 64 bits: whether with its sign, and the word.
    fn extended(&self, value: &Typed<'_>) -> Option<(bool, &'m Typed<'m>)> {
        let by = self.definition(value)?;
        let word = by.operands.first().filter(|word| word.kind == Scalar::WORD)?;
        matches!(by.op, Op::SExt | Op::ZExt).then_some((by.op == Op::SExt, word))
    }

    /// A fused multiply-add of parts, where LLVM makes one for NVPTX: of a product in the same
    /// block; and of two products, of that with fewer uses.
    fn fused(&mut self, op: Op, [a, b]: Two<'m>, at: usize) -> Result<Option<Part>> {
        if !matches!(op, Op::FAdd | Op::FSub) {
            return Ok(None);
        }
        let product = |value| self.near(value, Op::FMul).filter(|(_, by)| may_fuse(by));
        let (first, second) = (product(a), product(b));
        let takes_first = match (first, second) {
            (Some((few, _)), Some((many, _))) => few <= many,
            _ => first.is_some(),
        };
        let (chosen, other) = if takes_first { (first, b) } else { (second, a) };
        let Some((_, product)) = chosen else { return Ok(None) };
        let [x, y] = product.operands()?;
        let [mut x, y, mut z] = [self.parts(x)?[at], self.parts(y)?[at], self.parts(other)?[at]];
        if op == Op::FSub {
            let subtracted = if takes_first { &mut z } else { &mut x };
            *subtracted = self.negated(*subtracted)?;
        }
        self.pure(x.kind, &format!("fma.rn.{}", x.kind.ptx()), &[x, y, z]).map(Some)
    }
}
