//! Two machines against each other, or two runs of one: which cases are faster on one of them,
//! and which verdicts are others there.

use std::path::PathBuf;

use anyhow::{Result, bail};
use record::{EMULATED, Results};
use serde::Serialize;

use crate::build::{self, Options};
use crate::cases::Experiment;
use crate::claims::Verdict;
use crate::records::{Machine, Records};

/// A machine, or one of its runs.
#[derive(Clone, Debug)]
pub struct Side {
    pub results: PathBuf,
    /// The machine's folder in it.
    pub machine: String,
    /// Only its run with this label.
    pub label: Option<String>,
}

/// What differs between two sides.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Claims that get another verdict.
    pub flips: Vec<Flip>,
    /// What both have recorded.
    pub experiments: Vec<Experiment>,
    /// Experiments that only the first has, and only the second.
    pub alone: (Vec<String>, Vec<String>),
}

/// A claim whose verdicts differ.
#[derive(Clone, Debug, Serialize)]
pub struct Flip {
    pub id: String,
    pub says: String,
    /// The two verdicts in words.
    pub verdicts: (&'static str, &'static str),
}

impl Side {
    /// What it is called: `h200`, or `h200/host-b`.
    pub fn name(&self) -> String {
        let label = self.label.iter().map(|label| format!("/{label}"));
        self.machine.clone() + &label.collect::<String>()
    }

    /// All that it recorded; an error if that is nothing.
    pub fn load(&self) -> Result<Machine> {
        let results = Results::new(&self.results);
        let machine = Machine::load_run(&results, &self.machine, self.label.as_deref())?;
        if machine.experiments().next().is_none() {
            let mut known = results.machines()?;
            known.retain(|name| name != EMULATED);
            if known.contains(&self.machine) {
                let labels = results.runs(&self.machine)?;
                let labels = labels.iter().filter_map(Results::label);
                known = labels.map(|label| format!("{}/{label}", self.machine)).collect();
            }
            let known = known.join(", ");
            bail!("there are no measured records of `{}`; there are {known}", self.name());
        }
        Ok(machine)
    }
}

/// Compares two sides; `options` say where the pages and the claims are.
pub fn compare(options: &Options, a: &Side, b: &Side) -> Result<Comparison> {
    let (first, second) = (a.load()?, b.load()?);
    let names = |machine: &Machine, other: &Machine| {
        let lacks = |name: &&str| other.record(name).is_err();
        machine.experiments().filter(lacks).map(str::to_owned).collect::<Vec<_>>()
    };
    let alone = (names(&first, &second), names(&second, &first));
    let experiments = first.experiments().filter_map(|name| {
        let (a, b) = (first.record(name).ok()?, second.record(name).ok()?);
        Some(Experiment::of(name, a, b))
    });
    let experiments = experiments.filter(|experiment| !experiment.cases.is_empty());
    let experiments = experiments.collect();
    let verdicts = |machine: Machine| {
        build::verdicts(options, &Records::of_one(machine, &Results::new(&options.results)))
    };
    let (of_a, of_b) = (verdicts(first)?, verdicts(second)?);
    let both = of_a.into_iter().filter_map(|(claim, verdict)| {
        let other = of_b.iter().find(|(other, _)| other.id == claim.id)?.1;
        Some((claim, verdict, other))
    });
    let flips = both.filter(|(_, a, b)| a != b).map(|(claim, a, b)| Flip {
        id: claim.id,
        says: claim.says,
        verdicts: (Verdict::words(a), Verdict::words(b)),
    });
    Ok(Comparison { flips: flips.collect(), experiments, alone })
}
