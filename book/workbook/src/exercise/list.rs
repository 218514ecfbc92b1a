//! How far the learner is.

use anyhow::Result;
use exercise::catalogue::Language;
use exercise::progress::Done;
use exercise::{Exercise, Progress};
use serde_json::json;

use crate::terminal::say;

/// Signs of a bar.
const BAR: usize = 10;

/// A line for each part of the book, and which exercise is next.
pub(super) fn parts(all: &[Exercise], progress: &Progress) {
    let mut rows: Vec<(&str, usize, usize)> = vec![];
    for exercise in all {
        if rows.last().is_none_or(|(last, ..)| *last != exercise.part) {
            rows.push((&exercise.part, 0, 0));
        }
        if let Some((_, passed, count)) = rows.last_mut() {
            *passed += usize::from(progress.of(&exercise.name).passed);
            *count += 1;
        }
    }
    let widest = rows.iter().map(|(title, ..)| title.chars().count()).max();
    let widest = widest.unwrap_or(0);
    for (title, passed, count) in rows {
        let full = passed * BAR / count;
        let bar = "█".repeat(full) + &"░".repeat(BAR - full);
        say!("{title:<widest$}  {bar}  {passed}/{count}");
    }
    match next(all, progress, None) {
        Some((number, exercise)) => {
            say!("\nnext: {} ({number} of {}), {}", exercise.name, all.len(), exercise.title);
            say!("      cargo workbook exercise {}", exercise.name);
        }
        None => say!("\nAll {} solved.", all.len()),
    }
}

/// A line for each exercise.
pub(super) fn all(all: &[Exercise], progress: &Progress) {
    let widest = all.iter().map(|exercise| exercise.name.len()).max().unwrap_or(0);
    for (number, exercise) in all.iter().enumerate() {
        let Exercise { name, title, lesson, check, .. } = exercise;
        let state = match progress.of(name) {
            Done { passed: true, .. } => "solved",
            Done { checks: 0, hints: 0, .. } => "",
            _ => "begun",
        };
        say!(
            "{:>2}  {:<3}  {name:<widest$}  {:>3} min  {state:<6}  {title}",
            number + 1,
            lesson.section,
            check.minutes
        );
    }
    say!("\nOne of them: cargo workbook exercise NAME");
}

/// The same for programs.
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
