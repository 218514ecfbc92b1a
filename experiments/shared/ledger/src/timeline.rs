//! A schedule, drawn.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Engine, Run, Schedule};

/// Columns that a timeline has at least.
const NARROWEST: usize = 40;

/// Draws a schedule as text: a row for each engine in use, such as `up   |1--|3--|5--|`. The
/// numbers are those of the operations, as far as there is room. It has at most `width`
/// columns, but at least 40.
pub fn timeline(schedule: &Schedule, width: usize) -> String {
    let makespan = schedule.makespan();
    let mut rows = BTreeMap::<_, Vec<&Run>>::new();
    for run in schedule.runs.iter().filter(|run| run.end > run.start) {
        if let Some(engine) = run.engine {
            rows.entry((gpu(engine), engine)).or_default().push(run);
        }
    }
    let gpus: BTreeSet<_> = rows.keys().map(|(gpu, _)| *gpu).collect();
    let label = |engine| label(engine, gpus.len() > 1);
    let labels = rows.keys().map(|(_, engine)| label(*engine).chars().count());
    let indent = labels.max().unwrap_or(0) + 1;
    let columns = width.max(NARROWEST) - indent - 1;
    let mut text = format!("a model, not a measurement: {makespan:.1} µs\n");
    for ((_, engine), runs) in &rows {
        let row = row(runs, columns as f64 / makespan, columns);
        text += &format!("{:indent$}{row}\n", label(*engine));
    }
    text
}

/// The GPU whose row it is.
fn gpu(engine: Engine) -> usize {
    match engine {
        Engine::Upload(gpu) | Engine::Compute(gpu) | Engine::Download(gpu) => gpu,
        Engine::Link { from, .. } => from,
    }
}

fn label(engine: Engine, several: bool) -> String {
    let (word, gpu) = match engine {
        Engine::Upload(gpu) => ("up", gpu),
        Engine::Compute(gpu) => ("run", gpu),
        Engine::Download(gpu) => ("down", gpu),
        Engine::Link { from, to } => return format!("{from}→{to}"),
    };
    if several { format!("{word} {gpu}") } else { word.to_owned() }
}

/// The runs of an engine, with so many columns a microsecond.
fn row(runs: &[&Run], scale: f64, columns: usize) -> String {
    let mut row = vec![' '; columns + 1];
    for run in runs {
        let column = |time: f64| ((time * scale).round() as usize).min(columns);
        let (from, to) = (column(run.start), column(run.end));
        (row[from], row[to]) = ('|', '|');
        let number = run.number.to_string();
        let fits = from + number.len() < to;
        let shown = number.chars().filter(|_| fits).chain(std::iter::repeat('-'));
        if from < to {
            row[from + 1..to].iter_mut().zip(shown).for_each(|(at, c)| *at = c);
        }
    }
    row.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule;
    use crate::schedule::tests::{costs, pipeline};

    #[test]
    fn a_pipeline_is_drawn() {
        let drawn = timeline(&schedule(&pipeline(3), &costs()), 46);
        assert_eq!(
            drawn,
            "\
a model, not a measurement: 50.0 µs
up   |1------|4------|7------|
run          |2------|5------|8------|
down                 |3------|6------|9------|
"
        );
        assert!(drawn.lines().all(|line| line.chars().count() <= 46));
    }

    #[test]
    fn several_gpus_have_a_row_each_and_links_their_own() {
        let text = "\
operation 1 1 1 1000 - upload
operation 2 2 0 500 - upload
operation 3 2 0 1 2 fill
operation 4 1 1 1000 1 peer 1 0
";
        let drawn = timeline(&schedule(&text.parse().unwrap(), &costs()), 0);
        assert_eq!(
            drawn,
            "\
a model, not a measurement: 20.0 µs
up 0  |2------|
run 0         |
up 1  |1---------------|
1→0                    |4--------------|
"
        );
        let longest = drawn.lines().map(|line| line.chars().count()).max();
        assert_eq!(longest, Some(NARROWEST));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let drawn = timeline(&Schedule::default(), 80);
        assert_eq!(drawn, "a model, not a measurement: 0.0 µs\n");
    }
}
