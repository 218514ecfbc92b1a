//! Operands and results: which registers hold a value, and what has been computed before.

use crate::code::{Arg, Code, Effect, Part};
use crate::ir::{Instruction, Op, Typed, Value};
use crate::lower::Lower;
use crate::types::Scalar;
use crate::{Error, Result};

impl<'m> Lower<'m> {
    /// The instruction that a value comes from.
    pub(super) fn definition(&self, value: &Typed<'_>) -> Option<&'m Instruction<'m>> {
        if let Value::Local(id) = value.value { self.definitions[id] } else { None }
    }

    /// The instruction that a value comes from, if it is one of these in the block that is
    /// written; and how many use it.
    pub(super) fn near(&self, value: &Typed<'_>, op: Op) -> Option<(usize, &'m Instruction<'m>)> {
        let by = self.definition(value)?;
        let block = self.function.blocks.get(self.block)?.as_ptr_range();
        let is_near = block.contains(&std::ptr::from_ref(by));
        (by.op == op && is_near).then_some((self.uses[by.result?], by))
    }

    pub(super) fn parts(&mut self, value: &'m Typed<'m>) -> Result<Vec<Part>> {
        match &value.value {
            Value::Parts(parts) => Ok(parts.clone()),
            Value::Local(id) => self.values[*id]
                .clone()
                .ok_or_else(|| Error::unknown("a value that is used before it is computed")),
            Value::Zero | Value::Undefined => {
                Ok(value.kind.parts()?.iter().map(|(kind, _)| Part::number(*kind, 0)).collect())
            }
            Value::Expression(instruction) => self.instruction(instruction),
        }
    }

    /// The only part of a value that is no aggregate.
    pub(super) fn one(&mut self, value: &'m Typed<'m>) -> Result<Part> {
        match self.parts(value)?[..] {
            [part] => Ok(part),
            ref parts => Err(Error::unknown(format!("a value of {} parts here", parts.len()))),
        }
    }

    /// A part as an operand: a register, or a number. A pointer is generic.
    pub(super) fn arg(&mut self, part: Part) -> Result<Arg> {
        match (part.kind, part.base) {
            (Scalar::Pointer(_), Arg::Reg(_) | Arg::Symbol(_)) => Ok(self.generic(part)?.base),
            (Scalar::BOOL, Arg::Number(number)) => {
                let word = self.in_register(Part::number(Scalar::WORD, (number & 1) as u64))?;
                Ok(self.is_set(word)?.base)
            }
            (_, base) => Ok(base),
        }
    }

    /// The same part in a register.
    pub(super) fn in_register(&mut self, part: Part) -> Result<Part> {
        Ok(match self.arg(part)? {
            reg @ Arg::Reg(_) => Part::new(part.kind, reg),
            number => self.compute(part.kind, &move_text(part.kind), vec![number]),
        })
    }

    /// Whether a number in a register is not 0.
    pub(super) fn is_set(&mut self, part: Part) -> Result<Part> {
        self.pure(Scalar::BOOL, "setp.ne.u32 $0, $1, 0", &[Part { kind: Scalar::WORD, ..part }])
    }

    fn push(&mut self, effect: Effect, text: &str, results: Vec<Arg>, args: Vec<Arg>) {
        let (text, count, line) = (text.to_owned(), results.len(), self.line);
        let args = [results, args].concat();
        self.kernel.blocks[self.block].code.push(Code { text, args, results: count, effect, line });
    }

    /// Writes an instruction that does more than to compute.
    pub(super) fn emit(&mut self, text: &str, results: &[Part], args: Vec<Arg>) {
        self.push(Effect::Acts, text, results.iter().map(|part| part.base).collect(), args);
    }

    /// Registers for all parts of a result.
    pub(super) fn results(&mut self, kinds: &[(Scalar, i64)]) -> Vec<Part> {
        let kinds = kinds.iter().map(|(kind, _)| *kind);
        kinds.map(|kind| Part::new(kind, self.kernel.register(kind))).collect()
    }

    /// The result of an instruction that does nothing else. Its operands follow the text, if that
    /// has no places for them; a single one is in a register.
    pub(super) fn pure(&mut self, kind: Scalar, text: &str, parts: &[Part]) -> Result<Part> {
        let args = match parts {
            [only] => vec![self.in_register(*only)?.base],
            parts => parts.iter().map(|part| self.arg(*part)).collect::<Result<_>>()?,
        };
        let mut text = text.to_owned();
        if !text.contains('$') {
            let places: Vec<_> = (0..=args.len()).map(|place| format!("${place}")).collect();
            text = format!("{text} {}", places.join(", "));
        }
        Ok(self.compute(kind, &(text + ";"), args))
    }

    /// The result of an instruction that does nothing else: of an earlier one, if it is the same
    /// and has been executed whenever this place is reached.
    pub(super) fn compute(&mut self, kind: Scalar, text: &str, args: Vec<Arg>) -> Part {
        let key = (text.to_owned(), args);
        let earlier = self.computed.get(&key).into_iter().flatten();
        if let Some((_, reg)) = { earlier }.find(|(block, _)| self.dominates(*block)) {
            return Part::new(kind, *reg);
        }
        let reg = self.kernel.register(kind);
        self.push(Effect::Computes, text, vec![reg], key.1.clone());
        self.computed.entry(key).or_default().push((self.block, reg));
        Part::new(kind, reg)
    }

    /// Whether a block is executed before the one that is written, whenever that is.
    fn dominates(&self, one: usize) -> bool {
        let mut other = self.block;
        while other != one && other != 0 {
            other = self.above[other];
        }
        other == one
    }

    /// A move into a register of this class.
    pub(super) fn copy(&mut self, to: Part, from: Arg) {
        let effect = if from.reg().is_some() { Effect::Moves } else { Effect::Computes };
        self.push(effect, &move_text(to.kind), vec![to.base], vec![from]);
    }
}

fn move_text(kind: Scalar) -> String {
    format!("mov.{} $0, $1;", kind.ptx().replace('b', "u"))
}
