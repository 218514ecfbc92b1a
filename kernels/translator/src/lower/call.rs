//! Calls: of functions that are instructions, of those that the driver has, and PTX that the
//! source has in it.

use crate::code::{Arg, Part};
use crate::ir::Instruction;
use crate::lower::Lower;
use crate::read::unescaped;
use crate::table::find;
use crate::types::Scalar;
use crate::{Error, Result};

impl Lower<'_> {
    pub(super) fn call(&mut self, call: &Instruction<'_>) -> Result<Vec<Part>> {
        let kinds = call.of.parts()?;
        let kind = kinds.first().map_or(Scalar::WORD, |(kind, _)| *kind);
        let Some(name) = call.name.strip_prefix("llvm.") else {
            let text = find("call", call.name).ok_or_else(|| {
                Error::new(format!(
                    "{} is called: it has no body, or calls itself; all functions have to be \
                     inlined",
                    call.name
                ))
            })?;
            return self.act(call, &text, |_| true);
        };
        if let Some("memcpy" | "memmove" | "memset") = name.split('.').next() {
            return self.fill(call);
        }
        if let Some(text) = find("function", name) {
            // Flags such as “zero is poison” are of no part.
            let is_flag = |id: &usize| self.function.values[*id].kind == Scalar::BOOL;
            let operands: Vec<_> =
                call.operands.iter().copied().filter(|id| !is_flag(id)).collect();
            return self.each(&operands, |lower, _, parts| {
                let mut parts = parts.to_vec();
                if let Some(first) = parts.first_mut() {
                    *first = lower.in_register(*first)?;
                }
                lower.steps(&text, kind, &parts)
            });
        }
        let text = find("action", name);
        let text = text.ok_or_else(|| Error::unknown(format!("the function {}", call.name)))?;
        let text = text.replace('N', &kind.width().to_string()) + ";";
        // What is given to other lanes, and an address.
        let (shuffles, is_address) = (text.starts_with("shfl"), text.starts_with("isspacep"));
        self.act(call, &text, |place| is_address || shuffles && place == 1)
    }

    /// An instruction that does more than to compute, with some operands in registers.
    fn act(
        &mut self,
        call: &Instruction<'_>,
        text: &str,
        in_register: impl Fn(usize) -> bool,
    ) -> Result<Vec<Part>> {
        let mut args = Vec::new();
        for (place, operand) in call.operands.iter().enumerate() {
            let part = self.one(*operand)?;
            let given =
                if in_register(place) { self.in_register(part)?.base } else { self.arg(part)? };
            args.push(given);
        }
        let results = self.results(&call.of.parts()?);
        self.emit(text, &results, args);
        Ok(results)
    }

    /// PTX in the source: its operands are registers of the class that its constraints name.
    pub(super) fn assembly(&mut self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let constraints = instruction.constraints.split(',');
        let constraints = constraints.filter(|one| !one.is_empty() && !one.starts_with('~'));
        let (outputs, inputs): (Vec<&str>, Vec<&str>) =
            constraints.partition(|one| one.starts_with('='));
        let kinds = instruction.of.parts()?;
        if kinds.len() != outputs.len() || inputs.len() != instruction.operands.len() {
            return Err(Error::unknown("PTX with such constraints"));
        }
        let outputs = outputs.iter().map(|output| output.trim_start_matches(['=', '&']));
        let outputs = outputs.map(|output| Ok((constrained(output)?, 0)));
        let results = self.results(&outputs.collect::<Result<Vec<_>>>()?);
        let mut args = Vec::new();
        for (constraint, operand) in inputs.into_iter().zip(&instruction.operands) {
            let part = self.one(*operand)?;
            // The result with this number has to be where the operand is.
            let result = constraint.parse().ok().and_then(|place: usize| results.get(place));
            args.push(match (constraint, part.base, result) {
                ("n" | "i", number @ Arg::Number(..), _) => number,
                (_, _, Some(result)) => {
                    let part = self.in_class(part, result.kind)?;
                    self.copy(*result, part.base);
                    result.base
                }
                _ => self.in_class(part, constrained(constraint)?)?.base,
            });
        }
        self.emit(&ptx(instruction.name), &results, args);
        let parts = results.into_iter().zip(kinds).map(|(result, (kind, _))| {
            let result = self.in_class(result, kind)?;
            if kind == Scalar::Int(16) {
                self.short.insert(result.base, 16);
            }
            Ok(Part { kind, ..result })
        });
        parts.collect()
    }

    /// The same number in a register of this class.
    fn in_class(&mut self, part: Part, kind: Scalar) -> Result<Part> {
        let part = self.in_register(part)?;
        match (part.kind.ptx(), kind.ptx()) {
            (from, to) if from == to => Ok(part),
            ("b32", "b16") => self.pure(kind, "cvt.u16.u32", &[part]),
            ("b16", "b32") => self.pure(kind, "cvt.u32.u16", &[part]),
            _ => Err(Error::unknown("PTX with an operand of another size")),
        }
    }
}

/// What kind of register a constraint asks for.
fn constrained(constraint: &str) -> Result<Scalar> {
    Ok(match constraint {
        "h" => Scalar::Short,
        "r" => Scalar::WORD,
        "l" => Scalar::LONG,
        "f" => Scalar::Float,
        "d" => Scalar::Double,
        _ => return Err(Error::unknown(format!("the constraint \"{constraint}\" of PTX"))),
    })
}

/// PTX as it is written here: in one line, with `$0` for the operand `${0:r}`.
fn ptx(text: &str) -> String {
    let text = String::from_utf8_lossy(&unescaped(text)).replace('\n', " ");
    let mut pieces = text.split("${");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (inside, after) = piece.split_once('}').unwrap_or((piece, ""));
        out = out + "$" + inside.split(':').next().unwrap_or_default() + after;
    }
    out
}
