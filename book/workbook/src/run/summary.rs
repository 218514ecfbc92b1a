//! What a run says at its end: what was recorded, what was not and why, and where to go on.

use std::path::Path;
use std::time::Duration;

use lab::layout::{width, wrap};
use lab::lessons::Lesson;
use record::Skipped;

use super::Ended;
use crate::terminal::say;

/// Pages are listed if they are so few.
const FEW: usize = 5;

/// Prints it. `skipped` gives the cases that an experiment's record leaves out, `html` is the
/// folder of the book.
pub(super) fn print(
    ended: &[(&Lesson, Ended)],
    skipped: impl Fn(&str) -> Vec<Skipped>,
    elapsed: Duration,
    html: &Path,
) {
    let mut recorded = vec![];
    let [mut kept, mut unable, mut failed] = [const { vec![] }; 3];
    for (lesson, end) in ended {
        let name = lesson.name.as_str();
        match end {
            Ended::Recorded => recorded.push(name),
            Ended::NotRecorded(why) => kept.push((name.to_owned(), why.clone())),
            Ended::CannotRun(why) => unable.push((name.to_owned(), why.clone())),
            Ended::Failed(why) => failed.push((name.to_owned(), why.clone())),
        }
    }
    let count = recorded.len();
    let s = if ended.len() == 1 { "" } else { "s" };
    let took = duration(elapsed);
    say!("\nRecorded {count} of {} experiment{s}, in {took}", ended.len());
    if count > 0 {
        say!("  {}", wrap(&recorded.join(", "), width() - 2, 2));
    }
    list("Skipped", unable);
    let cases = recorded.iter().flat_map(|name| {
        let skipped = skipped(name).into_iter();
        skipped.map(move |skipped| ((*name).to_owned(), skipped.reason))
    });
    list("Skipped cases", counted(cases));
    list("Not recorded", kept);
    list("Failed", failed);
    if count > 0 && ended.len() <= FEW {
        say!("Pages");
        for (lesson, _) in ended {
            say!("  {}", html.join(lesson.page()).with_extension("html").display());
        }
    }
    say!("To read them: cargo workbook serve");
}

/// How many cases of an experiment have a reason, in place of its name again and again.
fn counted(cases: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut counts: Vec<((String, String), usize)> = vec![];
    for case in cases {
        match counts.iter_mut().find(|(known, _)| *known == case) {
            Some((_, count)) => *count += 1,
            None => counts.push((case, 1)),
        }
    }
    let named = counts.into_iter().map(|((name, why), count)| match count {
        1 => (name, why),
        _ => (format!("{name} ({count})"), why),
    });
    named.collect()
}

/// Names under a heading, those with the same reason together.
fn list(heading: &str, named: Vec<(String, String)>) {
    let mut reasons: Vec<(String, Vec<String>)> = vec![];
    for (name, why) in named {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    if !reasons.is_empty() {
        say!("{heading}");
    }
    for (why, names) in reasons {
        say!("  {}", wrap(&format!("{}: {why}", names.join(", ")), width() - 2, 2));
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
