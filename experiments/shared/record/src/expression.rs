//! Arithmetic in pages and checks: `+ - * / ^` and parentheses over numbers, quantities, queries
//! in brackets, and the functions `ceil`, `floor`, `max`, `min`, `round` and `row`.

/// Arithmetic, read once and computed as often as there are values for its operands.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    operands: Vec<Operand>,
    /// In the order of computing: what a step needs is what those before it have left.
    steps: Vec<Step>,
}

/// What stands for a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A quantity, by its name.
    Name(String),
    /// A query, which stands in brackets.
    Query(String),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Number(f64),
    /// By its place among the operands.
    Operand(usize),
    /// Of so many numbers.
    Call(Function, usize),
}

/// A function has no value where it has no row.
type Function = fn(&[f64]) -> Option<f64>;

/// The function of this name, or the operator, if it takes so many numbers.
fn function(name: &str, count: usize) -> Option<Function> {
    Some(match (name, count) {
        ("", 1) => |of| Some(of[0]),
        ("-", 1) => |of| Some(-of[0]),
        ("+", 2) => |of| Some(of[0] + of[1]),
        ("-", 2) => |of| Some(of[0] - of[1]),
        ("*", 2) => |of| Some(of[0] * of[1]),
        ("/", 2) => |of| Some(of[0] / of[1]),
        ("^", 2) => |of| Some(of[0].powf(of[1])),
        ("ceil", 1) => |of| Some(of[0].ceil()),
        ("floor", 1) => |of| Some(of[0].floor()),
        ("round", 1) => |of| Some(of[0].round()),
        ("max", _) => |of| of.iter().copied().reduce(f64::max),
        ("min", _) => |of| of.iter().copied().reduce(f64::min),
        ("row", 3..) if count % 2 == 1 => {
            |of| Some(of[1..].chunks(2).find(|row| row[0] == of[0])?[1])
        }
        _ => return None,
    })
}

impl Expression {
    /// Reads `text`.
    pub fn parse(text: &str) -> Result<Expression, String> {
        let mut reader = Reader { text, rest: text, depth: 0, operands: vec![], steps: vec![] };
        reader.sum()?;
        match reader.rest.trim_start() {
            "" => {
                let Reader { operands, steps, .. } = reader;
                Ok(Expression { text: text.to_owned(), operands, steps })
            }
            rest => Err(format!("`{text}`: what is `{rest}`?")),
        }
    }

    /// What it is computed from, in the order of the text.
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// The query that is all of it.
    pub fn only_query(&self) -> Option<&str> {
        match (&self.steps[..], &self.operands[..]) {
            ([Step::Operand(_)], [Operand::Query(query)]) => Some(query),
            _ => None,
        }
    }

    /// Its value, where `of` gives that of each operand. It is finite, as is all that it is
    /// computed from.
    pub fn value<E: From<String>>(
        &self,
        of: impl FnMut(&Operand) -> Result<f64, E>,
    ) -> Result<f64, E> {
        let values: Vec<f64> = self.operands.iter().map(of).collect::<Result<_, E>>()?;
        Ok(self.value_of(&values)?)
    }

    /// The same of operands with these values, in their order.
    pub fn value_of(&self, operands: &[f64]) -> Result<f64, String> {
        let mut numbers: Vec<f64> = vec![];
        for step in &self.steps {
            let value = match *step {
                Step::Number(number) => number,
                Step::Operand(place) => operands[place],
                Step::Call(function, count) => {
                    let of = numbers.split_off(numbers.len() - count);
                    let none = || format!("`{}` has no row for {}", self.text, of[0]);
                    function(&of).ok_or_else(none)?
                }
            };
            if !value.is_finite() {
                return Err(format!("`{}` is not a finite number", self.text));
            }
            numbers.push(value);
        }
        Ok(numbers[0])
    }
}

/// So many parentheses, signs and powers may stand within each other.
const DEPTH: usize = 100;

/// What is yet to be read of a text, and what it was so far.
struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
    depth: usize,
    operands: Vec<Operand>,
    steps: Vec<Step>,
}

impl<'t> Reader<'t> {
    /// The next character, if it is one of `wanted`, which are ASCII.
    fn take(&mut self, wanted: &str) -> Option<&'t str> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next().filter(|c| wanted.contains(*c))?;
        let (found, rest) = self.rest.split_at(1);
        self.rest = rest;
        Some(found)
    }

    fn lacks(&self, what: &str) -> String {
        format!("`{}` lacks {what}", self.text)
    }

    /// Computes what has this name of the last so many numbers.
    fn call(&mut self, name: &str, count: usize) -> Result<(), String> {
        let none = || format!("no function `{name}` takes {count} numbers");
        self.steps.push(Step::Call(function(name, count).ok_or_else(none)?, count));
        Ok(())
    }

    fn sum(&mut self) -> Result<(), String> {
        self.product()?;
        while let Some(sign) = self.take("+-") {
            self.product()?;
            self.call(sign, 2)?;
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), String> {
        self.power()?;
        while let Some(sign) = self.take("*/") {
            self.power()?;
            self.call(sign, 2)?;
        }
        Ok(())
    }

    fn power(&mut self) -> Result<(), String> {
        if self.depth == DEPTH {
            return Err("an expression is nested too deeply".to_owned());
        }
        self.depth += 1;
        if let Some(sign) = self.take("-") {
            self.power()?;
            self.call(sign, 1)?;
        } else {
            self.operand()?;
            if let Some(sign) = self.take("^") {
                self.power()?;
                self.call(sign, 2)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn operand(&mut self) -> Result<(), String> {
        if self.take("[").is_some() {
            let (query, rest) = self.rest.split_once(']').ok_or_else(|| self.lacks("a `]`"))?;
            self.rest = rest;
            self.looked_up(Operand::Query(query.to_owned()));
            return Ok(());
        }
        let word = word(self.rest);
        self.rest = &self.rest[word.len()..];
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse().map_err(|_| format!("`{word}` is no number"))?;
            self.steps.push(Step::Number(number));
        } else if self.take("(").is_some() {
            let count = self.list()?;
            self.call(word, count)?;
        } else if word.is_empty() {
            return Err(self.lacks("a number"));
        } else {
            self.looked_up(Operand::Name(word.to_owned()));
        }
        Ok(())
    }

    fn looked_up(&mut self, operand: Operand) {
        self.steps.push(Step::Operand(self.operands.len()));
        self.operands.push(operand);
    }

    /// How many numbers, at least one, stand after an opening parenthesis.
    fn list(&mut self) -> Result<usize, String> {
        self.sum()?;
        let mut count = 1;
        while self.take(",").is_some() {
            self.sum()?;
            count += 1;
        }
        self.take(")").map(|_| count).ok_or_else(|| self.lacks("a `)`"))
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
        Expression::parse(text)?.value(|operand| match operand {
            Operand::Name(name) if name == "a" => Ok(3.0),
            Operand::Query(query) if query == "one b : time" => Ok(4.0),
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
        for text in ["a / (b - [c d : time])", "row(a, 2, 1)", "1e999"] {
            assert!(Expression::parse(text).is_ok(), "{text}");
        }
        assert_eq!(Expression::parse("a /").unwrap_err(), "`a /` lacks a number");
        let [query, no_query] =
            ["[c : time]", "-[c : time]"].map(|text| Expression::parse(text).unwrap());
        assert_eq!((query.only_query(), no_query.only_query()), (Some("c : time"), None));
    }
}
