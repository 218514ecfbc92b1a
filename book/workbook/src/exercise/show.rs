//! What a check found, in the terminal.

use anstyle::{AnsiColor, Style};
use exercise::progress::Done;
use exercise::{Exercise, Progress};
use lab::layout;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use record::file::{visible, visible_lines};
use referee::check::HINTS;
use referee::{Outcome, Row, State};

use super::list;
use crate::terminal::say;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();
/// What is before the rows that were not looked at.
const REST: &str = "after that";
/// Lines of a compiler's errors, or of what a program printed, at most.
const MOST_LINES: usize = 60;
/// Room for a row's state, with the spaces after it.
const STATE: usize = 4;

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
}

/// What to do after a hint.
pub(super) fn after_hint(exercise: &Exercise, done: &Done) {
    let name = &exercise.name;
    match done.is_open() {
        false => say!("back to it: cargo workbook exercise {name}"),
        true => say!("the solution is open: cargo workbook exercise {name} --solution"),
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
        let (before, last) = last_lines(outcome.printed.trim_end());
        let more = if before > 0 { format!(", after {before} other lines") } else { String::new() };
        say!("{DIM}printed{more}{DIM:#}\n{}", visible_lines(&last));
    }
    if outcome.is_solved() {
        say!("\n{GOOD}Solved.{GOOD:#}");
    } else {
        let bad = outcome.rows.iter().filter(|row| row.state == State::Bad);
        let bad: Vec<_> = bad.map(|row| row.name.as_str()).collect();
        say!("\n{BAD}Not solved yet{BAD:#}: {}", bad.join(", "));
    }
}

/// As many lines of a long text as one may want to read.
fn first_lines(text: &str) -> String {
    let more = text.lines().count().saturating_sub(MOST_LINES);
    if more == 0 {
        return text.to_owned();
    }
    let first: Vec<_> = text.lines().take(MOST_LINES).collect();
    format!("{}\n… and {more} more lines", first.join("\n"))
}

/// The end of a long text, and how many lines come before.
fn last_lines(text: &str) -> (usize, String) {
    let before = text.lines().count().saturating_sub(MOST_LINES);
    (before, text.lines().skip(before).collect::<Vec<_>>().join("\n"))
}

fn show(file: &str, row: &Row, widest: usize) {
    let Row { name, state, text, line } = row;
    let style = match state {
        State::Good => GOOD,
        State::Bad => BAD,
        State::Open => DIM,
    };
    let before = widest + 2 + STATE;
    let text = visible_lines(&first_lines(text));
    let place = line.as_ref().map(|line| {
        let most = if line.shares { "most of it at " } else { "" };
        let at = format!("{most}{file}:{}   ", line.number);
        let room = layout::width().saturating_sub(before + at.len());
        format!("{at}{}", layout::cut(&visible(&line.text), room))
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
    let line = |line: &str| if is_source { line.to_owned() } else { layout::beside(line, before) };
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
    say!(
        "To compare, the reference solution: cargo workbook exercise {} --solution",
        exercise.name
    );
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

/// Before a check.
pub(super) fn checking(file: &str) {
    say!("{DIM}checking {file}…{DIM:#}");
}

/// What the keys do at present.
pub(super) fn keys(file: &str, solved: bool, done: &Done, next: Option<&Exercise>) {
    let mut keys = vec![];
    match next {
        Some(next) if solved => keys.push(format!("n next: {}", next.title)),
        Some(_) => keys.push("n next".to_owned()),
        None => {}
    }
    if !solved && done.hints < HINTS {
        keys.push(format!("h hint ({} of {HINTS})", done.hints + 1));
    }
    if done.is_open() {
        keys.push("s our solution".to_owned());
    }
    keys.extend(["l list", "r reset", "q quit"].map(str::to_owned));
    let enter = if cfg!(unix) { "" } else { ", with Enter" };
    let keys = format!("keys{enter}: {}", keys.join(" · "));
    say!("{}", layout::wrap(&keys, layout::width(), 6));
    say!("{DIM}waiting for a key, or for {file} to change{DIM:#}");
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
