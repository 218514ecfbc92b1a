//! What a page shows of an experiment before anything is unfolded: `book/shown.json`, which
//! `cargo workbook build` writes for the experiments' programs.

use std::collections::BTreeMap;

use record::expression::{Expression, Operand};
use record::{Measurement, Parameter, Record};
use serde::{Deserialize, Serialize};

use crate::machine::FACTS;
use crate::metric::Metric;
use crate::names::Names;
use crate::select::{self, Filter};
use crate::unit::Unit;

/// The file in the book's folder.
pub const FILE: &str = "shown.json";

/// The pages that show an experiment, by its name, in the book's order.
pub type Pages = BTreeMap<String, Vec<Page>>;

/// What one page shows of its experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Its file's name without `.md`.
    pub name: String,
    /// Its charts and tables, in its order.
    pub tables: Vec<Table>,
    /// What it asks for a number.
    pub questions: Vec<Question>,
    /// Its expressions that are needed here, by their names.
    pub quantities: BTreeMap<String, String>,
    /// What stands in brackets in those.
    pub queries: BTreeMap<String, Query>,
}

/// A chart or a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The page's words.
    pub title: String,
    /// What the title says; nothing if one run of one experiment does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Comparison>,
    #[serde(rename = "where")]
    pub filter: Filter,
    /// The parameters that make a row; or its rows are `panels`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Key>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panels: Vec<Panel>,
    /// The parameter that tells one column from the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Key>,
    /// What is shown of each case: one number, if there are `columns`.
    pub values: Vec<Value>,
    /// What changes from a case to the one that it is divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Filter>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<Parameter>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    pub of: String,
    pub heading: String,
    #[serde(default, skip_serializing_if = "Kind::is_usual")]
    pub kind: Kind,
}

/// How a parameter's values stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// As they were measured.
    #[default]
    Measured,
    /// Numbers rise.
    Rising,
    /// Numbers rise, and labels are not of them.
    Axis,
}

impl Kind {
    fn is_usual(&self) -> bool {
        *self == Kind::Measured
    }
}

/// A case that has a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    pub label: String,
    #[serde(rename = "where")]
    pub filter: Filter,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub of: Metric,
    pub heading: String,
}

/// What the reader was asked to predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub question: String,
    /// The quantity that answers it.
    pub answer: String,
    pub unit: String,
    /// The unit that the reader was asked for.
    pub typed: String,
}

/// A difference of two expressions, and what it is to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub difference: String,
    pub sign: Sign,
}

/// How a difference compares with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sign {
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = ">")]
    More,
}

impl Sign {
    /// All of them as they are written; of two that begin alike, the longer first.
    pub const ALL: [(&str, Sign); 4] =
        [("<=", Sign::AtMost), (">=", Sign::AtLeast), ("<", Sign::Less), (">", Sign::More)];

    /// Whether a difference is as the sign says.
    pub fn holds(self, difference: f64) -> bool {
        match self {
            Sign::AtMost => difference <= 0.0,
            Sign::AtLeast => difference >= 0.0,
            Sign::Less => difference < 0.0,
            Sign::More => difference > 0.0,
        }
    }
}

/// A number of one run of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// Of the only case.
    One(Filter, Metric),
    /// The largest of several cases.
    Max(Filter, Metric),
    /// The smallest.
    Min(Filter, Metric),
    /// A fact about the machine.
    Machine(String),
    /// The same on all machines.
    Number(f64),
}

impl Query {
    /// Its value in a run. The error is for whoever has run the experiment.
    pub fn value(&self, record: &Record) -> Result<f64, String> {
        let none = |_| "it has none of the cases that this is about".to_owned();
        let in_run = |of: &Metric, m: &Measurement| match of.in_run(record, m) {
            Ok((value, ..)) => Ok(value),
            Err(_) => Err(format!("such a case has no {} in it", of.name().replace('_', " "))),
        };
        let all = |filter: &Filter, of: &Metric, pick: fn(f64, f64) -> f64| {
            let chosen = filter.choose(record).map_err(none)?;
            let values = chosen.into_iter().map(|m| in_run(of, m));
            let values: Vec<f64> = values.collect::<Result<_, String>>()?;
            Ok(values.into_iter().reduce(pick).unwrap_or(f64::NAN))
        };
        match self {
            Query::One(filter, of) => in_run(of, filter.choose_one(record).map_err(none)?),
            Query::Max(filter, of) => all(filter, of, f64::max),
            Query::Min(filter, of) => all(filter, of, f64::min),
            Query::Machine(name) => {
                let fact = FACTS.iter().find(|(known, ..)| known == name);
                let value = fact.and_then(|(.., of)| of(record));
                value
                    .ok_or_else(|| format!("its machine has no {} to tell", name.replace('_', " ")))
            }
            Query::Number(value) => Ok(*value),
        }
    }

    fn needs_time(&self) -> bool {
        match self {
            Query::One(_, of) | Query::Max(_, of) | Query::Min(_, of) => of.needs_time(),
            Query::Machine(_) | Query::Number(_) => false,
        }
    }
}

impl Page {
    pub fn value(&self, expression: &str, record: &Record) -> Result<f64, String> {
        Expression::parse(expression)?.value(|operand| self.operand(operand, record))
    }

    fn operand(&self, operand: &Operand, record: &Record) -> Result<f64, String> {
        match operand {
            Operand::Name(name) => self.value(self.quantity(name)?, record),
            Operand::Query(text) => self.query(text)?.value(record),
        }
    }

    fn quantity(&self, name: &str) -> Result<&str, String> {
        let text = self.quantities.get(name).map(String::as_str);
        text.ok_or_else(|| format!("there is no quantity `{name}`"))
    }

    fn query(&self, text: &str) -> Result<&Query, String> {
        self.queries.get(text).ok_or_else(|| format!("there is no query `{text}`"))
    }

    /// Whether an expression has no value where there is no time.
    pub fn needs_time(&self, expression: &str) -> Result<bool, String> {
        for operand in Expression::parse(expression)?.operands() {
            let needs_time = match operand {
                Operand::Name(name) => self.needs_time(self.quantity(name)?)?,
                Operand::Query(text) => self.query(text)?.needs_time(),
            };
            if needs_time {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a run shows what the table's title says; none if nothing tells.
    pub fn agrees(&self, table: &Table, record: &Record) -> Option<bool> {
        let holds = |Comparison { difference, sign }: &Comparison| {
            Some(sign.holds(self.value(difference, record).ok()?))
        };
        let holds: Option<Vec<bool>> = table.holds.iter().map(holds).collect();
        let holds = holds.filter(|holds| !holds.is_empty())?;
        Some(holds.into_iter().all(|holds| holds))
    }
}

impl Question {
    /// The answer in the unit that the reader was asked for.
    pub fn print(&self, value: f64) -> Result<String, String> {
        let (unit, scale) = Unit::parse(&self.unit)?.as_typed(&self.typed)?;
        Ok(unit.print(value / scale))
    }
}

/// A case as a table shows it.
#[derive(Clone, Debug)]
pub struct Case<'r> {
    pub row: Vec<Label>,
    /// What makes its column, if several stand in a row.
    pub column: Option<Label>,
    pub measurement: &'r Measurement,
}

/// A parameter's value, and what it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// What the parameter is called.
    pub heading: String,
    pub text: String,
    pub is_number: bool,
}

impl Table {
    fn names(&self) -> Names<'_> {
        Names { labels: &self.labels, order: &self.order }
    }

    /// Its cases, row by row, as far as a run has them; and, where the run has other sizes, which.
    pub fn cases<'r>(&self, record: &'r Record) -> Result<(Vec<Case<'r>>, Vec<String>), String> {
        let (filter, others) = self.filter.fitted(record);
        let called = |(key, value): &(String, Parameter)| {
            format!("{} {}", key.replace('_', " "), self.names().value(key, value))
        };
        let others = others.iter().map(called).collect();
        if !self.panels.is_empty() {
            let case = |Panel { label, filter: own }: &Panel| {
                let measurement = filter.and(own).choose_one(record).ok()?;
                let (heading, text) = (String::new(), label.clone());
                let row = vec![Label { heading, text, is_number: false }];
                Some(Case { row, column: None, measurement })
            };
            return Ok((self.panels.iter().filter_map(case).collect(), others));
        }
        let mut chosen = filter.choose(record)?;
        let keys = || self.rows.iter().chain(&self.columns);
        let values: Vec<_> = keys().map(|key| select::distinct(&chosen, &key.of)).collect();
        let place = |m: &Measurement, Key { of, kind, .. }: &Key, values: &[Parameter]| {
            let value = select::parameter(m, of)?;
            let (given, size) = (self.names().place(&value), value.integer());
            let found = values.iter().position(|known| *known == value);
            Some((given, size.filter(|_| *kind != Kind::Measured), found))
        };
        chosen.sort_by_key(|m| {
            let places = keys().zip(&values).map(|(key, values)| place(m, key, values));
            places.collect::<Vec<_>>()
        });
        let named = self.names();
        let plain = Names { labels: &BTreeMap::new(), order: &[] };
        let label = |m: &Measurement, Key { of, heading, kind }: &Key| {
            let names = if *kind == Kind::Axis { &plain } else { &named };
            let value = select::parameter(m, of);
            let text = value.as_ref().map_or("–".to_owned(), |value| names.value(of, value));
            let is_number = value.is_some_and(|value| value.integer().is_some());
            Label { heading: heading.clone(), text, is_number }
        };
        let cases = chosen.into_iter().map(|m| Case {
            row: self.rows.iter().map(|key| label(m, key)).collect(),
            column: self.columns.as_ref().map(|key| label(m, key)),
            measurement: m,
        });
        Ok((cases.collect(), others))
    }

    /// What it shows of a case; none if the run has no such number.
    pub fn print(&self, value: &Value, record: &Record, m: &Measurement) -> Option<String> {
        let of = |m: &Measurement| Some(value.of.in_run(record, m).ok()?.0);
        match &self.over {
            None => Some(value.of.unit().print(of(m)?)),
            Some(over) => {
                let other = Filter::like(m).and(over).choose_one(record).ok()?;
                Some(Unit::Ratio.print(of(m)? / of(other)?))
            }
        }
    }
}
