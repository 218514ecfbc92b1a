//! What parameters, their values and metrics are called, and in which order they stand.

use std::collections::BTreeMap;

use record::{Measurement, Parameter, units};

use crate::metric::Metric;
use crate::select;
use crate::unit::Unit;

/// The names and the order that a block gives; what it does not name is called what the
/// record calls it, in words.
pub struct Names<'a> {
    /// Values to what they are called.
    pub labels: &'a BTreeMap<String, String>,
    /// Values in their order; others follow in the record's.
    pub order: &'a [Parameter],
}

/// The measurements of one value of a parameter.
pub struct Group<'r> {
    /// The value; none if all measurements are one group.
    pub value: Option<Parameter>,
    pub label: String,
    pub measurements: Vec<&'r Measurement>,
}

/// The values that make a row, and the measurements in it.
pub type OfARow<'r> = (Vec<Parameter>, Vec<&'r Measurement>);

impl Names<'_> {
    /// What `value` of parameter `key` is called.
    pub fn value(&self, key: &str, value: &Parameter) -> String {
        let given = self.labels.iter().find(|(text, _)| select::value(text) == *value);
        match (given, value) {
            (Some((_, label)), _) => label.clone(),
            (None, Parameter::Name(name)) => name.replace('_', " "),
            (None, Parameter::Integer(n)) if Unit::of_name(key) == Unit::Bytes => units::bytes(*n),
            (None, Parameter::Integer(n)) => n.to_string(),
        }
    }

    /// The place of `value` in the given order.
    pub fn place(&self, value: &Parameter) -> usize {
        let is = |given: &Parameter| select::value(&given.to_string()) == *value;
        self.order.iter().position(is).unwrap_or(usize::MAX)
    }

    /// What the values that make a row are called; `keys` are their parameters.
    pub fn values(&self, keys: &[String], row: &[Parameter]) -> Vec<String> {
        keys.iter().zip(row).map(|(key, value)| self.value(key, value)).collect()
    }

    /// The measurements of each value of `key`, under what the value is called, in order.
    /// Without a key all of them, under no name.
    pub fn groups<'r>(
        &self,
        measurements: &[&'r Measurement],
        key: Option<&str>,
    ) -> Vec<Group<'r>> {
        let Some(key) = key else {
            let (label, measurements) = (String::new(), measurements.to_vec());
            return vec![Group { value: None, label, measurements }];
        };
        let mut values = select::distinct(measurements, key);
        values.sort_by_key(|value| self.place(value));
        let with = |value: &Parameter| {
            let has = |m: &&Measurement| select::parameter(m, key).as_ref() == Some(value);
            measurements.iter().copied().filter(has).collect()
        };
        let group = |value: Parameter| Group {
            label: self.value(key, &value),
            measurements: with(&value),
            value: Some(value),
        };
        values.into_iter().map(group).collect()
    }

    /// The measurements of each row, under the values of `keys` that make it, in order.
    pub fn rows<'r>(
        &self,
        measurements: &[&'r Measurement],
        keys: &[String],
    ) -> Result<Vec<OfARow<'r>>, String> {
        let row = |m: &&'r Measurement| {
            let value = |key: &String| {
                select::parameter(m, key)
                    .ok_or_else(|| format!("rows: a measurement has no `{key}`"))
            };
            Ok::<_, String>((keys.iter().map(value).collect::<Result<Vec<_>, _>>()?, *m))
        };
        let mut rows = grouped(measurements.iter().map(row).collect::<Result<Vec<_>, String>>()?);
        rows.sort_by_key(|(values, _)| {
            values.iter().map(|value| self.place(value)).collect::<Vec<_>>()
        });
        Ok(rows)
    }
}

/// What has the same key together, in the order in which the keys come first.
pub fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = vec![];
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// What a parameter is called at the head of a column.
pub fn of_parameter(key: &str) -> String {
    capitalised(&key.replace('_', " "))
}

/// What a metric is called at the head of a column.
pub fn of_metric(metric: &Metric) -> String {
    match metric {
        Metric::Checked => "Elements checked".to_owned(),
        Metric::Bytes => "Bytes moved".to_owned(),
        Metric::Model(name) => format!("Model: {}", name.replace('_', " ")),
        Metric::Parameter(name) => of_parameter(name),
        plain => of_parameter(&plain.name()),
    }
}

/// `text` with a capital first letter.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}
