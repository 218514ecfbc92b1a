//! `check.toml`: what a solution has to do.
//!
//! Numbers are expressions over the names of the shape, such as `ceil(columns / 32)`.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, ensure};
use report::expression::{self, Operand};
use serde::Deserialize;

/// Hints of each exercise.
pub const HINTS: usize = 3;

/// What a solution has to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// How long it takes one who has read the page.
    pub minutes: u32,
    /// A question; the failing line and what to count there; a skeleton.
    pub hints: Vec<String>,
    /// Compute capability to compile for, if it needs more than the oldest.
    #[serde(default = "oldest")]
    pub compute: String,
    /// Memory that the kernels work on, by name.
    pub buffers: BTreeMap<String, Buffer>,
    /// What is launched, in this order.
    pub launches: Vec<Launch>,
    /// Launches that compute what results have to be.
    pub expected: Vec<Expected>,
    /// Sizes to try, each a number for each name; the last one is the one that is counted.
    pub shapes: Vec<BTreeMap<String, u64>>,
    /// What the counts have to be.
    #[serde(default)]
    pub demands: Vec<Demand>,
    /// Why the start and each mistake in `wrong/` fail: `ROW: what its text contains`.
    pub fails: BTreeMap<String, String>,
}

/// Memory of the device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// What it holds.
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
    /// How far a result may be off, relative to what it has to be (or to 1 if that is less).
    #[serde(default)]
    pub tolerance: f64,
}

/// Types of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // as in Rust
pub enum Element {
    U8,
    I32,
    U32,
    U64,
    F32,
    F64,
}

/// What a buffer holds before the first launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// Zeros.
    Zero,
    /// 0, 1, 2, …
    Index,
    /// Multiples of 1/1024 from -1 to 1, of which thousands have an exact sum; or 0 to 255.
    Random,
    /// 0, 1, 2, … in a random order.
    Permutation,
    /// Random integers from 0 on, and less than this.
    Below(Expression),
}

/// A launch of a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Its name in the source.
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
    /// The buffer that it computes.
    pub result: String,
    /// The kernel.
    #[serde(default = "expected")]
    pub kernel: String,
    /// As those of a launch. The kernel gets buffers of its own, filled in the same way.
    pub arguments: Vec<String>,
}

/// What a count has to be, or a number that is computed from counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// The row's name.
    pub name: String,
    /// An expression over the shape and the counts, see [`crate::kernel::COUNTS`].
    pub value: Expression,
    /// Of the value, such as `sectors per request`.
    pub unit: String,
    /// What it may be.
    pub at_most: Option<Expression>,
    /// What it may be.
    pub at_least: Option<Expression>,
    /// What it has to be.
    pub exactly: Option<Expression>,
}

/// Arithmetic over names.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expression {
    /// A number as it is.
    Number(u64),
    /// See [`expression::evaluate`].
    Text(String),
}

fn oldest() -> String {
    lab::kernel::COMMITTED_COMPUTE.to_owned()
}

fn expected() -> String {
    "expected".to_owned()
}

impl Check {
    /// Reads it, and looks for what no field's type can say.
    pub fn parse(text: &str) -> Result<Check> {
        let check: Check = toml::from_str(text)?;
        ensure!(check.hints.len() == HINTS, "there are not {HINTS} hints");
        ensure!(!check.shapes.is_empty(), "there is no shape");
        for (name, buffer) in &check.buffers {
            let computed = check.expected.iter().any(|e| e.result == *name);
            ensure!(
                computed == buffer.result,
                "buffer {name}: `result` and `[[expected]]` disagree"
            );
        }
        for Demand { name, at_most, at_least, exactly, .. } in &check.demands {
            let bounds = [at_most, at_least, exactly];
            let bounds = bounds.into_iter().flatten().count();
            ensure!(bounds == 1, "demand {name}: it has {bounds} bounds, not one");
        }
        Ok(check)
    }
}

impl Expression {
    /// Its value, where `of` gives that of a name.
    pub fn value(&self, of: impl Fn(&str) -> Option<f64>) -> Result<f64> {
        let text = match self {
            Expression::Number(number) => return Ok(*number as f64),
            Expression::Text(text) => text,
        };
        let value = expression::evaluate(text, true, |operand| match operand {
            Operand::Name(name) => {
                of(name).ok_or_else(|| format!("`{text}`: what is `{name}`?"))
            }
            Operand::Query(_) => Err(format!("`{text}`: there are no queries here")),
        });
        value.map_err(|e| anyhow!(e))
    }

    /// Its value as a count, over the names of a shape.
    pub fn count(&self, shape: &BTreeMap<String, u64>) -> Result<u64> {
        let value = self.value(|name| Some(*shape.get(name)? as f64))?;
        ensure!(
            value >= 0.0 && value.fract() == 0.0 && value < 2f64.powi(40),
            "`{self:?}` is {value}, which is no count"
        );
        Ok(value as u64)
    }
}

impl Element {
    /// Bytes of one.
    pub fn bytes(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::U64 | Element::F64 => 8,
        }
    }
}
