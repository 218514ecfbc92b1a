//! `[table.NAME]`: measurements as rows, with how well each number is known. The reader's
//! machine has the reference's first timed number and a ratio in each row, or a ratio in each
//! cell. A table with `machines` compares them: each has a column, and so has the reader's. What
//! a listed machine has no record of is "not recorded".

use std::collections::BTreeMap;

use excerpt::page::{Key, Table, Value};
use record::statistics::CONFIDENCE;
use record::{Measurement, Parameter, units};
use serde::Deserialize;

use crate::both::Here;
use crate::estimate::Estimate;
use crate::html::{escape, prose};
use crate::metric::{InRuns, Metric, Work};
use crate::names::{self, Check, Defaults, Group, Names};
use crate::page::Page;
use crate::provenance;
use crate::records::{Machine, Recorded, Records};
use crate::select::{self, Choose, Filter};
use crate::unit::Unit;

/// What `[table.NAME]` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Without, the page's.
    pub(crate) experiment: Option<String>,
    /// Which reference machine is shown; without, the first that has the record, and the
    /// reader's own.
    machine: Option<String>,
    /// Reference machines to compare, in order.
    #[serde(default)]
    machines: Vec<String>,
    #[serde(default, rename = "where")]
    filter: Filter,
    rows: Vec<String>,
    columns_by: Option<String>,
    metrics: Vec<Metric>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    order: Vec<Parameter>,
    #[serde(default)]
    headings: BTreeMap<String, String>,
    caption: String,
}

/// Stands for the precision of a number that is a range.
const RANGE: &str = "range";

/// Stands behind what is faster than it can be.
const ABOVE: &str = " ▲";

/// In `columns_by`, the machine stands among the parameters under this name.
const MACHINE: &str = "machine";

/// The body of a table before it is HTML.
#[derive(Clone)]
struct Grid {
    head: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Clone)]
pub(crate) struct Row {
    /// The values that make it.
    pub(crate) keys: Vec<Parameter>,
    pub(crate) labels: Vec<String>,
    pub(crate) cells: Vec<Cell>,
}

/// One of the machines that a table compares, with its record.
struct Compared<'r> {
    label: String,
    found: Option<(&'r Recorded, Grid)>,
}

/// What a cell shows, and its attributes in HTML.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    text: String,
    /// How well its number is known, if that is to be said.
    precision: Option<Precision>,
    attributes: String,
    timed: Option<f64>,
    /// As [`Metric::work`].
    work: Option<Work>,
    /// How many times the reference's it is, in words.
    ratio: String,
}

/// How well a number is known.
#[derive(Clone)]
struct Precision {
    text: String,
    /// To [`TIGHT`].
    tight: bool,
}

/// A table whose numbers are all known so well, as a share of them, says so once.
const TIGHT: f64 = 0.005;

impl Cell {
    fn of(m: &Measurement, metric: &Metric, estimate: &Estimate) -> Cell {
        let mut cell = Cell::number(estimate.print(&metric.unit()));
        if metric.is_timed() {
            let title = escape(&metric.in_words(m, estimate));
            cell.attributes += &format!(" title=\"{title}\"");
            cell.timed = Some(estimate.value);
            cell.work = metric.work(m);
        }
        cell
    }

    pub(crate) fn number(text: String) -> Cell {
        let attributes = " class=\"number\"".to_owned();
        Cell { text, attributes, ..Cell::default() }
    }

    /// How many times what `there` has, if both were timed.
    fn over(&self, there: &Cell) -> Option<String> {
        let ratio = self.timed? / there.timed?;
        if self.work != there.work {
            return Some("other size".to_owned());
        }
        ratio.is_finite().then(|| Unit::Ratio.print(ratio))
    }

    pub(crate) fn lacking() -> Cell {
        Cell::number("–".to_owned())
    }

    /// Stands for what a machine without a record would have.
    fn not_recorded() -> Cell {
        let attributes = " class=\"number missing\"".to_owned();
        Cell { text: "not recorded".to_owned(), attributes, ..Cell::default() }
    }
}

impl Block {
    /// Adds the headings that it does not give, and checks what its types cannot state.
    pub fn complete(&mut self, names: &Defaults) -> Result<(), String> {
        if self.rows.is_empty() || self.metrics.is_empty() {
            return Err("`rows` and `metrics` must not be empty".to_owned());
        }
        if self.columns_by.is_some() && self.metrics.len() != 1 {
            return Err("with `columns_by` there is one metric".to_owned());
        }
        let metrics = self.metrics.iter().map(Metric::name);
        let columns: Vec<String> =
            self.rows.iter().chain(&self.columns_by).cloned().chain(metrics).collect();
        check_headings(&self.headings, &columns)?;
        names.head(&mut self.headings, columns.iter());
        match (self.machines.is_empty(), self.columns_by.as_deref() == Some(MACHINE)) {
            (true, true) => Err("say in `machines` which are compared".to_owned()),
            (false, _) if self.machine.is_some() => Err("take `machine` or `machines`".to_owned()),
            (false, false) => Err("with `machines`, `machine` is `columns_by`".to_owned()),
            _ => Ok(()),
        }
    }

    /// What it shows of one machine.
    pub fn table(&self, names: &Defaults) -> Table {
        let key = |key: &String| {
            let usual = names.key(key);
            Key { heading: self.heading(key, usual.heading), ..usual }
        };
        let is_parameter = |key: &&String| *key != MACHINE;
        let value = |of: &Metric| Value {
            of: of.clone(),
            heading: self.heading(&of.name(), names::of_metric(of)),
        };
        Table {
            title: self.caption.clone(),
            filter: self.filter.clone(),
            rows: self.rows.iter().map(key).collect(),
            columns: self.columns_by.iter().find(is_parameter).map(key),
            values: self.metrics.iter().map(value).collect(),
            labels: self.labels.clone(),
            order: self.order.clone(),
            ..Table::default()
        }
    }

    pub fn machines(&self) -> impl Iterator<Item = &String> {
        self.machines.iter().chain(&self.machine)
    }

    /// The table as HTML.
    pub fn expand(&self, records: &Records, page: &Page) -> Result<String, String> {
        let experiment = page.experiment(&self.experiment)?;
        if !self.machines.is_empty() {
            return self.compare(records, experiment);
        }
        let on = self.machine.as_deref();
        let grids = records.both(experiment, on, |machine, record| {
            if machine.is_reference() {
                let chosen = self.filter.all(record)?;
                self.names().check(&chosen)?;
                self.filter.check(record, &chosen)?;
            }
            Ok((record, self.grid(machine, record)?))
        })?;
        let (theirs, reference) = &grids.reference;
        match &grids.here {
            Here::SameAsReference | Here::NotMeasured => {
                Ok(self.html(&[*theirs], reference.clone(), ""))
            }
            Here::Measured((own, grid)) => {
                let label = records.label(&grids.from);
                let both = self.with_ratios(grid, reference, &label);
                let note = match self.columns_by.is_some() && self.metrics[0].is_timed() {
                    true => format!(" × is the ratio to the {}'s.", escape(&label)),
                    false => String::new(),
                };
                Ok(self.html(&[*own, *theirs], both, &note))
            }
        }
    }

    /// This machine's table with what the reference has of it, and the ratio of the two.
    fn with_ratios(&self, own: &Grid, reference: &Grid, label: &str) -> Grid {
        let (mut head, mut rows) = (own.head.clone(), own.rows.clone());
        let keys = self.rows.len();
        let same = |row: &Row| reference.rows.iter().find(|r| r.keys == row.keys);
        let first = self.metrics.iter().position(Metric::is_timed);
        for row in &reference.rows {
            if rows.iter().all(|known| known.keys != row.keys) {
                let cells = vec![Cell::lacking(); head.len() - keys];
                rows.push(Row { cells, ..row.clone() });
            }
        }
        self.sort(&mut rows);
        match (first, &self.columns_by) {
            (Some(first), None) => {
                let what = format!("{}, {label}", head[keys + first]);
                let after = first + 1;
                head.splice(keys + after..keys + after, [what, "Ratio".to_owned()]);
                for row in &mut rows {
                    let there = same(row).map(|there| &there.cells[first]);
                    let ratio = there.and_then(|there| row.cells[first].over(there));
                    let there = there.map(|there| Cell { precision: None, ..there.clone() });
                    let both = [
                        there.unwrap_or_else(Cell::lacking),
                        ratio.map_or_else(Cell::lacking, Cell::number),
                    ];
                    row.cells.splice(after..after, both);
                }
            }
            // Each column is a value of a parameter: the ratio stands in the cell.
            _ => {
                let heads = &reference.head[keys..];
                for row in &mut rows {
                    let Some(there) = same(row) else { continue };
                    for (cell, head) in row.cells.iter_mut().zip(&head[keys..]) {
                        let place = heads.iter().position(|other| other == head);
                        let ratio = place.and_then(|p| cell.over(&there.cells[p]));
                        if let Some(ratio) = ratio {
                            cell.ratio = format!(" · {ratio}");
                        }
                    }
                }
            }
        }
        Grid { head, rows }
    }

    /// Sorts rows of several machines.
    fn sort(&self, rows: &mut [Row]) {
        let names = self.names();
        rows.sort_by_key(|row| {
            let place = |value: &Parameter| (names.place(value), value.integer());
            row.keys.iter().map(place).collect::<Vec<_>>()
        });
    }

    /// The machines in one table: the reader's own first, unless it is among them.
    fn compare(&self, records: &Records, experiment: &str) -> Result<String, String> {
        let one = Block { columns_by: None, ..self.clone() };
        let (mut compared, mut measured) = (vec![], vec![]);
        let own = records.here.as_ref().filter(|own| !self.machines.contains(&own.name));
        if let Some(own) = own
            && let Ok(record) = own.record(experiment)
            && let Ok(grid) = one.grid(own, record)
        {
            let label = format!("{} ({})", own.label, own.whose());
            compared.push(Compared { label, found: Some((record, grid)) });
        }
        for name in &self.machines {
            let machine = records.named(name)?;
            let mut found = None;
            if let Ok(record) = machine.record(experiment) {
                measured.extend(self.filter.all(record)?);
                found = Some((record, one.grid(machine, record)?));
            }
            compared.push(Compared { label: machine.label.clone(), found });
        }
        if measured.is_empty() {
            return Err(format!("no machine has a measured record of `{experiment}`"));
        }
        self.names().check(&measured)?;
        let shown: Vec<&Recorded> =
            compared.iter().filter_map(|c| Some(c.found.as_ref()?.0)).collect();
        Ok(self.html(&shown, self.joined(&compared), ""))
    }

    /// The machines as columns. A row that one of them lacks is lacking there.
    fn joined(&self, compared: &[Compared]) -> Grid {
        let grids = compared.iter().map(|c| c.found.as_ref().map(|(_, grid)| grid));
        let mut rows: Vec<Row> = vec![];
        for row in grids.clone().flatten().flat_map(|grid| &grid.rows) {
            if rows.iter().all(|known| known.keys != row.keys) {
                let (keys, labels) = (row.keys.clone(), row.labels.clone());
                rows.push(Row { keys, labels, cells: vec![] });
            }
        }
        self.sort(&mut rows);
        for (place, row) in rows.iter_mut().enumerate() {
            for grid in grids.clone() {
                let Some(grid) = grid else {
                    // Said once; the cells below stay empty.
                    row.cells.push(match place {
                        0 => Cell::not_recorded(),
                        _ => Cell::number(String::new()),
                    });
                    continue;
                };
                let same = grid.rows.iter().find(|other| other.keys == row.keys);
                let cell = same.and_then(|same| same.cells.first());
                row.cells.push(cell.cloned().unwrap_or_else(Cell::lacking));
            }
        }
        let of_row = |key: &String| self.heading(key, names::of_parameter(key));
        let machines = compared.iter().map(|c| c.label.clone());
        Grid { head: self.rows.iter().map(of_row).chain(machines).collect(), rows }
    }

    fn names(&self) -> Names<'_> {
        Names { labels: &self.labels, order: &self.order }
    }

    fn heading(&self, key: &str, usual: String) -> String {
        self.headings.get(key).cloned().unwrap_or(usual)
    }

    fn grid(&self, machine: &Machine, record: &Recorded) -> Result<Grid, String> {
        let chosen = self.filter.all(record)?;
        let names = self.names();
        let columns = names.groups(&chosen, self.columns_by.as_deref());

        let of_row = |key: &String| self.heading(key, names::of_parameter(key));
        let of_metric = |m: &Metric| self.heading(&m.name(), names::of_metric(m));
        let mut head: Vec<String> = self.rows.iter().map(of_row).collect();
        if self.columns_by.is_some() {
            head.extend(columns.iter().map(|column| column.label.clone()));
        } else {
            head.extend(self.metrics.iter().map(of_metric));
        }

        let mut rows = vec![];
        for (keys, measurements) in names.rows(&chosen, &self.rows)? {
            let labels = names.values(&self.rows, &keys);
            let mut cells = vec![];
            let groups = names.groups(&measurements, self.columns_by.as_deref());
            for column in &columns {
                let Some(Group { measurements: here, .. }) =
                    groups.iter().find(|group| group.value == column.value)
                else {
                    cells.push(Cell::lacking());
                    continue;
                };
                let m = select::only(here);
                let m = m.map_err(|e| format!("the row \"{}\" {e}", labels.join(", ")))?;
                let mut precision = None;
                for metric in &self.metrics {
                    cells.push(match metric.of(record, m) {
                        Ok(estimate) => {
                            let mut cell = Cell::of(m, metric, &estimate);
                            if metric.is_timed() {
                                precision = Some(Precision::of(m, &estimate));
                                let share = Metric::ShareOfPeak.of(record, m);
                                if share.is_ok_and(|share| share.low > 1.0) {
                                    cell.text += ABOVE;
                                }
                            }
                            cell
                        }
                        // What the reference must have, another machine may lack.
                        Err(_) if !machine.is_reference() => Cell::lacking(),
                        Err(problem) => return Err(problem),
                    });
                }
                if let Some(last) = cells.last_mut() {
                    last.precision = precision;
                }
            }
            rows.push(Row { keys, labels, cells });
        }
        Ok(Grid { head, rows })
    }

    /// `note` stands behind the caption.
    fn html(&self, shown: &[&Recorded], mut grid: Grid, note: &str) -> String {
        let shown = shown.iter().map(|record| (*record, &self.filter));
        let mut caption = prose(&self.caption) + note;
        match grid.is_tight() {
            Some(true) => {
                caption += match shown.clone().any(|(of, _)| of.runs().count() == 1) {
                    true => " Within its runs every number is known to ± 0.5%.",
                    false => " Every number is known to ± 0.5%.",
                }
            }
            Some(false) => grid.say_precision(self.columns_by.is_none()),
            None => {}
        }
        let mut cells = grid.rows.iter().flat_map(|row| &row.cells);
        if cells.any(|cell| cell.text.contains(ABOVE)) {
            caption += &format!("{ABOVE}: above the theoretical peak, so wrong and not fast.");
        }
        let mut html = top(shown, &caption);
        for (i, head) in grid.head.iter().enumerate() {
            let class = if i < self.rows.len() { "" } else { " class=\"number\"" };
            html += &format!("<th scope=\"col\"{class}>{}</th>", escape(head));
        }
        html + &body(&grid.rows)
    }
}

impl Grid {
    /// Whether all numbers are known to [`TIGHT`]; none if of no number it is to be said.
    fn is_tight(&self) -> Option<bool> {
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let mut known = cells.filter_map(|cell| cell.precision.as_ref()).peekable();
        known.peek()?;
        Some(known.all(|precision| precision.tight))
    }

    /// Says how well each number is known, in a last column or behind the number.
    fn say_precision(&mut self, in_column: bool) {
        self.head.extend(in_column.then(|| "±".to_owned()));
        for row in &mut self.rows {
            if in_column {
                let known = row.cells.iter().find_map(|cell| cell.precision.clone());
                let known = known.map(|precision| Cell::number(precision.text));
                row.cells.push(known.unwrap_or_else(Cell::lacking));
                continue;
            }
            for Cell { text, precision, .. } in &mut row.cells {
                let known = precision.as_ref().filter(|known| known.text != RANGE);
                *text += &known.map_or(String::new(), |known| format!(" ± {}", known.text));
            }
        }
    }
}

/// Headings must be of columns.
pub(crate) fn check_headings(
    headings: &BTreeMap<String, String>,
    columns: &[String],
) -> Result<(), String> {
    match headings.keys().find(|key| !columns.contains(key)) {
        Some(key) => Err(format!("headings: there is no column `{key}`")),
        None => Ok(()),
    }
}

/// All that stands before the heads of a table, which shows what a filter chooses of each
/// record.
pub(crate) fn top<'r>(
    shown: impl Iterator<Item = (&'r Recorded, &'r Filter)>,
    caption: &str,
) -> String {
    let (machines, lines): (Vec<_>, Vec<_>) =
        shown.map(|(of, filter)| (escape(&of.machine.name), provenance::line(of, filter))).unzip();
    format!(
        "<div class=\"table\" data-machine=\"{}\">\n<table>\n<caption>{} {}</caption>\n\
         <thead><tr>",
        machines.join(" "),
        caption,
        lines.join(" ")
    )
}

/// All that stands after the heads of a table.
pub(crate) fn body(rows: &[Row]) -> String {
    let mut html = "</tr></thead>\n<tbody>\n".to_owned();
    for Row { labels, cells, .. } in rows {
        html += "<tr>";
        for label in labels {
            html += &format!("<th scope=\"row\">{}</th>", escape(label));
        }
        for Cell { text, attributes, ratio, .. } in cells {
            html += &format!("<td{attributes}>{}{ratio}</td>", escape(text));
        }
        html += "</tr>\n";
    }
    html + "</tbody>\n</table>\n</div>\n"
}

impl Precision {
    /// Half the 95% interval, as a share of the number; none of too few samples of one run,
    /// nor where the number is a range.
    fn of(m: &Measurement, estimate: &Estimate) -> Precision {
        let few = m.statistics().is_none_or(|s| s.confidence < CONFIDENCE);
        let unknown = |text: &str| Precision { text: text.to_owned(), tight: false };
        if estimate.is_range() {
            return unknown(RANGE);
        }
        if estimate.runs == 1 && few {
            return unknown("–");
        }
        let share = estimate.relative_half_width();
        Precision { text: units::spread(share), tight: share < TIGHT }
    }
}
