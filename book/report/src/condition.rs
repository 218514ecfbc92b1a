//! Sentences that hold under a condition: `{{if fast > 2 * slow}}Twice as fast.{{end}}`. The
//! condition compares quantities, in the SI units that they are kept in; what it compares may
//! have a name in the file beside the page. It has to hold in every run of the reference
//! machines, or the build fails. Where the reader's runs break it, the sentence is shown as one
//! about the references.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use excerpt::page::{Comparison, Sign};
use record::expression::{Expression, Operand};
use record::units;

use crate::both::{Both, Here};
use crate::estimate::Runs;
use crate::html;
use crate::names::{self, did_you_mean};
use crate::quantity::Quantities;
use crate::records::Records;

/// `a < b`, `a < b <= c`, the name of a condition, and several of them joined by `and`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    comparisons: Vec<Comparison>,
}

#[derive(Debug, Default)]
pub struct Conditions {
    named: BTreeMap<String, Condition>,
    /// Those that something uses.
    used: RefCell<BTreeSet<String>>,
}

impl Conditions {
    /// Adds a condition, which is made of comparisons.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), String> {
        names::check(name)?;
        let condition = Conditions::default().read(text)?;
        self.named.insert(name.to_owned(), condition);
        Ok(())
    }

    /// The condition that `text` writes.
    pub fn read(&self, text: &str) -> Result<Condition, String> {
        let (mut text, mut comparisons) = (text.trim(), vec![]);
        for chain in text.split(" and ") {
            if let Some((name, named)) = self.named.get_key_value(chain.trim()) {
                self.used.borrow_mut().insert(name.clone());
                comparisons.extend(named.comparisons.clone());
                if chain == text {
                    text = &named.text;
                }
                continue;
            }
            let (mut left, mut rest) = split(chain);
            if rest.is_none() {
                let name = chain.trim();
                let near = did_you_mean(name, self.named.keys().map(String::as_str));
                return Err(format!("`{name}` compares nothing, and is no condition's name{near}"));
            }
            while let Some((sign, after)) = rest {
                let (right, more) = split(after);
                let difference = format!("({left}) - ({right})");
                comparisons.push(Comparison { difference, sign });
                (left, rest) = (right, more);
            }
        }
        Ok(Condition { text: text.to_owned(), comparisons })
    }

    /// The names that nothing has used, once all is expanded.
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.borrow();
        self.named.keys().filter(|name| !used.contains(*name)).cloned().collect()
    }
}

impl Condition {
    /// What it compares, with names resolved.
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// Whether it holds, in every run; for the references it must.
    pub fn holds(&self, quantities: &Quantities, records: &Records) -> Result<Both<bool>, String> {
        let mut all = Both::anywhere(true);
        for Comparison { difference, sign } in &self.comparisons {
            let runs: Both<Runs> = quantities.runs(difference)?;
            if let Some(run) = runs.reference.find(|value| !sign.holds(value)) {
                return Err(format!(
                    "`{}` is not so on the {}{run}: {}",
                    self.text,
                    records.label(&runs.from),
                    values(difference, quantities)?
                ));
            }
            let runs = runs.map(|runs| runs.find(|value| !sign.holds(value)).is_none());
            all = all.zip_with(runs, |a, b| a && b);
        }
        Ok(all)
    }
}

/// What the references' quantities in an expression are, over all runs, as they are compared.
fn values(expression: &str, quantities: &Quantities) -> Result<String, String> {
    let mut said = vec![];
    for operand in Expression::parse(expression)?.operands() {
        let Operand::Name(name) = operand else { continue };
        let range = quantities.runs(name)?.reference.estimate().range;
        let [least, most] = [range.0, range.1].map(|end| match end.abs() {
            1e-3..1e5 => units::number(end),
            _ => format!("{end:.2e}"),
        });
        let to = if least == most { String::new() } else { format!(" to {most}") };
        said.push(format!("`{name}` is {least}{to}"));
    }
    said.dedup();
    Ok(said.join(", "))
}

/// What stands before a sentence whose condition was found to be so.
pub fn before(found: &Both<bool>, records: &Records) -> String {
    let label = html::inline(&records.label(&found.from));
    match found.here {
        Here::Measured(false) => {
            format!("<span class=\"elsewhere\">On the {label}, not here: ")
        }
        Here::NotMeasured => format!("<span class=\"elsewhere\">On the {label}: "),
        Here::Measured(true) | Here::SameAsReference => String::new(),
    }
}

/// Whether it is said of the references only.
pub fn is_elsewhere(found: &Both<bool>) -> bool {
    matches!(found.here, Here::Measured(false) | Here::NotMeasured)
}

pub fn after(found: &Both<bool>) -> &'static str {
    if is_elsewhere(found) { "</span>" } else { "" }
}

/// What stands before the first sign; then the sign and what is after it.
fn split(text: &str) -> (&str, Option<(Sign, &str)>) {
    let Some(at) = text.find(['<', '>']) else { return (text.trim(), None) };
    let (left, rest) = text.split_at(at);
    let found =
        Sign::ALL.into_iter().find_map(|(text, sign)| Some((sign, rest.strip_prefix(text)?)));
    (left.trim(), found)
}
