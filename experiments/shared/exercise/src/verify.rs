//! The checks are checked, too: every start and every mistake fails for its declared reason,
//! and every solution passes.

use std::path::Path;

use anyhow::{Context, Result};
use referee::Outcome;
use referee::check::Host;

use crate::catalogue::Exercise;
use crate::judge::Judge;

/// Memory of a GPU other than the usual one.
const OTHER_MIB: u32 = 256;

/// What of an exercise is not as it declares: nothing, if all is well. Each source is checked so
/// many times, with the same outcome every time. Solutions in host code are tried on a GPU
/// with another memory, too.
pub fn verify(exercise: &Exercise, root: &Path, times: u32) -> Result<Vec<String>> {
    let judge = Judge::new(exercise, root)?;
    let folder = tempfile::tempdir().context("for the sources")?;
    let path = |name: &str| folder.path().join(format!("{name}.{}", exercise.extension()));
    let reasons = exercise.check.reasons().map(|(name, why)| (name, Some(why)));
    let all: Vec<_> = reasons.chain([("solution", None)]).collect();
    for (name, _) in &all {
        std::fs::write(path(name), exercise.source(name)?)?;
    }
    if let Judge::Host(host) = &judge {
        let paths: Vec<_> = all.iter().map(|(name, _)| path(name)).collect();
        host.compile_together(&paths)?;
    }
    let mut problems = vec![];
    for (name, reason) in &all {
        let path = path(name);
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let outcome = judge.check(&file, &path)?;
        for number in 2..=times {
            let again = judge.check(&file, &path)?;
            if again != outcome {
                problems.push(format!("{name}, at time {number}: {}", said(&again)));
            }
        }
        if let (Judge::Host(host), None) = (&judge, reason) {
            let usual = &exercise.check.host;
            let other = Host { memory_mib: vec![OTHER_MIB], schedules: 0, ..usual.clone() };
            let other = host.check_on(&other, &file, &path, &exercise.source(name)?)?;
            if !other.is_solved() {
                problems.push(format!("{name}, with {OTHER_MIB} MiB: {}", said(&other)));
            }
        }
        match reason {
            None if outcome.is_solved() => {}
            None => problems.push(format!("{name}: {}", said(&outcome))),
            Some(reason) if is_reason(reason, &outcome) => {}
            Some(reason) => {
                problems.push(format!("{name} has to fail with `{reason}`: {}", said(&outcome)))
            }
        }
    }
    Ok(problems)
}

/// Whether the first bad row is the one that `ROW: TEXT` names, with this text in it.
pub fn is_reason(reason: &str, outcome: &Outcome) -> bool {
    let (row, text) = reason.split_once(": ").unwrap_or((reason, ""));
    outcome.first_bad().is_some_and(|bad| bad.name == row && bad.text.contains(text))
}

fn said(outcome: &Outcome) -> String {
    match outcome.first_bad() {
        Some(bad) => format!("{}: {}", bad.name, bad.text),
        None => "passes".to_owned(),
    }
}
