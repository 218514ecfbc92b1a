//! PTX text as words, strings and marks.

use crate::error::ParseError;

/// A piece of text, and the line that it stands on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) line: u32,
    pub(crate) kind: Kind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// A name, a directive, an operation with its modifiers, or a number.
    Word(&'a str),
    /// What stands between two quotation marks.
    Text(&'a str),
    Mark(char),
}

pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let error = |what: &str| ParseError { line, what: what.to_owned() };
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").ok_or_else(|| error("a comment has no end"))? + 2
        } else if first == '"' {
            let inside = rest[1..].find('"');
            let inside = inside.ok_or_else(|| error("a string has no end"))?;
            tokens.push(Token { line, kind: Kind::Text(&rest[1..=inside]) });
            inside + 2
        } else if is_word(first) {
            let length = word_length(rest);
            tokens.push(Token { line, kind: Kind::Word(&rest[..length]) });
            length
        } else {
            tokens.push(Token { line, kind: Kind::Mark(first) });
            first.len_utf8()
        };
        line += rest[..length].matches('\n').count() as u32;
        rest = &rest[length..];
    }
    Ok(tokens)
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '%' | '.')
}

/// Two colons belong to a word, `shared::cta`; one ends a label. A word that starts with a
/// dot has no other: `.reg.b32` is two.
fn word_length(text: &str) -> usize {
    let mut length = 1;
    loop {
        let rest = &text[length..];
        match rest.chars().next() {
            Some('.') if text.starts_with('.') => return length,
            Some(letter) if is_word(letter) => length += 1,
            Some(':') if rest.starts_with("::") => length += 2,
            _ => return length,
        }
    }
}
