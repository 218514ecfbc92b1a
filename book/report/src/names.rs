//! What parameters and their values are called in a chart or table, and in which order
//! they stand.

use std::collections::BTreeMap;

use excerpt::page::{Key, Kind};

pub use excerpt::names::{Group, Names, OfARow, grouped, of_metric, of_parameter};
pub use record::names::did_you_mean;
use record::{Measurement, Parameter};
use serde::Deserialize;

use crate::select::{self, CASE};

/// Checking a block's names against what there is.
pub trait Check {
    /// Labels and places must be of values that occur: a misspelt one would be silent.
    fn check(&self, measurements: &[&Measurement]) -> Result<(), String>;
}

impl Check for Names<'_> {
    fn check(&self, measurements: &[&Measurement]) -> Result<(), String> {
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

    /// What the parameter `key` is called at the head of a column.
    pub fn key(&self, key: &str) -> Key {
        let heading = self.headings.get(key).cloned().unwrap_or_else(|| of_parameter(key));
        Key { of: key.to_owned(), heading, kind: Kind::Measured }
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
