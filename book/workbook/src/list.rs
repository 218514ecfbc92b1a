//! `cargo workbook list`: the experiments, and where they were recorded.

use std::path::Path;

use anyhow::Result;
use lab::layout;
use lessons::Lesson;
use record::{Results, Source};

use crate::terminal::{complain, say};

/// Options of `cargo workbook list`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Only the names, a line each, for scripts
    #[arg(long)]
    names: bool,
}

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    if arguments.names {
        for lesson in lessons::all(root)? {
            say!("{}", lesson.name);
        }
        return Ok(());
    }
    let results = Results::new(root.join("results"));
    let machines = results.machines()?;
    let here = results.this_machine()?;
    let mut broken = vec![];
    let mut rows =
        vec![["experiment", "section", "needs", "title", "recorded on"].map(str::to_owned)];
    let all = lessons::all(root)?;
    let count = all.len();
    for experiment in all {
        let mut recorded = vec![];
        for machine in &machines {
            let (mut runs, mut unreadable) = (0, false);
            for run in results.runs(machine)? {
                match run.read(machine, &experiment.name) {
                    Ok(Some(record)) => {
                        runs += usize::from(record.source != Source::Emulated);
                    }
                    Ok(None) => {}
                    Err(e) => {
                        broken.push(e);
                        unreadable = true;
                    }
                }
            }
            if runs == 0 && !unreadable {
                continue;
            }
            let mut words = vec![];
            words.extend((runs > 1).then(|| format!("{runs} runs")));
            words.extend((here.as_ref() == Some(machine)).then(|| "here".to_owned()));
            words.extend(unreadable.then(|| "broken".to_owned()));
            recorded.push(match words.is_empty() {
                true => machine.clone(),
                false => format!("{machine} ({})", words.join(", ")),
            });
        }
        let recorded = match (recorded.is_empty(), experiment.draft) {
            (true, true) => "no machine yet (draft)".to_owned(),
            (true, false) if experiment.primer => "no record needed".to_owned(),
            (true, false) => "no machine yet".to_owned(),
            (false, true) => recorded.join(", ") + " (draft)",
            (false, false) => recorded.join(", "),
        };
        let needs = experiment.needs();
        let title = match experiment.shown_by == experiment.name {
            true => experiment.title(root),
            false => format!("page of {}", experiment.shown_by),
        };
        let Lesson { name, section, .. } = experiment;
        rows.push([name, section, needs, title, recorded]);
    }
    show(&rows);
    for e in broken {
        complain!("warning: {e}");
    }
    say!("\n{count} experiments. One: cargo run -p NAME -- --help. All: cargo workbook run");
    Ok(())
}

/// A machine's name, and that it is this one.
const RECORDED: usize = 18;

/// Prints rows below the first one, which has the headings. Titles are cut where the terminal
/// is narrow, and machines are listed on as many lines as they need.
fn show(rows: &[[String; 5]]) {
    let widest = |column: usize| {
        let lengths = rows.iter().map(|row| row[column].chars().count());
        lengths.max().unwrap_or(0)
    };
    let (name, section, needs) = (widest(0), widest(1), widest(2));
    let before = name + section + needs + 6;
    let title = widest(3).min(layout::width().saturating_sub(before + 2 + RECORDED));
    let before = before + title + 2;
    let mut style = anstyle::Style::new().bold();
    for [a, b, c, d, machines] in rows {
        let machines = layout::beside(machines, before);
        say!(
            "{style}{a:<name$}  {b:<section$}  {c:<needs$}  {:<title$}  {machines}{style:#}",
            layout::cut(d, title)
        );
        style = anstyle::Style::new();
    }
}
