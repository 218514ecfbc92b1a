//! `check.toml`: what a solution has to do.
//!
//! Numbers are expressions over the names of the shape, such as `ceil(columns / 32)`.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, anyhow, ensure};
use ledger::Costs;
use record::expression::{self, Operand};
use record::units;
use serde::Deserialize;

/// Rows of checks, besides their demands.
const ROWS: [&str; 5] = [RESULT, RACES, ORDER, SHARING, COMPILES];
/// Results, compared under all shapes or schedules.
pub const RESULT: &str = "result";
/// Accesses of threads that nothing orders.
pub const RACES: &str = "races";
/// Operations that nothing orders.
pub const ORDER: &str = "order";
/// How the work is shared among warps; shown only if it is not.
pub const SHARING: &str = "sharing";
/// A source that does not compile.
pub const COMPILES: &str = "compiles";

/// Bytes of one buffer at most, wherever it is checked: a check takes seconds, not minutes. Of all
/// buffers together, [`Limits`](crate::Limits) says how many a place has room for.
pub const MOST_BYTES: u64 = 1 << 29;

pub const HINTS: usize = 3;

/// What a solution has to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// How long it takes one who has read the page.
    pub minutes: u32,
    pub level: Level,
    /// What has to come before it in the book, besides the page that it stands on.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// A question; the failing line and what to count there; a skeleton.
    pub hints: Vec<String>,
    /// Compute capability to compile for, if it needs more than the oldest.
    #[serde(default = "oldest")]
    pub compute: String,
    /// How host code is tried; only for that.
    #[serde(default)]
    pub host: Host,
    /// Memory that the kernels work on, by name. This and what follows is only for kernels.
    #[serde(default)]
    pub buffers: BTreeMap<String, Buffer>,
    /// What is launched, in this order.
    #[serde(default)]
    pub launches: Vec<Launch>,
    /// Launches that compute what results have to be.
    #[serde(default)]
    pub expected: Vec<Expected>,
    /// What a shape is called by: numbers to be joined by `×` [default: the sizes of the first
    /// buffer that a kernel gets].
    #[serde(default)]
    pub title: Vec<Expression>,
    /// Sizes to try, each a number for each name; the last one is the one that is counted.
    #[serde(default)]
    pub shapes: Vec<BTreeMap<String, u64>>,
    /// Whether one warp may do many times as much as others, as where warps take work when they
    /// come.
    #[serde(default)]
    pub uneven: bool,
    /// A shape that is large enough to be timed on a GPU; without it, nothing is timed.
    #[serde(default)]
    pub measure: BTreeMap<String, u64>,
    /// What the counts have to be.
    #[serde(default)]
    pub demands: Vec<Demand>,
    /// Why the start and each file in `wrong/` fail: `ROW: what its text contains`.
    pub fails: BTreeMap<String, String>,
    /// Mistakes that differ from a source in little, by name.
    #[serde(default)]
    pub mistakes: BTreeMap<String, Mistake>,
}

/// How hard an exercise is, as its author judges it: a short one can be hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// One idea of the page, applied as it stands there.
    Introductory,
    /// Several steps, or an idea that has to be carried over.
    Intermediate,
    /// Several ideas at once, or one that the page does not have.
    Hard,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Introductory => "introductory",
            Level::Intermediate => "intermediate",
            Level::Hard => "hard",
        })
    }
}

/// What has to come before an exercise.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Need {
    /// An exercise to be solved, by its name.
    Exercise(String),
    /// A page to be read, by its path in the book without `.md`.
    Page(String),
}

impl From<String> for Need {
    fn from(name: String) -> Need {
        match name.contains('/') {
            true => Need::Page(name),
            false => Need::Exercise(name),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Need::Exercise(name) | Need::Page(name)) = self;
        f.write_str(name)
    }
}

/// A source with a few changes, which has to fail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    /// Why, as in [`Check::fails`].
    pub fails: String,
    #[serde(default)]
    pub of: Source,
    /// One after the other: a text that occurs exactly once, and what stands there instead.
    pub changes: Vec<[String; 2]>,
}

/// A source that a mistake can be made in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Start,
    #[default]
    Solution,
}

impl Source {
    /// That of its file, without the extension.
    pub fn name(self) -> &'static str {
        match self {
            Source::Start => "start",
            Source::Solution => "solution",
        }
    }
}

/// How host code is tried.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// Numbers of GPUs to try it on; the last one is the one that is counted.
    pub gpus: Vec<u32>,
    /// Sizes of their memory to try it with, in MiB; the last one is the one that is counted.
    pub memory_mib: Vec<u32>,
    /// Further schedules to try: streams overtake each other wherever nothing orders them.
    pub schedules: u32,
    /// What the model of time is told, besides those of a usual machine.
    pub costs: Costs,
}

impl Default for Host {
    fn default() -> Host {
        Host { gpus: vec![1], memory_mib: vec![64], schedules: 4, costs: Costs::default() }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    #[serde(rename = "type")]
    pub element: Element,
    /// How many of it: one number, or rows and columns, and so on.
    pub size: Vec<Expression>,
    /// What it holds before the first launch; nothing that may be read if this is not there.
    pub fill: Option<Fill>,
    /// Whether what is in it at the end is compared. A buffer that is filled and not compared
    /// has to be left as it was.
    #[serde(default)]
    pub result: bool,
    /// Whether it may end as anything though it is filled, such as a counter.
    #[serde(default)]
    pub scratch: bool,
    /// How far a result may be off, relative to what it has to be (or to 1 if that is less).
    #[serde(default)]
    pub tolerance: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

/// What a buffer holds before the first launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    Zero,
    /// 0, 1, 2, …
    Index,
    /// Multiples of 1/1024 from -1 to 1, of which thousands have an exact sum; or 0 to 255.
    Random,
    /// 0, 1, 2, … in a random order.
    Permutation,
    /// Random integers from 0 on, and less than this.
    Below(Expression),
    /// This number everywhere.
    #[serde(skip)]
    Number(f64),
    /// These bytes, as they came from a file.
    #[serde(skip)]
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    pub kernel: String,
    /// Blocks along x, y and z.
    pub grid: Vec<Expression>,
    /// Threads of a block along x, y and z.
    pub block: Vec<Expression>,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: Option<Expression>,
    /// Names of buffers, with an index (`in[4]`) where the pointer is not to the first element;
    /// or numbers, which are `float` or `double` if there is a point in them.
    pub arguments: Vec<String>,
}

/// What a result has to be: a kernel of `expected.cu`, a thread for each element.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub result: String,
    #[serde(default = "expected")]
    pub kernel: String,
    /// Arguments as those of a launch. The kernel gets buffers of its own, filled in the same way.
    pub arguments: Vec<String>,
}

/// What a count has to be, or a number that is computed from counts: at least and at most so much,
/// or exactly.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    pub name: String,
    /// An expression over the shape and the counts.
    pub value: Expression,
    /// Unit of the value, such as `sectors per request`.
    pub unit: String,
    pub at_most: Option<Expression>,
    pub at_least: Option<Expression>,
    pub exactly: Option<Expression>,
}

/// Decimals of a number that would look like its bound with fewer.
const MOST_DECIMALS: usize = 9;

/// Arithmetic over names.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expression {
    Number(f64),
    /// See [`expression::Expression`].
    Text(String),
}

fn oldest() -> String {
    record::COMMITTED_COMPUTE.to_owned()
}

fn expected() -> String {
    "expected".to_owned()
}

impl Check {
    /// Reads it, and looks for what no field's type can say.
    pub fn parse(text: &str) -> Result<Check> {
        let check: Check = toml::from_str(text)?;
        let hints = check.hints.len();
        ensure!(hints == HINTS, "`hints` has {hints} texts; expected {HINTS}");
        for (name, buffer) in &check.buffers {
            let computed = check.expected.iter().any(|e| e.result == *name);
            ensure!(
                computed || !buffer.result,
                "buffer {name}: `result = true`, and no `[[expected]]` computes it"
            );
            ensure!(
                buffer.result || !computed,
                "buffer {name}: an `[[expected]]` computes it, which needs `result = true`"
            );
            let measured = Some(&check.measure).filter(|shape| !shape.is_empty());
            for shape in check.shapes.iter().chain(measured) {
                buffer.sizes(name, shape)?;
            }
        }
        for Demand { name, at_most, at_least, exactly, .. } in &check.demands {
            let bounds = (at_least.is_some() || at_most.is_some(), exactly.is_some());
            ensure!(
                bounds.0 != bounds.1,
                "demand {name}: it has `at_least`, `at_most` or both, or `exactly`"
            );
        }
        for (name, reason) in check.reasons() {
            let (row, _) = reason.split_once(": ").unwrap_or((reason, ""));
            let demands = check.demands.iter().map(|demand| demand.name.as_str());
            let rows: Vec<_> = ROWS.into_iter().chain(demands).collect();
            ensure!(
                rows.contains(&row),
                "{name} fails in the row `{row}`; expected one of {}",
                rows.join(", ")
            );
        }
        for name in check.mistakes.keys() {
            let is_file = check.fails.contains_key(name) || name == "solution";
            ensure!(!is_file, "`mistakes.{name}`: there is a file of this name");
        }
        Ok(check)
    }

    /// Why what has to fail does, by name: the start, the files in `wrong/`, and the mistakes.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.fails.iter().map(|(name, why)| (name.as_str(), why.as_str()));
        let mistakes = self.mistakes.iter();
        files.chain(mistakes.map(|(name, m)| (name.as_str(), m.fails.as_str())))
    }
}

impl Buffer {
    /// Sizes in each dimension, at those of a shape.
    pub fn sizes(&self, name: &str, shape: &BTreeMap<String, u64>) -> Result<Vec<u64>> {
        let sizes = self.size.iter().map(|size| size.count(shape));
        let sizes = sizes.collect::<Result<Vec<_>>>().with_context(|| format!("buffer {name}"))?;
        let bytes = self.element.bytes() as u64;
        let bytes = sizes.iter().try_fold(bytes, |all, size| all.checked_mul(*size));
        ensure!(
            bytes.is_some_and(|bytes| bytes <= MOST_BYTES),
            "buffer {name}: it has more than {} MiB{}",
            MOST_BYTES >> 20,
            match shape.is_empty() {
                true => String::new(),
                false => format!(" with {}", crate::trial::of(shape)),
            }
        );
        Ok(sizes)
    }
}

impl Mistake {
    /// The source with it, from the one without.
    pub fn apply(&self, source: &str) -> Result<String> {
        let mut changed = source.to_owned();
        for [old, new] in &self.changes {
            let lines: Vec<String> = changed
                .match_indices(old)
                .map(|(at, _)| (changed[..at].matches('\n').count() + 1).to_string())
                .collect();
            ensure!(
                lines.len() == 1,
                "`{}` has to be in the {} exactly once, comments counted; it is {}",
                old.trim(),
                self.of.name(),
                match lines.is_empty() {
                    true => "not there".to_owned(),
                    false => format!("in lines {}", lines.join(" and ")),
                }
            );
            changed = changed.replacen(old, new, 1);
        }
        Ok(changed)
    }
}

impl Demand {
    /// Whether it is met, and what to say of it; `of` gives the value of a name.
    pub fn judge(&self, of: impl Fn(&str) -> Option<f64>) -> Result<(bool, String)> {
        let value = |expression: &Expression| {
            let value = expression.value(&of);
            value.with_context(|| format!("demand {}", self.name))
        };
        let found = value(&self.value)?;
        let bounds = [
            (&self.at_least, "at least", f64::ge as fn(&f64, &f64) -> bool),
            (&self.at_most, "at most", f64::le),
            (&self.exactly, "exactly", f64::eq),
        ];
        let (mut is_met, mut words) = (true, vec![]);
        let mut decimals = decimals_of(found);
        for (bound, word, holds) in bounds {
            let Some(bound) = bound else { continue };
            let bound = value(bound)?;
            let (meets, mut of_bound) = (holds(&found, &bound), decimals_of(bound));
            is_met &= meets;
            // What does not hold must be seen: not "4.00, at most 4".
            while !meets
                && decimals < MOST_DECIMALS
                && holds(&rounded(found, decimals), &rounded(bound, of_bound))
            {
                decimals += 1;
                of_bound = if bound.fract() == 0.0 { 0 } else { decimals };
            }
            words.push(format!("{word} {}", units::grouped(&format!("{bound:.of_bound$}"))));
        }
        let (found, words) = (units::grouped(&format!("{found:.decimals$}")), words.join(" and "));
        let unit = match found.as_str() {
            "1" => singular(&self.unit),
            _ => self.unit.clone(),
        };
        Ok((is_met, format!("{found} {unit}, {words}")))
    }
}

/// `copies per step` for one: `copy per step`; `pages are read`: `page is read`; `wide loads`:
/// `wide load`.
pub fn singular(unit: &str) -> String {
    let plural = unit.split(' ').take(2).find(|word| word.ends_with('s')).unwrap_or_default();
    let (before, rest) = unit.split_once(plural).unwrap_or_default();
    let one = match plural {
        word if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        word if word.ends_with("ches") || word.ends_with("sses") => {
            word[..word.len() - 2].to_owned()
        }
        word => word.strip_suffix('s').unwrap_or(word).to_owned(),
    };
    before.to_owned() + &one + &rest.replacen(" are ", " is ", 1)
}

/// Decimals of a number that one can use.
fn decimals_of(value: f64) -> usize {
    match value.abs() {
        _ if value.fract() == 0.0 => 0,
        100.0.. => 1,
        _ => 2,
    }
}

/// What it reads as, with so many decimals.
fn rounded(value: f64, decimals: usize) -> f64 {
    let scale = 10f64.powi(decimals as i32);
    (value * scale).round() / scale
}

impl Expression {
    /// Value of the expression, where `of` gives that of a name.
    pub fn value(&self, of: impl Fn(&str) -> Option<f64>) -> Result<f64> {
        let text = match self {
            Expression::Number(number) => return Ok(*number),
            Expression::Text(text) => text,
        };
        let value = expression::Expression::parse(text).and_then(|expression| {
            expression.value(|operand| match operand {
                Operand::Name(name) => {
                    let of_all = if text == name { "" } else { &format!("`{text}`: ") };
                    of(name).ok_or_else(|| format!("{of_all}what is `{name}`?"))
                }
                Operand::Query(_) => Err(format!("`{text}`: there are no queries here")),
            })
        });
        value.map_err(|e| anyhow!(e))
    }

    /// What it is computed from: names, and numbers.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let text = match self {
            Expression::Number(_) => "",
            Expression::Text(text) => text,
        };
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
    }

    /// Whether it is computed from what has this name.
    pub fn names(&self, name: &str) -> bool {
        self.words().any(|word| word == name)
    }

    /// Value as a count, over the names of a shape. What a division leaves is dropped, as in C:
    /// `(n + 255) / 256`.
    pub fn count(&self, shape: &BTreeMap<String, u64>) -> Result<u64> {
        let mut value = self.value(|name| Some(*shape.get(name)? as f64))?;
        if matches!(self, Expression::Text(text) if text.contains('/')) {
            value = value.floor();
        }
        let text = match self {
            Expression::Text(text) if text.parse() != Ok(value) => {
                format!("`{text}` is {value}, which")
            }
            _ => value.to_string(),
        };
        ensure!(
            value >= 0.0 && value.fract() == 0.0 && value < 2f64.powi(40),
            "{text} is no count{}",
            if value > 0.0 && value.fract() > 0.0 {
                ": round it with ceil() or floor()"
            } else {
                ""
            }
        );
        Ok(value as u64)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Number(number) => number.fmt(f),
            Expression::Text(text) => f.write_str(text.trim()),
        }
    }
}

impl Element {
    pub fn bytes(self) -> usize {
        match self {
            Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_just_too_large_looks_too_large() {
        let demand = |most| Demand {
            name: "loads".to_owned(),
            value: Expression::Text("loads".to_owned()),
            unit: "sectors".to_owned(),
            at_most: Some(Expression::Number(most)),
            at_least: None,
            exactly: None,
        };
        for (found, most, met, text) in [
            (4.0, 4.0, true, "4 sectors, at most 4"),
            (3.999, 4.0, true, "4.00 sectors, at most 4"),
            (4.0004, 4.0, false, "4.0004 sectors, at most 4"),
            (4.06, 4.0, false, "4.06 sectors, at most 4"),
            (1.068, 1.066, false, "1.068 sectors, at most 1.066"),
            (4.0, 3.999, false, "4.000 sectors, at most 3.999"),
        ] {
            let judged = demand(most).judge(|_| Some(found)).ok();
            assert_eq!(judged, Some((met, text.to_owned())));
        }
    }

    #[test]
    fn what_is_declared_wrong_is_told_with_what_is_expected() {
        let good = "minutes = 1\nlevel = \"hard\"\nhints = [\"\", \"\", \"\"]\n\
                    fails.start = \"result: 1\"\n[buffers]\n\
                    out = { type = \"u32\", size = [1], result = true }\n\
                    [[expected]]\nresult = \"out\"\narguments = []\n";
        assert!(Check::parse(good).is_ok());
        for (from, to, said) in [
            (", \"\"]", "]", "`hints` has 2 texts; expected 3"),
            (
                "result: 1",
                "results: 1",
                "start fails in the row `results`; expected one of \
                 result, races, order, sharing, compiles",
            ),
            (
                ", result = true",
                "",
                "buffer out: an `[[expected]]` computes it, which needs `result = true`",
            ),
            (
                "[[expected]]\nresult = \"out\"\narguments = []\n",
                "",
                "buffer out: `result = true`, and no `[[expected]]` computes it",
            ),
        ] {
            let error = Check::parse(&good.replace(from, to)).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
        let changes = vec![["a".to_owned(), "b".to_owned()]];
        let mistake = Mistake { fails: String::new(), of: Source::Start, changes };
        let said =
            "`a` has to be in the start exactly once, comments counted; it is in lines 1 and 2";
        assert_eq!(mistake.apply("a\na").unwrap_err().to_string(), said);
    }

    #[test]
    fn a_name_that_means_nothing_is_asked_for_once() {
        for (text, said) in [("inn", "what is `inn`?"), ("2 * m", "`2 * m`: what is `m`?")] {
            let unknown = Expression::Text(text.to_owned()).value(|_| None);
            assert_eq!(unknown.unwrap_err().to_string(), said);
        }
    }
}
