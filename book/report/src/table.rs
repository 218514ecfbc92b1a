//! `table` blocks: measurements as rows, with how well each number is known.

use std::collections::BTreeMap;

use record::{Measurement, Parameter, Record, units};
use serde::Deserialize;

use crate::html::{escape, prose};
use crate::names::{self, Names};
use crate::provenance;
use crate::records::{Machine, Records};
use crate::select::{self, Filter, Metric, Where};

/// A `table` block.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    experiment: String,
    #[serde(default, rename = "where")]
    filter: Where,
    rows: Vec<String>,
    columns_by: Option<String>,
    metrics: Vec<String>,
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
    title: String,
}

impl Cell {
    fn lacking() -> Cell {
        Cell { text: "–".to_owned(), title: String::new() }
    }
}

impl Block {
    /// Parses a block and checks what its types cannot state.
    pub fn parse(toml: &str) -> Result<Block, String> {
        let block: Block = crate::page::parse(toml)?;
        if block.rows.is_empty() || block.metrics.is_empty() {
            return Err("`rows` and `metrics` must not be empty".to_owned());
        }
        for metric in &block.metrics {
            Metric::parse(metric)?;
        }
        if block.columns_by.is_some() && block.metrics.len() != 1 {
            return Err("with `columns_by` there is one metric".to_owned());
        }
        let shown =
            || block.rows.iter().chain(&block.metrics).chain(&block.columns_by);
        match block.headings.keys().find(|key| !shown().any(|shown| shown == *key)) {
            Some(key) => Err(format!("headings: there is no column `{key}`")),
            None => Ok(block),
        }
    }

    /// The table as HTML.
    pub fn expand(&self, records: &Records) -> Result<String, String> {
        let measured = Filter::new(&self.filter)
            .all(records.reference.record(&self.experiment)?)?;
        self.names().check(&measured)?;
        let grids = records.both(|machine| {
            let record = machine.record(&self.experiment)?;
            Ok((record, self.grid(machine, record)?))
        })?;
        Ok(grids
            .each()
            .map(|((record, grid), beside)| self.html(record, grid, beside))
            .collect())
    }

    fn names(&self) -> Names<'_> {
        Names { labels: &self.labels, order: &self.order }
    }

    fn heading(&self, key: &str, usual: String) -> String {
        self.headings.get(key).cloned().unwrap_or(usual)
    }

    fn grid(&self, machine: &Machine, record: &Record) -> Result<Grid, String> {
        let chosen = Filter::new(&self.filter).all(record)?;
        let names = self.names();
        let metrics: Vec<Metric> = self
            .metrics
            .iter()
            .map(|m| Metric::parse(m))
            .collect::<Result<_, _>>()?;
        let timed = metrics.iter().any(Metric::is_timed);
        let columns = match &self.columns_by {
            Some(key) => names.values(&chosen, key),
            None => vec![],
        };

        let of_row = |key: &String| self.heading(key, names::of_parameter(key));
        let of_metric = |m: &Metric| self.heading(&m.name(), names::of_metric(m));
        let mut head: Vec<String> = self.rows.iter().map(of_row).collect();
        match &self.columns_by {
            Some(key) => {
                head.extend(columns.iter().map(|value| names.value(key, value)))
            }
            None => {
                head.extend(metrics.iter().map(of_metric));
                head.extend(timed.then(|| "±".to_owned()));
            }
        }

        // What the reference machine must have, another may lack.
        let cell = |m: &Measurement, metric: &Metric| match cell(record, m, metric) {
            Err(_) if !machine.is_reference => Ok(Cell::lacking()),
            cell => cell,
        };
        let mut rows = vec![];
        for (keys, measurements) in self.rows(&chosen)? {
            let labels: Vec<String> = self
                .rows
                .iter()
                .zip(&keys)
                .map(|(key, v)| names.value(key, v))
                .collect();
            let only = |measurements: &[&'_ Measurement]| {
                select::only(measurements).cloned().map_err(|more| {
                    format!(
                        "{} measurements are in the row \"{}\"; add {more} to `where` or `rows`",
                        measurements.len(),
                        labels.join(", ")
                    )
                })
            };
            let mut cells = vec![];
            if let Some(key) = &self.columns_by {
                for column in &columns {
                    let mut here = measurements.clone();
                    here.retain(|m| {
                        select::parameter(m, key).as_ref() == Some(column)
                    });
                    if here.is_empty() {
                        cells.push(Cell::lacking());
                        continue;
                    }
                    let m = only(&here)?;
                    let mut cell = cell(&m, &metrics[0])?;
                    if timed {
                        cell.text += &format!(" ± {}", precision(&m));
                    }
                    cells.push(cell);
                }
            } else {
                let m = only(&measurements)?;
                for metric in &metrics {
                    cells.push(cell(&m, metric)?);
                }
                if timed {
                    cells.push(Cell { text: precision(&m), title: String::new() });
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
            provenance::line(record, &Filter::new(&self.filter))
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
                let title = match title.as_str() {
                    "" => String::new(),
                    title => format!(" title=\"{}\"", escape(title)),
                };
                html +=
                    &format!("<td class=\"number\"{title}>{}</td>", escape(text));
            }
            html += "</tr>\n";
        }
        html + "</tbody>\n</table>\n</div>\n"
    }
}

fn cell(record: &Record, m: &Measurement, metric: &Metric) -> Result<Cell, String> {
    let estimate = metric.of(record, m)?;
    let text = metric.unit().print(estimate.value);
    let title = match metric.is_timed() {
        true => metric.in_words(m, &estimate),
        false => String::new(),
    };
    Ok(Cell { text, title })
}

/// Half the 95 % interval of the median, as a share of it.
fn precision(m: &Measurement) -> String {
    m.statistics()
        .map_or("–".to_owned(), |s| units::percent(s.relative_half_width()))
}
