//! Truth values: comparisons, and choices by them.

use crate::code::Arg;
use crate::ir::{Id, Typed, Value};
use crate::lower::{Lower, Part};
use crate::types::{Class, Type};
use crate::{Error, Result};

impl Lower<'_> {
    /// Predicates.
    pub(super) fn logic(&mut self, name: &str, x: &Part, y: &Part) -> Result<Part> {
        let (is_xor, x_reg) = (name == "xor", self.reg(x, &Type::BOOL)?);
        let result = if is_xor && matches!(y, Part::Bits(bits) if bits & 1 == 1) {
            self.pure(Class::Predicate, "not.pred $0, $1;", vec![x_reg])
        } else {
            let mnemonic = match name {
                "and" | "mul" => "and",
                "or" => "or",
                "xor" | "add" | "sub" => "xor",
                _ => return Err(Error::unknown(format!("{name} of truth values"))),
            };
            let y = self.reg(y, &Type::BOOL)?;
            self.pure(Class::Predicate, &format!("{mnemonic}.pred $0, $1, $2;"), vec![x_reg, y])
        };
        Ok(self.part(result, &Type::BOOL))
    }

    pub(super) fn compare(&mut self, how: &str, x: &Part, y: &Part, kind: &Type) -> Result<Part> {
        if *kind == Type::BOOL {
            let differs = self.logic("xor", x, y)?;
            return match how {
                "ne" => Ok(differs),
                "eq" => self.logic("xor", &differs, &Part::Bits(1)),
                _ => Err(Error::unknown(format!("{how} of truth values"))),
            };
        }
        let signed = how.starts_with('s');
        let (first, second) = match kind {
            Type::Pointer(_) => {
                let (a, b) = (self.place_of(x, kind)?, self.place_of(y, kind)?);
                match a.space == b.space {
                    true => (self.address(&a), self.address(&b)),
                    false => (self.generic(&a)?, self.generic(&b)?),
                }
            }
            kind => (self.widened(x, kind, signed)?, self.widened(y, kind, signed)?),
        };
        let first = self.in_register(first, kind)?;
        let order = how.trim_start_matches(['s', 'u']);
        let order = if matches!(how, "eq" | "ne") { how } else { order };
        let sign = if signed || matches!(how, "eq" | "ne") { 's' } else { 'u' };
        let width = if kind.class()? == Class::Long { 64 } else { 32 };
        let text = format!("setp.{order}.{sign}{width} $0, $1, $2;");
        let result = self.pure(Class::Predicate, &text, vec![first, second]);
        Ok(self.part(result, &Type::BOOL))
    }

    pub(super) fn compare_floats(
        &mut self,
        how: &str,
        x: &Part,
        y: &Part,
        kind: &Type,
    ) -> Result<Part> {
        let order = match how {
            "ord" => "num".to_owned(),
            "uno" => "nan".to_owned(),
            how if how.starts_with('o') => how[1..].to_owned(),
            how if how.starts_with('u') => format!("{}u", &how[1..]),
            how => return Err(Error::unknown(format!("the comparison {how}"))),
        };
        let args = vec![self.reg(x, kind)?, self.arg(y, kind)?];
        let text = format!("setp.{order}.{} $0, $1, $2;", kind.class()?.kind());
        let result = self.pure(Class::Predicate, &text, args);
        Ok(self.part(result, &Type::BOOL))
    }

    pub(super) fn in_register(&mut self, arg: Arg, kind: &Type) -> Result<Arg> {
        let class = kind.class()?;
        let text = format!("mov.u{} $0, $1;", if class == Class::Long { 64 } else { 32 });
        Ok(match arg {
            number @ Arg::Text(_) => self.pure(class, &text, vec![number]),
            reg => reg,
        })
    }

    /// The first, if the condition holds, or else the second.
    pub(super) fn select(
        &mut self,
        result: Option<Id>,
        by: &Typed,
        a: &Typed,
        b: &Value,
    ) -> Result<Vec<Part>> {
        let conditions = self.parts(&by.value, &by.kind)?;
        let (a_parts, b_parts) = (self.parts(&a.value, &a.kind)?, self.parts(b, &a.kind)?);
        let mut chosen = Vec::new();
        for (at, (kind, _)) in a.kind.parts()?.iter().enumerate() {
            let condition = conditions.get(at).unwrap_or(&conditions[0]).clone();
            let (x, y) = (&a_parts[at], &b_parts[at]);
            if *kind == Type::BOOL {
                chosen.push(self.choose_truth(&condition, x, y)?);
                continue;
            }
            let condition = self.reg(&condition, &Type::BOOL)?;
            // Of pointers in an aggregate, the space is not followed.
            let space = result.filter(|_| a.kind == *kind).map_or(0, |id| self.space_of(id));
            let (args, kind) = match kind {
                Type::Pointer(_) => {
                    let (a, b) = (self.place_of(x, kind)?, self.place_of(y, kind)?);
                    let (a, b) = (self.in_space(&a, space)?, self.in_space(&b, space)?);
                    (vec![self.address(&a), self.address(&b), condition], Type::Pointer(space))
                }
                kind => (vec![self.arg(x, kind)?, self.arg(y, kind)?, condition], kind.clone()),
            };
            let class = kind.class()?;
            let choice = self.pure(class, &format!("selp.{} $0, $1, $2, $3;", class.kind()), args);
            chosen.push(self.part(choice, &kind));
        }
        Ok(chosen)
    }

    /// Of truth values: by `and` and `or`.
    pub(super) fn choose_truth(&mut self, by: &Part, x: &Part, y: &Part) -> Result<Part> {
        match (x, y) {
            (Part::Bits(1), y) => self.logic("or", by, y),
            (x, Part::Bits(0)) => self.logic("and", by, x),
            (x, y) => {
                let not = self.logic("xor", by, &Part::Bits(1))?;
                match (x, y) {
                    (Part::Bits(0), y) => self.logic("and", &not, y),
                    (x, Part::Bits(1)) => self.logic("or", &not, x),
                    (x, y) => {
                        let (x, y) = (self.logic("and", by, x)?, self.logic("and", &not, y)?);
                        self.logic("or", &x, &y)
                    }
                }
            }
        }
    }
}
