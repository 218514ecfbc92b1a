//! Calls: of functions that are instructions, of those that the driver has, and PTX that the
//! source has in it.

use crate::code::{Arg, Part};
use crate::ir::Instruction;
use crate::lower::Lower;
use crate::read::unescaped;
use crate::table::find;
use crate::types::Scalar;
use crate::{Error, Known, Result};

impl Lower<'_> {
    pub(super) fn call(&self, call: &Instruction<'_>) -> Result<Vec<Part>> {
        let kinds = call.of.parts()?;
        let kind = kinds.first().map_or(Scalar::WORD, |(kind, _)| *kind);
        let Some(name) = call.name.strip_prefix("llvm.") else {
            let why =
                "is called: it has no body, or calls itself; all functions have to be inlined";
            let text = find("call", call.name);
            let text = text.ok_or_else(|| Error::new(format!("{} {why}", call.name)))?;
            return self.act(call, &text, |_| true);
        };
        if let Some("memcpy" | "memmove" | "memset") = name.split('.').next() {
            return self.fill(call);
        }
        if let Some(text) = find("function", name) {
            // Flags such as “zero is poison” are of no part.
            let is_flag = |id: &usize| self.function.values[*id].kind == Scalar::BOOL;
            let mut operands = call.operands.clone();
            operands.retain(|id| !is_flag(id));
            return Ok(self.each(&operands, |_, parts| {
                let mut parts = parts.to_vec();
                if let Some(first) = parts.first_mut() {
                    *first = self.in_register(*first);
                }
                self.steps(&text, kind, &parts)
            }));
        }
        let text = find("action", name).known(format_args!("the function {}", call.name))?;
        let text = text.replace('N', &kind.width().to_string()) + ";";
        // What is given to other lanes, and an address.
        let (shuffles, is_address) = (text.starts_with("shfl"), text.starts_with("isspacep"));
        self.act(call, &text, |place| is_address || shuffles && place == 1)
    }

    /// An instruction that does more than to compute, with some operands in registers.
    fn act(
        &self,
        call: &Instruction<'_>,
        text: &str,
        in_register: impl Fn(usize) -> bool,
    ) -> Result<Vec<Part>> {
        let given = call.operands.iter().enumerate().map(|(place, operand)| {
            let part = self.one(*operand);
            if in_register(place) { self.in_register(part).base } else { self.arg(part) }
        });
        let (args, results) = (given.collect(), self.results(&call.of));
        self.emit(text, &results, args);
        Ok(results)
    }

    /// PTX in the source: its operands are registers of the class that its constraints name.
    pub(super) fn assembly(&self, instruction: &Instruction<'_>) -> Result<Vec<Part>> {
        let constraints = instruction.constraints.split(',');
        let constraints = constraints.filter(|one| !one.is_empty() && !one.starts_with('~'));
        let (outputs, inputs): (Vec<&str>, Vec<&str>) =
            constraints.partition(|one| one.starts_with('='));
        let kinds = instruction.of.parts()?;
        let counts = [kinds.len(), instruction.operands.len()];
        if counts != [outputs.len(), inputs.len()] || instruction.name.contains("${") {
            return Err(Error::unknown("PTX with such operands"));
        }
        let outputs = outputs.iter().map(|output| output.trim_start_matches(['=', '&']));
        let results: Vec<_> = outputs.map(|output| self.constrained(output)).collect();
        let args = inputs.into_iter().zip(&instruction.operands).map(|(constraint, operand)| {
            let part = self.one(*operand);
            // The result with this number has to be where the operand is.
            let result = constraint.parse().ok().and_then(|place: usize| results.get(place));
            match (constraint, part.base, result) {
                ("n" | "i", number @ Arg::Number(..), _) => number,
                (_, _, Some(result)) => {
                    self.copy(*result, self.in_class(part, result.kind).base);
                    result.base
                }
                _ => self.in_class(part, self.constrained(constraint).kind).base,
            }
        });
        let args = args.collect();
        let text = String::from_utf8_lossy(&unescaped(instruction.name)).replace('\n', " ");
        self.emit(&text, &results, args);
        let parts = results.into_iter().zip(kinds).map(|(result, (kind, _))| {
            let result = Part { kind, ..self.in_class(result, kind) };
            if kind == Scalar::Int(16) { self.zeros_from(result, 16) } else { result }
        });
        Ok(parts.collect())
    }

    /// The same number in a register of this class.
    fn in_class(&self, part: Part, kind: Scalar) -> Part {
        let part = self.in_register(part);
        match (part.kind.ptx(), kind.ptx()) {
            (from, to) if from == to => part,
            ("b32", "b16") => self.pure(kind, "cvt.u16.u32", &[part]),
            ("b16", "b32") => self.pure(kind, "cvt.u32.u16", &[part]),
            _ => self.refuse("PTX with an operand of another size"),
        }
    }

    /// A register of the kind that a constraint asks for.
    fn constrained(&self, constraint: &str) -> Part {
        self.register(match constraint {
            "h" => Scalar::Short,
            "r" => Scalar::WORD,
            "l" => Scalar::LONG,
            "f" => Scalar::Float,
            "d" => Scalar::Double,
            _ => self.refuse(format_args!("the constraint \"{constraint}\" of PTX")).kind,
        })
    }
}
