//! A place in the text of a function or of a variable: words, types, constants.

use std::collections::HashMap;

use crate::code::Part;
use crate::ir::{Id, Instruction, Origin, Value};
use crate::read::Names;
use crate::types::{Scalar, Space, Type, mask};
use crate::{Error, Known, Result};

/// Words that stand before types and values: what an instruction promises, how it accesses memory,
/// attributes of parameters and results.
const FLAGS: &str = "nuw nsw exact disjoint nneg samesign fast nnan ninf nsz arcp contract afn \
    reassoc inbounds nusw volatile weak sideeffect alignstack unwind tail notail musttail \
    noundef nonnull immarg readonly writeonly readnone noalias nocapture captures align \
    dereferenceable dereferenceable_or_null range initializes byval signext zeroext returned \
    nofree dead_on_return dead_on_unwind writable nofpclass";

pub(super) struct Cursor<'n, 't> {
    pub(super) rest: &'t str,
    names: &'n Names<'t>,
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
            if word.is_empty() || !FLAGS.split(' ').any(|flag| flag == word) {
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
            let text = self.names.types.get(name).known(format_args!("the type {name}"))?;
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
                _ => return Err(Error::unknown(format_args!("the type {word}"))),
            },
        }))
    }

    /// A name or a constant of this type.
    pub(super) fn value(&mut self, kind: Type) -> Result<Id> {
        let id = match self.local() {
            Some(name) => self.id(name),
            None => {
                let constant = self.constant(&kind)?;
                self.add(constant)
            }
        };
        let value = &mut self.values[id];
        (value.kind, value.uses) = (kind, value.uses + 1);
        Ok(id)
    }

    pub(super) fn constant(&mut self, kind: &Type) -> Result<Origin<'t>> {
        if self.take("undef") || self.take("poison") {
            return Ok(Origin::Undefined);
        }
        Ok(Origin::Constant(if self.take("zeroinitializer") || self.take("null") {
            Part::zeros(kind)?
        } else if self.take("c\"") {
            let bytes = unescaped(self.until_quote()).into_iter();
            bytes.map(|byte| Part::number(Scalar::Int(8), byte.into())).collect()
        } else if self.take("splat (") {
            self.parts(")")?.repeat(kind.parts()?.len())
        } else {
            let pairs = [("<{", "}>"), ("<", ">"), ("[", "]"), ("{", "}")];
            match (pairs.into_iter().find(|(open, _)| self.take(open)), kind) {
                (Some((_, close)), _) => self.parts(close)?,
                (None, Type::Scalar(kind)) => return self.scalar(*kind),
                _ => return Err(Error::unknown(format_args!("the constant {}", self.word()))),
            }
        }))
    }

    /// The scalars of several constants.
    fn parts(&mut self, close: &str) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        while !self.take(close) {
            let kind = self.kind()?;
            parts.extend(match self.constant(&kind)? {
                Origin::Constant(parts) => parts,
                Origin::Undefined => Part::zeros(&kind)?,
                _ => return Err(Error::unknown("an address within a constant")),
            });
            self.take(",");
        }
        Ok(parts)
    }

    /// A constant that is a number or an address.
    fn scalar(&mut self, kind: Scalar) -> Result<Origin<'t>> {
        if self.take("@") {
            let name = self.name();
            let address = self.names.globals.get(name);
            return Ok(Origin::Constant(vec![
                *address.known(format_args!("the variable {name}"))?,
            ]));
        }
        let word = self.word();
        self.flags();
        if self.take("(") {
            let mut read = Instruction { op: word, ..Instruction::default() };
            self.list(&mut read, false)?;
            self.expect(")")?;
            // The variable's own space is known, whatever the pointer is called.
            let is_generic = word == "addrspacecast" && read.of == Scalar::Pointer(Space::Generic);
            let of = read.operands.first().map(|id| &self.values[*id].origin);
            return Ok(match of {
                Some(Origin::Constant(parts)) if is_generic => Origin::Constant(parts.clone()),
                _ => Origin::Computed(read.into()),
            });
        }
        let bits = bits(word, kind).known(format_args!("the constant {word}"))?;
        Ok(Origin::Constant(vec![Part::number(kind, bits)]))
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
