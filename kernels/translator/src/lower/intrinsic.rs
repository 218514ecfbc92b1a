//! Functions of LLVM and of NVPTX that are an instruction or a few.

use crate::code::Arg;
use crate::ir::Typed;
use crate::lower::{Lower, Part};
use crate::types::{Class, Type};
use crate::{Error, Result};

impl Lower<'_> {
    /// `llvm.fma.f32` and the like, without `llvm.`: what is done with each part of a vector.
    pub(super) fn elementwise(
        &mut self,
        name: &str,
        arguments: &[Typed],
        kind: &Type,
    ) -> Result<Option<Vec<Part>>> {
        let base = name.rsplit_once('.').map_or(name, |(base, _)| base);
        let is_float = matches!(kind.parts()?[0].0, Type::Float | Type::Double);
        let Some(template) = template(base, is_float) else { return Ok(None) };
        // Flags such as “zero is poison” are of no part.
        let operands: Vec<_> = arguments.iter().filter(|argument| argument.kind == *kind).collect();
        let signed = matches!(base, "smin" | "smax" | "abs");
        let mut all = Vec::new();
        for operand in &operands {
            all.push(self.parts(&operand.value, &operand.kind)?);
        }
        let mut results = Vec::new();
        for (at, (kind, _)) in kind.parts()?.iter().enumerate() {
            let class = kind.class()?;
            let is_whole = is_float || matches!(kind.bits(), 32 | 64);
            if !is_whole && !matches!(base, "smin" | "smax" | "umin" | "umax" | "abs") {
                return Err(Error::unknown(format!("{base} of {} bits", kind.bits())));
            }
            let mut args = Vec::new();
            for parts in &all {
                let arg = match is_float {
                    true => self.arg(&parts[at], kind)?,
                    false => self.widened(&parts[at], kind, signed)?,
                };
                args.push(arg);
            }
            results.push(self.steps(template, args, kind, class)?);
        }
        Ok(Some(results))
    }

    /// Instructions one after the other, each of which may use the one before as `$r`.
    fn steps(&mut self, template: &str, args: Vec<Arg>, kind: &Type, class: Class) -> Result<Part> {
        let width = if class == Class::Long { "64" } else { "32" };
        let mut last: Option<Arg> = None;
        let steps: Vec<&str> = template.split("; ").collect();
        for (number, step) in steps.iter().enumerate() {
            // `popc` and `clz` have 32 bits, whatever they count.
            let counts = step.starts_with("popc") || step.starts_with("clz");
            let of = if counts { Class::Word } else { class };
            let text = step.replace('F', class.kind()).replace('N', width);
            let mut operands = args.clone();
            operands.extend(last.take());
            let text = text.replace("$r", &format!("${}", operands.len()));
            // Only numbers: an instruction wants a register among its operands.
            if let Some(first @ Arg::Text(_)) = operands.first() {
                let number = vec![first.clone()];
                let text = format!("mov.{} $0, $1;", class.kind());
                operands[0] = self.pure(class, &text, number);
            }
            let result = self.pure(of, &format!("{text};"), operands);
            let is_last = number + 1 == steps.len();
            last = Some(match is_last && of != class {
                true => self.pure(class, "cvt.u64.u32 $0, $1;", vec![result]),
                false => result,
            });
        }
        Ok(self.part(last.ok_or_else(|| Error::unknown("nothing to do"))?, kind))
    }

    /// `llvm.nvvm.ex2.approx.ftz.f` and the like, without `llvm.nvvm.`: operation, how it rounds,
    /// and the type.
    pub(super) fn numeric(
        &mut self,
        name: &str,
        arguments: &[Typed],
        kind: &Type,
    ) -> Result<Option<Vec<Part>>> {
        let rounding = |letters: &str| match letters {
            "rn" => Some("rni"),
            "rz" => Some("rzi"),
            "rm" => Some("rmi"),
            "rp" => Some("rpi"),
            _ => None,
        };
        let words: Vec<&str> = name.split('.').collect();
        let text = match words[..] {
            ["saturate", "f"] => "cvt.sat.f32.f32".to_owned(),
            ["prmt"] => "prmt.b32".to_owned(),
            [f2i @ ("f2i" | "f2ui"), by] if rounding(by).is_some() => {
                let to = if f2i == "f2i" { "s32" } else { "u32" };
                format!("cvt.{}.{to}.f32", rounding(by).unwrap_or_default())
            }
            ["i2f", "rn"] => "cvt.rn.f32.s32".to_owned(),
            ["ui2f", "rn"] => "cvt.rn.f32.u32".to_owned(),
            ["d2f", by @ ("rn" | "rz" | "rm" | "rp")] => format!("cvt.{by}.f32.f64"),
            [
                op @ ("add" | "mul" | "div" | "fma" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos"
                | "ex2" | "lg2"),
                ref how @ ..,
                "f" | "f32" | "d" | "f64",
            ] if how.iter().all(|how| ["rn", "rz", "rm", "rp", "approx", "ftz"].contains(how)) => {
                format!("{op}.{}.{}", how.join("."), kind.class()?.kind())
            }
            _ => return Ok(None),
        };
        let mut args = Vec::new();
        for argument in arguments {
            args.push(self.reg_of(argument)?);
        }
        let places: Vec<_> = (0..=args.len()).map(|place| format!("${place}")).collect();
        let text = format!("{text} {};", places.join(", "));
        let result = self.pure(kind.class()?, &text, args);
        Ok(Some(vec![self.part(result, kind)]))
    }
}

/// Instructions, with `F` for the type of floats and `N` for the width of integers. They are
/// separated by semicolons, and `$r` is the result of the one before.
fn template(base: &str, is_float: bool) -> Option<&'static str> {
    Some(match (base, is_float) {
        ("fma" | "fmuladd", true) => "fma.rn.F $0, $1, $2, $3",
        ("maxnum" | "maximumnum", true) => "max.F $0, $1, $2",
        ("minnum" | "minimumnum", true) => "min.F $0, $1, $2",
        ("fabs", true) => "abs.F $0, $1",
        ("sqrt", true) => "sqrt.rn.F $0, $1",
        ("copysign", true) => "copysign.F $0, $2, $1",
        ("floor", true) => "cvt.rmi.F.F $0, $1",
        ("ceil", true) => "cvt.rpi.F.F $0, $1",
        ("trunc", true) => "cvt.rzi.F.F $0, $1",
        ("rint" | "nearbyint" | "roundeven", true) => "cvt.rni.F.F $0, $1",
        ("smax", false) => "max.sN $0, $1, $2",
        ("smin", false) => "min.sN $0, $1, $2",
        ("umax", false) => "max.uN $0, $1, $2",
        ("umin", false) => "min.uN $0, $1, $2",
        ("abs", false) => "abs.sN $0, $1",
        ("bitreverse", false) => "brev.bN $0, $1",
        ("ctpop", false) => "popc.bN $0, $1",
        ("ctlz", false) => "clz.bN $0, $1",
        ("cttz", false) => "brev.bN $0, $1; clz.bN $0, $r",
        ("usub.sat", false) => "max.uN $0, $1, $2; sub.sN $0, $r, $2",
        ("uadd.sat", false) => "not.bN $0, $2; min.uN $0, $1, $r; add.sN $0, $r, $2",
        ("fshl", false) => "shf.l.wrap.bN $0, $2, $1, $3",
        ("fshr", false) => "shf.r.wrap.bN $0, $2, $1, $3",
        _ => return None,
    })
}
