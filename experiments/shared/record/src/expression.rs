//! Arithmetic in pages and checks: `+ - * / ^` and parentheses over numbers, quantities, queries
//! in brackets, and the functions `ceil`, `floor`, `max`, `min`, `round` and `row`.

/// What stands for a number.
pub enum Operand<'t> {
    /// A quantity, by its name.
    Name(&'t str),
    /// A query, which stands in brackets.
    Query(&'t str),
}

/// The value of `text`; `of` gives that of each operand. If it `is_measured`, it is finite,
/// as is all that it is computed from. If not, it only tells that `text` can be read.
pub fn evaluate<E: From<String>>(
    text: &str,
    is_measured: bool,
    of: impl FnMut(Operand) -> Result<f64, E>,
) -> Result<f64, E> {
    let mut reader = Reader { text, rest: text, depth: 0, is_measured, of };
    let value = reader.sum()?;
    match reader.rest.trim_start() {
        "" => Ok(value),
        rest => Err(format!("`{text}`: what is `{rest}`?").into()),
    }
}

/// So many parentheses, signs and powers may stand within each other.
const DEPTH: usize = 100;

/// What is yet to be read of a text.
struct Reader<'t, F> {
    text: &'t str,
    rest: &'t str,
    depth: usize,
    is_measured: bool,
    of: F,
}

impl<'t, E: From<String>, F: FnMut(Operand) -> Result<f64, E>> Reader<'t, F> {
    /// The next character, if it is one of `wanted`.
    fn take(&mut self, wanted: &str) -> Option<char> {
        self.rest = self.rest.trim_start();
        let found = self.rest.chars().next().filter(|c| wanted.contains(*c))?;
        self.rest = &self.rest[found.len_utf8()..];
        Some(found)
    }

    fn number(&self, value: f64) -> Result<f64, E> {
        match value.is_finite() || !self.is_measured {
            true => Ok(value),
            false => Err(format!("`{}` is not a finite number", self.text).into()),
        }
    }

    fn lacks(&self, what: &str) -> E {
        format!("`{}` lacks {what}", self.text).into()
    }

    fn sum(&mut self) -> Result<f64, E> {
        let mut value = self.product()?;
        while let Some(sign) = self.take("+-") {
            let other = self.product()?;
            value = self.number(if sign == '+' { value + other } else { value - other })?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, E> {
        let mut value = self.power()?;
        while let Some(sign) = self.take("*/") {
            let other = self.power()?;
            value = self.number(if sign == '*' { value * other } else { value / other })?;
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<f64, E> {
        if self.depth == DEPTH {
            return Err("an expression is nested too deeply".to_owned().into());
        }
        self.depth += 1;
        let value = if self.take("-").is_some() {
            -self.power()?
        } else {
            let base = self.operand()?;
            match self.take("^") {
                Some(_) => base.powf(self.power()?),
                None => base,
            }
        };
        self.depth -= 1;
        self.number(value)
    }

    fn operand(&mut self) -> Result<f64, E> {
        if self.take("[").is_some() {
            let lacking = || self.lacks("a `]`");
            let (query, rest) = self.rest.split_once(']').ok_or_else(lacking)?;
            self.rest = rest;
            return (self.of)(Operand::Query(query));
        }
        let word = word(self.rest);
        self.rest = &self.rest[word.len()..];
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse();
            return match number {
                Ok(number) => self.number(number),
                Err(_) => Err(format!("`{word}` is no number").into()),
            };
        }
        if self.take("(").is_none() {
            return match word {
                "" => Err(self.lacks("a number")),
                name => (self.of)(Operand::Name(name)),
            };
        }
        let list = self.list()?;
        let count = list.len();
        let value = match (word, list.as_slice()) {
            ("", [one]) => Some(*one),
            ("ceil", [one]) => Some(one.ceil()),
            ("floor", [one]) => Some(one.floor()),
            ("round", [one]) => Some(one.round()),
            ("max", _) => list.into_iter().reduce(f64::max),
            ("min", _) => list.into_iter().reduce(f64::min),
            ("row", [key, rows @ ..]) if count % 2 == 1 && count > 1 => {
                let mut rows = rows.chunks(2);
                let found = rows.find(|row| row[0] == *key || !self.is_measured);
                let none = || format!("`{}` has no row for {key}", self.text);
                Some(found.ok_or_else(none)?[1])
            }
            _ => None,
        };
        value.ok_or_else(|| format!("no function `{word}` takes {count} numbers").into())
    }

    /// At least one number, after an opening parenthesis.
    fn list(&mut self) -> Result<Vec<f64>, E> {
        let mut values = vec![self.sum()?];
        while self.take(",").is_some() {
            values.push(self.sum()?);
        }
        match self.take(")") {
            Some(_) => Ok(values),
            None => Err(self.lacks("a `)`")),
        }
    }
}

/// The name or number that `text` begins with: of `1.5e-3`, all.
fn word(text: &str) -> &str {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let length = |text: &str| text.find(|c| !part(c)).unwrap_or(text.len());
    let end = length(text);
    let (number, sign) = (text.starts_with(|c: char| c.is_ascii_digit()), ['+', '-']);
    match number && text[..end].ends_with('e') && text[end..].starts_with(sign) {
        true => &text[..end + 1 + length(&text[end + 1..])],
        false => &text[..end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<f64, String> {
        evaluate(text, true, |operand| match operand {
            Operand::Name("a") => Ok(3.0),
            Operand::Query("one b : time") => Ok(4.0),
            _ => Err("unknown".to_owned()),
        })
    }

    #[test]
    fn arithmetic_is_that_of_school() {
        for (text, expected) in [
            ("1 - 2 - 3", -4.0),
            ("12 / 2 * 3", 18.0),
            ("2 * (a + [one b : time])", 14.0),
            ("2 * a ^ 2", 18.0),
            ("-a ^ 2 + 1.5e-3 + 2e+1", 11.0015),
            ("max(1, a, 2) - min(a, 1) + ceil(1.2) * round(2.5) + floor(0.9)", 8.0),
            ("row(a, 2, 20, 1 + 2, 30)", 30.0),
        ] {
            assert_eq!(of(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_arithmetic_is_refused() {
        for (text, expected) in [
            ("", "`` lacks a number"),
            ("1 +", "`1 +` lacks a number"),
            ("(1", "`(1` lacks a `)`"),
            ("(1, 2", "`(1, 2` lacks a `)`"),
            ("[a : b", "`[a : b` lacks a `]`"),
            ("1 a", "`1 a`: what is `a`?"),
            ("1.2.3", "`1.2.3` is no number"),
            ("(1, 2)", "no function `` takes 2 numbers"),
            ("ceil(1, 2)", "no function `ceil` takes 2 numbers"),
            ("sqrt(1)", "no function `sqrt` takes 1 numbers"),
            ("row(1, 2)", "no function `row` takes 2 numbers"),
            ("row(1)", "no function `row` takes 1 numbers"),
            ("row(a, 2, 1)", "`row(a, 2, 1)` has no row for 3"),
            ("1 / 0", "`1 / 0` is not a finite number"),
            ("max(0 / 0, 3)", "`max(0 / 0, 3)` is not a finite number"),
            ("1 / (1 / 0)", "`1 / (1 / 0)` is not a finite number"),
            ("1e999 ^ 0", "`1e999 ^ 0` is not a finite number"),
            ("c", "unknown"),
        ] {
            assert_eq!(of(text).as_ref().map_err(String::as_str), Err(expected));
        }
        for (one, close) in [("(", ")"), ("-", ""), ("2 ^ ", "")] {
            let text = format!("{}1{}", one.repeat(100_000), close.repeat(100_000));
            let expected = "an expression is nested too deeply".to_owned();
            assert_eq!(of(&text), Err(expected));
        }
    }

    #[test]
    fn what_has_no_value_yet_can_be_read() {
        let read = |text| evaluate(text, false, |_| Ok::<_, String>(1.0));
        assert!(read("a / (b - [c d : time])").is_ok());
        assert!(read("row(a, 2, 1)").is_ok());
        assert_eq!(read("a /"), Err("`a /` lacks a number".to_owned()));
    }
}
