//! What to launch, on which buffers, at which sizes.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use clap::{Args, FromArgMatches};
use lab::kernel::COMMITTED_COMPUTE;
use record::names::did_you_mean;
use referee::check::{Buffer, Element, Expression, Fill, Launch};
use referee::data::Shape;

use super::npy;
use super::subject::Subject;
use crate::terminal::misused;

/// What a line of the file's first comment begins with that has options.
pub(crate) const COMMENT: &str = "// check:";

/// What to launch, and how: options of the command, and of a comment in the file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Plan {
    /// The kernel to launch [default: the only one of the file]
    #[arg(long, value_name = "NAME")]
    pub(super) kernel: Option<String>,
    /// Blocks along x, y and z, such as 64 or "ceil(n/32),8"
    #[arg(long, value_name = "X,Y,Z")]
    grid: Option<String>,
    /// Threads of a block along x, y and z, such as 256 or 32,8
    #[arg(long, value_name = "X,Y,Z")]
    block: Option<String>,
    /// Bytes of dynamic shared memory of each block
    #[arg(long, value_name = "BYTES")]
    shared: Option<String>,
    /// The next argument of the kernel: a buffer `NAME=TYPE[SIZE]` or `NAME=TYPE[SIZE]:FILL`, where
    /// FILL is zero, ramp, random, permutation, below(N) or a file.npy; a number such as 2, 0.5f or
    /// n/2; or the name of a buffer again
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    arg: Vec<String>,
    /// A size, such as n=1000003, or several with commas between them; the same name once more
    /// begins another shape, to be tried as well
    #[arg(long, value_name = "NAME=NUMBER")]
    set: Vec<String>,
    /// What a buffer has to hold in the end, from a file of NumPy's: out=file.npy
    #[arg(long, value_name = "BUFFER=FILE")]
    expect: Vec<String>,
    /// How far a number may be off, relative to the expected one, or to 1 if that is less
    /// [default: 0.00001; integers are exact]
    #[arg(long, value_name = "X")]
    tolerance: Option<f64>,
    /// Compute capability to compile for [default: 7.5, or what the file's first line says]
    #[arg(long, value_name = "CC")]
    compute: Option<String>,
    /// Folder of the files that it names; of a comment, they lie in it.
    #[arg(skip)]
    folder: Option<PathBuf>,
}

/// A plan, read: nothing of it is computed yet.
pub(crate) struct Work {
    pub(crate) buffers: BTreeMap<String, Buffer>,
    pub(crate) launch: Launch,
    pub(crate) shapes: Vec<Shape>,
    /// The buffers, with what they have to hold in the end.
    pub(crate) expected: BTreeMap<String, Buffer>,
}

/// How far floating-point numbers may be off.
const TOLERANCE: f64 = 1e-5;

/// Types of elements, as CUDA C and Rust call them.
const TYPES: [(&str, Element); 16] = [
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
    ("float", Element::F32),
    ("double", Element::F64),
    ("int", Element::I32),
    ("unsigned", Element::U32),
    ("char", Element::I8),
    ("uchar", Element::U8),
];

impl Plan {
    /// The options in the comment that a file begins with.
    pub(crate) fn of_comment(subject: &Subject) -> Result<Plan> {
        let comment = subject.source.lines().map(str::trim);
        let comment = comment.take_while(|line| line.is_empty() || line.starts_with("//"));
        let lines = comment.filter_map(|line| line.strip_prefix(COMMENT));
        let words: Vec<_> = lines.flat_map(words).collect();
        let command = clap::Command::new("check").no_binary_name(true).disable_help_flag(true);
        let plan = Plan::augment_args(command).try_get_matches_from(&words);
        match plan.and_then(|matches| Plan::from_arg_matches(&matches)) {
            Ok(plan) => Ok(Plan { folder: Some(subject.folder()), ..plan }),
            Err(e) => {
                let said = e.to_string();
                let said = said.lines().next().unwrap_or_default().replacen("error: ", "", 1);
                misused!("{}: its comment `{COMMENT}` has {said}", subject.name)
            }
        }
    }

    /// What it says, and where it says nothing, what `below` does.
    pub(crate) fn over(self, below: Plan) -> Plan {
        let list = |own: Vec<String>, other| if own.is_empty() { other } else { own };
        Plan {
            kernel: self.kernel.or(below.kernel),
            grid: self.grid.or(below.grid),
            block: self.block.or(below.block),
            shared: self.shared.or(below.shared),
            tolerance: self.tolerance.or(below.tolerance),
            compute: self.compute.or(below.compute),
            // Files of options are looked for where one is.
            folder: below.folder.filter(|_| self.arg.is_empty() && self.expect.is_empty()),
            arg: list(self.arg, below.arg),
            set: list(self.set, below.set),
            expect: list(self.expect, below.expect),
        }
    }

    /// The compute capability to compile `subject` for.
    pub(crate) fn compute(&self, subject: &Subject) -> Result<String> {
        let of_file = lab::kernel::compute(&subject.source);
        let compute = self.compute.as_deref().unwrap_or(of_file);
        let number = |text: &str| text.parse::<u8>().is_ok();
        let plain = compute.trim_end_matches('a').split_once('.');
        if !plain.is_some_and(|(major, minor)| number(major) && number(minor)) {
            misused!("`{compute}` is no compute capability, such as {COMMITTED_COMPUTE} or 9.0");
        }
        Ok(compute.to_owned())
    }

    /// Reads the plan for the kernel that a module calls `kernel`.
    pub(crate) fn work(&self, kernel: &str) -> Result<Work> {
        let (mut buffers, mut arguments) = (BTreeMap::new(), vec![]);
        for text in &self.arg {
            arguments.push(match text.split_once('=') {
                Some((name, rest)) => {
                    let buffer = self.buffer(name, rest)?;
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
            grid: three("--grid", "blocks", self.grid.as_deref())?,
            block: three("--block", "threads of a block", self.block.as_deref())?,
            shared_bytes: self.shared.clone().map(Expression::Text),
            arguments,
        };
        let expected = self.expected(&mut buffers)?;
        Ok(Work { buffers, launch, shapes: self.shapes()?, expected })
    }

    /// `f32[n][4]:ramp`.
    fn buffer(&self, name: &str, text: &str) -> Result<Buffer> {
        let given = || format!("--arg {name}={text}");
        if !is_name(name) {
            misused!("{}: `{name}` is no name", given());
        }
        let (kind, rest) = text.split_at(text.find('[').unwrap_or(text.len()));
        let Some((_, element)) = TYPES.iter().find(|(known, _)| *known == kind) else {
            let near = did_you_mean(kind, TYPES.iter().map(|(known, _)| *known));
            let all = TYPES[..10].iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
            misused!("{}: there is no type `{kind}`{near} (there are {all})", given());
        };
        let Some(end) = rest.rfind(']') else {
            misused!("{}: its size is missing, such as {name}={kind}[n]", given());
        };
        let size = rest[1..end].split("][").flat_map(split).map(Expression::Text).collect();
        let fill = match rest[end + 1..].split_at_checked(1) {
            None => None,
            Some((":", fill)) => Some(self.fill(&given(), fill, *element)?),
            Some(_) => misused!("{}: what is `{}`?", given(), &rest[end + 1..]),
        };
        let tolerance = 0.0;
        Ok(Buffer { element: *element, size, fill, result: false, scratch: true, tolerance })
    }

    fn fill(&self, given: &str, text: &str, element: Element) -> Result<Fill> {
        let below = text.strip_prefix("below(").and_then(|rest| rest.strip_suffix(')'));
        Ok(match (text, below) {
            ("zero", _) => Fill::Zero,
            ("ramp", _) => Fill::Index,
            ("random", _) => Fill::Random,
            ("permutation", _) => Fill::Permutation,
            (_, Some(limit)) => Fill::Below(Expression::Text(limit.to_owned())),
            (file, _) if file.ends_with(".npy") => Fill::Bytes(self.array(file, element)?),
            _ => misused!(
                "{given}: a buffer is filled with zero, ramp, random, permutation, below(N) or a \
                 file.npy, not with `{text}`"
            ),
        })
    }

    /// The numbers in a file of NumPy's, of this type.
    fn array(&self, file: &str, element: Element) -> Result<Vec<u8>> {
        let mut path = PathBuf::from(file);
        if let Some(folder) = &self.folder {
            // Whoever wrote the file does not choose among the reader's.
            let plain = Path::new(file).components().all(|c| matches!(c, Component::Normal(_)));
            path = folder.join(file);
            let inside = || path.canonicalize().is_ok_and(|path| path.starts_with(folder));
            if !plain || path.exists() && !inside() {
                misused!("{file} is named in a comment, and lies outside of its file's folder");
            }
        }
        npy::read(&path, element)
    }

    /// The buffers with what is expected of some, which are to be compared.
    fn expected(&self, buffers: &mut BTreeMap<String, Buffer>) -> Result<BTreeMap<String, Buffer>> {
        let mut expected = buffers.clone();
        for text in &self.expect {
            let Some((name, file)) = text.split_once('=') else {
                misused!("--expect {text}: it takes a buffer and a file, such as out=file.npy");
            };
            let Some(buffer) = buffers.get_mut(name) else {
                let near = did_you_mean(name, buffers.keys().map(String::as_str));
                misused!("--expect {text}: there is no buffer `{name}`{near}");
            };
            let is_float = matches!(buffer.element, Element::F32 | Element::F64);
            buffer.tolerance = if is_float { self.tolerance.unwrap_or(TOLERANCE) } else { 0.0 };
            (buffer.result, buffer.scratch) = (true, false);
            let fill = Some(Fill::Bytes(self.array(file, buffer.element)?));
            expected.insert(name.to_owned(), Buffer { fill, ..buffer.clone() });
        }
        Ok(expected)
    }

    /// The sizes to try: a name that was set before begins another shape, which has what it does not
    /// set from the one before.
    fn shapes(&self) -> Result<Vec<Shape>> {
        let mut shapes: Vec<Shape> = vec![Shape::new()];
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
fn split(text: &str) -> Vec<String> {
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

fn three(option: &str, what: &str, text: Option<&str>) -> Result<Vec<Expression>> {
    let Some(text) = text else {
        misused!("{option} is missing: how many {what} there are, such as {option} 64");
    };
    let parts = split(text);
    if parts.len() > 3 {
        misused!("{option} {text}: there are numbers along x, y and z at most");
    }
    Ok(parts.into_iter().map(Expression::Text).collect())
}

/// A number as the language of expressions has it: without C's `f`, and with a point if it had one.
fn number(text: &str) -> String {
    let plain = text.strip_suffix(['f', 'F']).filter(|plain| plain.parse::<f64>().is_ok());
    match plain {
        Some(plain) if !plain.contains('.') => format!("{plain}.0"),
        Some(plain) => plain.to_owned(),
        None => text.to_owned(),
    }
}

/// Whether it can be the name of a kernel, a buffer or a size.
pub(crate) fn is_name(text: &str) -> bool {
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
            let shapes = Plan { set, ..Plan::default() }.shapes().unwrap();
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
