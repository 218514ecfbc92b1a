//! Arithmetic in a page: `+ - * / ^` and parentheses over numbers, quantities, queries
//! in brackets, and the functions `ceil`, `max`, `min` and `round`.

/// What stands for a number.
pub enum Operand<'t> {
    /// A quantity, by its name.
    Name(&'t str),
    /// A query, which stands in brackets.
    Query(&'t str),
}

/// The value of `text`, which is finite. `of` gives the value of each operand.
pub fn evaluate<E: From<String>>(
    text: &str,
    of: impl FnMut(Operand) -> Result<f64, E>,
) -> Result<f64, E> {
    let mut reader = Reader { text, rest: text, of };
    let value = reader.sum()?;
    match reader.rest.trim_start() {
        "" if value.is_finite() => Ok(value),
        "" => Err(format!("`{text}` is not a finite number").into()),
        rest => Err(format!("`{text}`: what is `{rest}`?").into()),
    }
}

/// What is yet to be read of a text.
struct Reader<'t, F> {
    text: &'t str,
    rest: &'t str,
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

    fn lacks(&self, what: &str) -> E {
        format!("`{}` lacks {what}", self.text).into()
    }

    fn sum(&mut self) -> Result<f64, E> {
        let mut value = self.product()?;
        while let Some(sign) = self.take("+-") {
            let other = self.product()?;
            value += if sign == '+' { other } else { -other };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, E> {
        let mut value = self.power()?;
        while let Some(sign) = self.take("*/") {
            let other = self.power()?;
            value = if sign == '*' { value * other } else { value / other };
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<f64, E> {
        if self.take("-").is_some() {
            return Ok(-self.power()?);
        }
        let base = self.operand()?;
        match self.take("^") {
            Some(_) => Ok(base.powf(self.power()?)),
            None => Ok(base),
        }
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
            return number.map_err(|_| format!("`{word}` is no number").into());
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
            ("round", [one]) => Some(one.round()),
            ("max", _) => list.into_iter().reduce(f64::max),
            ("min", _) => list.into_iter().reduce(f64::min),
            _ => None,
        };
        value.ok_or_else(|| {
            format!("no function `{word}` takes {count} numbers").into()
        })
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
    let (number, sign) =
        (text.starts_with(|c: char| c.is_ascii_digit()), ['+', '-']);
    match number && text[..end].ends_with('e') && text[end..].starts_with(sign) {
        true => &text[..end + 1 + length(&text[end + 1..])],
        false => &text[..end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<f64, String> {
        evaluate(text, |operand| match operand {
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
            ("max(1, a, 2) - min(a, 1) + ceil(1.2) * round(2.5)", 8.0),
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
            ("1 / 0", "`1 / 0` is not a finite number"),
            ("c", "unknown"),
        ] {
            assert_eq!(of(text).as_ref().map_err(String::as_str), Err(expected));
        }
    }
}
