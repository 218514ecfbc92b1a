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
        let kind = call.of.parts()?.first().map_or(Scalar::WORD, |(kind, _)| *kind);
        let Some(name) = call.name.strip_prefix("llvm.") else {
            let why = "has no body, or calls itself; all functions have to be inlined";
            let text = find("call", call.name);
            let text = text.ok_or_else(|| Error::new(format!("{} is called: it {why}", call.name)));
            return self.act(call, &text?);
        };
        if let Some("memcpy" | "memmove" | "memset") = name.split('.').next() {
            return self.fill(call);
        }
        let Some(text) = find("function", name) else {
            let text = find("action", name).known(format_args!("the function {}", call.name))?;
            return self.act(call, &text.replace('N', &kind.width().to_string()));
        };
        // Flags such as “zero is poison” are of no part.
        let is_flag = |id: &usize| self.function.values[*id].kind == Scalar::BOOL;
        let operands: Vec<_> = call.operands.iter().copied().filter(|id| !is_flag(id)).collect();
        Ok(self.each(&operands, |_, parts| {
            let parts = parts.iter().zip(0..).map(|(part, place)| match place {
                0 => self.in_register(*part),
                _ => *part,
            });
            self.steps(&text, kind, &parts.collect::<Vec<_>>())
        }))
    }

    /// An instruction that does more than to compute, as [the table](crate::table) has it.
    fn act(&self, call: &Instruction<'_>, text: &str) -> Result<Vec<Part>> {
        let results = self.results(&call.of);
        let given = call.operands.iter().zip(results.len()..).map(|(operand, place)| {
            let part = self.one(*operand);
            match text.contains(&format!("#{place}")) {
                true => self.in_register(part).base,
                false => self.arg(part),
            }
        });
        self.push(true, &text.replace('#', "$"), &results, given.collect());
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
                    self.copy(*result, self.moved(self.in_register(part), result.kind).base);
                    result.base
                }
                _ => self.moved(self.in_register(part), self.constrained(constraint).kind).base,
            }
        });
        let args = args.collect();
        let text = String::from_utf8_lossy(&unescaped(instruction.name)).replace('\n', " ");
        self.push(true, &text, &results, args);
        let parts = results.into_iter().zip(kinds).map(|(result, (kind, _))| {
            let result = Part { kind, ..self.moved(result, kind) };
            if kind == Scalar::Int(16) { self.zeros_from(result, 16) } else { result }
        });
        Ok(parts.collect())
    }

    /// A register of the kind that a constraint asks for.
    fn constrained(&self, constraint: &str) -> Part {
        let kinds =
            [Scalar::Short, Scalar::WORD, Scalar::LONG, Scalar::Float, Scalar::Double].into_iter();
        match "hrlfd".chars().zip(kinds).find(|(letter, _)| constraint == letter.to_string()) {
            Some((_, kind)) => self.register(kind),
            None => self.refuse(format_args!("the constraint \"{constraint}\" of PTX")),
        }
    }
}
