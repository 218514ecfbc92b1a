//! What a check found, in the terminal and as JSON.

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use lab::layout;
use record::file::{visible, visible_lines};
use referee::count::{COLUMNS, Column, Lines, total};
use referee::trial::{Finding, Kind, Run, Trial, of};
use serde_json::{Map, Value, json};

use super::table;
use crate::terminal::say;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();
/// Room for a line of the source, at least.
const SOURCE: usize = 12;
/// Lines of counts at most.
const MOST_LINES: usize = 200;

/// What was run, what came out, and what was found.
pub(super) fn trial(trial: &Trial) {
    let Trial { subject, kernel, compiler, findings, runs } = trial;
    let name = visible(&subject.name);
    match kernel.is_empty() {
        true => say!("{name}"),
        false => say!("{} of {name}, {compiler}", visible(kernel)),
    }
    for run in runs {
        let (state, style) = if run.is_clean { ("ok", GOOD) } else { ("no", BAD) };
        say!("{style}{state}{style:#}  {}", heading(run));
        for result in &run.results {
            let lines = visible_lines(result);
            let lines: Vec<_> = lines.lines().map(|line| layout::cut(line, width(4))).collect();
            say!("    {}", lines.join("\n    "));
        }
    }
    for finding in findings {
        say!();
        show(&name, &subject.source, finding);
    }
    if !trial.has_mistakes() {
        say!("\n{GOOD}Clean{GOOD:#}: no fault, no race.");
    }
}

fn width(before: usize) -> usize {
    layout::width() - before
}

/// `n = 1000, grid 4 × 1 × 1, block 256 × 1 × 1`, without what is 1.
pub(super) fn heading(run: &Run) -> String {
    let three = |[x, y, z]: [u32; 3]| match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}×{y}"),
        _ => format!("{x}×{y}×{z}"),
    };
    let sizes = of(&run.shape);
    let sizes = if sizes.is_empty() { sizes } else { sizes + ", " };
    format!("{sizes}grid {}, block {}", three(run.grid), three(run.block))
}

fn show(file: &str, source: &str, finding: &Finding) {
    let Finding { kind, line, text } = finding;
    let style = if *kind == Kind::Mistake { BAD } else { DIM };
    let before = kind.word().len() + 2;
    // A compiler's lines stay as they are, or its marks would be under something else.
    let text = visible_lines(text);
    let text = if text.contains('\n') { text } else { layout::beside(&text, before) };
    say!("{style}{}{style:#}  {text}", kind.word());
    if let Some(number) = line {
        let code = code(source, *number);
        let at = format!("{file}:{number}   ");
        let room = width(before).saturating_sub(at.chars().count());
        say!(
            "{:before$}{DIM}{at}{}{DIM:#}",
            "",
            layout::cut(&visible(&code.replace('\t', " ")), room)
        );
    }
}

/// A line of the source, without the spaces around it.
pub(super) fn code(source: &str, number: u32) -> &str {
    source.lines().nth((number as usize).saturating_sub(1)).unwrap_or_default().trim()
}

pub(super) fn lines(trial: &Trial) {
    let Some(lines) = trial.lines() else { return };
    let columns = table::columns(&[lines]);
    let mut rows: Vec<Row> = lines
        .iter()
        .map(|(number, tally)| Row {
            labels: vec![number.to_string()],
            cells: columns.iter().map(|column| vec![column.text(tally)]).collect(),
            code: code(&trial.subject.source, *number).to_owned(),
        })
        .collect();
    let total = total(lines);
    rows.push(Row {
        labels: vec!["all".to_owned()],
        cells: columns.iter().map(|column| vec![column.text(&total)]).collect(),
        code: String::new(),
    });
    print(&["line"], &columns, rows, trial);
}

/// Whether the results of two kernels agree.
pub(super) fn agreement(one: &Trial, other: &Trial) {
    let said = one.agreement(other);
    if !said.is_empty() {
        say!();
    }
    for sentence in said {
        say!("{DIM}compared{DIM:#}  {}", layout::beside(&visible(&sentence), 10));
    }
}

/// Counts of two kernels: lines of the same text beside each other.
pub(super) fn beside(one: &Trial, other: &Trial) {
    let (Some(first), Some(second)) = (one.lines(), other.lines()) else { return };
    let columns = table::columns(&[first, second]);
    let source = (one.subject.source.as_str(), other.subject.source.as_str());
    let cells = |a: Option<u32>, b: Option<u32>| -> Vec<Vec<String>> {
        let text = |column: &Column, lines: &Lines, number: Option<u32>| {
            let tally = number.and_then(|number| lines.get(&number));
            tally.map(|tally| column.text(tally)).unwrap_or_default()
        };
        columns.iter().map(|c| vec![text(c, first, a), text(c, second, b)]).collect()
    };
    let pairs = table::pairs((first, source.0), (second, source.1));
    let mut rows: Vec<Row> = pairs
        .into_iter()
        .map(|(a, b)| {
            let label = |line: Option<u32>| line.map(|n| n.to_string()).unwrap_or_default();
            let code = match (a, b) {
                (Some(a), Some(_)) => format!("  {}", code(source.0, a)),
                (Some(a), None) => format!("< {}", code(source.0, a)),
                (None, b) => format!("> {}", code(source.1, b.unwrap_or(0))),
            };
            Row { labels: vec![label(a), label(b)], cells: cells(a, b), code }
        })
        .collect();
    let (a, b) = (total(first), total(second));
    rows.push(Row {
        labels: vec!["all".to_owned(), "all".to_owned()],
        cells: columns.iter().map(|c| vec![c.text(&a), c.text(&b)]).collect(),
        code: String::new(),
    });
    print(&["<", ">"], &columns, rows, one);
}

/// A row of counts: of each column one, or one of each kernel.
struct Row {
    labels: Vec<String>,
    cells: Vec<Vec<String>>,
    code: String,
}

fn print(labels: &[&str], columns: &[&Column], rows: Vec<Row>, trial: &Trial) {
    let wide = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let label_width = wide(&mut rows.iter().flat_map(|row| &row.labels)).max(4);
    let widths: Vec<Vec<usize>> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let parts = labels.len();
            let least = (column.heading.chars().count() + 2).div_ceil(parts)
                - if parts > 1 { 1 } else { 2 };
            (0..parts)
                .map(|part| wide(&mut rows.iter().map(|row| &row.cells[at][part])).max(least))
                .collect()
        })
        .collect();
    let mut head: String = labels.iter().map(|label| format!("{label:>label_width$}  ")).collect();
    for (column, widths) in columns.iter().zip(&widths) {
        let width = widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
        head += &format!("{:>width$}  ", column.heading);
    }
    say!("\n{DIM}{}{DIM:#}", head.trim_end());
    let before = head.chars().count();
    let hidden = rows.len().saturating_sub(MOST_LINES);
    for row in rows.iter().skip(hidden) {
        let mut text: String =
            row.labels.iter().map(|label| format!("{label:>label_width$}  ")).collect();
        for (cells, widths) in row.cells.iter().zip(&widths) {
            for (cell, width) in cells.iter().zip(widths) {
                text += &format!("{cell:>width$}  ");
            }
        }
        let room = layout::width().saturating_sub(before).max(SOURCE);
        say!("{}", (text + &layout::cut(&visible(&row.code.replace('\t', " ")), room)).trim_end());
    }
    if hidden > 0 {
        say!("{DIM}and {hidden} lines before: --html shows all{DIM:#}");
    }
    let has = |name: &str| columns.iter().any(|column| column.name.contains(name));
    let units = match (has("sectors"), has("wavefronts")) {
        (true, true) => "sectors of 32 bytes; of shared memory, wavefronts; ",
        (true, false) => "sectors of 32 bytes; ",
        (false, true) => "wavefronts; ",
        _ => "",
    };
    let with = trial.counted_with().map(|with| format!("counted {with}; ")).unwrap_or_default();
    say!("{DIM}{with}{units}×2 is twice what the same bytes need{DIM:#}");
}

/// All of it, for programs.
pub(super) fn json(trials: &[Trial]) -> Result<String> {
    let tally = |lines: &Lines| {
        let of = |tally: &emulator::Tally| -> Map<String, Value> {
            let counted = COLUMNS.iter().map(|column| (column, column.of(tally)));
            let mut all = Map::new();
            for (column, (value, ideal)) in counted.filter(|(_, (value, _))| *value > 0) {
                all.insert(column.name.to_owned(), value.into());
                if ideal > 0 {
                    let (family, _) = column.name.split_once('.').unwrap_or_default();
                    all.insert(format!("{family}.ideal"), ideal.into());
                }
            }
            all
        };
        let each = lines.iter().map(|(line, tally)| json!({"line": line, "counts": of(tally)}));
        json!({"total": of(&total(lines)), "lines": each.collect::<Vec<_>>()})
    };
    let one = |trial: &Trial| {
        let findings = trial.findings.iter().map(|finding| {
            let Finding { kind, line, text } = finding;
            json!({"kind": kind.word(), "line": line, "text": text})
        });
        let runs = trial.runs.iter().map(|run| {
            json!({
                "sizes": run.shape, "grid": run.grid, "block": run.block,
                "clean": run.is_clean, "results": run.results, "counts": tally(&run.lines),
            })
        });
        json!({
            "file": trial.subject.name, "kernel": trial.kernel, "compiler": trial.compiler,
            "clean": !trial.has_mistakes(),
            "findings": findings.collect::<Vec<_>>(), "runs": runs.collect::<Vec<_>>(),
        })
    };
    let all: Vec<_> = trials.iter().map(one).collect();
    let mut told = json!({ "checked": all });
    if let [one, other, ..] = trials {
        told["compared"] = json!(one.agreement(other));
    }
    Ok(serde_json::to_string_pretty(&told)?)
}
