//! What a page is told, as JSON.

use referee::compiler::Message;
use referee::count::{COLUMNS, Lines, count};
use referee::outcome::{Line, Outcome, Row, State};
use referee::trial::{Finding, Run, Trial};
use serde_json::{Map, Value, json};

/// Counts that have parts.
const FAMILIES: [(&str, [&str; 3]); 5] = [
    ("loads", ["requests", "sectors", "ideal"]),
    ("stores", ["requests", "sectors", "ideal"]),
    ("async", ["requests", "sectors", "ideal"]),
    ("shared_loads", ["requests", "wavefronts", "ideal"]),
    ("shared_stores", ["requests", "wavefronts", "ideal"]),
];
/// Counts that are one number.
const NUMBERS: [&str; 5] = ["instructions", "atomics", "locals", "barriers", "divergent_branches"];

/// `{"line": 9, "column": 5, "kind": "error", "text": "…"}`, without a place where there is none.
pub(crate) fn message(message: &Message) -> Value {
    let Message { place, is_error, text } = message;
    let kind = if *is_error { "error" } else { "warning" };
    let (line, column) = place.unzip();
    json!({ "line": line, "column": column, "kind": kind, "text": text })
}

/// What is said of a solution.
pub(crate) fn outcome(outcome: &Outcome) -> Value {
    let line = |Line { number, text, shares }: &Line| json!({ "number": number, "text": text, "shares": shares });
    let row = |Row { name, state, text, line: of }: &Row| {
        let state = match state {
            State::Good => "good",
            State::Bad => "bad",
            State::Open => "open",
        };
        json!({ "name": name, "state": state, "text": text, "line": of.as_ref().map(line) })
    };
    json!({
        "solved": outcome.is_solved(),
        "rows": outcome.rows.iter().map(row).collect::<Vec<_>>(),
        "printed": outcome.printed,
        "lines": lines(&outcome.lines),
    })
}

/// What anybody's kernel did, and what was found.
pub(crate) fn trial(trial: &Trial) -> Value {
    let finding = |Finding { kind, line, text }: &Finding| json!({ "kind": kind.word(), "line": line, "text": text });
    let run = |run: &Run| {
        json!({
            "shape": run.shape, "grid": run.grid, "block": run.block, "clean": run.is_clean,
            "results": run.results, "lines": lines(&run.lines),
        })
    };
    json!({
        "kernel": trial.kernel,
        "findings": trial.findings.iter().map(finding).collect::<Vec<_>>(),
        "runs": trial.runs.iter().map(run).collect::<Vec<_>>(),
    })
}

/// What each line did: its counts, without those that are 0, and in `columns` what a table has in
/// them: `["loads", "1,000 ×8.00"]`, where the same bytes would need an eighth.
fn lines(lines: &Lines) -> Vec<Value> {
    let line = lines.iter().map(|(line, tally)| {
        let of = |name: &str| count(tally, name).map_or(0, |(value, _)| value);
        let mut told = Map::new();
        told.insert("line".to_owned(), (*line).into());
        for (family, parts) in FAMILIES {
            let part = |part: &str| (part.to_owned(), of(&format!("{family}.{part}")).into());
            if of(&format!("{family}.requests")) > 0 {
                told.insert(
                    family.to_owned(),
                    Value::Object(parts.map(part).into_iter().collect()),
                );
            }
        }
        for name in NUMBERS.into_iter().filter(|name| of(name) > 0) {
            told.insert(name.to_owned(), of(name).into());
        }
        let columns = COLUMNS.iter().map(|column| (column.heading, column.text(tally)));
        let columns: Vec<_> = columns.filter(|(_, text)| !text.is_empty()).collect();
        told.insert("columns".to_owned(), json!(columns));
        Value::Object(told)
    });
    line.collect()
}
