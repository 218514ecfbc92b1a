//! `cargo workbook list`: the experiments, and where they were recorded.

use std::path::Path;

use anyhow::Result;
use lab::lessons::{self, Lesson};
use record::{Results, Source};

use crate::terminal::{complain, say};

/// Options of `cargo workbook list`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Only the names, a line each, for scripts
    #[arg(long)]
    names: bool,
}

/// Lists them.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    if arguments.names {
        for lesson in lessons::all(root)? {
            say!("{}", lesson.name);
        }
        return Ok(());
    }
    let results = Results::new(root.join("results"));
    let machines = results.machines()?;
    let bold = anstyle::Style::new().bold();
    say!(
        "{bold}{:<22} {:<8} {:<8} {}{bold:#}",
        "experiment",
        "section",
        "needs",
        "recorded on"
    );
    let here = results.this_machine()?;
    let mut broken = vec![];
    for experiment in lessons::all(root)? {
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
            words
                .extend((here.as_ref() == Some(machine)).then(|| "here".to_owned()));
            words.extend(unreadable.then(|| "broken".to_owned()));
            recorded.push(match words.is_empty() {
                true => machine.clone(),
                false => format!("{machine} ({})", words.join(", ")),
            });
        }
        let recorded = match (recorded.is_empty(), experiment.draft) {
            (true, true) => "no machine yet (draft)".to_owned(),
            (true, false) => "no machine yet".to_owned(),
            (false, true) => recorded.join(", ") + " (draft)",
            (false, false) => recorded.join(", "),
        };
        let (needs, Lesson { name, section, .. }) = (experiment.needs(), experiment);
        say!("{name:<22} {section:<8} {needs:<8} {recorded}");
    }
    for e in broken {
        complain!("warning: {e}");
    }
    say!(
        "\nOne of them: cargo run --release -p NAME -- --help. All: cargo workbook run"
    );
    Ok(())
}
