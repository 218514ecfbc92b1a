//! The named numbers of a page: each stands for one query, or is computed from others.
//!
//! ```toml
//! experiment = "host-memory"
//! [pinned]
//! is = "host-memory copy kind=pinned direction=host_to_device bytes=1GiB : bandwidth"
//! [speedup]
//! expression = "pinned / pageable"
//! unit = "×"
//! ```

use std::collections::{BTreeMap, BTreeSet};

use fasteval::{Evaler, Parser, Slab};
use serde::Deserialize;

use crate::block;
use crate::query::Query;
use crate::records::{self, Both, Machine, Records};
use crate::unit::Unit;

/// The quantities of one page, before they are evaluated.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// The page's experiment, if it names one.
    pub experiment: Option<String>,
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    is: Option<String>,
    expression: Option<String>,
    unit: Option<Unit>,
}

/// A number with its unit, on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its unit.
    pub unit: Unit,
    /// Its value.
    pub value: Both<f64>,
}

/// Names that mean something else in an expression or between double braces.
const TAKEN: &str = "abs acos acosh asin asinh atan atanh ceil cos cosh e errata floor \
    int log max min pi print provenance round sign sin sinh tan tanh";

impl Definitions {
    /// Adds a `quantities` block.
    pub fn add(&mut self, toml: &str) -> Result<(), String> {
        let mut block: toml::Table = block::parse(toml)?;
        match block.remove("experiment") {
            None => {}
            Some(toml::Value::String(name)) if self.experiment.is_none() => {
                self.experiment = Some(name);
            }
            Some(_) => return Err("`experiment` must be one name, once".to_owned()),
        }
        for (name, entry) in block {
            let plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_lowercase())
                || !name.chars().all(plain)
            {
                return Err(format!(
                    "`{name}`: take lower-case letters, digits and _"
                ));
            }
            if TAKEN.split_whitespace().any(|taken| taken == name) {
                return Err(format!("`{name}` means something else already"));
            }
            let entry = entry.try_into().map_err(|e: toml::de::Error| {
                format!("`{name}`: {}", e.message())
            })?;
            if self.entries.insert(name.clone(), entry).is_some() {
                return Err(format!("`{name}` is defined twice on this page"));
            }
        }
        Ok(())
    }

    /// Whether there is a quantity called `name`, with a value or without.
    pub fn define(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The reference machines that queries name.
    pub fn machines(&self) -> BTreeSet<String> {
        let queries = self.entries.values().filter_map(|entry| entry.is.as_ref());
        let queries = queries.filter_map(|is| self.query(is).ok());
        queries.filter_map(|query| Some(query.on()?.to_owned())).collect()
    }

    /// Every quantity that has a value on the reference machines, and why the others
    /// have none.
    pub fn evaluate(
        &self,
        records: &Records,
    ) -> (BTreeMap<String, Quantity>, Vec<String>) {
        let (mut quantities, mut problems) = (BTreeMap::new(), vec![]);
        let reference = self.on(&records.references());
        let here = records.here.as_ref().map(|machine| self.on(&[machine]));
        let value_here = |name: &str| Some(here.as_ref()?[name].as_ref().ok()?.0);
        for (name, found) in &reference {
            match (found, self.unit(name)) {
                (Ok((value, from)), Ok(unit)) => {
                    let value =
                        records.beside(*value, from.clone(), |_| value_here(name));
                    quantities.insert(name.clone(), Quantity { unit, value });
                }
                (Err(Problem::Elsewhere), _) => {}
                (Err(Problem::Here(problem)), _) => {
                    problems.push(format!("`{name}`: {problem}"));
                }
                (Ok(_), Err(problem)) => {
                    problems.push(format!("`{name}`: {problem}"))
                }
            }
        }
        (quantities, problems)
    }

    fn unit(&self, name: &str) -> Result<Unit, String> {
        let Entry { is, unit, .. } = &self.entries[name];
        let natural =
            is.as_ref().map(|is| self.query(is)).transpose()?.map(|q| q.unit());
        match (natural, unit) {
            // A plain number may be given a word; a bandwidth stays a bandwidth.
            (Some(natural), Some(unit))
                if natural != *unit && natural != Unit::Number =>
            {
                Err(format!("is in `{}`, not `{}`", natural.symbol(), unit.symbol()))
            }
            (_, Some(unit)) => Ok(unit.clone()),
            (Some(natural), None) => Ok(natural),
            (None, None) => Err("an expression needs a `unit`".to_owned()),
        }
    }

    fn query(&self, is: &str) -> Result<Query, String> {
        Query::parse(is, self.experiment.as_deref())
    }

    /// Every quantity on one side, of `machines`.
    fn on(&self, machines: &[&Machine]) -> Values {
        let mut found = Values::new();
        for name in self.entries.keys() {
            self.find(name, machines, &mut vec![], &mut found);
        }
        found
    }

    /// Puts the value of `name` into `found`. `asking` are the names whose expressions
    /// led here.
    fn find(
        &self,
        name: &str,
        machines: &[&Machine],
        asking: &mut Vec<String>,
        found: &mut Values,
    ) {
        if found.contains_key(name) {
            return;
        }
        let entry = &self.entries[name];
        asking.push(name.to_owned());
        let value = match (&entry.is, &entry.expression) {
            (Some(is), None) => self
                .query(is)
                .and_then(|query| query.value(machines))
                .map(|(value, machine)| (value, records::from(machine)))
                .map_err(Problem::Here),
            (None, Some(expression)) => {
                self.compute(expression, machines, asking, found)
            }
            _ => Err(Problem::Here("give either `is` or `expression`".to_owned())),
        };
        asking.pop();
        found.insert(name.to_owned(), value);
    }

    fn compute(
        &self,
        expression: &str,
        machines: &[&Machine],
        asking: &mut Vec<String>,
        found: &mut Values,
    ) -> Result<Value, Problem> {
        let expression = Expression::parse(expression).map_err(Problem::Here)?;
        let (mut values, mut all) = (BTreeMap::new(), BTreeSet::new());
        for name in expression.names() {
            if let Some(start) = asking.iter().position(|asked| *asked == name) {
                let circle = asking[start..].join("` needs `");
                let problem = format!("goes in a circle: `{circle}` needs `{name}`");
                return Err(Problem::Here(problem));
            }
            if !self.entries.contains_key(&name) {
                let problem = format!("there is no quantity `{name}` on this page");
                return Err(Problem::Here(problem));
            }
            self.find(&name, machines, asking, found);
            let Ok((value, from)) = &found[&name] else {
                return Err(Problem::Elsewhere);
            };
            values.insert(name, *value);
            all.extend(from);
        }
        let value = expression.value(&mut values).map_err(Problem::Here)?;
        Ok((value, all))
    }
}

/// A number, and the places of the reference machines that it comes from.
type Value = (f64, BTreeSet<usize>);
type Values = BTreeMap<String, Result<Value, Problem>>;

/// Why a quantity has no value.
enum Problem {
    /// Its own fault.
    Here(String),
    /// One that it needs has none; that one tells why.
    Elsewhere,
}

/// Arithmetic on named numbers.
pub struct Expression {
    text: String,
    slab: Slab,
    root: fasteval::ExpressionI,
}

impl Expression {
    /// Parses `text`.
    pub fn parse(text: &str) -> Result<Expression, String> {
        let mut slab = Slab::new();
        let root = Parser::new()
            .parse(text, &mut slab.ps)
            .map_err(|e| format!("`{text}`: {e}"))?;
        Ok(Expression { text: text.to_owned(), slab, root })
    }

    /// The names it needs.
    fn names(&self) -> BTreeSet<String> {
        self.root.from(&self.slab.ps).var_names(&self.slab)
    }

    /// Its value, which is finite.
    pub fn value(&self, names: &mut BTreeMap<String, f64>) -> Result<f64, String> {
        let value = self
            .root
            .from(&self.slab.ps)
            .eval(&self.slab, names)
            .map_err(|e| format!("`{}`: {e}", self.text))?;
        if value.is_finite() {
            Ok(value)
        } else {
            Err(format!("`{}` is not a finite number", self.text))
        }
    }
}
