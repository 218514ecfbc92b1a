//! A schedule, drawn.

use std::collections::BTreeSet;

use crate::{Engine, Run, Schedule};

/// Columns that a timeline has at least.
const NARROWEST: usize = 40;

/// Columns that an operation is wide in the middle. With fewer, all engines would look busy.
const WIDE: f64 = 3.0;

/// Draws a schedule as text: a row for each engine in use, such as `up   |1--|3--|5--|`. The
/// numbers are those of the operations, as far as there is room. It has at most `width`
/// columns, but at least 40, and as many of the first operations as can be told apart in it.
pub fn timeline(schedule: &Schedule, width: usize) -> String {
    let busy = |run: &&Run| run.end > run.start && run.engine.is_some();
    let all: Vec<&Run> = schedule.runs.iter().filter(busy).collect();
    let engines = all.iter().filter_map(|run| run.engine);
    let engines: BTreeSet<_> = engines.map(|engine| (gpu(engine), engine)).collect();
    let gpus: BTreeSet<_> = engines.iter().map(|(gpu, _)| *gpu).collect();
    let label = |engine| label(engine, gpus.len() > 1);
    let labels = engines.iter().map(|(_, engine)| label(*engine).chars().count());
    let indent = labels.max().unwrap_or(0) + 1;
    let columns = width.max(NARROWEST) - indent - 1;
    let fits = |count: &usize| middle(&all[..*count]) * scale(&all[..*count], columns) >= WIDE;
    let drawn = &all[..(1..=all.len()).rev().find(fits).unwrap_or(all.len())];
    let first = match drawn.len() == all.len() {
        true => String::new(),
        false => format!("the first {} of {} operations:\n", drawn.len(), all.len()),
    };
    let makespan = schedule.makespan();
    let mut text = format!("makespan {makespan:.1} µs, a model, not measured\n{first}");
    for (_, engine) in engines {
        let runs = drawn.iter().filter(|run| run.engine == Some(engine));
        let row = row(runs, scale(drawn, columns), columns);
        text += format!("{:indent$}{row}", label(engine)).trim_end();
        text.push('\n');
    }
    text
}

/// Columns for a microsecond, if all runs are to be in so many.
fn scale(runs: &[&Run], columns: usize) -> f64 {
    columns as f64 / runs.iter().map(|run| run.end).fold(0.0, f64::max)
}

/// Microseconds that half of the runs take at most.
fn middle(runs: &[&Run]) -> f64 {
    let mut times: Vec<_> = runs.iter().map(|run| run.end - run.start).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
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
fn row<'r>(runs: impl Iterator<Item = &'r &'r Run>, scale: f64, columns: usize) -> String {
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
makespan 50.0 µs, a model, not measured
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
makespan 20.0 µs, a model, not measured
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
    fn of_many_operations_the_first_are_drawn() {
        let turn = |turn: usize| {
            let first = 3 * turn + 1;
            format!(
                "operation {first} 1 0 1000 {} upload\n\
                 operation {} 1 0 1000 {first} copy\n\
                 operation {} 1 0 1000 {} download\n",
                if turn == 0 { "-".to_owned() } else { (3 * turn).to_string() },
                first + 1,
                first + 2,
                first + 1
            )
        };
        let text: String = (0..30).map(turn).collect();
        let costs = crate::Costs { memory: 200.0, ..costs() };
        let drawn = timeline(&schedule(&text.parse().unwrap(), &costs), 40);
        assert_eq!(
            drawn,
            "\
makespan 900.0 µs, a model, not measured
the first 11 of 90 operations:
up   |1-|     |4-|      |7-|     |10|
run     |2-|     |5-|      |8-|     |11|
down       |3-|     |6--|     |9-|
"
        );
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let drawn = timeline(&Schedule::default(), 80);
        assert_eq!(drawn, "makespan 0.0 µs, a model, not measured\n");
    }
}
