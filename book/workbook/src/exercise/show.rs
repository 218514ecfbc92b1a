//! What a check found, in the terminal.

use anstyle::{AnsiColor, Style};
use exercise::check::HINTS;
use exercise::progress::Done;
use exercise::{Exercise, Outcome, Progress, Row, State};
use lab::layout;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use record::file::visible_lines;

use super::list;
use crate::terminal::say;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();
/// What is before the rows that were not looked at.
const REST: &str = "after that";
/// Room for a row's state, with the spaces after it.
const STATE: usize = 4;

/// The task.
pub(super) fn task(exercise: &Exercise) {
    let bold = Style::new().bold();
    say!("{bold}{}{bold:#}\n", exercise.title);
    say!("{}", plain(&exercise.text));
}

/// The first so many hints.
pub(super) fn hints(exercise: &Exercise, count: usize) {
    for (number, hint) in exercise.check.hints.iter().take(count).enumerate() {
        say!("{DIM}hint {} of {HINTS}{DIM:#}\n{}\n", number + 1, plain(hint));
    }
    let name = &exercise.name;
    match count < HINTS {
        true => say!("back to it: cargo workbook exercise {name}"),
        false => {
            say!("the solution is open: cargo workbook exercise {name} --solution")
        }
    }
}

/// Row by row; then what the kernel printed.
pub(super) fn outcome(file: &str, outcome: &Outcome) {
    let (open, seen): (Vec<_>, Vec<_>) =
        outcome.rows.iter().partition(|row| row.state == State::Open);
    let last = if open.is_empty() { "next" } else { REST };
    let names = outcome.rows.iter().map(|row| row.name.as_str()).chain([last]);
    let widest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    for row in seen {
        show(file, row, widest);
    }
    if !open.is_empty() {
        let names: Vec<_> = open.iter().map(|row| row.name.as_str()).collect();
        say!("{DIM}{:<widest$}  {}{DIM:#}", REST, layout::beside(&names.join(", "), widest + 2));
    }
    if !outcome.timeline.is_empty() {
        say!("\n{}\n", visible_lines(outcome.timeline.trim_end()));
    }
    if !outcome.printed.is_empty() {
        say!("{DIM}printed{DIM:#}\n{}", visible_lines(outcome.printed.trim_end()));
    }
}

fn show(file: &str, row: &Row, widest: usize) {
    let Row { name, state, text, line } = row;
    let style = match state {
        State::Good => GOOD,
        State::Bad => BAD,
        State::Open => DIM,
    };
    let before = widest + 2 + STATE;
    let text = visible_lines(text);
    let place = line.as_ref().map(|line| {
        let most = if line.shares { "most of it at " } else { "" };
        let at = format!("{most}{file}:{}   ", line.number);
        let room = layout::width().saturating_sub(before + at.len());
        format!("{at}{}", layout::cut(&line.text, room))
    });
    let wide = text.chars().count() + place.as_ref().map_or(0, |p| p.chars().count() + 4);
    let (text, place) = match place {
        Some(place) if before + wide <= layout::width() && !text.contains('\n') => {
            (format!("{text}    {DIM}{place}{DIM:#}"), None)
        }
        place => (paragraphs(&text, before), place),
    };
    let state = match text.is_empty() {
        true => format!("{style}{state}{style:#}"),
        false => format!("{style}{state:<STATE$}{style:#}"),
    };
    say!("{name:<widest$}  {state}{text}");
    if let Some(place) = place {
        say!("{:before$}{DIM}{place}{DIM:#}", "");
    }
}

/// Each line in as many as it needs, all below each other.
fn paragraphs(text: &str, before: usize) -> String {
    // A compiler's lines stay as they are, or its marks would be under something else.
    let is_mark = |c: char| " |~-_".contains(c);
    let is_source = text.lines().any(|line| line.trim_start_matches(is_mark).starts_with('^'));
    let line = |line: &str| match is_source {
        true => line.to_owned(),
        false => layout::beside(line, before),
    };
    text.lines().map(line).collect::<Vec<_>>().join(&format!("\n{:before$}", ""))
}

/// What to do after a check that found something.
pub(super) fn next(done: &Done) {
    match done.hints {
        shown if shown < HINTS => say!("next    --hint ({} of {HINTS})", shown + 1),
        _ => say!("next    --solution, or once more on your own"),
    }
}

/// What to do after the exercise is solved.
pub(super) fn after(all: &[Exercise], progress: &Progress, exercise: &Exercise) {
    let name = &exercise.name;
    say!("\n{GOOD}Solved.{GOOD:#} Ours, to compare: cargo workbook exercise {name} --solution");
    match list::next(all, progress, Some(exercise)) {
        Some((number, next)) => say!(
            "Next: {} ({number} of {}), cargo workbook exercise {}",
            next.title,
            all.len(),
            next.name
        ),
        None => say!("That was the last one: all {} are solved.", all.len()),
    }
}

/// A line across the terminal.
pub(super) fn rule() -> String {
    format!("{DIM}{}{DIM:#}", "─".repeat(layout::width().min(60)))
}

/// Markdown as plain text, in lines that fit.
fn plain(markdown: &str) -> String {
    let mut blocks: Vec<String> = vec![];
    let (mut text, mut indent) = (String::new(), 0);
    for event in Parser::new(markdown) {
        match event {
            Event::End(TagEnd::CodeBlock) => {
                let lines = text.lines().map(|line| format!("    {line}"));
                blocks.push(lines.collect::<Vec<_>>().join("\n"));
                text.clear();
            }
            Event::Start(Tag::Item) => {
                indent = 2;
                text.push_str("- ");
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_)) => {
                if !text.trim().is_empty() {
                    blocks.push(layout::wrap(text.trim_end(), layout::width(), indent));
                }
                text.clear();
                indent = 0;
            }
            Event::Code(code) => text += &format!("`{code}`"),
            Event::Text(part) => text += &part,
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    blocks.join("\n\n")
}
