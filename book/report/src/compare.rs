//! Two machines against each other, or two runs of one: which cases are faster on one of them,
//! and which verdicts are others there.

use anyhow::Result;
use record::Results;
use serde::Serialize;

use crate::build::{self, Options};
use crate::cases::Experiment;
use crate::claims::Verdict;
use crate::records::{Machine, Records};

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

/// Compares what two machines, or two runs, recorded; `options` say where the pages and the claims
/// are.
pub fn compare(options: &Options, first: Machine, second: Machine) -> Result<Comparison> {
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
