//! Values: names and constants.

use crate::ir::{Typed, Value};
use crate::read::Locals;
use crate::read::cursor::Cursor;
use crate::types::Type;
use crate::{Error, Result};

impl Cursor<'_> {
    /// A type, attributes and a value.
    pub(super) fn typed(&mut self, locals: &mut Locals) -> Result<Typed> {
        let kind = self.kind()?;
        self.attributes()?;
        let value = self.value(&kind, locals)?;
        Ok(Typed { kind, value })
    }

    pub(super) fn value(&mut self, kind: &Type, locals: &mut Locals) -> Result<Value> {
        match self.local() {
            Some(name) => Ok(Value::Local(locals.value(name))),
            None => self.constant(kind),
        }
    }

    pub(super) fn constant(&mut self, kind: &Type) -> Result<Value> {
        if self.take("@") {
            let name = self.name();
            let found = [format!("@{name}"), format!("@\"{name}\"")];
            let found = found.iter().find_map(|name| self.names.globals.get(name.as_str()));
            let (global, space) = *found.ok_or_else(|| Error::unknown(name))?;
            return Ok(Value::Address { global, offset: 0, space });
        }
        if self.take("c\"") {
            return self.string();
        }
        for (open, close) in [("<{", "}>"), ("<", ">"), ("[", "]"), ("{", "}")] {
            if self.take(open) {
                return Ok(Value::Parts(self.list(close)?));
            }
        }
        let word = self.word();
        match word {
            "zeroinitializer" | "null" => Ok(Value::Zero),
            "undef" | "poison" => Ok(Value::Undefined),
            "true" => Ok(Value::Bits(1)),
            "false" => Ok(Value::Bits(0)),
            "splat" => {
                self.expect("(")?;
                let one = self.list(")")?;
                let length = kind.length().unwrap_or(1) as usize;
                Ok(Value::Parts(one.iter().cycle().take(length).cloned().collect()))
            }
            "addrspacecast" | "ptrtoint" | "inttoptr" | "trunc" => self.cast(word, kind),
            "getelementptr" => self.element(),
            "add" | "sub" => self.sum(word),
            _ => number(word, kind).ok_or_else(|| Error::unknown(format!("the constant {word}"))),
        }
    }

    fn list(&mut self, close: &str) -> Result<Vec<Typed>> {
        let mut values = Vec::new();
        while !self.take(close) {
            let kind = self.kind()?;
            let value = self.constant(&kind)?;
            values.push(Typed { kind, value });
            self.take(",");
        }
        Ok(values)
    }

    /// What follows `c"`: letters, and `\0A` for others.
    fn string(&mut self) -> Result<Value> {
        let text = self.until_quote();
        let mut bytes = Vec::new();
        let mut letters = text.bytes();
        while let Some(letter) = letters.next() {
            let byte = match letter {
                b'\\' => {
                    let mut digit = || (letters.next().unwrap_or(b'0') as char).to_digit(16);
                    let (high, low) = (digit().unwrap_or(0), digit().unwrap_or(0));
                    high * 16 + low
                }
                letter => letter.into(),
            };
            bytes.push(Typed { kind: Type::Int(8), value: Value::Bits(byte.into()) });
        }
        Ok(Value::Parts(bytes))
    }

    fn cast(&mut self, name: &str, to: &Type) -> Result<Value> {
        self.expect("(")?;
        let kind = self.kind()?;
        let value = self.constant(&kind)?;
        self.expect("to")?;
        let target = self.kind()?;
        self.expect(")")?;
        Ok(match (name, value, target) {
            // The variable's own space is known, whatever the pointer is called.
            (_, Value::Address { global, offset, space }, Type::Pointer(to)) => {
                let own = if to == 0 { space } else { to };
                Value::Address { global, offset, space: own }
            }
            (_, Value::Address { .. }, Type::Int(32 | 64)) if kind == Type::Pointer(0) => {
                return Err(Error::unknown("a generic address as a constant number"));
            }
            (_, value @ Value::Address { .. }, Type::Int(32 | 64)) => value,
            ("addrspacecast", ..) => return Err(Error::unknown("addrspacecast of a number")),
            (_, Value::Bits(bits), _) => Value::Bits(bits & mask(to)),
            (_, Value::Zero, _) => Value::Zero,
            _ => return Err(Error::unknown(format!("the constant {name}"))),
        })
    }

    /// `getelementptr (T, ptr base, i64 1, …)`.
    fn element(&mut self) -> Result<Value> {
        self.flags(&["inbounds", "nuw", "nusw"]);
        if self.take("inrange") {
            self.parentheses();
        }
        self.expect("(")?;
        let mut of = self.kind()?;
        self.expect(",")?;
        let base = self.kind()?;
        let Value::Address { global, mut offset, space } = self.constant(&base)? else {
            return Err(Error::unknown("an address of no variable"));
        };
        let mut first = true;
        while self.take(",") {
            let kind = self.kind()?;
            let index = match self.constant(&kind)? {
                Value::Bits(index) => sign_extended(index, kind.bits()),
                _ => 0,
            };
            if first {
                offset += index * of.size() as i64;
            } else {
                let (field, at) = match of.length() {
                    Some(_) if !matches!(of, Type::Struct(..)) => {
                        let (field, _) = of.field(0)?;
                        (field.clone(), index * field.size() as i64)
                    }
                    _ => of.field(index as u64).map(|(field, at)| (field.clone(), at as i64))?,
                };
                (of, offset) = (field, offset + at);
            }
            first = false;
        }
        self.expect(")")?;
        Ok(Value::Address { global, offset, space })
    }

    fn sum(&mut self, name: &str) -> Result<Value> {
        self.flags(&["nuw", "nsw"]);
        self.expect("(")?;
        let [a, b] = self.list(")")?.try_into().map_err(|_| self.wrong("two constants"))?;
        let sign = if name == "add" { 1 } else { -1 };
        match (a.value, b.value) {
            (Value::Address { global, offset, space }, Value::Bits(by)) => {
                let offset = offset + sign * sign_extended(by, b.kind.bits());
                Ok(Value::Address { global, offset, space })
            }
            _ => Err(Error::unknown(format!("the constant {name}"))),
        }
    }
}

/// The bits of a number of this type.
fn number(word: &str, kind: &Type) -> Option<Value> {
    Some(Value::Bits(match kind {
        Type::Float | Type::Double => {
            let value = match word.strip_prefix("0x") {
                Some(bits) => f64::from_bits(u64::from_str_radix(bits, 16).ok()?),
                None => word.parse().ok()?,
            };
            match kind {
                Type::Float => (value as f32).to_bits().into(),
                _ => value.to_bits(),
            }
        }
        Type::Int(_) => {
            let value = word.parse::<i64>().map(|value| value as u64);
            value.or_else(|_| word.parse::<u64>()).ok()? & mask(kind)
        }
        _ => return None,
    }))
}

/// The bits that a type has.
fn mask(kind: &Type) -> u64 {
    u64::MAX >> (64 - kind.bits().clamp(1, 64))
}

pub(crate) fn sign_extended(bits: u64, width: u32) -> i64 {
    let unused = 64 - width.clamp(1, 64);
    (bits << unused) as i64 >> unused
}
