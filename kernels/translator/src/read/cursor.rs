//! A place in the text of a function or of a variable: words, types, constants.

use std::collections::HashMap;
use std::rc::Rc;

use crate::code::{Arg, Part, Symbol};
use crate::ir::{Id, Op, Typed, Value};
use crate::read::Names;
use crate::types::{Scalar, Space, Type, mask};
use crate::{Error, Result};

/// Attributes of parameters, arguments and results.
const ATTRIBUTES: &str = "noundef nonnull immarg readonly writeonly readnone noalias nocapture \
    captures align dereferenceable dereferenceable_or_null range initializes byval signext zeroext \
    returned nofree dead_on_return dead_on_unwind writable nofpclass";

/// Types and values are nested no deeper than this.
const DEEPEST: u32 = 64;

pub(super) struct Cursor<'t> {
    pub(super) rest: &'t str,
    names: &'t Names<'t>,
    /// What a function calls its values and blocks.
    pub(super) values: HashMap<&'t str, Id>,
    pub(super) blocks: HashMap<String, Id>,
    depth: u32,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(rest: &'t str, names: &'t Names<'t>) -> Self {
        Self { rest, names, values: HashMap::new(), blocks: HashMap::new(), depth: 0 }
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
        Error::unknown(format!("this IR: {expected} expected at `{rest}`"))
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

    /// Which of these words come next; they are gone.
    pub(super) fn flags(&mut self, words: &str) -> Vec<&'t str> {
        let mut found = Vec::new();
        loop {
            let (before, next) = (self.rest, self.word());
            if next.is_empty() || !words.split(' ').any(|word| word == next) {
                self.rest = before;
                return found;
            }
            found.push(next);
        }
    }

    /// The text of all attributes that come next.
    pub(super) fn attributes(&mut self) -> &'t str {
        let text = self.rest();
        while let Some(last) = self.flags(ATTRIBUTES).last() {
            if *last == "align" {
                self.word();
            }
            self.parentheses();
        }
        &text[..text.len() - self.rest().len()]
    }

    /// What stands in parentheses, if they come next.
    pub(super) fn parentheses(&mut self) {
        let (text, mut depth) = (self.rest(), 0);
        for (at, letter) in text.char_indices().take_while(|_| text.starts_with('(')) {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if depth == 0 {
                self.rest = &text[at + 1..];
                return;
            }
        }
    }

    /// The number of a value, which may be defined further down.
    pub(super) fn id(&mut self, name: &'t str) -> Id {
        let next = self.values.len();
        *self.values.entry(name).or_insert(next)
    }

    pub(super) fn block(&mut self) -> Result<Id> {
        let name = self.local().ok_or_else(|| self.wrong("a block"))?;
        let block = self.blocks.get(name).copied();
        block.ok_or_else(|| Error::new(format!("there is no block {name}")))
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(Error::unknown("types that are nested so deep"));
        }
        self.depth += 1;
        let inside = read(self);
        self.depth -= 1;
        inside
    }

    pub(super) fn kind(&mut self) -> Result<Type> {
        self.nested(Self::kind_inside)
    }

    fn kind_inside(&mut self) -> Result<Type> {
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
        let array: fn(u64, Rc<Type>) -> Type = Type::Array;
        for (open, close, kind) in [("[", "]", array), ("<", ">", Type::Vector)] {
            if self.take(open) {
                let length = self.number()?;
                self.expect("x")?;
                let of = self.kind()?;
                self.expect(close)?;
                return Ok(kind(length, of.into()));
            }
        }
        if let Some(name) = self.local() {
            let text = self.names.types.get(name);
            let text = text.ok_or_else(|| self.wrong("a type that is defined"))?;
            let after = std::mem::replace(&mut self.rest, text);
            let kind = self.kind();
            self.rest = after;
            return kind;
        }
        let word = self.word();
        Ok(Type::Scalar(match word {
            "void" => return Ok(Type::Void),
            "float" => Scalar::Float,
            "double" => Scalar::Double,
            "ptr" if self.take("addrspace(") => {
                let space = Space::numbered(self.number()?)?;
                self.expect(")")?;
                Scalar::Pointer(space)
            }
            "ptr" => Scalar::Pointer(Space::Generic),
            _ => match word.strip_prefix('i').and_then(|bits| bits.parse().ok()) {
                Some(bits @ 1..=64) => Scalar::Int(bits),
                _ => return Err(Error::unknown(format!("the type {word}"))),
            },
        }))
    }

    /// A name or a constant of this type.
    pub(super) fn value(&mut self, kind: Type) -> Result<Typed<'t>> {
        let value = if let Some(name) = self.local() {
            Value::Local(self.id(name))
        } else if self.take("zeroinitializer") || self.take("null") {
            Value::Zero
        } else if self.take("undef") || self.take("poison") {
            Value::Undefined
        } else if self.take("c\"") {
            let bytes = unescaped(self.until_quote()).into_iter();
            Value::Parts(bytes.map(|byte| Part::number(Scalar::Int(8), byte.into())).collect())
        } else if self.take("splat") {
            self.expect("(")?;
            Value::Parts(self.parts(")")?.repeat(kind.parts()?.len()))
        } else {
            let pairs = [("<{", "}>"), ("<", ">"), ("[", "]"), ("{", "}")];
            match (pairs.into_iter().find(|(open, _)| self.take(open)), &kind) {
                (Some((_, close)), _) => Value::Parts(self.parts(close)?),
                (None, Type::Scalar(kind)) => self.scalar(*kind)?,
                _ => return Err(Error::unknown(format!("the constant {}", self.word()))),
            }
        };
        Ok(Typed { kind, value })
    }

    /// The scalars of several constants.
    fn parts(&mut self, close: &str) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        while !self.take(close) {
            let kind = self.kind()?;
            match self.value(kind)? {
                Typed { value: Value::Parts(more), .. } => parts.extend(more),
                Typed { value: Value::Zero | Value::Undefined, kind } => {
                    parts.extend(kind.parts()?.iter().map(|(kind, _)| Part::number(*kind, 0)));
                }
                _ => return Err(Error::unknown("an address within a constant")),
            }
            self.take(",");
        }
        Ok(parts)
    }

    /// A constant that is a number or an address.
    fn scalar(&mut self, kind: Scalar) -> Result<Value<'t>> {
        if self.take("@") {
            let name = self.name();
            let found = self.names.globals.get(name);
            let (global, space) = *found.ok_or_else(|| Error::unknown(name))?;
            let base = Arg::Symbol(Symbol::Global(global));
            return Ok(Value::Parts(vec![Part::new(Scalar::Pointer(space), base)]));
        }
        let word = self.word();
        if let Some(op) = Op::named(word) {
            let mut read = self.instruction(op);
            self.expect("(")?;
            self.nested(|inside| inside.list(&mut read, false))?;
            self.expect(")")?;
            // The variable's own space is known, whatever the pointer is called.
            let is_generic = op == Op::AddrSpaceCast && read.of == Scalar::Pointer(Space::Generic);
            return Ok(match &read.operands[..] {
                [Typed { value: Value::Parts(parts), .. }] if is_generic => {
                    Value::Parts(parts.clone())
                }
                _ => Value::Expression(read.into()),
            });
        }
        let bits = bits(word, kind);
        let bits = bits.ok_or_else(|| Error::unknown(format!("the constant {word}")))?;
        Ok(Value::Parts(vec![Part::number(kind, bits)]))
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
    match (kind, word) {
        (Scalar::Float, _) => with_point().map(|value| (value as f32).to_bits().into()),
        (Scalar::Double, _) => with_point().map(f64::to_bits),
        (Scalar::BOOL, "true" | "false") => Some((word == "true").into()),
        (Scalar::Int(bits), _) => {
            let value = word.parse::<i64>().map(|value| value as u64);
            Some(value.or_else(|_| word.parse()).ok()? & mask(bits))
        }
        (Scalar::Short | Scalar::Pointer(_), _) => None,
    }
}
