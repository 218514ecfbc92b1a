//! Some of a record's measurements, chosen by case and parameters.

use std::collections::{BTreeMap, BTreeSet};

use record::{Measurement, Parameter, Record, Skipped};
use serde::{Deserialize, Serialize};

/// Some of a record's measurements: those that have one of the listed values for each
/// parameter, where `-` stands for not having it. The case stands among the parameters as
/// [`CASE`]. In blocks it is the table `where`: a value for each parameter, or a list of
/// values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(from = "BTreeMap<String, Given>")]
pub struct Filter(BTreeMap<String, Vec<Parameter>>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    One(Parameter),
    Any(Vec<Parameter>),
}

impl From<BTreeMap<String, Given>> for Filter {
    fn from(table: BTreeMap<String, Given>) -> Filter {
        let read = |given: &Parameter| value(&given.to_string());
        let values = |given: Given| match given {
            Given::One(one) => vec![read(&one)],
            Given::Any(any) => any.iter().map(read).collect(),
        };
        Filter(table.into_iter().map(|(key, given)| (key, values(given))).collect())
    }
}

impl Filter {
    /// Lets through only `value` of parameter `key`; returns what it let through before.
    pub fn insert(&mut self, key: &str, value: Parameter) -> Option<Vec<Parameter>> {
        self.0.insert(key.to_owned(), vec![value])
    }

    /// Lets through what has the case and the parameters of `m`.
    pub fn like(m: &Measurement) -> Filter {
        let case = (CASE.to_owned(), Parameter::Name(m.case.clone()));
        let all = m.parameters.clone().into_iter().chain([case]);
        Filter(all.map(|(key, value)| (key, vec![value])).collect())
    }

    /// Both filters; where both speak of a parameter, `other` does.
    pub fn and(&self, other: &Filter) -> Filter {
        Filter(self.0.clone().into_iter().chain(other.0.clone()).collect())
    }

    /// The chosen measurements, in the record's order; at least one.
    pub fn choose<'r>(&self, record: &'r Record) -> Result<Vec<&'r Measurement>, String> {
        let mut chosen: Vec<&Measurement> = record.measurements.iter().collect();
        // The case first: other parameters mean something within it.
        let mut steps: Vec<_> = self.0.iter().collect();
        steps.sort_by_key(|(key, _)| *key != CASE);
        for (key, values) in steps {
            let before = distinct(&chosen, key);
            chosen.retain(|m| {
                let value = parameter(m, key);
                values.contains(&value.unwrap_or_else(|| ABSENT.into()))
            });
            if chosen.is_empty() {
                let there_is = match before.as_slice() {
                    [] => format!("there is no parameter `{key}`"),
                    before => {
                        let why = self.why_missing(record, key).unwrap_or_default();
                        format!("`{key}` is {}{why}", list(before))
                    }
                };
                let machine = &record.machine.name;
                return Err(format!("matches none on `{machine}`: {there_is}"));
            }
        }
        if chosen.is_empty() {
            return Err("the record has no measurement".to_owned());
        }
        Ok(chosen)
    }

    /// An error if one of several values of a parameter chooses nothing, and nothing that was
    /// skipped either: a misspelt one would be silent.
    pub fn check(&self, record: &Record, chosen: &[&Measurement]) -> Result<(), String> {
        for (key, values) in self.0.iter().filter(|(_, values)| values.len() > 1) {
            let mut there = distinct(chosen, key);
            if chosen.iter().any(|m| parameter(m, key).is_none()) {
                there.push(ABSENT.into());
            }
            for value in values.iter().filter(|value| !there.contains(value)) {
                let alone = Filter(BTreeMap::from([(key.clone(), vec![value.clone()])]));
                if self.and(&alone).skipped(record).is_empty() {
                    let (machine, there) = (&record.machine.name, list(&there));
                    return Err(format!(
                        "where: `{value}` matches none on `{machine}`: `{key}` is {there}"
                    ));
                }
            }
        }
        Ok(())
    }

    pub fn choose_one<'r>(&self, record: &'r Record) -> Result<&'r Measurement, String> {
        only(&self.choose(record)?)
    }

    /// The filter with sizes that the record has, where it has none of those that are wanted: in
    /// place of one the largest, in place of several all. Which one it was is said, too.
    pub fn fitted(&self, record: &Record) -> (Filter, Vec<(String, Parameter)>) {
        let (mut fitted, mut others) = (self.clone(), vec![]);
        let is_integer = |value: &Parameter| value.integer().is_some();
        let sizes = self.0.iter().filter(|(_, wanted)| wanted.iter().all(is_integer));
        for (key, wanted) in sizes {
            let without = Filter(fitted.0.clone().into_iter().filter(|(k, _)| k != key).collect());
            let Ok(chosen) = without.choose(record) else { continue };
            let mut there = distinct(&chosen, key);
            there.retain(is_integer);
            if there.iter().any(|value| wanted.contains(value)) {
                continue;
            }
            if let (1, Some(largest)) = (wanted.len(), there.iter().max().cloned()) {
                others.push((key.clone(), largest.clone()));
                there = vec![largest];
            }
            fitted.0.insert(key.clone(), there);
        }
        (fitted, others)
    }

    /// The reason for which no measurement has the wanted `key`, if the record gives one.
    fn why_missing(&self, record: &Record, key: &str) -> Option<String> {
        let told = |skipped: &&Skipped| key == CASE || skipped.parameters.contains_key(key);
        let skipped = self.skipped(record).into_iter().find(told)?;
        Some(format!("; skipped: {}", skipped.reason))
    }

    /// What would have been chosen, but could not be measured.
    pub fn skipped<'r>(&self, record: &'r Record) -> Vec<&'r Skipped> {
        let chosen = |skipped: &&Skipped| {
            self.0.iter().all(|(key, values)| match key.as_str() {
                CASE => values.contains(&skipped.case.as_str().into()),
                key => skipped.parameters.get(key).is_none_or(|v| values.contains(v)),
            })
        };
        record.skipped.iter().filter(chosen).collect()
    }
}

/// In a filter, the value of a parameter that a measurement does not have.
const ABSENT: &str = "-";

/// In blocks, the name under which the case stands among the parameters.
pub const CASE: &str = "case";

/// The parameter `key` of a measurement, or its case.
pub fn parameter(measurement: &Measurement, key: &str) -> Option<Parameter> {
    if key == CASE {
        Some(Parameter::Name(measurement.case.clone()))
    } else {
        measurement.parameters.get(key).cloned()
    }
}

/// The values of `key`, each once, in the order of `measurements`.
pub fn distinct(measurements: &[&Measurement], key: &str) -> Vec<Parameter> {
    let mut seen = BTreeSet::new();
    let values = measurements.iter().filter_map(|m| parameter(m, key));
    values.filter(|value| seen.insert(value.clone())).collect()
}

/// The only one of `measurements`; the error names what tells several apart.
pub fn only<'r>(measurements: &[&'r Measurement]) -> Result<&'r Measurement, String> {
    match measurements {
        [] => return Err("there is no measurement".to_owned()),
        [one] => return Ok(one),
        _ => {}
    }
    let keys: BTreeSet<&str> = measurements
        .iter()
        .flat_map(|m| m.parameters.keys().map(String::as_str))
        .chain([CASE])
        .collect();
    // A parameter that only some have tells them apart as well.
    let differs = |key: &&str| {
        let first = measurements.first().and_then(|m| parameter(m, key));
        measurements.iter().any(|m| parameter(m, key) != first)
    };
    let keys: Vec<String> = keys.into_iter().filter(differs).map(quoted).collect();
    Err(format!("matches {}: give also {}", measurements.len(), keys.join(", ")))
}

/// The value that `text` writes: an integer, with `KiB`, `MiB` or `GiB` if it is a
/// size, or else a name.
pub fn value(text: &str) -> Parameter {
    let (digits, unit) = [("KiB", 1u64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
        .into_iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))
        .unwrap_or((text, 1));
    match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)) {
        Some(integer) => Parameter::Integer(integer),
        None => Parameter::Name(text.to_owned()),
    }
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("`{text}`")
}

/// At most a dozen values, for an error.
fn list(values: &[Parameter]) -> String {
    let shown: Vec<String> = values.iter().take(12).map(quoted).collect();
    let more = if values.len() > shown.len() { ", …" } else { "" };
    shown.join(", ") + more
}
