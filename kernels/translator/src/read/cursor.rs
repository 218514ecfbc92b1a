//! A place in the text of a function or of a variable: words, types, constants, instructions.

use std::collections::HashMap;

use crate::code::Part;
use crate::ir::{Id, Instruction, Origin, Value};
use crate::read::Names;
use crate::table::{lists, rows};
use crate::types::{Scalar, Space, Type, mask};
use crate::{Error, Known, Result};

pub(super) struct Cursor<'n, 't> {
    pub(super) rest: &'t str,
    pub(super) names: &'n Names<'t>,
    /// The values of a function, and what it calls them and its blocks.
    pub(super) values: Vec<Value<'t>>,
    ids: HashMap<&'t str, Id>,
    pub(super) blocks: HashMap<&'t str, Id>,
}

impl<'n, 't> Cursor<'n, 't> {
    pub(super) fn new(rest: &'t str, names: &'n Names<'t>) -> Self {
        let (values, ids, blocks) = (Vec::new(), HashMap::new(), HashMap::new());
        Self { rest, names, values, ids, blocks }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.rest.trim_start()
    }

    /// Goes on behind this, if it comes next. A word has to end there.
    pub(super) fn take(&mut self, text: &str) -> bool {
        match self.rest().strip_prefix(text) {
            Some(rest) if !text.ends_with(is_in_word) || !rest.starts_with(is_in_word) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        if self.take(text) { Ok(()) } else { Err(self.wrong(&format!("`{text}`"))) }
    }

    pub(super) fn wrong(&self, expected: &str) -> Error {
        let rest: String = self.rest().chars().take(60).collect();
        Error::unknown(format_args!("this IR: {expected} expected at `{rest}`"))
    }

    /// Letters, digits, dots and the like; empty, if something else comes next.
    pub(super) fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let (word, rest) = rest.split_at(rest.find(|c| !is_in_word(c)).unwrap_or(rest.len()));
        self.rest = rest;
        word
    }

    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Result<N> {
        let word = self.word();
        word.parse().map_err(|_| self.wrong(&format!("a number, not {word},")))
    }

    /// What follows `%` or `@`, without the quotes that it may have.
    pub(super) fn name(&mut self) -> &'t str {
        if self.take("\"") { self.until_quote() } else { self.word() }
    }

    pub(super) fn local(&mut self) -> Option<&'t str> {
        self.take("%").then(|| self.name())
    }

    /// The rest of a text whose first quote is behind.
    pub(super) fn until_quote(&mut self) -> &'t str {
        let (text, rest) = self.rest.split_once('"').unwrap_or((self.rest, ""));
        self.rest = rest;
        text
    }

    /// Which flags come next, each with what it has in parentheses; they are gone.
    pub(super) fn flags(&mut self) -> Vec<&'t str> {
        let mut found = Vec::new();
        loop {
            let before = self.rest();
            let word = self.word();
            if !lists("flag", word) {
                self.rest = before;
                return found;
            }
            if word == "align" {
                self.word();
            }
            if self.rest.starts_with('(') {
                self.parentheses();
            }
            found.push(&before[..before.len() - self.rest.len()]);
        }
    }

    /// What stands in parentheses, if they come next; they are gone.
    pub(super) fn parentheses(&mut self) -> &'t str {
        let Some(rest) = self.rest().strip_prefix('(') else { return "" };
        let mut depth = 1;
        let end = rest.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        let (text, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = rest.get(1..).unwrap_or_default();
        text
    }

    pub(super) fn add(&mut self, origin: Origin<'t>) -> Id {
        self.values.push(Value { origin, ..Value::default() });
        self.values.len() - 1
    }

    /// The number of a value, which may be defined further down.
    pub(super) fn id(&mut self, name: &'t str) -> Id {
        let next = self.values.len();
        let id = *self.ids.entry(name).or_insert(next);
        if id == next { self.add(Origin::Unknown) } else { id }
    }

    /// The number of the block that is called so; the first one to be named has 0.
    pub(super) fn block(&mut self, name: &'t str) -> Id {
        let next = self.blocks.len();
        *self.blocks.entry(name).or_insert(next)
    }

    pub(super) fn kind(&mut self) -> Result<Type> {
        for (open, close, packed) in [("<{", "}>", true), ("{", "}", false)] {
            if self.take(open) {
                let mut fields = Vec::new();
                while !self.take(close) {
                    fields.push(self.kind()?);
                    self.take(",");
                }
                return Ok(Type::Struct(packed, fields.into()));
            }
        }
        let is_array = self.take("[");
        if is_array || self.take("<") {
            let length = self.number()?;
            self.expect("x")?;
            let of = self.kind()?.into();
            self.expect(if is_array { "]" } else { ">" })?;
            return Ok(Type::Array(!is_array, length, of));
        }
        if let Some(name) = self.local() {
            let text = self.names.definitions.get(name);
            let text = text.and_then(|text| text.strip_prefix("type "));
            return Cursor::new(text.known(format_args!("the type {name}"))?, self.names).kind();
        }
        let word = self.word();
        Ok(Type::Scalar(match word {
            "void" => return Ok(Type::Void),
            "float" => Scalar::Float,
            "double" => Scalar::Double,
            "ptr" if self.take("addrspace") => {
                Scalar::Pointer(Space::numbered(self.parentheses())?)
            }
            "ptr" => Scalar::Pointer(Space::Generic),
            _ => {
                let bits = word.strip_prefix('i').and_then(|bits| bits.parse().ok());
                let bits = bits.filter(|bits| (1..=64).contains(bits));
                Scalar::Int(bits.known(format_args!("the type {word}"))?)
            }
        }))
    }

    /// A name or a constant of this type, which may be computed of others.
    fn value(&mut self, kind: Type) -> Result<Id> {
        let before = self.rest;
        let id = if let Some(name) = self.local() {
            self.id(name)
        } else if self.take("undef") || self.take("poison") {
            self.add(Origin::Undefined)
        } else if let (op, _) = (self.word(), self.flags())
            && !matches!(op, "" | "splat")
            && self.take("(")
        {
            let mut read = Instruction { op, ..Instruction::default() };
            self.list(&mut read, false)?;
            self.expect(")")?;
            self.add(Origin::Computed(read.into()))
        } else {
            self.rest = before;
            let parts = self.constant(&kind)?;
            self.add(Origin::Constant(parts))
        };
        let value = &mut self.values[id];
        (value.kind, value.uses) = (kind, value.uses + 1);
        Ok(id)
    }

    /// The scalars of a constant.
    pub(super) fn constant(&mut self, kind: &Type) -> Result<Vec<Part>> {
        if ["zeroinitializer", "null", "undef", "poison"].iter().any(|one| self.take(one)) {
            return Part::zeros(kind);
        } else if self.take("c\"") {
            let bytes = unescaped(self.until_quote()).into_iter();
            return Ok(bytes.map(|byte| Part::number(Scalar::Int(8), byte.into())).collect());
        } else if self.take("splat (") {
            return Ok(self.constants(")")?.repeat(kind.parts()?.len()));
        } else if self.take("@") {
            let name = self.name();
            let address = self.names.globals.get(name).copied();
            return Ok(vec![address.known(format_args!("the address of the function {name}"))?]);
        }
        let pairs = [("<{", "}>"), ("<", ">"), ("[", "]"), ("{", "}")];
        if let Some((_, close)) = pairs.into_iter().find(|(open, _)| self.take(open)) {
            return self.constants(close);
        }
        let word = self.word();
        let part = match kind {
            Type::Scalar(kind) => bits(word, *kind).map(|bits| Part::number(*kind, bits)),
            _ => None,
        };
        Ok(vec![part.known(format_args!("the constant {word}"))?])
    }

    fn constants(&mut self, close: &str) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        while !self.take(close) {
            let kind = self.kind()?;
            parts.extend(self.constant(&kind)?);
            self.take(",");
        }
        Ok(parts)
    }

    /// The instruction that comes next, and the number of its result.
    pub(super) fn instruction(&mut self) -> Result<(Id, Instruction<'t>)> {
        let id = match self.local() {
            Some(name) => self.id(name),
            None => self.add(Origin::Unknown),
        };
        self.take("=");
        self.flags();
        let op = self.word();
        let alike = lists("alike", op);
        if !alike && !lists("other", op) {
            return Err(Error::unknown(format_args!("the instruction {op}")));
        }
        let mut read = Instruction { op, flags: self.flags(), ..Instruction::default() };
        if read.has("disjoint") {
            read.op = "add"; // an `or` that is a sum
        }
        if matches!(op, "icmp" | "fcmp" | "atomicrmw") {
            read.name = self.word();
        }
        match op {
            "call" => self.call(&mut read)?,
            "unreachable" => {}
            "phi" => {
                read.of = self.kind()?;
                while self.take("[") {
                    read.operands.push(self.value(read.of.clone())?);
                    self.expect(",")?;
                    self.way(&mut read)?;
                    self.expect("]")?;
                    self.take(",");
                }
            }
            _ => self.list(&mut read, alike)?,
        }
        if matches!(op, "atomicrmw" | "cmpxchg") {
            // The prelude asks for no order, and by PTX for all others.
            while self.take("monotonic") {}
            if !self.take(", align") {
                let what = format!("the order {} of atomic operations", self.word());
                return Err(Error::unknown(what + "; use __threadfence()"));
            }
        }
        if op == "switch" {
            self.expect("[")?;
            while !self.take("]") {
                self.list(&mut read, false)?;
            }
        }
        Ok((id, read))
    }

    /// Types, values, blocks and numbers with commas between them. If they are alike, the type
    /// stands before the first only.
    pub(super) fn list(&mut self, read: &mut Instruction<'t>, alike: bool) -> Result<()> {
        loop {
            if self.take("label") {
                self.way(read)?;
            } else if self.take("align") {
                read.align = Some(self.number()?);
            } else if alike && let [first] = read.operands[..] {
                read.operands.push(self.value(self.values[first].kind.clone())?);
            } else if self.rest().starts_with(|letter: char| letter.is_ascii_digit()) {
                read.indices.push(self.number()?);
            } else {
                let kind = self.kind()?;
                let flags = self.flags();
                if let Type::Scalar(Scalar::Pointer(_)) = kind {
                    // As far as it is known of all of them.
                    let align =
                        flags.iter().find_map(|flag| flag.strip_prefix("align ")?.parse().ok());
                    read.align = Some(align.unwrap_or(1).min(read.align.unwrap_or(u64::MAX)));
                }
                if self.rest().is_empty() || self.rest().starts_with(',') {
                    read.of = kind;
                } else {
                    read.operands.push(self.value(kind)?);
                }
            }
            if self.take("to") {
                read.of = self.kind()?;
            }
            if self.rest().starts_with(", !") || !self.take(",") {
                return Ok(());
            }
        }
    }

    /// What is called, and with what. A call that does nothing has no name then.
    fn call(&mut self, read: &mut Instruction<'t>) -> Result<()> {
        let of = self.kind()?;
        self.parentheses(); // the types of a function with any number of parameters
        if self.take("asm") {
            self.flags();
            self.expect("\"")?;
            (read.op, read.name) = ("asm", self.until_quote());
            self.expect(", \"")?;
            read.constraints = self.until_quote();
        } else if self.take("@") {
            read.name = self.name();
        } else {
            return Err(Error::unknown("calls through a pointer"));
        }
        if rows("ignored").any(|(ignored, _)| read.name.starts_with(ignored)) {
            read.op = "";
            return Ok(());
        }
        self.expect("(")?;
        if !self.take(")") {
            self.list(read, false)?;
            self.expect(")")?;
        }
        read.of = of;
        Ok(())
    }

    /// A block that may come next, or before.
    fn way(&mut self, read: &mut Instruction<'t>) -> Result<()> {
        let name = self.local().known(format_args!("a block at `{}`", self.rest()))?;
        read.blocks.push(self.block(name));
        Ok(())
    }
}

fn is_in_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '$' | '-' | '+')
}

/// A text's bytes, of which `\0A` is one, and `\\` a backslash.
pub(crate) fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [letter, after @ ..] = rest {
        let digit = |place: usize| char::from(*after.get(place)?).to_digit(16);
        let code = digit(0).zip(digit(1)).filter(|_| *letter == b'\\');
        let skipped = if code.is_some() { 2 } else { usize::from(rest.starts_with(br"\\")) };
        bytes.push(code.map_or(*letter, |(high, low)| (high * 16 + low) as u8));
        rest = &after[skipped..];
    }
    bytes
}

/// The bits of a number of this type.
fn bits(word: &str, kind: Scalar) -> Option<u64> {
    let with_point = || match word.strip_prefix("0x") {
        Some(bits) => u64::from_str_radix(bits, 16).ok().map(f64::from_bits),
        None => word.parse().ok(),
    };
    match kind {
        Scalar::Float => with_point().map(|value| (value as f32).to_bits().into()),
        Scalar::Double => with_point().map(f64::to_bits),
        Scalar::BOOL => matches!(word, "true" | "false").then_some((word == "true").into()),
        Scalar::Int(bits) => word.parse::<i64>().ok().map(|value| value as u64 & mask(bits)),
        Scalar::Short | Scalar::Pointer(_) => None,
    }
}
