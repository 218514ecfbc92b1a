//! The reader's machine beside the references: what it recorded and what it left out, verdicts
//! that are others there, the largest differences, the goals. `{{this-machine}}` shows it on a
//! page; the terminal says the same after a run.

use std::collections::{BTreeMap, BTreeSet};

use record::{EMULATED, Record, Results, units};

use crate::both::Here;
use crate::cases::{self, Case, Experiment, Outcome};
use crate::claims::{Compared, Entry, Findings, Test, Verdict};
use crate::goals::GoalHere;
use crate::html::{escape, prose};
use crate::metric::Metric;
use crate::page::Page;
use crate::records::{self, Machine, Recorded, Records};
use crate::scorecard;
use crate::unit::Unit;

/// So many differences are listed.
const MOST: usize = 10;
/// Less is none.
const THRESHOLD: f64 = 0.05;

/// What there is to say of the reader's machine. Its texts are a record's: whoever shows them
/// makes them safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub label: String,
    /// Whose it is, such as `this machine`.
    pub whose: String,
    /// Whether it is one of the references: then what the book says is said of it.
    pub is_reference: bool,
    /// When its first and its last experiment were started, such as `2026-11-21 04:05` (UTC).
    pub started: (String, String),
    pub recorded: Vec<String>,
    /// How many of these are of quick runs.
    pub quick: usize,
    /// What only the references recorded.
    pub lacking: Vec<String>,
    /// The cases that it could not measure.
    pub skipped: Vec<Skipped>,
    /// What is faster than the hardware can be, with the share of the theoretical peak.
    pub above_peak: Vec<(String, String)>,
    /// Claims that have another verdict on the references.
    pub verdicts: Vec<OtherVerdict>,
    /// The cases that differ most from the references', at most ten.
    pub differences: Vec<Difference>,
    pub differing: usize,
    /// The goals that it has a number for.
    pub goals: Vec<GoalHere>,
    /// How many goals there are.
    pub all_goals: usize,
    /// What to do next: commands, and what each is for.
    pub next: Vec<(String, &'static str)>,
}

/// Cases that could not be measured for the same reason.
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

/// A case that takes another time than on a reference machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub experiment: String,
    /// The case and its parameters.
    pub case: String,
    pub label: String,
    pub reference: String,
    pub here: String,
    /// How many times as fast that is.
    pub speed: String,
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

/// What the records leave out, by the reasons.
pub fn skipped<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Skipped> {
    let mut all: Vec<Skipped> = vec![];
    for record in records {
        for case in &record.skipped {
            let place = all.iter().position(|known| known.reason == case.reason);
            let place = place.unwrap_or_else(|| {
                let reason = case.reason.clone();
                all.push(Skipped { reason, cases: BTreeMap::new() });
                all.len() - 1
            });
            *all[place].cases.entry(record.experiment.clone()).or_default() += 1;
        }
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
    /// That of the reader's machine, if it measured anything.
    pub fn of(records: &Records, findings: &Findings, pages: &[Page]) -> Option<Account> {
        let own = records.here.as_ref()?;
        let references = records.references();
        let is_reference = references.iter().any(|machine| machine.name == own.name);
        let all = || own.experiments().flat_map(|name| own.record(name));
        let starts: BTreeSet<_> = all()
            .flat_map(|recorded| recorded.runs())
            .map(|run| run.run.started.chars().take(16).collect::<String>())
            .map(|start| start.replace('T', " "))
            .collect();
        let lacking: BTreeSet<&str> = references
            .iter()
            .flat_map(|machine| machine.experiments())
            .filter(|name| !name.ends_with("-counters"))
            .filter(|name| own.record(name).is_err())
            .collect();
        let differing = if is_reference { vec![] } else { differences(own, &references) };
        let (goals, counts): (Vec<_>, Vec<_>) = pages
            .iter()
            .flat_map(|page| page.goals.iter().map(|block| block.here(page, pages)))
            .unzip();
        Some(Account {
            label: own.label.clone(),
            whose: own.whose(),
            is_reference,
            started: (starts.first()?.clone(), starts.last()?.clone()),
            recorded: own.experiments().map(str::to_owned).collect(),
            quick: all().filter(|recorded| recorded.is_quick()).count(),
            lacking: lacking.into_iter().map(str::to_owned).collect(),
            skipped: skipped(all().map(|recorded| &**recorded)),
            above_peak: above_peak(own),
            verdicts: verdicts(findings, records),
            differing: differing.len(),
            differences: differing.into_iter().take(MOST).collect(),
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

    /// How many goals have each outcome: `3 met, 1 missed`.
    pub fn goals_in_words(&self) -> String {
        let mut counts = BTreeMap::new();
        for goal in &self.goals {
            *counts.entry(goal.outcome).or_insert(0) += 1;
        }
        let counts = counts.iter().map(|(outcome, n)| format!("{n} {}", outcome.word()));
        counts.collect::<Vec<_>>().join(", ")
    }

    /// The goals that it has no number for, in words; nothing if there are none.
    pub fn goals_without_number(&self) -> String {
        match self.all_goals - self.goals.len() {
            0 => String::new(),
            n => format!("; {n} need what was not measured here"),
        }
    }

    /// When it was measured, in words.
    pub fn when(&self) -> String {
        let (first, last) = &self.started;
        match first == last {
            true => format!("started {first} UTC"),
            false => format!("started {first} to {last} UTC"),
        }
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

/// The cases that differ from the references', the largest difference first.
fn differences(own: &Machine, references: &[&Machine]) -> Vec<Difference> {
    let mut cases: Vec<(&str, &str, Case)> = vec![];
    for name in own.experiments() {
        let Ok((machine, reference)) = records::recorded(references, name, None) else {
            continue;
        };
        let Ok(here) = own.record(name) else { continue };
        let of_both = Experiment::of(name, reference, here);
        let decided = of_both
            .cases
            .into_iter()
            .filter(|case| matches!(case.outcome(THRESHOLD), Outcome::Faster | Outcome::Slower));
        cases.extend(decided.map(|case| (name, machine.label.as_str(), case)));
    }
    let distance = |case: &Case| case.speedup.value.ln().abs();
    cases.sort_by(|(_, _, a), (_, _, b)| distance(b).total_cmp(&distance(a)));
    let difference = |(name, label, case): (&str, &str, Case)| Difference {
        experiment: name.to_owned(),
        label: label.to_owned(),
        reference: case.values.0.print(&case.unit),
        here: case.values.1.print(&case.unit),
        speed: Unit::Ratio.print(case.speedup.value),
        case: case.name,
    };
    cases.into_iter().map(difference).collect()
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
    // Of one that was imported, where the records were made.
    let run = if own.is_imported() { "./run" } else { "cargo workbook run" };
    let runs = || own.experiments().flat_map(|name| own.record(name));
    if runs().any(Recorded::is_quick) {
        next.push((run.to_owned(), "all of it in full, with the sizes that the pages name"));
    } else if runs().map(|recorded| recorded.runs().count()).max() == Some(1) {
        next.push((
            format!("{run} --label again"),
            "a second run: numbers and verdicts are of all runs",
        ));
    }
    next
}

/// The account as HTML. `root` leads from the page to the book's root.
pub fn html(
    account: Option<&Account>,
    findings: &Findings,
    records: &Records,
    root: &str,
) -> Result<String, String> {
    let Some(account) = account else {
        let checked = checked(records.results()).unwrap_or_default();
        return Ok(format!(
            "<p>Nothing was measured here yet, which needs an NVIDIA GPU: with one, \
             <code>cargo workbook run</code> measures and builds the book again.</p>\n\
             <p>{checked}</p>\n"
        ));
    };
    let Account { label, whose, recorded, lacking, .. } = account;
    let mut html = format!(
        "<p>{} ({}): {} experiments are recorded, {}.</p>\n",
        escape(label),
        escape(whose),
        recorded.len(),
        escape(&account.when())
    );
    if let Some(quick) = account.of_quick_runs() {
        html += &format!("<p>{quick}</p>\n");
    }
    if !lacking.is_empty() {
        html += &format!("<p>Not recorded: {}.</p>\n", escape(&lacking.join(", ")));
    }
    let skipped = account.skipped.iter().map(|skipped| escape(&skipped.sentence()));
    html += &list("<p>Cases that could not be measured:</p>", skipped);
    let above = account
        .above_peak
        .iter()
        .map(|(case, share)| format!("{}: {} of the peak", escape(case), escape(share)));
    html += &list("<p>Above the theoretical peak, so wrong, not fast:</p>", above);
    html += &match account.is_reference {
        true => "<p>It is a reference machine: what the book says of it is of all its \
                 runs.</p>\n"
            .to_owned(),
        false => verdicts_html(account, findings, records, root)? + &differences_html(account),
    };
    html += &goals_html(account, root);
    let next = account
        .next
        .iter()
        .map(|(command, what)| format!("<code>{}</code>: {what}", escape(command)));
    Ok(html + &list("<h2 id=\"next\">Next</h2>", next))
}

/// A list under its heading; nothing if it is empty.
fn list(heading: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("{heading}\n<ul>\n{items}</ul>\n"),
    }
}

fn verdicts_html(
    account: &Account,
    findings: &Findings,
    records: &Records,
    root: &str,
) -> Result<String, String> {
    let mut items = vec![];
    for OtherVerdict { id, says, because, .. } in &account.verdicts {
        let badge = scorecard::badge(findings.entry(id)?, records, root);
        let because = because.iter().map(|why| prose(why));
        items.push(format!("{badge} {}{}", prose(says), list("", because)));
    }
    Ok(match items.is_empty() {
        true => "<p>Every claim that it can try has the reference's verdict.</p>\n".to_owned(),
        false => list("<h2 id=\"verdicts\">Verdicts that are others here</h2>", items.into_iter()),
    })
}

fn differences_html(account: &Account) -> String {
    if account.differing == 0 {
        return "<p>No case differs from the reference's by more than the runs do.</p>\n"
            .to_owned();
    }
    let mut html = format!(
        "<h2 id=\"differences\">The largest differences</h2>\n\
         <p>Of {} cases that are faster or slower here by more than 5 %.</p>\n\
         <div class=\"table\">\n<table>\n<thead><tr><th scope=\"col\">Experiment</th>\
         <th scope=\"col\">Case</th><th scope=\"col\" class=\"number\">Reference</th>\
         <th scope=\"col\" class=\"number\">Here</th>\
         <th scope=\"col\" class=\"number\">Speed</th></tr></thead>\n<tbody>\n",
        account.differing
    );
    for Difference { experiment, case, reference, here, speed, .. } in &account.differences {
        html += &format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
            escape(experiment),
            escape(case),
            escape(reference),
            escape(here),
            escape(speed)
        );
    }
    html + "</tbody>\n</table>\n</div>\n"
}

fn goals_html(account: &Account, root: &str) -> String {
    if account.goals.is_empty() {
        return String::new();
    }
    let mut html = format!(
        "<h2 id=\"goals\">Goals</h2>\n<p class=\"counts\">{}{}.</p>\n\
         <div class=\"table\">\n<table>\n<thead><tr><th scope=\"col\">Goal</th>\
         <th scope=\"col\" class=\"number\">Achieved here</th>\
         <th scope=\"col\" class=\"number\">Required</th><th scope=\"col\">Verdict</th>\
         </tr></thead>\n<tbody>\n",
        account.goals_in_words(),
        account.goals_without_number()
    );
    for GoalHere { what, page, achieved, required, outcome } in &account.goals {
        html += &format!(
            "<tr><th scope=\"row\"><a href=\"{root}{page}\">{}</a></th>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
            prose(what),
            escape(achieved),
            escape(required),
            outcome.badge()
        );
    }
    html + "</tbody>\n</table>\n</div>\n"
}
