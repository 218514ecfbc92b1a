//! What to launch, on which buffers, at which sizes.

use std::collections::BTreeMap;

use anyhow::Result;
use record::COMMITTED_COMPUTE;
use record::names::did_you_mean;
use serde::Deserialize;

use crate::check::{Buffer, Element, Expression, Fill, Launch};
use crate::data::Shape;
use crate::misused;

/// What a line of the file's first comment begins with that has options.
pub const COMMENT: &str = "// check:";

/// What to launch, and how: options of a command, of a comment in the file, or of a page's form.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// The kernel to launch; nothing is the only one of the file.
    pub kernel: Option<String>,
    /// Blocks along x, y and z.
    pub grid: Option<String>,
    /// Threads of a block along x, y and z.
    pub block: Option<String>,
    /// Bytes of dynamic shared memory of each block.
    pub shared: Option<String>,
    /// Arguments of the kernel: `NAME=TYPE[SIZE]:FILL`, numbers, names.
    pub arg: Vec<String>,
    /// What variables of the file hold at first: `weights=f32[9]:ramp`.
    pub symbol: Vec<String>,
    /// Sizes: `n=1000003`.
    pub set: Vec<String>,
    /// What buffers have to hold in the end: `out=file.npy`.
    pub expect: Vec<String>,
    /// How far a number may be off.
    pub tolerance: Option<f64>,
    /// Compute capability to compile for.
    pub compute: Option<String>,
}

/// Gives the numbers in a file of NumPy's, if they have this type.
pub type Files<'f> = dyn Fn(&str, Element) -> Result<Vec<u8>> + 'f;

/// A plan, read: nothing of it is computed yet.
pub struct Work {
    pub buffers: BTreeMap<String, Buffer>,
    /// What variables of the file hold at first.
    pub symbols: BTreeMap<String, Buffer>,
    pub launch: Launch,
    pub shapes: Vec<Shape>,
    /// The buffers, with what they have to hold in the end.
    pub expected: BTreeMap<String, Buffer>,
}

/// Where an option's value belongs.
enum Place<'p> {
    One(&'p mut Option<String>),
    List(&'p mut Vec<String>),
    Number(&'p mut Option<f64>),
}

/// How far floating-point numbers may be off.
const TOLERANCE: f64 = 1e-5;

/// Types of elements, as CUDA C and Rust call them.
const TYPES: [(&str, Element); 20] = [
    ("f16", Element::F16),
    ("bf16", Element::Bf16),
    ("f32", Element::F32),
    ("f64", Element::F64),
    ("i8", Element::I8),
    ("u8", Element::U8),
    ("i16", Element::I16),
    ("u16", Element::U16),
    ("i32", Element::I32),
    ("u32", Element::U32),
    ("i64", Element::I64),
    ("u64", Element::U64),
    ("half", Element::F16),
    ("bfloat16", Element::Bf16),
    ("float", Element::F32),
    ("double", Element::F64),
    ("int", Element::I32),
    ("unsigned", Element::U32),
    ("char", Element::I8),
    ("uchar", Element::U8),
];

impl Plan {
    /// The options in the comment that a file begins with.
    pub fn of_comment(name: &str, source: &str) -> Result<Plan> {
        let comment = source.lines().map(str::trim);
        let comment = comment.take_while(|line| line.is_empty() || line.starts_with("//"));
        let lines = comment.filter_map(|line| line.strip_prefix(COMMENT));
        match Plan::of_words(lines.flat_map(words)) {
            Ok(plan) => Ok(plan),
            Err(said) => misused!("{name}: its comment `{COMMENT}` has {said}"),
        }
    }

    /// The options that stand in these words, such as `--grid` and `64`.
    fn of_words(words: impl Iterator<Item = String>) -> Result<Plan, String> {
        let (mut plan, mut words) = (Plan::default(), words);
        while let Some(word) = words.next() {
            let (option, value) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => {
                    (option, Some(value.to_owned()))
                }
                _ => (word.as_str(), None),
            };
            let Some(place) = option.strip_prefix("--").and_then(|name| plan.place(name)) else {
                return Err(format!("unexpected argument '{option}' found"));
            };
            let Some(value) = value.or_else(|| words.next()) else {
                return Err(format!("'{option}' without a value"));
            };
            match place {
                Place::One(place) if place.is_none() => *place = Some(value),
                Place::One(_) => return Err(format!("'{option}' several times")),
                Place::List(list) => list.push(value),
                Place::Number(place) => match value.parse() {
                    Ok(number) => *place = Some(number),
                    Err(_) => return Err(format!("'{option} {value}', which is no number")),
                },
            }
        }
        Ok(plan)
    }

    /// Where an option's value belongs.
    fn place(&mut self, name: &str) -> Option<Place<'_>> {
        Some(match name {
            "kernel" => Place::One(&mut self.kernel),
            "grid" => Place::One(&mut self.grid),
            "block" => Place::One(&mut self.block),
            "shared" => Place::One(&mut self.shared),
            "compute" => Place::One(&mut self.compute),
            "arg" => Place::List(&mut self.arg),
            "symbol" => Place::List(&mut self.symbol),
            "set" => Place::List(&mut self.set),
            "expect" => Place::List(&mut self.expect),
            "tolerance" => Place::Number(&mut self.tolerance),
            _ => return None,
        })
    }

    /// What it says, and where it says nothing, what `below` does.
    pub fn over(self, below: Plan) -> Plan {
        let list = |own: Vec<String>, other| if own.is_empty() { other } else { own };
        Plan {
            kernel: self.kernel.or(below.kernel),
            grid: self.grid.or(below.grid),
            block: self.block.or(below.block),
            shared: self.shared.or(below.shared),
            tolerance: self.tolerance.or(below.tolerance),
            compute: self.compute.or(below.compute),
            arg: list(self.arg, below.arg),
            symbol: list(self.symbol, below.symbol),
            set: list(self.set, below.set),
            expect: list(self.expect, below.expect),
        }
    }

    /// The compute capability to compile `source` for.
    pub fn compute_of(&self, source: &str) -> Result<String> {
        let compute = self.compute.as_deref().unwrap_or(record::compute(source));
        let number = |text: &str| text.parse::<u8>().is_ok();
        let plain = compute.trim_end_matches('a').split_once('.');
        if !plain.is_some_and(|(major, minor)| number(major) && number(minor)) {
            misused!("`{compute}` is no compute capability, such as {COMMITTED_COMPUTE} or 9.0");
        }
        Ok(compute.to_owned())
    }

    /// Reads the plan for the kernel that a module calls `kernel`.
    pub fn work(&self, kernel: &str, files: &Files<'_>) -> Result<Work> {
        let (mut buffers, mut sizes, mut arguments) = (BTreeMap::new(), Shape::new(), vec![]);
        for text in &self.arg {
            arguments.push(match text.split_once('=') {
                Some((name, value)) if is_name(name) && literal(value).is_some() => {
                    let value = number(&value.replace('_', ""));
                    match value.parse() {
                        Ok(size) => {
                            sizes.insert(name.to_owned(), size);
                            name.to_owned()
                        }
                        Err(_) => value,
                    }
                }
                Some((name, rest)) => {
                    let buffer = buffer("--arg", name, rest, files)?;
                    if buffers.insert(name.to_owned(), buffer).is_some() {
                        misused!("--arg {text}: there are two buffers called {name}");
                    }
                    name.to_owned()
                }
                None => number(text),
            });
        }
        let launch = Launch {
            kernel: kernel.to_owned(),
            grid: three("--grid", self.grid.as_deref())?,
            block: three("--block", self.block.as_deref())?,
            shared_bytes: self.shared.clone().map(Expression::Text),
            arguments,
        };
        let mut symbols = BTreeMap::new();
        for text in &self.symbol {
            let buffer = match text.split_once('=') {
                Some((name, rest)) => buffer("--symbol", name, rest, files)?,
                None => misused!("--symbol {text}: it takes a value, such as {text}=f32[9]:ramp"),
            };
            if buffer.fill.is_none() {
                misused!("--symbol {text}: it takes a fill, such as {text}:ramp");
            }
            let name = text.split('=').next().unwrap_or_default();
            symbols.insert(name.to_owned(), buffer);
        }
        let expected = self.expected(&mut buffers, files)?;
        Ok(Work { buffers, symbols, launch, shapes: self.shapes(sizes)?, expected })
    }

    /// The buffers with what is expected of some, which are to be compared.
    fn expected(
        &self,
        buffers: &mut BTreeMap<String, Buffer>,
        files: &Files<'_>,
    ) -> Result<BTreeMap<String, Buffer>> {
        let mut expected = buffers.clone();
        for text in &self.expect {
            let Some((name, file)) = text.split_once('=') else {
                misused!("--expect {text}: it takes a buffer and a file, such as out=file.npy");
            };
            let Some(buffer) = buffers.get_mut(name) else {
                let near = did_you_mean(name, buffers.keys().map(String::as_str));
                misused!("--expect {text}: there is no buffer `{name}`{near}");
            };
            buffer.tolerance =
                if buffer.element.is_float() { self.tolerance.unwrap_or(TOLERANCE) } else { 0.0 };
            (buffer.result, buffer.scratch) = (true, false);
            let fill = Some(Fill::Bytes(files(file, buffer.element)?));
            expected.insert(name.to_owned(), Buffer { fill, ..buffer.clone() });
        }
        Ok(expected)
    }

    /// The sizes to try: a name that was set before begins another shape, which has what it does not
    /// set from the one before; the first from `sizes`.
    fn shapes(&self, sizes: Shape) -> Result<Vec<Shape>> {
        let mut shapes: Vec<Shape> = vec![sizes];
        let mut set = vec![];
        for text in &self.set {
            for one in split(text) {
                let Some((name, value)) = one.split_once('=').filter(|(name, _)| is_name(name))
                else {
                    misused!("--set {text}: it takes a name and a number, such as n=1000003");
                };
                let mut shape = shapes.last().cloned().unwrap_or_default();
                let value = Expression::Text(value.replace('_', ""));
                let value = match value.count(&shape) {
                    Ok(value) => value,
                    Err(e) => misused!("--set {text}: {e:#}"),
                };
                let again = set.contains(&name.to_owned());
                if again {
                    set.clear();
                } else {
                    shapes.pop();
                }
                set.push(name.to_owned());
                shape.insert(name.to_owned(), value);
                shapes.push(shape);
            }
        }
        Ok(shapes)
    }
}

/// The type of this name.
pub(crate) fn element(kind: &str) -> Option<Element> {
    TYPES.iter().find(|(known, _)| *known == kind).map(|(_, element)| *element)
}

/// `y=f32[n][4]`, as an argument of what has no fill is written.
pub(crate) fn written(name: &str, buffer: &Buffer) -> String {
    let known = TYPES.iter().find(|(_, element)| *element == buffer.element);
    let (kind, _) = known.expect("all are there");
    let sizes = buffer.size.iter().map(|size| format!("[{size}]")).collect::<String>();
    format!("{name}={kind}{sizes}")
}

/// `f32[n][4]:ramp`.
fn buffer(option: &str, name: &str, text: &str, files: &Files<'_>) -> Result<Buffer> {
    let given = || format!("{option} {name}={text}");
    if !is_name(name) {
        misused!("{}: `{name}` is no name", given());
    }
    let (kind, rest) = text.split_at(text.find('[').unwrap_or(text.len()));
    let Some(element) = element(kind) else {
        let near = did_you_mean(kind, TYPES.iter().map(|(known, _)| *known));
        let all = TYPES[..12].iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
        misused!("{}: there is no type `{kind}`{near} (there are {all})", given());
    };
    let Some(end) = rest.rfind(']') else {
        misused!("{}: its size is missing, such as {name}={kind}[n]", given());
    };
    let size = rest[1..end].split("][").flat_map(split).map(Expression::Text).collect();
    let fill = match rest[end + 1..].split_at_checked(1) {
        None => None,
        Some((":", fill)) => Some(filled(&given(), fill, element, files)?),
        Some(_) => misused!("{}: what is `{}`?", given(), &rest[end + 1..]),
    };
    let tolerance = 0.0;
    Ok(Buffer { element, size, fill, result: false, scratch: true, tolerance })
}

fn filled(given: &str, text: &str, element: Element, files: &Files<'_>) -> Result<Fill> {
    let below = text.strip_prefix("below(").and_then(|rest| rest.strip_suffix(')'));
    Ok(match (text, below) {
        ("zero", _) => Fill::Zero,
        ("ramp", _) => Fill::Index,
        ("random", _) => Fill::Random,
        ("permutation", _) => Fill::Permutation,
        (_, Some(limit)) => Fill::Below(Expression::Text(limit.to_owned())),
        (text, _) if let Some(number) = literal(text) => Fill::Number(number),
        (file, _) if file.ends_with(".npy") => Fill::Bytes(files(file, element)?),
        _ => misused!(
            "{given}: a buffer is filled with zero, ramp, random, permutation, below(N), a number or \
             a file.npy, not with `{text}`"
        ),
    })
}

/// The words of a line, of which one in quotes may have spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in line.chars() {
        match c {
            '\'' | '"' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            _ if c.is_whitespace() && quote.is_none() => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Parts of a text between commas that are in no parentheses.
pub(crate) fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        parts.last_mut().expect("there is one").push(c);
    }
    parts
}

fn three(option: &str, text: Option<&str>) -> Result<Vec<Expression>> {
    let Some(text) = text else {
        misused!("{option} is missing");
    };
    let parts = split(text);
    if parts.len() > 3 {
        misused!("{option} {text}: there are numbers along x, y and z at most");
    }
    Ok(parts.into_iter().map(Expression::Text).collect())
}

/// A number as the language of expressions has it: without C's `f`, and with a point if it had one.
pub(crate) fn number(text: &str) -> String {
    let plain = text.strip_suffix(['f', 'F']).filter(|plain| plain.parse::<f64>().is_ok());
    match plain {
        _ if text == "true" => "1".to_owned(),
        _ if text == "false" => "0".to_owned(),
        Some(plain) if !plain.contains('.') => format!("{plain}.0"),
        Some(plain) => plain.to_owned(),
        None => text.to_owned(),
    }
}

/// The value of a number that is written as such, and begins with a digit or a sign.
fn literal(text: &str) -> Option<f64> {
    let starts = |c: char| c.is_ascii_digit() || ['-', '.'].contains(&c);
    let is_word = ["true", "false"].contains(&text);
    (is_word || text.starts_with(starts))
        .then(|| number(&text.replace('_', "")).parse().ok())
        .flatten()
}

/// Whether it can be the name of a kernel, a buffer or a size.
pub fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_set_begins_another_shape() {
        let shapes = |set: &[&str]| {
            let set = set.iter().map(|text| (*text).to_owned()).collect();
            let shapes = Plan { set, ..Plan::default() }.shapes(Shape::new()).unwrap();
            shapes.iter().map(|s| s.values().copied().collect()).collect::<Vec<Vec<_>>>()
        };
        assert_eq!(shapes(&[]), [[]; 1] as [[u64; 0]; 1]);
        assert_eq!(shapes(&["m=2", "n=3*m"]), [[2, 6]]);
        assert_eq!(shapes(&["m=2,n=3", "m=4", "n=1_000"]), [[2, 3], [4, 1000]]);
        assert_eq!(shapes(&["n=1", "n=2", "n=3"]), [[1], [2], [3]]);
    }

    #[test]
    fn words_numbers_and_parts() {
        assert_eq!(words(" --grid 'ceil(n / 2),3'  -x"), ["--grid", "ceil(n / 2),3", "-x"]);
        assert_eq!(split("max(a,b),3"), ["max(a,b)", "3"]);
        for (text, read) in [("0.5f", "0.5"), ("2f", "2.0"), ("-1", "-1"), ("buf", "buf")] {
            assert_eq!(number(text), read);
        }
    }
}
