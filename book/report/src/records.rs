//! The records that a book is built from: those of the reference machine, which every
//! page needs, and those of this machine, which are shown first where there are any.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use record::{Gpu, Record, Results, Source};

use crate::html;

/// One machine with everything measured on it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its folder in `results/`.
    pub name: String,
    /// Its short name for people, such as `H200` or `RTX 4090 ×2`.
    pub label: String,
    /// Whether it is the reference machine.
    pub is_reference: bool,
    records: BTreeMap<String, Record>,
}

impl Machine {
    fn load(results: &Results, name: &str, is_reference: bool) -> Result<Machine> {
        let mut records = BTreeMap::new();
        for experiment in results.experiments(name)? {
            // What an emulator counted is never shown as if it had been measured.
            if let Some(record) = results.read(name, &experiment)?
                && record.source != Source::Emulated
            {
                records.insert(experiment, record);
            }
        }
        let label =
            records.values().next().and_then(label).unwrap_or(name.to_owned());
        Ok(Machine { name: name.to_owned(), label, is_reference, records })
    }

    /// The record of `experiment`; the error says that there is none.
    pub fn record(&self, experiment: &str) -> Result<&Record, String> {
        self.records.get(experiment).ok_or_else(|| {
            format!("`{}` has no measured record of `{experiment}`", self.name)
        })
    }
}

/// The measured GPU's name without its makers' names, and how many GPUs there are.
fn label(record: &Record) -> Option<String> {
    let Gpu { name, .. } = record.machine.measured_gpu()?;
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    let name = name.strip_prefix("GeForce ").unwrap_or(name);
    let gpus = record.machine.gpus.len();
    Some(if gpus > 1 { format!("{name} ×{gpus}") } else { name.to_owned() })
}

/// The machines that a book shows.
#[derive(Clone, Debug)]
pub struct Records {
    /// The machine that the pages were written about.
    pub reference: Machine,
    /// The reader's own, if it measured anything and is not the reference.
    pub here: Option<Machine>,
}

impl Records {
    /// Reads every record of both machines.
    pub fn load(
        results: &Results,
        reference: &str,
        here: Option<&str>,
    ) -> Result<Records> {
        let mut reference = Machine::load(results, reference, true)
            .context("the reference machine's records")?;
        let here = here
            .filter(|name| *name != reference.name)
            .map(|name| Machine::load(results, name, false))
            .transpose()
            .context("this machine's records")?
            .filter(|machine| !machine.records.is_empty());
        if here.as_ref().is_some_and(|here| here.label == reference.label) {
            reference.label = reference.name.clone(); // two of a kind: tell them apart
        }
        Ok(Records { reference, here })
    }

    /// What `of` finds on each machine. The reference must have it; where this machine
    /// lacks it, the book shows the reference's.
    pub fn both<'r, T>(
        &'r self,
        of: impl Fn(&'r Machine) -> Result<T, String>,
    ) -> Result<Both<T>, String> {
        let here = match &self.here {
            None => Here::NotShown,
            Some(machine) => of(machine).map_or(Here::Lacking, Here::Has),
        };
        Ok(Both { reference: of(&self.reference)?, here })
    }
}

/// Something found on each machine that the book shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Both<T> {
    /// On the reference machine.
    pub reference: T,
    /// On this machine.
    pub here: Here<T>,
}

/// Something found, or not, on this machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Here<T> {
    /// The book shows the reference machine only.
    NotShown,
    /// This machine's records do not have it.
    Lacking,
    /// This machine's.
    Has(T),
}

impl<T> Both<T> {
    /// The same for both machines.
    pub fn anywhere(value: T) -> Both<T> {
        Both { reference: value, here: Here::NotShown }
    }

    /// This machine's where it has one, else the reference's.
    pub fn first(&self) -> &T {
        match &self.here {
            Here::Has(here) => here,
            Here::NotShown | Here::Lacking => &self.reference,
        }
    }

    /// What `machine` has, if it has it.
    pub fn on(&self, machine: &Machine) -> Option<&T> {
        match &self.here {
            _ if machine.is_reference => Some(&self.reference),
            Here::Has(here) => Some(here),
            Here::NotShown | Here::Lacking => None,
        }
    }

    /// The same with `f` applied to each.
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Both<U> {
        Both {
            reference: f(self.reference),
            here: match self.here {
                Here::NotShown => Here::NotShown,
                Here::Lacking => Here::Lacking,
                Here::Has(here) => Here::Has(f(here)),
            },
        }
    }

    /// In the middle of a sentence: this machine's first, the reference's beside it.
    /// `show` is told whether it stands beside.
    pub fn sentence(
        &self,
        records: &Records,
        show: impl Fn(&T, bool) -> String,
    ) -> String {
        let label = html::inline(&records.reference.label);
        match &self.here {
            Here::NotShown => show(&self.reference, false),
            Here::Lacking => format!(
                "<span class=\"beside\">{label}:</span> {}",
                show(&self.reference, false)
            ),
            Here::Has(here) => format!(
                "{} <span class=\"beside\">({label}: {})</span>",
                show(here, false),
                show(&self.reference, true)
            ),
        }
    }

    /// What is shown, in order, and whether it stands beside what came before it: this
    /// machine's first, the reference's beside it.
    pub fn each(&self) -> impl Iterator<Item = (&T, bool)> {
        let (first, second) = match &self.here {
            Here::Has(here) => (here, Some(&self.reference)),
            Here::NotShown | Here::Lacking => (&self.reference, None),
        };
        [(first, false)].into_iter().chain(second.map(|reference| (reference, true)))
    }
}

impl<T> FromIterator<Both<T>> for Both<Vec<T>> {
    /// This machine has all of them or is lacking.
    fn from_iter<I: IntoIterator<Item = Both<T>>>(items: I) -> Both<Vec<T>> {
        let mut all = Both { reference: vec![], here: Here::Has(vec![]) };
        for item in items {
            all.reference.push(item.reference);
            all.here = match (all.here, item.here) {
                (Here::NotShown, _) | (_, Here::NotShown) => Here::NotShown,
                (Here::Lacking, _) | (_, Here::Lacking) => Here::Lacking,
                (Here::Has(mut values), Here::Has(value)) => {
                    values.push(value);
                    Here::Has(values)
                }
            };
        }
        all
    }
}
