//! What a run says at its end: what was recorded, what was not and why, where to go on, and what
//! this machine has beside the references.

use std::path::Path;
use std::time::Duration;

use lab::layout::{width, wrap};
use record::file::visible;
use report::goals::GoalHere;
use report::names::grouped;
use report::this_machine::{Account, Difference, OtherVerdict, Skipped};

use super::measure::{Ended, Run};
use crate::terminal::say;

/// Pages are listed if they are so few.
const FEW: usize = 5;

/// What was recorded, what was not and why, and which pages show it; `html` is the folder of the
/// book.
pub(super) fn of_run(run: &Run, html: &Path) {
    let Run { ended, expected, took } = run;
    let mut recorded = vec![];
    let [mut kept, mut unable, mut failed] = [const { vec![] }; 3];
    for (lesson, end) in ended {
        let name = lesson.name.as_str();
        match end {
            Ended::Recorded => recorded.push(name),
            Ended::NotRecorded(why) => kept.push((why, name)),
            Ended::CannotRun(why) => unable.push((why, name)),
            Ended::Failed(why) => failed.push((why, name)),
        }
    }
    let count = recorded.len();
    let s = if ended.len() == 1 { "" } else { "s" };
    let estimate = match ended.len() {
        1 => String::new(),
        _ => format!(" (the estimate was {})", duration(*expected)),
    };
    say!("\nRecorded {count} of {} experiment{s}, in {}{estimate}", ended.len(), duration(*took));
    if (1..ended.len().max(2)).contains(&count) {
        item(&recorded.join(", "));
    }
    list("Skipped", unable);
    list("Not recorded", kept);
    list("Failed", failed);
    if count > 0 && ended.len() <= FEW {
        say!("Pages");
        for (lesson, _) in ended {
            say!("  {}", html.join(lesson.page()).with_extension("html").display());
        }
    }
}

/// What to do after a run: what its machine's page names, the book, an exercise.
pub(super) fn next(of_machine: &[(String, &str)]) {
    let always = [
        ("cargo workbook serve", "the book; its course says what to read in which order"),
        ("cargo workbook exercise", "your first exercise, or how far you are"),
    ];
    say!("Next");
    let of_machine = of_machine.iter().map(|(command, what)| (command.as_str(), *what));
    for (command, what) in always.into_iter().chain(of_machine) {
        item(&format!("{command}: {what}"));
    }
}

/// The cases that records leave out, by the reasons.
pub(super) fn of_cases(skipped: &[Skipped]) {
    if !skipped.is_empty() {
        say!("Skipped cases");
    }
    skipped.iter().for_each(|skipped| item(&skipped.sentence()));
}

/// What the page on this machine says, too.
pub(super) fn of_machine(account: &Account) {
    say!();
    paragraph(&account.of_records());
    for said in [account.of_single_runs(), account.of_quick_runs()].into_iter().flatten() {
        paragraph(&said);
    }
    for lacking in &account.lacking {
        item(&format!("not recorded: {}", lacking.sentence()));
    }
    of_cases(&account.skipped);
    if !account.above_peak.is_empty() {
        say!("Above the theoretical peak, so wrong, not fast");
    }
    for (case, share) in &account.above_peak {
        item(&format!("{case}: {share} of the peak"));
    }
    match account.is_reference {
        true => {
            paragraph("It is a reference machine: what the book says of it is of all its runs.")
        }
        false => beside_references(account),
    }
    if !account.goals.is_empty() {
        paragraph(&format!("Goals: {}", account.of_goals()));
    }
    for GoalHere { what, achieved, required, outcome, .. } in &account.goals {
        let word = outcome.word();
        item(&format!("{word}: {what}: {achieved}, required {required}"));
    }
}

/// Verdicts and cases that are others than the references'.
fn beside_references(account: &Account) {
    paragraph(&account.of_verdicts());
    for other in &account.verdicts {
        let OtherVerdict { id, says, here, reference, label, because } = other;
        let (here, reference) = (here.words(), reference.words());
        item(&format!("{id} {here}, {reference} on the {label}: {says}"));
        because.iter().for_each(|why| item(&format!("- {why}")));
    }
    paragraph(&account.differences.sentence());
    for difference in &account.differences.largest {
        let Difference { experiment, case, label, reference, here, speed, .. } = difference;
        item(&format!("{speed} as fast: {experiment}, {case}: {here}, {reference} on the {label}"));
    }
}

/// A text of a record or of a page, on as many lines as it takes.
pub(super) fn paragraph(text: &str) {
    say!("{}", wrap(&visible(text).replace('`', ""), width(), 0));
}

/// The same as one of a list.
fn item(text: &str) {
    say!("  {}", wrap(&visible(text).replace('`', ""), width() - 2, 4));
}

/// Names under a heading, those with the same reason together.
fn list(heading: &str, reasons: Vec<(&String, &str)>) {
    if !reasons.is_empty() {
        say!("{heading}");
    }
    for (why, names) in grouped(reasons) {
        item(&format!("{}: {why}", names.join(", ")));
    }
}

/// `40 seconds`, `12 minutes`.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    let (number, unit) = match seconds {
        0..100 => (seconds, "second"),
        _ => ((seconds + 30) / 60, "minute"),
    };
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{s}")
}
