//! Arithmetic with numbers.

use crate::code::Arg;
use crate::ir::{Op, Typed, Value};
use crate::lower::{Lower, Part};
use crate::types::{Class, Type};
use crate::{Error, Result};

impl Lower<'_> {
    /// What is done with each part of its operands.
    pub(super) fn arithmetic(&mut self, op: &Op) -> Result<Vec<Part>> {
        if let Op::Negate(value) = op {
            let parts = self.parts(&value.value, &value.kind)?;
            let kinds = value.kind.parts()?.into_iter().map(|(kind, _)| kind);
            return parts.iter().zip(kinds).map(|(part, kind)| self.negated(part, &kind)).collect();
        }
        let (Op::Binary { a, b, .. } | Op::Compare { a, b, .. }) = op else {
            return Err(Error::unknown("this arithmetic"));
        };
        let kinds = a.kind.parts()?;
        let (a_parts, b_parts) = (self.parts(&a.value, &a.kind)?, self.parts(b, &a.kind)?);
        let mut results = Vec::new();
        for (at, (kind, _)) in kinds.iter().enumerate() {
            let (x, y) = (&a_parts[at], &b_parts[at]);
            results.push(match op {
                Op::Compare { how, float: true, .. } => self.compare_floats(how, x, y, kind)?,
                Op::Compare { how, .. } => self.compare(how, x, y, kind)?,
                Op::Binary { contract: true, .. } => match self.fused(op, at, kind)? {
                    Some(fused) => fused,
                    None => self.binary(op, x, y, kind)?,
                },
                _ => self.binary(op, x, y, kind)?,
            });
        }
        Ok(results)
    }

    pub(super) fn negated(&mut self, part: &Part, kind: &Type) -> Result<Part> {
        let value = self.reg(part, kind)?;
        let class = kind.class()?;
        let result = self.pure(class, &format!("neg.{} $0, $1;", class.kind()), vec![value]);
        Ok(self.part(result, kind))
    }

    fn binary(&mut self, op: &Op, x: &Part, y: &Part, kind: &Type) -> Result<Part> {
        let Op::Binary { name, a, b, .. } = op else { return Err(Error::unknown("this")) };
        let class = kind.class()?;
        if class == Class::Predicate {
            return self.logic(name, x, y);
        }
        if matches!(class, Class::Float | Class::Double) {
            // With a rounding of its own, ptxas fuses nothing that is not fused here.
            let text = format!("{}.rn.{} $0, $1, $2;", &name[1..], class.kind());
            let args = vec![self.arg(x, kind)?, self.arg(y, kind)?];
            let result = self.pure(class, &text, args);
            return Ok(self.part(result, kind));
        }
        let width = if class == Class::Long { 64 } else { 32 };
        if let Some(result) = self.combined(name, a, b, kind)? {
            return Ok(result);
        }
        let (mnemonic, widened) = match name.as_str() {
            "add" | "sub" => (format!("{name}.s{width}"), None),
            "mul" => (format!("mul.lo.s{width}"), None),
            "and" | "or" | "xor" => (format!("{name}.b{width}"), None),
            "shl" => (format!("shl.b{width}"), None),
            "lshr" => (format!("shr.u{width}"), Some(false)),
            "ashr" => (format!("shr.s{width}"), Some(true)),
            "udiv" | "urem" => (format!("{}.u{width}", &name[1..]), Some(false)),
            _ => (format!("{}.s{width}", &name[1..]), Some(true)),
        };
        let shifts = matches!(name.as_str(), "shl" | "lshr" | "ashr");
        let first = match widened {
            Some(signed) => self.widened(x, kind, signed)?,
            None => self.arg(x, kind)?,
        };
        let second = match (widened, y) {
            // By how many bits is a number of 32 bits.
            (_, Part::Bits(bits)) if shifts => Arg::text(bits),
            _ if shifts => {
                let by = self.widened(y, kind, false)?;
                match class {
                    Class::Long => self.pure(Class::Word, "cvt.u32.u64 $0, $1;", vec![by]),
                    _ => by,
                }
            }
            (Some(signed), _) => self.widened(y, kind, signed)?,
            (None, _) => self.arg(y, kind)?,
        };
        let result = self.pure(class, &format!("{mnemonic} $0, $1, $2;"), vec![first, second]);
        if let (Arg::Reg(reg), 32) = (&result, width) {
            let short = match (name.as_str(), y) {
                ("and", Part::Bits(mask)) => 64 - mask.leading_zeros(),
                ("lshr" | "udiv" | "urem", _) => kind.bits(),
                _ => 32,
            };
            self.short.insert(*reg, short);
        }
        Ok(self.part(result, kind))
    }

    /// A product within a sum, or of extended numbers: one instruction has both.
    fn combined(&mut self, name: &str, a: &Typed, b: &Value, kind: &Type) -> Result<Option<Part>> {
        let extended = |lower: &Self, value: &Value| match lower.definition(value) {
            Some((_, Op::Convert { name, from })) if from.kind == Type::Int(32) => {
                Some((name.as_str() == "sext", from.clone())).filter(|_| name.ends_with("ext"))
            }
            _ => None,
        };
        if matches!(name, "mul" | "shl") && *kind == Type::Int(64) {
            let Some((signed, from)) = extended(self, &a.value) else { return Ok(None) };
            let factor = match b {
                Value::Bits(by) if name == "shl" => 1i64.checked_shl(*by as u32),
                Value::Bits(by) => Some(*by as i64),
                _ => None,
            };
            let other = match (factor, extended(self, b)) {
                (Some(by), _) if signed && i32::try_from(by).is_ok() => Arg::text(by),
                (Some(by), _) if !signed && u32::try_from(by).is_ok() => Arg::text(by),
                (None, Some((sign, other))) if sign == signed && name == "mul" => {
                    self.arg_of(&other)?
                }
                _ => return Ok(None),
            };
            let text = format!("mul.wide.{}32 $0, $1, $2;", if signed { 's' } else { 'u' });
            let args = vec![self.reg_of(&from)?, other];
            let result = self.pure(Class::Long, &text, args);
            return Ok(Some(self.part(result, kind)));
        }
        if name != "add" || !matches!(kind, Type::Int(32 | 64)) {
            return Ok(None);
        }
        for (one, other) in [(&a.value, b), (b, &a.value)] {
            let product = match (self.definition(one), one) {
                (Some((true, Op::Binary { name, a, b, .. })), Value::Local(id))
                    if name == "mul" && self.uses[*id] == 1 =>
                {
                    (a.clone(), Typed { kind: kind.clone(), value: b.clone() })
                }
                _ => continue,
            };
            // The product of extended numbers is an instruction already.
            if *kind == Type::Int(64) && extended(self, &product.0.value).is_some() {
                continue;
            }
            let other = Typed { kind: kind.clone(), value: other.clone() };
            let args =
                vec![self.reg_of(&product.0)?, self.arg_of(&product.1)?, self.arg_of(&other)?];
            let text = format!("mad.lo.s{} $0, $1, $2, $3;", kind.bits());
            let result = self.pure(kind.class()?, &text, args);
            return Ok(Some(self.part(result, kind)));
        }
        Ok(None)
    }

    /// A fused multiply-add, where LLVM makes one for NVPTX: of a product in the same block; and
    /// of two products, of that with fewer uses.
    fn fused(&mut self, op: &Op, at: usize, kind: &Type) -> Result<Option<Part>> {
        let Op::Binary { name, a, b, .. } = op else { return Ok(None) };
        let subtracts = name == "fsub";
        if name != "fadd" && !subtracts {
            return Ok(None);
        }
        let product = |value: &Value| match (self.definition(value), value) {
            (Some((true, Op::Binary { name, a, b, contract: true, .. })), Value::Local(id))
                if name == "fmul" =>
            {
                Some((self.uses[*id], a.clone(), b.clone()))
            }
            _ => None,
        };
        let (first, second) = (product(&a.value), product(b));
        let takes_first = match (&first, &second) {
            (Some((few, ..)), Some((many, ..))) => few <= many,
            (first, _) => first.is_some(),
        };
        let (chosen, other) = if takes_first { (first, b) } else { (second, &a.value) };
        let Some((_, x, y)) = chosen else { return Ok(None) };
        let of = |lower: &mut Self, value: &Value| -> Result<Part> {
            Ok(lower.parts(value, &a.kind)?[at].clone())
        };
        let (mut x, y, mut z) = (of(self, &x.value)?, of(self, &y)?, of(self, other)?);
        if subtracts && takes_first {
            z = self.negated(&z, kind)?;
        } else if subtracts {
            x = self.negated(&x, kind)?;
        }
        let args = vec![self.arg(&x, kind)?, self.arg(&y, kind)?, self.arg(&z, kind)?];
        let class = kind.class()?;
        let text = format!("fma.rn.{} $0, $1, $2, $3;", class.kind());
        let result = self.pure(class, &text, args);
        Ok(Some(self.part(result, kind)))
    }
}
