//! What cases, parameters and numbers are called in tables and messages.

use std::collections::BTreeMap;

use record::{Parameter, units};

/// What a parameter is called, and its value, in the units of people.
pub(crate) fn parameter(name: &str, value: &Parameter) -> (String, String) {
    let words = |name: &str| name.replace('_', " ");
    match (name, name.strip_suffix("_bytes"), value) {
        ("bytes", _, Parameter::Integer(n)) => ("size".to_owned(), size(*n)),
        (_, Some(name), Parameter::Integer(n)) => (words(name), size(*n)),
        (_, _, Parameter::Integer(n)) => (words(name), units::count(*n)),
        (_, _, Parameter::Name(text)) => (words(name), text.clone()),
    }
}

fn size(bytes: u64) -> String {
    if bytes == u64::MAX { "unlimited".to_owned() } else { units::bytes(bytes) }
}

/// What a number of a model is called, the number with its unit, and room for such numbers.
pub(crate) fn quantity(name: &str, value: f64) -> (String, String, usize) {
    let (name, text, room) = if let Some(name) = name.strip_suffix("_bytes_per_second") {
        (name, units::bandwidth(value), 10)
    } else if let Some(name) = name.strip_suffix("_bytes") {
        (name, size(value as u64), 8)
    } else if let Some(name) = name.strip_suffix("_seconds") {
        (name, units::time(value), 7)
    } else if let Some(name) = name.strip_suffix("_percent") {
        (name, units::percent(value), 7)
    } else if name == "seconds" {
        ("time", units::time(value), 7)
    } else if value.fract() == 0.0 && value >= 0.0 {
        (name, units::count(value as u64), 5)
    } else {
        (name, units::number(value), 5)
    };
    (name.replace('_', " "), text, room)
}

/// What a case is called in messages: its name and its parameters.
pub(crate) fn label(case: &str, with: &BTreeMap<String, Parameter>) -> String {
    case.to_owned() + &parameters(with)
}

/// Parameters in messages, each with a space before it.
pub(crate) fn parameters(of: &BTreeMap<String, Parameter>) -> String {
    let parameters = of.iter().map(|(name, value)| match (name.as_str(), value) {
        ("bytes", Parameter::Integer(n)) => format!(" {}", size(*n)),
        (_, Parameter::Integer(_)) => {
            let (name, text) = parameter(name, value);
            format!(" {name} {text}")
        }
        (_, Parameter::Name(text)) => format!(" {text}"),
    });
    parameters.collect()
}
