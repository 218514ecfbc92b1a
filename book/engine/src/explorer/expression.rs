//! An index that a reader types becomes PTX: an expression of C in `t`, the lane, with whole
//! numbers of 32 bits.

/// What may be longer than any index that makes sense.
const MOST_CHARACTERS: usize = 80;
/// Parentheses and signs that may stand within each other.
const MOST_DEPTH: usize = 40;

/// Operators of two operands, those that bind least first, each with its instruction.
const LEVELS: [&[(&str, &str)]; 6] = [
    &[("|", "or.b32")],
    &[("^", "xor.b32")],
    &[("&", "and.b32")],
    &[("<<", "shl.b32"), (">>", "shr.s32")],
    &[("+", "add.s32"), ("-", "sub.s32")],
    &[("*", "mul.lo.s32"), ("/", "div.s32"), ("%", "rem.s32")],
];

/// An expression as instructions.
#[derive(Debug)]
pub(super) struct Compiled {
    /// One a line.
    pub(super) ptx: String,
    /// The register that has the result.
    pub(super) result: String,
    /// How many registers there are, `%r0` having `t`.
    pub(super) registers: usize,
}

/// Compiles an expression, or says what is wrong with it.
pub(super) fn compile(text: &str) -> Result<Compiled, String> {
    if text.chars().count() > MOST_CHARACTERS {
        return Err(format!("the index is longer than {MOST_CHARACTERS} characters"));
    }
    let mut parser = Parser { rest: text, ptx: String::new(), registers: 1 };
    let result = parser.level(0, 0)?;
    match parser.peek() {
        None => Ok(Compiled { ptx: parser.ptx, result, registers: parser.registers }),
        Some(c) => Err(format!("`{c}` after the end of the index `{text}`")),
    }
}

struct Parser<'t> {
    rest: &'t str,
    ptx: String,
    registers: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn emit(&mut self, instruction: &str, operands: &[&str]) -> String {
        let result = format!("%r{}", self.registers);
        self.registers += 1;
        self.ptx += &format!("{instruction} {result}, {};\n", operands.join(", "));
        result
    }

    fn level(&mut self, level: usize, depth: usize) -> Result<String, String> {
        let Some(operators) = LEVELS.get(level) else { return self.operand(depth) };
        let mut left = self.level(level + 1, depth)?;
        loop {
            self.peek();
            let found = operators.iter().find(|(sign, _)| self.rest.starts_with(sign));
            let Some((sign, instruction)) = found else { return Ok(left) };
            self.rest = &self.rest[sign.len()..];
            let before = self.rest;
            let right = self.level(level + 1, depth)?;
            let divisor = before[..before.len() - self.rest.len()].trim();
            if matches!(*sign, "/" | "%") && divisor.parse() == Ok(0) {
                return Err(format!("`{sign} {divisor}` in the index divides by 0"));
            }
            left = self.emit(instruction, &[&left, &right]);
        }
    }

    fn operand(&mut self, depth: usize) -> Result<String, String> {
        if depth > MOST_DEPTH {
            return Err("the index has too many parentheses".to_owned());
        }
        let next = self.peek();
        let length = self.rest.find(|c: char| !c.is_ascii_alphanumeric());
        let (word, after) = self.rest.split_at(length.unwrap_or(self.rest.len()));
        match next {
            None => Err("the index ends where a number, `t` or `(` should follow".to_owned()),
            Some('(') => {
                self.rest = &self.rest[1..];
                let inner = self.level(0, depth + 1)?;
                match self.peek() {
                    Some(')') => self.rest = &self.rest[1..],
                    _ => return Err("a `(` of the index has no `)`".to_owned()),
                }
                Ok(inner)
            }
            Some(sign @ ('-' | '~')) => {
                self.rest = &self.rest[1..];
                let operand = self.operand(depth + 1)?;
                Ok(self.emit(if sign == '-' { "neg.s32" } else { "not.b32" }, &[&operand]))
            }
            Some('0'..='9') => {
                let number: i32 = word.parse().map_err(|_| match word.strip_suffix('t') {
                    Some(factor) => format!("`{word}`: write `{factor}*t`"),
                    None => format!("`{word}` is no whole number below 2147483648"),
                })?;
                self.rest = after;
                Ok(self.emit("mov.u32", &[&number.to_string()]))
            }
            Some('t') if word == "t" => {
                self.rest = after;
                Ok("%r0".to_owned())
            }
            Some(c) => {
                let what = if word.is_empty() { c.to_string() } else { word.to_owned() };
                Err(format!("`{what}` in the index; it has `t`, numbers and + - * / % & | ^ << >>"))
            }
        }
    }
}
