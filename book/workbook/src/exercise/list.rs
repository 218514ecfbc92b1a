//! How far the learner is.

use anstyle::Style;
use anyhow::Result;
use exercise::catalogue::Language;
use exercise::progress::Done;
use exercise::{Exercise, Progress};
use lab::layout;
use referee::check::Check;
use serde_json::json;

use crate::terminal::say;

/// Signs of a bar.
const BAR: usize = 10;

/// A line for each part of the book, and which exercise is next.
pub(super) fn parts(all: &[Exercise], progress: &Progress) {
    let parts = || all.chunk_by(|a, b| a.part == b.part);
    let widest = parts().map(|part| part[0].part.chars().count()).max().unwrap_or(0);
    for part in parts() {
        say!("{:<widest$}  {}", part[0].part, bar(part, progress));
    }
    match next(all, progress, None) {
        Some((number, exercise)) => {
            say!("\nnext: {} ({number} of {}), {}", exercise.name, all.len(), exercise.title);
            say!("      cargo workbook exercise {}", exercise.name);
        }
        None => say!("\nAll {} solved.", all.len()),
    }
}

fn bar(exercises: &[Exercise], progress: &Progress) -> String {
    let passed = exercises.iter().filter(|e| progress.of(&e.name).passed).count();
    let full = passed * BAR / exercises.len();
    let bar = "█".repeat(full) + &"░".repeat(BAR - full);
    format!("{bar}  {passed}/{}", exercises.len())
}

/// How far the learner is with a part of the book, and with all.
pub(super) fn progress(all: &[Exercise], progress: &Progress, part: &str) {
    let of_part: Vec<_> = all.iter().filter(|e| e.part == part).cloned().collect();
    say!("{part}  {}   all  {}", bar(&of_part, progress), bar(all, progress));
}

/// A line for each exercise, below the part of the book that it is in.
pub(super) fn all(all: &[Exercise], progress: &Progress) {
    let widest = all.iter().map(|exercise| exercise.name.len()).max().unwrap_or(0);
    let (mut part, bold) = ("", Style::new().bold());
    for (number, exercise) in all.iter().enumerate() {
        let Exercise { name, title, language, check, .. } = exercise;
        if exercise.part != part {
            part = &exercise.part;
            say!("{}{bold}{part}{bold:#}", if number > 0 { "\n" } else { "" });
        }
        let state = match progress.of(name) {
            Done { passed: true, .. } => "solved",
            Done { checks: 0, hints: 0, .. } => "",
            _ => "begun",
        };
        let language = match language {
            Language::Kernel => "kernel",
            Language::Host => "host",
        };
        let figures = format!(
            "{:>3}  {name:<widest$}  {language:<6}  {:<12}  {:>2} min  {state:<6}  ",
            number + 1,
            check.level,
            check.minutes,
        );
        let text = format!("{title}{}", needs(check));
        say!("{figures}{}", layout::beside(&text, figures.chars().count()));
    }
    say!("\nOne of them: cargo workbook exercise NAME. Host code needs no NVRTC.");
}

/// What has to come before, as the end of a line.
fn needs(check: &Check) -> String {
    let needs: Vec<_> = check.needs.iter().map(ToString::to_string).collect();
    if needs.is_empty() { String::new() } else { format!(" (needs {})", needs.join(", ")) }
}

pub(super) fn json(all: &[Exercise], progress: &Progress) -> Result<String> {
    let rows = all.iter().map(|exercise| {
        let done = progress.of(&exercise.name);
        json!({
            "name": exercise.name,
            "title": exercise.title,
            "language": match exercise.language {
                Language::Kernel => "cuda",
                Language::Host => "rust",
            },
            "section": exercise.lesson.section,
            "page": exercise.page,
            "minutes": exercise.check.minutes,
            "level": exercise.check.level.to_string(),
            "needs": exercise.check.needs.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "checks": done.checks,
            "hints": done.hints,
            "passed": done.passed,
            "solution_shown_before": done.shown_before,
        })
    });
    let rows: Vec<_> = rows.collect();
    Ok(serde_json::to_string_pretty(&json!({ "exercises": rows }))?)
}

/// The first exercise after another one that is not solved, or the first at all; with its number.
pub(super) fn next<'e>(
    all: &'e [Exercise],
    progress: &Progress,
    after: Option<&Exercise>,
) -> Option<(usize, &'e Exercise)> {
    let place = after.and_then(|after| all.iter().position(|e| e.name == after.name));
    let start = place.map_or(0, |place| place + 1);
    let numbered = || all.iter().enumerate().map(|(place, e)| (place + 1, e));
    let mut order = numbered().skip(start).chain(numbered().take(start));
    order.find(|(_, exercise)| !progress.of(&exercise.name).passed)
}
