//! Operands and results: which registers hold a value, and what has been computed before.

use std::rc::Rc;

use crate::code::{Arg, Code, Reg};
use crate::ir::{Op, Typed, Value};
use crate::lower::{Lower, Part, Place, global_name};
use crate::types::{Class, Type};
use crate::{Error, Result};

impl<'m> Lower<'m> {
    /// The instruction that a value comes from, and whether it is in the block that is written.
    pub(super) fn definition(&self, value: &Value) -> Option<(bool, &'m Op)> {
        let Value::Local(id) = value else { return None };
        self.definitions[*id].map(|(block, instruction)| (block == self.block, &instruction.op))
    }

    pub(super) fn parts(&mut self, value: &Value, kind: &Type) -> Result<Vec<Part>> {
        Ok(match value {
            Value::Local(id) => {
                let parts = self.values[*id].clone();
                parts.ok_or_else(|| Error::unknown("a value that is used before it is computed"))?
            }
            Value::Bits(bits) => vec![Part::Bits(*bits)],
            Value::Zero | Value::Undefined => vec![Part::Bits(0); kind.parts()?.len()],
            Value::Parts(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.parts(&part.value, &part.kind)?);
                }
                all
            }
            Value::Address { global, offset, space } => {
                let name = Arg::text(global_name(&self.module.globals[*global].name));
                let place = Place { base: name, offset: *offset, space: *space };
                vec![match kind {
                    Type::Pointer(_) => Part::Place(place),
                    kind => self.address_number(place, kind)?,
                }]
            }
        })
    }

    /// The only part of a value that is no aggregate.
    pub(super) fn one(&mut self, value: &Value, kind: &Type) -> Result<Part> {
        let mut parts = self.parts(value, kind)?;
        match parts.len() {
            1 => Ok(parts.remove(0)),
            count => Err(Error::unknown(format!("a value of {count} parts here"))),
        }
    }

    /// The operand for a part of this type: a register, or a number. A pointer is generic.
    pub(super) fn arg(&mut self, part: &Part, kind: &Type) -> Result<Arg> {
        Ok(match part {
            Part::Reg(reg) => Arg::Reg(*reg),
            Part::Place(place) => self.generic(place)?,
            Part::Bits(bits) => match kind.class()? {
                Class::Float => Arg::text(format!("0f{bits:08X}")),
                Class::Double => Arg::text(format!("0d{bits:016X}")),
                Class::Predicate => {
                    let word = self.pure(Class::Word, "mov.u32 $0, $1;", vec![Arg::text(bits & 1)]);
                    self.pure(Class::Predicate, "setp.ne.u32 $0, $1, 0;", vec![word])
                }
                _ => Arg::text(crate::read::sign_extended(*bits, kind.bits())),
            },
        })
    }

    /// A register for a part of this type.
    pub(super) fn reg(&mut self, part: &Part, kind: &Type) -> Result<Arg> {
        match self.arg(part, kind)? {
            number @ Arg::Text(_) => {
                let class = kind.class()?;
                Ok(self.pure(class, &format!("mov.{} $0, $1;", move_kind(class)), vec![number]))
            }
            reg => Ok(reg),
        }
    }

    pub(super) fn arg_of(&mut self, value: &Typed) -> Result<Arg> {
        let part = self.one(&value.value, &value.kind)?;
        self.arg(&part, &value.kind)
    }

    pub(super) fn reg_of(&mut self, value: &Typed) -> Result<Arg> {
        let part = self.one(&value.value, &value.kind)?;
        self.reg(&part, &value.kind)
    }

    /// What an operand of this type is as a part.
    pub(super) fn part(&self, arg: Arg, kind: &Type) -> Part {
        match (arg, kind) {
            (base, Type::Pointer(space)) => Part::Place(Place { base, offset: 0, space: *space }),
            (Arg::Reg(reg), _) => Part::Reg(reg),
            (Arg::Text(_), _) => Part::Bits(0),
        }
    }

    pub(super) fn code(&self, text: &str, results: &[Reg], args: Vec<Arg>) -> Code {
        let all = results.iter().map(|reg| Arg::Reg(*reg)).chain(args).collect();
        let results = results.len();
        Code { text: text.into(), args: all, results, pure: false, copy: false, line: self.line }
    }

    /// Writes an instruction that does more than to compute.
    pub(super) fn emit(&mut self, text: &str, results: &[Reg], args: Vec<Arg>) {
        let code = self.code(text, results, args);
        self.kernel.blocks[self.block].code.push(code);
    }

    /// The result of an instruction that does nothing else: of an earlier one, if it is the same
    /// and has been executed whenever this place is reached.
    pub(super) fn pure(&mut self, class: Class, text: &str, args: Vec<Arg>) -> Arg {
        let key = (Rc::from(text), args);
        if let Some(earlier) = self.computed.get(&key) {
            let mut earlier = earlier.iter();
            let usable = earlier.find(|(block, _)| self.flow.dominates(*block, self.block));
            if let Some((_, reg)) = usable {
                return Arg::Reg(*reg);
            }
        }
        let reg = self.kernel.register(class);
        let code = Code { pure: true, ..self.code(text, &[reg], key.1.clone()) };
        self.kernel.blocks[self.block].code.push(code);
        self.computed.entry(key).or_default().push((self.block, reg));
        Arg::Reg(reg)
    }

    /// The same for what is computed before everything else.
    pub(super) fn once(&mut self, class: Class, text: &str, args: Vec<Arg>) -> Arg {
        let key = (Rc::from(text), args);
        if let Some((_, reg)) = self.computed.get(&key).and_then(|earlier| earlier.first()) {
            return Arg::Reg(*reg);
        }
        let reg = self.kernel.register(class);
        let code = self.code(text, &[reg], key.1.clone());
        self.first.push(Code { pure: true, line: 0, ..code });
        self.computed.insert(key, vec![(0, reg)]);
        Arg::Reg(reg)
    }

    /// A move into a register of this class.
    pub(super) fn copy(&mut self, to: Reg, from: Arg) {
        let class = self.kernel.classes[to];
        let copy = matches!(from, Arg::Reg(_));
        let code = self.code(&format!("mov.{} $0, $1;", move_kind(class)), &[to], vec![from]);
        self.kernel.blocks[self.block].code.push(Code { pure: true, copy, ..code });
    }
}

fn move_kind(class: Class) -> &'static str {
    ["pred", "u16", "u32", "u64", "f32", "f64"][class as usize]
}
