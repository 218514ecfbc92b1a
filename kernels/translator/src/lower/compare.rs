//! Truth values: comparisons, and choices by them.

use crate::code::Part;
use crate::ir::{Instruction, Op};
use crate::lower::Lower;
use crate::types::{Scalar, Space, Type};
use crate::{Error, Result};

impl<'m> Lower<'m> {
    /// Predicates.
    pub(super) fn logic(&mut self, op: Op, x: Part, y: Part) -> Result<Part> {
        let x = self.in_register(x)?;
        let text = match op {
            Op::Xor if y.bits() == Some(1) => return self.pure(Scalar::BOOL, "not.pred", &[x]),
            Op::And | Op::Mul => "and.pred",
            Op::Or => "or.pred",
            Op::Xor | Op::Add | Op::Sub => "xor.pred",
            _ => return Err(Error::unknown(format!("{op:?} of truth values"))),
        };
        self.pure(Scalar::BOOL, text, &[x, y])
    }

    fn not(&mut self, part: Part) -> Result<Part> {
        self.logic(Op::Xor, part, Part::number(Scalar::BOOL, 1))
    }

    pub(super) fn compare(&mut self, how: &str, parts: &[Part]) -> Result<Part> {
        let &[mut x, mut y] = parts else { return Err(Error::unknown("such a comparison")) };
        let kind = x.kind;
        let order = match how {
            "eq" | "ne" => how.to_owned(),
            "ord" => "num".to_owned(),
            "uno" => "nan".to_owned(),
            how if kind.is_float() && how.starts_with('u') => format!("{}u", &how[1..]),
            how => how.get(1..).unwrap_or_default().to_owned(),
        };
        let mut of = if how.starts_with(['s', 'e', 'n']) { "s" } else { "u" };
        match kind {
            Scalar::BOOL => {
                let differs = self.logic(Op::Xor, x, y)?;
                return match how {
                    "ne" => Ok(differs),
                    "eq" => self.not(differs),
                    _ => Err(Error::unknown(format!("{how} of truth values"))),
                };
            }
            Scalar::Float | Scalar::Double => of = "f",
            Scalar::Pointer(_) => {
                (x, y) = (self.place(x)?, self.place(y)?);
                if x.space().suffix() != y.space().suffix() {
                    (x, y) = (self.generic(x)?, self.generic(y)?);
                }
                (x, y) = (self.address(x)?, self.address(y)?);
            }
            Scalar::Int(_) | Scalar::Short => {
                let signed = how.starts_with('s');
                (x, y) = (self.widened(x, signed)?, self.widened(y, signed)?);
            }
        }
        let x = self.in_register(x)?;
        self.pure(Scalar::BOOL, &format!("setp.{order}.{of}{}", kind.width()), &[x, y])
    }

    /// The second, if the first one holds, or else the third.
    pub(super) fn select(&mut self, instruction: &'m Instruction<'m>) -> Result<Vec<Part>> {
        let operands = instruction.operands::<3>()?;
        // Of pointers in an aggregate, the space is not followed.
        let space = match (&operands[1].kind, instruction.result) {
            (Type::Scalar(_), Some(id)) => self.spaces[id],
            _ => Space::Generic,
        };
        self.each(operands, |lower, _, parts| {
            let &[by, mut x, mut y] = parts else { return Err(Error::unknown("such a choice")) };
            if x.kind == Scalar::BOOL {
                return lower.choose_truth(by, x, y);
            }
            let by = lower.in_register(by)?;
            let mut kind = x.kind;
            if let Scalar::Pointer(_) = kind {
                kind = Scalar::Pointer(space);
                (x, y) = (lower.in_space(x, space)?, lower.in_space(y, space)?);
                (x, y) = (lower.address(x)?, lower.address(y)?);
            }
            lower.pure(kind, &format!("selp.{}", kind.ptx()), &[x, y, by])
        })
    }

    /// Of truth values: by `and` and `or`.
    fn choose_truth(&mut self, by: Part, x: Part, y: Part) -> Result<Part> {
        let not = self.not(by)?;
        match (x.bits(), y.bits()) {
            (Some(1), _) => self.logic(Op::Or, by, y),
            (_, Some(0)) => self.logic(Op::And, by, x),
            (Some(0), _) => self.logic(Op::And, not, y),
            (_, Some(1)) => self.logic(Op::Or, not, x),
            _ => {
                let (x, y) = (self.logic(Op::And, by, x)?, self.logic(Op::And, not, y)?);
                self.logic(Op::Or, x, y)
            }
        }
    }
}
