//! `cargo workbook compare`: two machines against each other, two runs of one, or what one had
//! recorded at another revision.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use lab::layout::{beside, width, wrap};
use record::{EMULATED, Results, units};
use report::Options;
use report::cases::{Case, Experiment, Outcome, THRESHOLD};
use report::compare::{Comparison, compare};
use report::records::Machine;
use serde::Serialize;
use tempfile::TempDir;

use crate::temporary;
use crate::terminal::{WrongUsage, misused, say};

/// Something became slower, and the threshold was given.
const SLOWER: u8 = 3;
/// So many cases of an experiment are listed if not all are asked for.
const MOST_LISTED: usize = 5;

/// Options of `cargo workbook compare`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Each side is MACHINE, MACHINE/LABEL for one of its runs (MACHINE/ for the one \
without a label), or REVISION:MACHINE for what a git revision has of it.\n\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 with \
--threshold: something is slower."
)]
pub(crate) struct Arguments {
    /// The side that the other one is compared with [default: this machine's last run but one, with
    /// its last]
    #[arg(value_name = "A")]
    first: Option<String>,
    /// The other side [default: this machine, the one that recorded here last, or else the only
    /// one that was imported]
    #[arg(value_name = "B")]
    second: Option<String>,
    /// Differences of less than this are none; what is slower by more makes the command fail
    /// [default: 5%, and it does not fail]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    threshold: Option<f64>,
    /// List every case, not only those that differ most
    #[arg(long)]
    all: bool,
    /// Print everything as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print a line of comma-separated values for each case
    #[arg(long)]
    csv: bool,
    /// Print tables in Markdown
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    markdown: bool,
}

/// `5%`, `5` or `0.5%` as a share.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=1000.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or("write it like 5%".to_owned())
}

/// Compares the two, and says what differs.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<ExitCode> {
    let options = Options::of(&root.join("book"))?;
    let mut folders = vec![]; // of revisions, until all is read
    let [a, b] = names(root, arguments, options.this_machine.as_deref())?;
    if a == b {
        misused!("both sides are {a}: name another machine, run or revision for one of them");
    }
    let first = side(root, &a, &mut folders)?;
    let second = side(root, &b, &mut folders)?;
    let found = compare(&options, first, second)?;
    let threshold = arguments.threshold.unwrap_or(THRESHOLD);
    let names = [&a, &b];
    if arguments.json {
        json(&found, names, threshold)?;
    } else if arguments.csv {
        csv(&found, threshold)?;
    } else if arguments.markdown {
        markdown(&found, names, threshold, arguments.all);
    } else {
        let sections = lessons::all(root)?.into_iter();
        let sections = sections.map(|lesson| (lesson.name, lesson.section)).collect();
        tell(&found, names, threshold, arguments.all, &sections);
    }
    let cases = found.experiments.iter().flat_map(|experiment| &experiment.cases);
    let slower = cases.filter(|case| case.outcome(threshold) == Outcome::Slower).count();
    Ok(match arguments.threshold.is_some() && slower > 0 {
        true => ExitCode::from(SLOWER),
        false => ExitCode::SUCCESS,
    })
}

/// The two sides that are asked for.
fn names(root: &Path, arguments: &Arguments, this_machine: Option<&str>) -> Result<[String; 2]> {
    let results = Results::new(root.join("results"));
    let unknown = || -> Result<String> {
        Ok(match results.imported()? {
            none if none.is_empty() => "nothing was measured in this checkout yet".to_owned(),
            several => format!("{} were imported", several.join(", ")),
        })
    };
    match (&arguments.first, &arguments.second, this_machine) {
        (Some(first), Some(second), _) => Ok([first.clone(), second.clone()]),
        (Some(first), None, Some(machine)) => Ok([first.clone(), machine.to_owned()]),
        (Some(first), None, None) => {
            misused!("{}: name what {first} is compared with", unknown()?)
        }
        (None, _, Some(machine)) => last_runs(&results, machine),
        (None, _, None) => misused!("{}: name two sides, A and B", unknown()?),
    }
}

/// The last run of `machine` but one, and the last.
fn last_runs(results: &Results, machine: &str) -> Result<[String; 2]> {
    let mut runs = vec![];
    for run in results.runs(machine)? {
        let records = run.experiments(machine)?.into_iter();
        let records = records.filter_map(|name| run.read(machine, &name).ok()?);
        let last = records.map(|record| record.run.started).max();
        runs.extend(last.map(|started| (started, run.label().unwrap_or_default().to_owned())));
    }
    runs.sort();
    match &runs[..] {
        [.., (_, a), (_, b)] => Ok([a, b].map(|label| format!("{machine}/{label}"))),
        _ => misused!(
            "{machine} has one run: name what to compare it with, such as `cargo workbook compare \
             {} {machine}`; or add a run, with `--label again`",
            results.references()?.first().map_or("h200", String::as_str)
        ),
    }
}

/// What `[REVISION:]MACHINE[/LABEL]` names has recorded.
fn side(root: &Path, text: &str, folders: &mut Vec<TempDir>) -> Result<Machine> {
    let (revision, rest) = match text.rsplit_once(':') {
        Some((revision, rest)) => (Some(revision), rest),
        None => (None, text),
    };
    let (machine, label) = match rest.split_once('/') {
        Some((machine, label)) => (machine, Some(label)),
        None => (rest, None),
    };
    record::file::check_name("machine", machine).map_err(|e| WrongUsage(e.to_string()))?;
    let results = match revision {
        None => root.join("results"),
        Some(revision) => {
            let folder = temporary::folder()?;
            check_out(root, revision, machine, folder.path())?;
            let results = folder.path().to_owned();
            folders.push(folder);
            results
        }
    };
    let results = Results::new(results);
    let recorded = Machine::load_run(&results, machine, label)?;
    if recorded.experiments().next().is_none() {
        let mut known = results.machines()?;
        known.retain(|name| name != EMULATED);
        if known.iter().any(|name| name == machine) {
            let labels = results.runs(machine)?;
            let labels = labels.iter().filter_map(Results::label);
            known = labels.map(|label| format!("{machine}/{label}")).collect();
        }
        misused!("there are no measured records of `{rest}`; there are {}", known.join(", "));
    }
    Ok(recorded)
}

/// Writes what `revision` has of `machine` into a folder of results.
fn check_out(root: &Path, revision: &str, machine: &str, into: &Path) -> Result<()> {
    if revision.starts_with('-') {
        misused!("`{revision}` is no revision");
    }
    let git = |arguments: &[&str]| -> Result<Vec<u8>> {
        let mut command = Command::new("git");
        let output = command.current_dir(root).args(arguments).output();
        let output = output.context("a revision's records need git")?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            misused!("git has no {revision}: {why}");
        }
        Ok(output.stdout)
    };
    let folder = format!("results/{machine}");
    let listed = git(&["ls-tree", "-r", "-z", "--name-only", revision, "--", &folder])?;
    let listed = String::from_utf8(listed).context("a file's name is not UTF-8")?;
    let results = Results::new(into);
    for path in listed.split('\0').filter(|path| path.ends_with(".json")) {
        let json = git(&["show", &format!("{revision}:{path}")])?;
        let json = String::from_utf8(json).with_context(|| path.to_owned())?;
        let name = format!("{revision}:{path}");
        results.write(&record::file::parse(name.as_ref(), &json)?)?;
    }
    Ok(())
}

/// A case for a program to read.
#[derive(Serialize)]
struct Row<'c> {
    #[serde(flatten)]
    case: &'c Case,
    outcome: Outcome,
}

fn json(found: &Comparison, [a, b]: [&String; 2], threshold: f64) -> Result<()> {
    let experiments = found.experiments.iter().map(|experiment| {
        let rows = experiment.cases.iter();
        let rows = rows.map(|case| Row { case, outcome: case.outcome(threshold) });
        serde_json::json!({
            "name": experiment.name,
            "runs": experiment.runs,
            "unmatched": experiment.unmatched,
            "cases": rows.collect::<Vec<_>>(),
        })
    });
    let all = serde_json::json!({
        "a": a,
        "b": b,
        "threshold": threshold,
        "flips": found.flips,
        "alone": found.alone,
        "experiments": experiments.collect::<Vec<_>>(),
    });
    say!("{}", serde_json::to_string_pretty(&all)?);
    Ok(())
}

fn csv(found: &Comparison, threshold: f64) -> Result<()> {
    let mut lines = csv::Writer::from_writer(vec![]);
    lines.write_record([
        "experiment",
        "case",
        "unit",
        "a",
        "a_low",
        "a_high",
        "b",
        "b_low",
        "b_high",
        "speedup",
        "speedup_low",
        "speedup_high",
        "outcome",
    ])?;
    for experiment in &found.experiments {
        for case in &experiment.cases {
            let (a, b) = &case.values;
            let numbers = [a, b, &case.speedup].map(|of| [of.value, of.low, of.high]);
            let numbers = numbers.as_flattened().iter().map(|n| format!("{n:e}"));
            let names = [&experiment.name, &case.name, case.unit.symbol()];
            let outcome = case.outcome(threshold).word();
            let names = names.into_iter().map(str::to_owned);
            lines.write_record(names.chain(numbers).chain([outcome.to_owned()]))?;
        }
    }
    say!("{}", String::from_utf8(lines.into_inner()?)?.trim_end());
    Ok(())
}

/// The same for people: verdicts first, then each section in a line, with what differs most.
fn tell(
    found: &Comparison,
    [a, b]: [&String; 2],
    threshold: f64,
    all: bool,
    sections: &BTreeMap<String, String>,
) {
    let bold = anstyle::Style::new().bold();
    say!("{bold}{b} against {a}{bold:#}: a ratio above 1 means that {b} is faster");
    if !found.experiments.is_empty() {
        let least = (threshold * 1e4).round() / 1e2;
        let cases = || found.experiments.iter().flat_map(|experiment| &experiment.cases);
        let differing = cases().filter(|case| case.differs(threshold)).count();
        let [differing, all] = [differing, cases().count()].map(|n| units::count(n as u64));
        let legend = format!(
            "Each line has {a}, then {b}. Same: less than {least}% apart. Undecided: what was \
             measured spreads too far to tell."
        );
        say!("{}", wrap(&legend, width(), 0));
        say!("{differing} of {all} cases differ by more than {least}%.");
    }
    say!();
    match found.flips.len() {
        0 if found.experiments.is_empty() => {
            say!("They have no experiment in common.");
        }
        0 => say!("All claims that both can try have the same verdict."),
        1 => say!("One verdict differs:"),
        n => say!("{n} verdicts differ:"),
    }
    for flip in &found.flips {
        let (from, to) = flip.verdicts;
        say!("  {:<5} {from} → {to}", flip.id);
        say!("        {}", beside(&flip.says, 8));
    }
    let mut by_section: BTreeMap<&str, Vec<&Experiment>> = BTreeMap::new();
    for experiment in &found.experiments {
        let name = experiment.name.trim_end_matches("-counters");
        let section = sections.get(name).map_or("other", String::as_str);
        by_section.entry(section).or_default().push(experiment);
    }
    for (section, experiments) in by_section {
        let cases = || experiments.iter().flat_map(|experiment| &experiment.cases);
        say!();
        say!("{bold}{section}{bold:#}  {}", counts(cases(), threshold));
        for experiment in experiments {
            list(experiment, threshold, all);
        }
    }
    for (name, alone) in [(a, &found.alone.0), (b, &found.alone.1)] {
        if !alone.is_empty() {
            say!();
            let only = format!("Only {name} has: {}", alone.join(", "));
            say!("{}", wrap(&only, width(), 2));
        }
    }
    let has_one = |side: fn(&Experiment) -> usize| found.experiments.iter().any(|e| side(e) == 1);
    let text = match [has_one(|e| e.runs.0), has_one(|e| e.runs.1)] {
        [false, false] => return,
        [true, true] => {
            "Where each side has one run, a difference between them cannot be told from one \
             between two runs, and verdicts are provisional."
                .to_owned()
        }
        [is_first, _] => {
            let name = if is_first { a } else { b };
            format!("Where {name} has one run, its verdicts are provisional.")
        }
    };
    say!();
    say!("{}", wrap(&format!("{text} `cargo workbook run --label again` adds a run."), width(), 0));
}

/// The geometric mean, and how many cases there are of each outcome.
fn counts<'c>(cases: impl Iterator<Item = &'c Case> + Clone, threshold: f64) -> String {
    let logs: Vec<f64> = cases.clone().map(|case| case.speedup.value.ln()).collect();
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    let mut counts = BTreeMap::new();
    for case in cases {
        *counts.entry(case.outcome(threshold)).or_insert(0) += 1;
    }
    let counts = counts.iter().map(|(outcome, n)| format!("{n} {}", outcome.word()));
    format!("{mean:.3}× in the geometric mean: {}", counts.collect::<Vec<_>>().join(", "))
}

/// The cases of an experiment that differ most, or all; and how many more differ.
fn chosen(experiment: &Experiment, threshold: f64, all: bool) -> (Vec<&Case>, usize) {
    let is_chosen = |case: &&Case| all || case.differs(threshold);
    let mut chosen: Vec<&Case> = experiment.cases.iter().filter(is_chosen).collect();
    let differing = chosen.len();
    if !all {
        let distance = |case: &&Case| case.speedup.value.ln().abs();
        chosen.sort_by(|x, y| distance(y).total_cmp(&distance(x)));
        chosen.truncate(MOST_LISTED);
    }
    let more = differing - chosen.len();
    (chosen, more)
}

/// What stands beside a case's name: its two values, their ratio, what became of it, and the share
/// of the theoretical peak that the second side reaches, if there is one.
fn columns(case: &Case, threshold: f64) -> [String; 5] {
    let (a, b) = &case.values;
    let share = case.shares_of_peak.map(|(_, share)| format!("{:.0}% of peak", share * 100.0));
    [
        case.unit.print(a.value),
        case.unit.print(b.value),
        format!("{:.3}×", case.speedup.value),
        case.outcome(threshold).word().to_owned(),
        share.unwrap_or_default(),
    ]
}

/// The cases of an experiment that differ most, or all.
fn list(experiment: &Experiment, threshold: f64, all: bool) {
    /// Around a name: what indents it, and the columns beside it.
    const AROUND: usize = 65;
    let (listed, more) = chosen(experiment, threshold, all);
    if listed.is_empty() {
        return;
    }
    let Experiment { name, runs, unmatched, .. } = experiment;
    let runs = match runs {
        (1, 1) => String::new(),
        (a, b) => format!(" (runs: {a} → {b})"),
    };
    say!("  {name}{runs}");
    let room = width().saturating_sub(AROUND).max(20);
    for case in listed {
        let [a, b, speed, word, share] = columns(case, threshold);
        let name = wrap(&case.short, room, 2).replace('\n', "\n    ");
        let last = name.lines().last().unwrap_or_default().trim_start_matches("    ");
        let gap = room.saturating_sub(last.chars().count());
        let row = format!("    {name}{:gap$} {a:>12} → {b:<12} {speed:>7} {word:<9} {share}", "");
        say!("{}", row.trim_end());
    }
    if more > 0 {
        say!("    and {more} more; --all lists them");
    }
    if *unmatched > 0 && all {
        say!("    {unmatched} cases are not on both sides, or not with as much work");
    }
}

/// The same as [`tell`] says, to be pasted.
fn markdown(found: &Comparison, [a, b]: [&String; 2], threshold: f64, all: bool) {
    let row = |cells: &[&str]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        say!("| {} |", cells.join(" | "));
    };
    say!("## {b} against {a}\n\nA ratio above 1 means that {b} is faster.");
    if !found.flips.is_empty() {
        say!("\n### Verdicts that differ\n");
        row(&["claim", "says", a, b]);
        say!("|---|---|---|---|");
    }
    for flip in &found.flips {
        row(&[&flip.id, &flip.says, flip.verdicts.0, flip.verdicts.1]);
    }
    for experiment in &found.experiments {
        let (listed, more) = chosen(experiment, threshold, all);
        if listed.is_empty() {
            continue;
        }
        say!("\n### {}\n", experiment.name);
        row(&["case", a, b, "ratio", "", "share of peak"]);
        say!("|---|---:|---:|---:|---|---|");
        for case in listed {
            let [a, b, speed, word, share] = columns(case, threshold);
            row(&[&case.short, &a, &b, &speed, &word, &share]);
        }
        if more > 0 {
            say!("\nAnd {more} more.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_percentages() {
        for (text, expected) in [
            ("5%", Ok(0.05)),
            ("0.5%", Ok(0.005)),
            ("10", Ok(0.1)),
            ("-1%", Err("write it like 5%".to_owned())),
            ("five", Err("write it like 5%".to_owned())),
        ] {
            assert_eq!(share(text), expected, "{text}");
        }
    }
}
