//! A check as a page of HTML: one file, without a script, to be sent to somebody.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use referee::count::{Lines, total};
use referee::trial::{Finding, Kind, Trial};
use report::html::xml;

use super::show::heading;
use super::table;
use crate::terminal::misused;

/// What a report begins with, by which it is known.
const MARK: &str = "<!doctype html><!-- a report of cargo workbook check -->";

const STYLE: &str = "
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
div.wide { overflow-x: auto }
table { border-collapse: collapse; font: 13px/1.5 ui-monospace, monospace }
th, td { padding: 0 .7em; text-align: right; vertical-align: top; white-space: pre }
th { position: sticky; top: 0; background: Canvas; font-weight: 600 }
td.code { text-align: left; border-left: 1px solid #8888 }
td .said { white-space: normal; max-width: 44rem; font-family: system-ui, sans-serif }
tr.mistake { background: #d3202a22 } tr.note { background: #c8930022 }
tr.counts:not(.mistake, .note) { background: #8881 }
.mistake b { color: light-dark(#b3141d, #ff8a8f) } .note b { color: light-dark(#7a5800, #f0c14b) }
pre { overflow-x: auto }";

/// Whether a report may be written there: not over a file that is none.
pub(super) fn may_write(path: &Path) -> Result<()> {
    let name = path.display();
    if path.is_dir() {
        misused!("--html {name} is a folder");
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_some_and(|parent| !parent.is_dir()) {
        misused!("--html {name}: there is no such folder");
    }
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let mut start = vec![];
    let file = fs::File::open(path).with_context(|| name.to_string())?;
    file.take(MARK.len() as u64).read_to_end(&mut start)?;
    if start != MARK.as_bytes() {
        misused!(
            "--html {name}: this file is no report of `check`, and is left as it is: name another"
        );
    }
    Ok(())
}

pub(super) fn write(path: &Path, trials: &[Trial]) -> Result<()> {
    let names: Vec<_> = trials.iter().map(|trial| xml(&trial.subject.name)).collect();
    let mut html = format!(
        "{MARK}\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{}</title><style>{STYLE}</style>\n",
        names.join(", ")
    );
    for (number, trial) in trials.iter().enumerate() {
        one(&mut html, number, trial)?;
    }
    if let [one, other, ..] = trials {
        for sentence in one.agreement(other) {
            writeln!(html, "<p>Compared: {}.</p>", xml(&sentence))?;
        }
    }
    html += "<p><small>Counted on the emulated GPU of the GPU Memory Workbook, which has no time. \
             Loads and stores are in sectors of 32 bytes, of shared memory in wavefronts; ×2 is \
             twice what the same bytes need.</small></p></html>\n";
    fs::write(path, html).with_context(|| path.display().to_string())
}

fn one(html: &mut String, place: usize, trial: &Trial) -> Result<()> {
    let Trial { subject, kernel, compiler, findings, runs } = trial;
    let made = [subject.name.as_str(), compiler].map(str::to_owned);
    let made = made.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
    let what = if kernel.is_empty() { &subject.name } else { kernel };
    writeln!(html, "<h1>{}</h1>", xml(what))?;
    let state = match trial.has_mistakes() {
        true => "<b>Mistakes were found.</b>",
        false => "No fault, no race.",
    };
    writeln!(html, "<p>{}. {state}</p><ul>", xml(&made.join(", ")))?;
    for run in runs {
        let state = if run.is_clean { "ok" } else { "no" };
        writeln!(html, "<li>{state}: {}", xml(&heading(run)))?;
        for result in &run.results {
            writeln!(html, "<pre>{}</pre>", lines(result))?;
        }
    }
    *html += "</ul>\n";
    for finding in findings {
        let link = finding.line.map(|line| format!("<a href=\"#{place}-{line}\">line {line}</a>"));
        let link = link.unwrap_or_default();
        writeln!(html, "<div class=\"{}\">{link}{}</div>", finding.kind.word(), said(finding))?;
    }
    let none = Lines::new();
    let counted = trial.lines().unwrap_or(&none);
    let columns = table::columns(&[counted]);
    *html += "<div class=\"wide\"><table><tr><th>line";
    for column in &columns {
        write!(html, "<th>{}", column.heading)?;
    }
    *html += "<th>\n";
    for (number, code) in (1..).zip(subject.source.lines()) {
        let here: Vec<_> = findings.iter().filter(|f| f.line == Some(number)).collect();
        let kind = match here.iter().map(|f| f.kind).min_by_key(|kind| *kind != Kind::Mistake) {
            Some(kind) => kind.word(),
            None => "",
        };
        let counts = if counted.contains_key(&number) { "counts" } else { "" };
        write!(html, "<tr id=\"{place}-{number}\" class=\"{counts} {kind}\"><td>{number}")?;
        for column in &columns {
            let text = counted.get(&number).map(|tally| column.text(tally));
            write!(html, "<td>{}", text.unwrap_or_default())?;
        }
        write!(html, "<td class=\"code\">{}", lines(code))?;
        for finding in here {
            let word = finding.kind.word();
            write!(html, "<div class=\"said {word}\">{}</div>", said(finding))?;
        }
        *html += "\n";
    }
    let total = total(counted);
    *html += "<tr><td>all";
    for column in &columns {
        write!(html, "<td>{}", column.text(&total))?;
    }
    *html += "</table></div>\n";
    if let Some(with) = trial.counted_with() {
        writeln!(html, "<p><small>Counted {}.</small></p>", xml(&with))?;
    }
    Ok(())
}

fn said(finding: &Finding) -> String {
    let Finding { kind, text, .. } = finding;
    match text.contains('\n') {
        true => format!("<b>{}</b><pre>{}</pre>", kind.word(), lines(text)),
        false => format!(" <b>{}</b> {}", kind.word(), xml(text)),
    }
}

/// Escaped line by line; tabs as four spaces.
fn lines(text: &str) -> String {
    let line = |line: &str| xml(&line.replace('\t', "    "));
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
