//! The reader's machine beside the references: what it recorded and what it left out, verdicts
//! that are others there, the largest differences, the goals. `{{this-machine}}` shows it on a
//! page; the terminal says the same after a run.

mod differences;
mod html;

use std::collections::{BTreeMap, BTreeSet};

use record::{EMULATED, Record, Results, units};

use crate::both::Here;
use crate::cases;
use crate::claims::{Compared, Entry, Findings, Test, Verdict};
use crate::goals::{self, GoalHere};
use crate::metric::{InRuns, Metric};
use crate::page::Page;
use crate::records::{self, Machine, Recorded, Records};
use crate::unit::Unit;

pub use differences::{Difference, Differences, Kind};
pub use html::html;

/// What there is to say of the reader's machine. Its texts are a record's: whoever shows them
/// makes them safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub label: String,
    /// Whose it is, such as `this machine`.
    pub whose: String,
    /// Its GPU and its CPU, and a reference's if they are others.
    pub hardware: String,
    /// Whether it is one of the references: then what the book says is said of it.
    pub is_reference: bool,
    /// When its first and its last experiment were started, such as `2026-11-21 04:05` (UTC).
    pub started: (String, String),
    pub recorded: Vec<String>,
    /// How many of these are of quick runs.
    pub quick: usize,
    /// How many of these are of a single run.
    pub single: usize,
    /// The experiments that only the references recorded.
    pub lacking: Vec<Skipped>,
    /// The cases that it could not measure.
    pub skipped: Vec<Skipped>,
    /// What is faster than the hardware can be, with the share of the theoretical peak.
    pub above_peak: Vec<(String, String)>,
    /// How many claims it could try, and how many there are.
    pub tried: (usize, usize),
    /// Claims that have another verdict on the references.
    pub verdicts: Vec<OtherVerdict>,
    /// The cases that differ from the references'.
    pub differences: Differences,
    pub goals: Vec<GoalHere>,
    /// How many goals are about it.
    pub all_goals: usize,
    /// What to do next: commands, and what each is for.
    pub next: Vec<(String, &'static str)>,
}

/// Cases or experiments that were not measured for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub reason: String,
    /// How many there are of which experiment.
    pub cases: BTreeMap<String, usize>,
}

/// A claim whose verdict is another one on the references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherVerdict {
    pub id: String,
    pub says: String,
    /// What became of it on the reader's machine.
    pub here: Verdict,
    /// And on the references.
    pub reference: Verdict,
    pub label: String,
    /// The numbers that make the difference, a sentence for each.
    pub because: Vec<String>,
}

impl Skipped {
    /// The reason with its cases: `host-memory (3), peer-copy: it needs two GPUs`.
    pub fn sentence(&self) -> String {
        let cases = self.cases.iter().map(|(experiment, count)| match count {
            1 => experiment.clone(),
            count => format!("{experiment} ({count})"),
        });
        format!("{}: {}", cases.collect::<Vec<_>>().join(", "), self.reason)
    }
}

/// What the records leave out, by the reasons. Those that differ in a number are one, with the
/// range: `needs 64 MiB to 8 GiB`.
pub fn skipped<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Skipped> {
    let cases = records
        .into_iter()
        .flat_map(|record| record.skipped.iter().map(|case| (record.experiment.as_str(), case)));
    let cases: Vec<_> = cases.collect();
    let mut ranges = BTreeMap::new();
    let amounts = cases.iter().filter_map(|(_, case)| units::first_amount(&case.reason));
    for (before, number, after) in amounts {
        let (low, high) = ranges.entry((before, after)).or_insert((number, number));
        (*low, *high) = (number.min(*low), number.max(*high));
    }
    by_reason(cases.iter().map(|(experiment, case)| {
        let reason = units::first_amount(&case.reason).and_then(|(before, _, after)| {
            let (low, high) = ranges[&(before, after)];
            let ((least, _), (most, rest)) =
                (units::amount(low, after), units::amount(high, after));
            (low < high).then(|| format!("{before}{least} to {most}{rest}"))
        });
        (*experiment, reason.unwrap_or_else(|| case.why()))
    }))
}

/// Experiments, each with the reason why something of it is left out.
fn by_reason<'r>(experiments: impl Iterator<Item = (&'r str, String)>) -> Vec<Skipped> {
    let mut all: Vec<Skipped> = vec![];
    for (experiment, reason) in experiments {
        let place = all.iter().position(|known| known.reason == reason);
        let place = place.unwrap_or_else(|| {
            all.push(Skipped { reason, cases: BTreeMap::new() });
            all.len() - 1
        });
        *all[place].cases.entry(experiment.to_owned()).or_default() += 1;
    }
    all
}

/// What was run on an emulated GPU in a checkout with these `results`, if anything was.
pub fn checked(results: &Results) -> Option<String> {
    let names = results.experiments(EMULATED).ok()?;
    let records = names.iter().filter_map(|name| results.read(EMULATED, name).ok()?);
    let records: Vec<Record> = records.collect();
    let cases = || records.iter().flat_map(|record| &record.measurements);
    let elements: u64 = cases().map(|m| m.elements_checked).sum();
    (!records.is_empty()).then(|| {
        format!(
            "An emulated GPU has run {} experiments, with {} cases: all {} elements of their \
             results are right. It counts memory traffic and has no time, so no number of the \
             book changes.",
            records.len(),
            units::count(cases().count() as u64),
            units::count(elements)
        )
    })
}

impl Account {
    /// That of the reader's machine, if it measured anything. `lessons` are the experiments that
    /// there are, each with the GPUs that it needs.
    pub fn of(
        records: &Records,
        findings: &Findings,
        pages: &[Page],
        lessons: &BTreeMap<String, u32>,
    ) -> Option<Account> {
        let own = records.here.as_ref()?;
        let references = records.references();
        let is_reference = references.iter().any(|machine| machine.name == own.name);
        let all = || own.experiments().flat_map(|name| own.record(name));
        let starts: BTreeSet<_> = all()
            .flat_map(|recorded| recorded.runs())
            .map(|run| run.run.started.chars().take(16).collect::<String>())
            .map(|start| start.replace('T', " "))
            .collect();
        let (goals, counts): (Vec<_>, Vec<_>) = pages
            .iter()
            .flat_map(|page| page.goals.iter().map(|block| block.here(page, pages, records)))
            .unzip();
        let tried = |entry: &&Entry| matches!(entry.verdict.here, Here::Measured(_));
        Some(Account {
            label: own.label.clone(),
            whose: own.whose().to_owned(),
            hardware: hardware(own, &references),
            is_reference,
            started: (starts.first()?.clone(), starts.last()?.clone()),
            recorded: own.experiments().map(str::to_owned).collect(),
            quick: all().filter(|recorded| recorded.is_quick()).count(),
            single: all().filter(|recorded| recorded.runs().count() == 1).count(),
            lacking: lacking(own, &references, lessons),
            skipped: skipped(all().map(|recorded| &**recorded)),
            above_peak: above_peak(own),
            tried: (findings.entries.iter().filter(tried).count(), findings.entries.len()),
            verdicts: verdicts(findings, records),
            differences: match is_reference {
                true => Differences::default(),
                false => Differences::of(own, &references, pages),
            },
            goals: goals.into_iter().flatten().collect(),
            all_goals: counts.into_iter().sum(),
            next: next(own, &references, is_reference),
        })
    }

    /// What quick runs are good for, if there are any.
    pub fn of_quick_runs(&self) -> Option<String> {
        let which = match self.quick {
            0 => return None,
            all if all == self.recorded.len() => "They are".to_owned(),
            1 => "One is".to_owned(),
            some => format!("{some} of them are"),
        };
        Some(format!(
            "{which} of quick runs, with fewer samples and some smaller sizes: numbers, verdicts and \
             goals to try, not to quote. Where a page names a size that they did not measure, its \
             sentences are about the reference machine."
        ))
    }

    /// What is to be thought of single runs, if there are any.
    pub fn of_single_runs(&self) -> Option<String> {
        let which = match (self.single, self.recorded.len()) {
            (0, _) => return None,
            (1, 1) => "It has".to_owned(),
            (single, all) if single == all => "Each has".to_owned(),
            (1, _) => "One of them has".to_owned(),
            (some, _) => format!("{some} of them have"),
        };
        Some(format!(
            "{which} one run. It does not tell how the next would differ, so verdicts are provisional."
        ))
    }

    /// How many claims have the reference's verdict, of those that it could try.
    pub fn of_verdicts(&self) -> String {
        let (tried, all) = self.tried;
        match self.verdicts.len() {
            0 => format!("It could try {tried} of {all} claims: each has the reference's verdict."),
            1 => format!("It could try {tried} of {all} claims, and one has another verdict here."),
            n => format!("It could try {tried} of {all} claims, and {n} have other verdicts here."),
        }
    }

    /// How many goals have each outcome, and for how many it has no number.
    pub fn of_goals(&self) -> String {
        let rest = match self.all_goals - self.goals.len() {
            0 => String::new(),
            n => format!("; {n} need what was not measured here"),
        };
        format!(
            "{}{rest}. They were set for the reference machines; what cannot be asked of this one \
             is left out.",
            goals::told(self.goals.iter().map(|goal| goal.outcome))
        )
    }

    /// What it is, and how much it recorded when.
    pub fn of_records(&self) -> String {
        let Account { label, whose, hardware, started: (first, last), .. } = self;
        let recorded = match self.recorded.len() {
            1 => "1 experiment is".to_owned(),
            n => format!("{n} experiments are"),
        };
        let to = if first == last { String::new() } else { format!(" to {last}") };
        format!("{label} ({whose}): {hardware}. {recorded} recorded, started {first}{to} UTC.")
    }
}

/// What was measured above the theoretical peak of its path.
fn above_peak(own: &Machine) -> Vec<(String, String)> {
    let mut found = vec![];
    for name in own.experiments() {
        let Ok(record) = own.record(name) else { continue };
        for m in &record.measurements {
            let Ok(share) = Metric::ShareOfPeak.of(record, m) else { continue };
            if share.value > 1.0 {
                let case = format!("{name}, {}", cases::name_of(m));
                found.push((case, share.print(&Unit::Share)));
            }
        }
    }
    found
}

/// The claims whose verdicts differ.
fn verdicts(findings: &Findings, records: &Records) -> Vec<OtherVerdict> {
    let other = |entry: &Entry| match entry.verdict.here {
        Here::Measured(here) if here != entry.verdict.reference => Some(OtherVerdict {
            id: entry.claim.id.clone(),
            says: entry.claim.says.clone(),
            here,
            reference: entry.verdict.reference,
            label: records.label(&entry.verdict.from),
            because: entry
                .claim
                .tests
                .iter()
                .zip(&entry.compared)
                .filter_map(|(test, compared)| because(test, compared, records))
                .collect(),
        }),
        _ => None,
    };
    findings.entries.iter().filter_map(other).collect()
}

/// The numbers of a test that has another outcome on the reader's machine.
fn because(test: &Test, compared: &Compared, records: &Records) -> Option<String> {
    let verdict = compared.verdict(test);
    if !matches!(verdict.here, Here::Measured(here) if here != verdict.reference) {
        return None;
    }
    let (unit, value) = (&compared.measured.unit, &compared.measured.value);
    let label = records.label(&value.from);
    let claims = [*compared.claimed.first(), compared.claimed.reference]
        .map(|claimed| test.claim(claimed, unit));
    let claimed = match claims {
        [here, reference] if here != reference => {
            format!("{here} here and {reference} on the {label}")
        }
        [both, _] => both,
    };
    Some(format!(
        "{}: claimed {claimed}, measured {} here and {} on the {label}",
        test.what,
        value.first().print(unit),
        value.reference.print(unit),
    ))
}

/// The GPU and the CPU of a machine, and those of the first reference that recorded the same.
fn hardware(own: &Machine, references: &[&Machine]) -> String {
    let of = |recorded: &Recorded| {
        let gpu = recorded.machine.measured_gpu().map_or("unknown GPU", |gpu| &*gpu.name);
        format!("{gpu}, {}", recorded.machine.cpu.model)
    };
    let known = own.experiments().find_map(|name| {
        let reference = records::recorded(references, name, None).ok();
        Some((own.record(name).ok()?, reference?))
    });
    let Some((here, (machine, reference))) = known else { return String::new() };
    match (of(here), of(reference)) {
        (here, there) if here == there => here,
        (here, there) => format!("{here} (the {}: {there})", machine.label),
    }
}

/// The experiments that it did not record and a reference machine did, by the reasons.
fn lacking(
    own: &Machine,
    references: &[&Machine],
    lessons: &BTreeMap<String, u32>,
) -> Vec<Skipped> {
    let mut recorded = own.experiments().flat_map(|name| own.record(name));
    let gpus = recorded.next().map_or(0, |of| of.machine.gpus.len());
    let not_run = if own.is_imported() { "not in what was imported" } else { "not run here" };
    let lacking = lessons.iter().filter(|(name, _)| {
        own.record(name).is_err() && references.iter().any(|machine| machine.record(name).is_ok())
    });
    by_reason(lacking.map(|(name, needed)| {
        let reason = match *needed as usize > gpus {
            true => format!("{needed} GPUs are needed"),
            false => not_run.to_owned(),
        };
        (name.as_str(), reason)
    }))
}

/// What to do after this.
fn next(own: &Machine, references: &[&Machine], is_reference: bool) -> Vec<(String, &'static str)> {
    let mut next = vec![];
    let compared = references
        .iter()
        .find(|machine| own.experiments().any(|experiment| machine.record(experiment).is_ok()));
    if let (Some(reference), false) = (compared, is_reference) {
        let command = format!("cargo workbook compare {} {}", reference.name, own.name);
        next.push((command, "every case beside the reference's"));
    }
    let runs = || own.experiments().flat_map(|name| own.record(name));
    let run = "cargo workbook run";
    // Of one that was imported, where the records were made.
    let (in_full, again) = match own.is_imported() {
        true => (
            "there (of a pack: `./run`), and `import` here: all of it in full, with the sizes that \
             the pages name",
            "there (of a pack: `./run --label again`), and `import` here: a second run. Numbers \
             and verdicts are of all runs",
        ),
        false => (
            "all of it in full, with the sizes that the pages name",
            "a second run: numbers and verdicts are of all runs",
        ),
    };
    if runs().any(Recorded::is_quick) {
        next.push((run.to_owned(), in_full));
    } else if runs().map(|recorded| recorded.runs().count()).max() == Some(1) {
        next.push((format!("{run} --label again"), again));
    }
    next
}
