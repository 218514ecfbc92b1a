//! The checks are checked, too: every start and every mistake fails for its declared reason,
//! and every solution passes.

use std::path::Path;

use anyhow::Result;

use crate::catalogue::Exercise;
use crate::judge::Judge;
use crate::outcome::Outcome;

/// What of an exercise is not as it declares: nothing, if all is well.
pub fn verify(exercise: &Exercise, root: &Path) -> Result<Vec<String>> {
    let judge = Judge::new(exercise, root)?;
    let check = |stem: &str| {
        let path = exercise.file(stem);
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        judge.check(&file, &path)
    };
    let stems = exercise.check.fails.keys().map(|name| stem(name));
    let stems: Vec<_> = stems.chain(["solution".to_owned()]).collect();
    if let Judge::Host(host) = &judge {
        let paths: Vec<_> = stems.iter().map(|stem| exercise.file(stem)).collect();
        host.compile_together(&paths)?;
    }
    let mut problems = vec![];
    for (name, reason) in &exercise.check.fails {
        let outcome = check(&stem(name))?;
        if !is_reason(reason, &outcome) {
            let found = said(&outcome);
            problems.push(format!("{name} has to fail with `{reason}`: {found}"));
        }
    }
    let outcome = check("solution")?;
    if !outcome.is_solved() {
        problems.push(format!("solution: {}", said(&outcome)));
    }
    Ok(problems)
}

/// A start or a mistake's file, without its extension.
fn stem(name: &str) -> String {
    if name == "start" { name.to_owned() } else { format!("wrong/{name}") }
}

/// Whether the first bad row is the one that `ROW: TEXT` names, with this text in it.
fn is_reason(reason: &str, outcome: &Outcome) -> bool {
    let (row, text) = reason.split_once(": ").unwrap_or((reason, ""));
    outcome.first_bad().is_some_and(|bad| bad.name == row && bad.text.contains(text))
}

fn said(outcome: &Outcome) -> String {
    match outcome.first_bad() {
        Some(bad) => format!("{}: {}", bad.name, bad.text),
        None => "passes".to_owned(),
    }
}
