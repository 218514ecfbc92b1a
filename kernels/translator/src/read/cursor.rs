//! A place in a line of IR: words, types, attributes.

use crate::read::Names;
use crate::types::Type;
use crate::{Error, Result};

/// Types are nested no deeper than this.
const DEEPEST: u32 = 64;

#[derive(Clone)]
pub(super) struct Cursor<'t> {
    rest: &'t str,
    pub(super) names: &'t Names<'t>,
    depth: u32,
}

/// What the attributes of a parameter say.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) by_value: Option<Type>,
    pub(super) no_alias: bool,
    pub(super) read_only: bool,
}

/// Attributes of parameters, arguments and results that need no attention.
const ATTRIBUTES: [&str; 20] = [
    "noundef",
    "nonnull",
    "immarg",
    "writeonly",
    "readnone",
    "nocapture",
    "captures",
    "align",
    "dereferenceable",
    "dereferenceable_or_null",
    "range",
    "initializes",
    "signext",
    "zeroext",
    "returned",
    "nofree",
    "dead_on_return",
    "dead_on_unwind",
    "writable",
    "nofpclass",
];

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, names: &'t Names<'t>) -> Self {
        Self { rest: text, names, depth: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.rest.trim_start()
    }

    /// Goes on behind this, if it comes next. A word has to end there.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest().strip_prefix(text) else { return false };
        let is_word = text.ends_with(is_in_word);
        if is_word && rest.starts_with(is_in_word) {
            return false;
        }
        self.rest = rest;
        true
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        match self.take(text) {
            true => Ok(()),
            false => Err(self.wrong(&format!("`{text}`"))),
        }
    }

    pub(super) fn wrong(&self, expected: &str) -> Error {
        let rest: String = self.rest().chars().take(60).collect();
        Error::new(format!("the translator does not know this IR: {expected} expected at `{rest}`"))
    }

    /// Letters, digits, dots and the like; empty, if something else comes next.
    pub(super) fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|letter: char| !is_in_word(letter)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        word
    }

    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Result<N> {
        let word = self.word();
        word.parse().map_err(|_| self.wrong(&format!("a number, not {word},")))
    }

    /// What follows `%` or `@`, without the quotes that it may have.
    pub(super) fn name(&mut self) -> &'t str {
        match self.rest().strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((name, rest)) => {
                self.rest = rest;
                name
            }
            None => self.word(),
        }
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
    pub(super) fn flags(&mut self, words: &[&str]) -> Vec<&'t str> {
        let mut found = Vec::new();
        loop {
            let mut ahead = self.clone();
            let word = ahead.word();
            if !words.contains(&word) {
                return found;
            }
            found.push(word);
            self.rest = ahead.rest;
        }
    }

    pub(super) fn attributes(&mut self) -> Result<Attributes> {
        let mut found = Attributes::default();
        loop {
            if self.take("byval") {
                self.expect("(")?;
                found.by_value = Some(self.kind()?);
                self.expect(")")?;
            } else if self.take("noalias") {
                found.no_alias = true;
            } else if self.take("readonly") {
                found.read_only = true;
            } else {
                let Some(word) = self.flags(&ATTRIBUTES).last().copied() else { return Ok(found) };
                if word == "align" {
                    self.number::<u64>()?;
                }
                self.parentheses();
            }
        }
    }

    /// What stands in parentheses, if they come next.
    pub(super) fn parentheses(&mut self) {
        if !self.rest().starts_with('(') {
            return;
        }
        let mut depth = 0;
        for (at, letter) in self.rest().char_indices() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if depth == 0 {
                self.rest = &self.rest()[at + 1..];
                return;
            }
        }
    }

    pub(super) fn kind(&mut self) -> Result<Type> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::unknown("types that are nested so deep"));
        }
        let kind = self.kind_inside()?;
        self.depth -= 1;
        Ok(kind)
    }

    fn kind_inside(&mut self) -> Result<Type> {
        if self.take("<{") {
            return self.fields(true, "}>");
        }
        if self.take("{") {
            return self.fields(false, "}");
        }
        if self.take("[") {
            let length = self.number()?;
            self.expect("x")?;
            let of = self.kind()?.into();
            self.expect("]")?;
            return Ok(Type::Array(length, of));
        }
        if self.take("<") {
            let length = self.number()?;
            self.expect("x")?;
            let of = self.kind()?.into();
            self.expect(">")?;
            return Ok(Type::Vector(length, of));
        }
        if let Some(name) = self.rest().starts_with('%').then(|| self.rest()) {
            self.local();
            let name = &name[..name.len() - self.rest.len()];
            let definition = self.names.types.get(name);
            let definition = definition.ok_or_else(|| self.wrong("a type that is defined"))?;
            let mut inside = Cursor { rest: definition, depth: self.depth, ..*self };
            return inside.kind();
        }
        let word = self.word();
        Ok(match word {
            "void" => Type::Void,
            "float" => Type::Float,
            "double" => Type::Double,
            "ptr" => {
                if !self.take("addrspace") {
                    return Ok(Type::Pointer(0));
                }
                self.expect("(")?;
                let space = self.number()?;
                self.expect(")")?;
                Type::Pointer(space)
            }
            _ => match word.strip_prefix('i').and_then(|bits| bits.parse().ok()) {
                Some(bits @ 1..=64) => Type::Int(bits),
                _ => return Err(Error::unknown(format!("the type {word}"))),
            },
        })
    }

    fn fields(&mut self, packed: bool, end: &str) -> Result<Type> {
        let mut fields = Vec::new();
        while !self.take(end) {
            fields.push(self.kind()?);
            self.take(",");
        }
        Ok(Type::Struct(packed, fields.into()))
    }
}

fn is_in_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '$' | '-' | '+')
}
