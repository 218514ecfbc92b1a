//! What parameters and their values are called in a chart or table, and in which order
//! they stand.

use std::collections::BTreeMap;

pub use record::names::did_you_mean;
use record::{Measurement, Parameter, units};
use serde::Deserialize;

use crate::html;
use crate::metric::Metric;
use crate::select::{self, CASE};
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
    /// What it is called.
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
        let mut rows: Vec<OfARow> = vec![];
        for m in measurements {
            let value = |key: &String| {
                select::parameter(m, key)
                    .ok_or_else(|| format!("rows: a measurement has no `{key}`"))
            };
            let values = keys.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            match rows.iter_mut().find(|(row, _)| *row == values) {
                Some((_, here)) => here.push(m),
                None => rows.push((values, vec![*m])),
            }
        }
        rows.sort_by_key(|(values, _)| {
            values.iter().map(|value| self.place(value)).collect::<Vec<_>>()
        });
        Ok(rows)
    }

    /// Labels and places must be of values that occur: a misspelt one would be silent.
    pub fn check(&self, measurements: &[&Measurement]) -> Result<(), String> {
        let occurs = |value: &Parameter| {
            measurements.iter().any(|m| {
                let mut keys = m.parameters.keys().map(String::as_str).chain([CASE]);
                keys.any(|key| select::parameter(m, key).as_ref() == Some(value))
            })
        };
        let ordered = self.order.iter().map(|v| ("order", v.to_string()));
        let labelled = self.labels.keys().map(|key| ("labels", key.clone()));
        for (what, text) in ordered.chain(labelled) {
            if !occurs(&select::value(&text)) {
                return Err(format!("{what}: no measurement has the value `{text}`"));
            }
        }
        Ok(())
    }
}

/// What a parameter is called at the head of a column.
pub fn of_parameter(key: &str) -> String {
    html::capitalised(&key.replace('_', " "))
}

/// What a metric is called at the head of a column.
pub fn of_metric(metric: &Metric) -> String {
    match metric {
        Metric::Checked => "Elements checked".to_owned(),
        Metric::Bytes => "Bytes moved".to_owned(),
        Metric::Peak => "Theoretical peak".to_owned(),
        Metric::Model(name) => format!("Model: {}", name.replace('_', " ")),
        Metric::Parameter(name) => of_parameter(name),
        plain => of_parameter(&plain.name()),
    }
}

/// `names.toml`: what parameters and metrics are called where a block does not say. What is not
/// there either is called what the record calls it, in words.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// At the heads of columns.
    #[serde(default)]
    headings: BTreeMap<String, String>,
    /// Along axes; without, as at the heads of columns.
    #[serde(default)]
    axes: BTreeMap<String, String>,
}

impl Defaults {
    /// Gives the axis of `key` a `label` where it has none; `else_called` if no file does.
    pub fn label(&self, label: &mut String, key: &str, else_called: String) {
        if label.is_empty() {
            let given = self.axes.get(key).or(self.headings.get(key));
            *label = given.cloned().unwrap_or(else_called);
        }
    }

    /// Gives those of the columns `keys` a heading that have none.
    pub fn head<'k>(
        &self,
        headings: &mut BTreeMap<String, String>,
        keys: impl Iterator<Item = &'k String>,
    ) {
        for (key, heading) in keys.filter_map(|key| self.headings.get_key_value(key)) {
            headings.entry(key.clone()).or_insert_with(|| heading.clone());
        }
    }
}

/// What a page calls a quantity or a condition has to be one word of an expression.
pub fn check(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain) {
        true => Ok(()),
        false => Err("take lower-case letters, digits and _".to_owned()),
    }
}
