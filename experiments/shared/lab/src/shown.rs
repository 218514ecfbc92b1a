//! What a run prints: the charts and tables of a page, as `book/shown.json` has them, with this
//! run's numbers, and its answers to what the page asks.

use std::collections::BTreeSet;

use anstyle::Style;
use anyhow::{Context, Result};
use clap::CommandFactory;
use clap::error::ErrorKind;
use excerpt::page::{Case, FILE, Label, Page, Pages, Question, Table as Shape};
use record::statistics::CONFIDENCE;
use record::{Measurement, Record, Source, units};

use crate::layout::{Cell, Place};
use crate::options::Options;
use crate::terminal::Table;
use crate::{reference, workspace};

/// What a page shows of the experiment.
pub(crate) struct Shown {
    page: Page,
    /// Other pages that show some of it.
    others: Vec<String>,
}

/// Rows: cells, and the measurements in each by their places in the record.
type Rows = Vec<(Vec<Cell>, Vec<usize>)>;

impl Shown {
    /// What the page `wanted` shows of `experiment`, or else the page that is called like it. None
    /// if no page shows any, or outside of a checkout.
    pub(crate) fn find(experiment: &'static str, wanted: Option<&str>) -> Result<Option<Shown>> {
        let mut pages = match workspace::root().map(|root| root.join("book").join(FILE)) {
            Some(file) if file.is_file() => {
                let named = || format!("{}: build the book anew", file.display());
                let text = record::file::read_small(&file).with_context(named)?;
                let mut all: Pages = serde_json::from_str(&text).with_context(named)?;
                all.remove(experiment).unwrap_or_default()
            }
            _ => vec![],
        };
        let name = wanted.unwrap_or(experiment);
        let at = match (pages.iter().position(|page| page.name == name), wanted) {
            (Some(at), _) => at,
            (None, Some(wanted)) => {
                let names: Vec<_> = pages.iter().map(|page| page.name.as_str()).collect();
                let names = if names.is_empty() { "none do".to_owned() } else { names.join(", ") };
                let told = format!("no page `{wanted}` shows cases of {experiment}: {names}");
                Options::command().name(experiment).error(ErrorKind::InvalidValue, told).exit()
            }
            (None, None) if pages.is_empty() => return Ok(None),
            (None, None) => 0,
        };
        let page = pages.remove(at);
        let others = pages.into_iter().map(|page| page.name).collect();
        Ok(Some(Shown { page, others }))
    }

    /// Prints the tables, and what they leave out.
    pub(crate) fn print(&self, record: &Record, table: &mut Table) {
        let mut shown = BTreeSet::new();
        for shape in &self.page.tables {
            table.line("");
            table.heading(&shape.title);
            match shape.cases(record) {
                Ok((cases, sizes)) if !cases.is_empty() => {
                    shown.extend(cases.iter().map(|case| place(record, case.measurement)));
                    print_cases(shape, &cases, record, table);
                    self.print_findings(shape, &cases, &sizes, record, table);
                }
                _ => table.say("This run has none of these cases."),
            }
        }
        table.explain();
        for question in &self.page.questions {
            table.line("");
            table.say(&question.question);
            table.say(&self.answer(question, record, table));
        }
        table.line("");
        table.all_skipped(&record.skipped);
        let left = record.measurements.len() - shown.len();
        if left > 0 {
            let others = match self.others.join(" or --page ") {
                others if others.is_empty() => others,
                others => format!(", --page {others} what another page shows"),
            };
            let (s, were) = if left == 1 { ("", "was") } else { ("s", "were") };
            table.say(&format!(
                "{left} more case{s} {were} measured: --all prints every case{others}."
            ));
        }
    }

    /// What is to be said of a table: how well its numbers are known, and whether its title is so.
    fn print_findings(
        &self,
        shape: &Shape,
        cases: &[Case],
        sizes: &[String],
        record: &Record,
        table: &Table,
    ) {
        let mut said = vec![];
        if !sizes.is_empty() {
            said.push(format!("Smaller than on the page: {}.", sizes.join(", ")));
        }
        let statistics = cases.iter().filter_map(|case| case.measurement.statistics());
        let known =
            statistics.map(|s| (s.confidence >= CONFIDENCE).then(|| s.relative_half_width()));
        let known: Option<Vec<f64>> = known.collect();
        if let Some(widest) = known.into_iter().flatten().reduce(f64::max) {
            said.push(format!("Every time is known to ± {}.", units::spread(widest)));
        }
        match self.page.agrees(shape, record) {
            Some(true) => said.push("This run agrees with the title.".to_owned()),
            Some(false) => said.push("This run does not agree with the title.".to_owned()),
            None => {}
        }
        if !said.is_empty() {
            table.say(&said.join(" "));
        }
    }

    /// The answer to a question, or why there is none, and what the reference machine answers.
    fn answer(&self, question: &Question, record: &Record, table: &Table) -> String {
        let of = |record: &Record| question.print(self.page.value(&question.answer, record)?);
        let bold = Style::new().bold();
        let needs_time = || self.page.needs_time(&question.answer).unwrap_or(false);
        match of(record) {
            Ok(answer) => format!("{bold}{answer}{bold:#}"),
            Err(_) if record.source == Source::Emulated && needs_time() => {
                let there = table.reference.as_ref();
                let there =
                    there.and_then(|there| Some((reference::label(there), of(there).ok()?)));
                let there =
                    there.map(|(label, answer)| format!("; {label}: {bold}{answer}{bold:#}"));
                format!("An emulated GPU has no time{}.", there.unwrap_or_default())
            }
            Err(problem) => format!("This run does not tell: {problem}."),
        }
    }
}

/// Prints cases with the page's numbers, in its columns if there is room; where the run has none
/// of these numbers, with what was counted.
fn print_cases(shape: &Shape, cases: &[Case], record: &Record, table: &mut Table) {
    let number = |case: &Case, value| shape.print(value, record, case.measurement);
    let has_numbers =
        cases.iter().any(|case| shape.values.iter().any(|value| number(case, value).is_some()));
    let at = |case: &Case| place(record, case.measurement);
    if !has_numbers {
        let mut row = |case: &Case| {
            let figures = table.figures(at(case));
            ([labels(case), figures].concat(), vec![at(case)])
        };
        let rows: Rows = cases.iter().map(&mut row).collect();
        table.rows(&rows, false);
        return;
    }
    if shape.columns.is_some() {
        let mut rows: Vec<Vec<&Case>> = vec![];
        for case in cases {
            match rows.iter_mut().find(|row| row[0].row == case.row) {
                Some(row) => row.push(case),
                None => rows.push(vec![case]),
            }
        }
        // Columns stand in the order of all cases, whichever a row has.
        let columns: Vec<_> = cases.iter().filter_map(|case| case.column.as_ref()).collect();
        let rank = |case: &Case| {
            let column = columns.iter().position(|column| case.column.as_ref() == Some(*column));
            column.unwrap_or_default().min(usize::from(u8::MAX)) as u8
        };
        let cell = |case: &&Case| {
            let heading = &case.column.as_ref()?.text;
            Some(figure(rank(case), heading, number(case, shape.values.first()?)))
        };
        let row = |row: &Vec<&Case>| {
            let labels = row[0].row.iter().map(label);
            let cells = labels.chain(row.iter().filter_map(cell)).collect();
            (cells, row.iter().map(|case| at(case)).collect())
        };
        let rows: Rows = rows.iter().map(row).collect();
        // Heads of columns are values of a parameter, so what the numbers are stands above.
        shape.values.iter().for_each(|value| table.line(&value.heading));
        if table.rows(&rows, true) {
            return;
        }
    }
    let row = |case: &Case| {
        let values = shape.values.iter().enumerate();
        let values =
            values.map(|(rank, value)| figure(rank as u8, &value.heading, number(case, value)));
        (labels(case).into_iter().chain(values).collect(), vec![at(case)])
    };
    let rows: Rows = cases.iter().map(row).collect();
    table.rows(&rows, false);
}

/// All that tells a case from the others.
fn labels(case: &Case) -> Vec<Cell> {
    case.row.iter().chain(&case.column).map(label).collect()
}

fn label(Label { heading, text, is_number }: &Label) -> Cell {
    let place = if *is_number { Place::Number } else { Place::Word };
    let (name, heading, text) = (format!("label {heading}"), heading.clone(), text.clone());
    Cell { name, heading, text, room: 0, place, style: Style::new() }
}

fn figure(rank: u8, heading: &str, number: Option<String>) -> Cell {
    let (name, heading) = (format!("figure {heading}"), heading.to_owned());
    let text = number.unwrap_or_else(|| "–".to_owned());
    Cell { name, heading, text, room: 0, place: Place::Figure(rank), style: Style::new() }
}

fn place(record: &Record, measurement: &Measurement) -> usize {
    let is_it = |m: &Measurement| std::ptr::eq(m, measurement);
    record.measurements.iter().position(is_it).expect("it is of this record")
}
