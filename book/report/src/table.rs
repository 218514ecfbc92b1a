//! `table` blocks: measurements as rows, with how well each number is known.

use std::collections::BTreeMap;

use record::statistics::CONFIDENCE;
use record::{Measurement, Parameter, Record, units};
use serde::Deserialize;

use crate::block;
use crate::html::{escape, prose};
use crate::metric::Metric;
use crate::names::{self, Names};
use crate::provenance;
use crate::records::{Machine, Records};
use crate::select::{self, Filter};

/// A `table` block.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    experiment: String,
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

/// The body of a table before it is HTML.
struct Grid {
    /// Heads of all columns.
    head: Vec<String>,
    /// For each row, the labels in front and the cells.
    rows: Vec<(Vec<String>, Vec<Cell>)>,
}

/// The values that make a row, and the measurements in it.
type Row<'r> = (Vec<Parameter>, Vec<&'r Measurement>);

/// What a cell shows, and what it says when pointed at.
struct Cell {
    text: String,
    title: Option<String>,
}

impl Cell {
    fn of(
        record: &Record,
        m: &Measurement,
        metric: &Metric,
    ) -> Result<Cell, String> {
        let estimate = metric.of(record, m)?;
        let title = metric.is_timed().then(|| metric.in_words(m, &estimate));
        Ok(Cell { text: metric.unit().print(estimate.value), title })
    }

    fn lacking() -> Cell {
        Cell { text: "–".to_owned(), title: None }
    }
}

impl Block {
    /// Parses a block and checks what its types cannot state.
    pub fn parse(toml: &str) -> Result<Block, String> {
        let block: Block = block::parse(toml)?;
        if block.rows.is_empty() || block.metrics.is_empty() {
            return Err("`rows` and `metrics` must not be empty".to_owned());
        }
        if block.columns_by.is_some() && block.metrics.len() != 1 {
            return Err("with `columns_by` there is one metric".to_owned());
        }
        let metrics = block.metrics.iter().map(Metric::name);
        let parameters = block.rows.iter().chain(&block.columns_by).cloned();
        let columns: Vec<String> = parameters.chain(metrics).collect();
        match block.headings.keys().find(|key| !columns.contains(key)) {
            Some(key) => Err(format!("headings: there is no column `{key}`")),
            None => Ok(block),
        }
    }

    /// The table as HTML.
    pub fn expand(&self, records: &Records) -> Result<String, String> {
        let measured =
            self.filter.all(records.reference.record(&self.experiment)?)?;
        self.names().check(&measured)?;
        let grids = records.both(|machine| {
            let record = machine.record(&self.experiment)?;
            Ok((record, self.grid(machine, record)?))
        })?;
        let html = grids
            .each()
            .map(|((record, grid), beside)| self.html(record, grid, beside));
        Ok(html.collect())
    }

    fn names(&self) -> Names<'_> {
        Names { labels: &self.labels, order: &self.order }
    }

    fn heading(&self, key: &str, usual: String) -> String {
        self.headings.get(key).cloned().unwrap_or(usual)
    }

    fn grid(&self, machine: &Machine, record: &Record) -> Result<Grid, String> {
        let chosen = self.filter.all(record)?;
        let names = self.names();
        let timed = self.metrics.iter().any(Metric::is_timed);
        let columns = names.groups(&chosen, self.columns_by.as_deref());
        let columns: Vec<String> =
            columns.into_iter().map(|(label, _)| label).collect();

        let of_row = |key: &String| self.heading(key, names::of_parameter(key));
        let of_metric = |m: &Metric| self.heading(&m.name(), names::of_metric(m));
        let mut head: Vec<String> = self.rows.iter().map(of_row).collect();
        if self.columns_by.is_some() {
            head.extend(columns.clone());
        } else {
            head.extend(self.metrics.iter().map(of_metric));
            head.extend(timed.then(|| "±".to_owned()));
        }

        let mut rows = vec![];
        for (keys, measurements) in self.rows(&chosen)? {
            let labels = self.rows.iter().zip(&keys);
            let labels: Vec<String> =
                labels.map(|(k, v)| names.value(k, v)).collect();
            let mut cells = vec![];
            let groups = names.groups(&measurements, self.columns_by.as_deref());
            for column in &columns {
                let Some((_, here)) =
                    groups.iter().find(|(label, _)| label == column)
                else {
                    cells.push(Cell::lacking());
                    continue;
                };
                let m = select::only(here).map_err(|keys| {
                    format!(
                        "{} measurements are in the row \"{}\"; add {keys} to `where` or `rows`",
                        here.len(),
                        labels.join(", ")
                    )
                })?;
                for metric in &self.metrics {
                    cells.push(match Cell::of(record, m, metric) {
                        // What the reference must have, another machine may lack.
                        Err(_) if !machine.is_reference => Cell::lacking(),
                        cell => cell?,
                    });
                }
                match (timed, cells.last_mut()) {
                    (true, Some(cell)) if self.columns_by.is_some() => {
                        cell.text += &format!(" ± {}", precision(m));
                    }
                    (true, _) => {
                        cells.push(Cell { text: precision(m), title: None })
                    }
                    (false, _) => {}
                }
            }
            rows.push((labels, cells));
        }
        Ok(Grid { head, rows })
    }

    /// The measurements of each row, under the values that make the row, in order.
    fn rows<'r>(&self, chosen: &[&'r Measurement]) -> Result<Vec<Row<'r>>, String> {
        let mut rows: Vec<Row> = vec![];
        for m in chosen {
            let value = |key: &String| {
                select::parameter(m, key)
                    .ok_or_else(|| format!("rows: a measurement has no `{key}`"))
            };
            let keys = self.rows.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            match rows.iter_mut().find(|(row, _)| *row == keys) {
                Some((_, measurements)) => measurements.push(m),
                None => rows.push((keys, vec![*m])),
            }
        }
        let names = self.names();
        rows.sort_by_key(|(keys, _)| {
            keys.iter().map(|value| names.place(value)).collect::<Vec<_>>()
        });
        Ok(rows)
    }

    fn html(&self, record: &Record, grid: &Grid, beside: bool) -> String {
        let class = if beside { "table beside" } else { "table" };
        let mut html = format!(
            "<div class=\"{class}\" data-machine=\"{}\">\n<table>\n<caption>{} {}</caption>\n\
             <thead><tr>",
            escape(&record.machine.name),
            prose(&self.caption),
            provenance::line(record, &self.filter)
        );
        for (i, head) in grid.head.iter().enumerate() {
            let class = if i < self.rows.len() { "" } else { " class=\"number\"" };
            html += &format!("<th scope=\"col\"{class}>{}</th>", escape(head));
        }
        html += "</tr></thead>\n<tbody>\n";
        for (labels, cells) in &grid.rows {
            html += "<tr>";
            for label in labels {
                html += &format!("<th scope=\"row\">{}</th>", escape(label));
            }
            for Cell { text, title } in cells {
                let title =
                    title.as_ref().map(|t| format!(" title=\"{}\"", escape(t)));
                let title = title.unwrap_or_default();
                html +=
                    &format!("<td class=\"number\"{title}>{}</td>", escape(text));
            }
            html += "</tr>\n";
        }
        html + "</tbody>\n</table>\n</div>\n"
    }
}

/// Half the 95 % interval of the median, as a share of it.
fn precision(m: &Measurement) -> String {
    m.statistics()
        .filter(|s| s.confidence >= CONFIDENCE)
        .map_or("–".to_owned(), |s| units::spread(s.relative_half_width()))
}
