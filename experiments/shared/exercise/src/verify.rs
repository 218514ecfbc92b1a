//! The checks are checked, too: every start and every mistake fails for its declared reason,
//! and every solution passes.

use anyhow::Result;

use crate::catalogue::Exercise;
use crate::kernel::Judge;
use crate::outcome::Outcome;

/// What of an exercise is not as it declares: nothing, if all is well.
pub fn verify(exercise: &Exercise) -> Result<Vec<String>> {
    let mut judge = Judge::new(exercise)?;
    let mut problems = vec![];
    let mut sources = exercise.mistakes()?;
    sources.insert("start".to_owned(), exercise.start()?);
    for (name, source) in sources {
        let outcome = judge.check(&format!("{name}.cu"), &source)?;
        let reason = &exercise.check.fails[&name];
        let found = said(&outcome);
        if !is_reason(reason, &outcome) {
            problems.push(format!("{name} has to fail with `{reason}`: {found}"));
        }
    }
    let outcome = judge.check("solution.cu", &exercise.solution()?)?;
    if !outcome.is_solved() {
        problems.push(format!("solution: {}", said(&outcome)));
    }
    Ok(problems)
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
