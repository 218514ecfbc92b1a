//! `[counted.NAME]`: what an emulated GPU counted, beside what the reference machine
//! counted under a profiler, and the bandwidth that it measured. The one place where a
//! page shows an emulated GPU's numbers; each column says whose it is.
//!
//! ```toml
//! experiment = "transpose"
//! caption = "Sectors and passes of a request"
//! where = { case = ["tile", "tile_padded"] }
//! emulated = { side = 2048 }    # and further in each of the three records
//! profiled = { side = 4096 }
//! measured = { side = 4096 }
//! rows = ["case"]
//! counts = ["loads", "stores", "shared_loads"]
//! ```

use std::collections::BTreeMap;

use record::{Measurement, Parameter, units};
use serde::Deserialize;

use crate::html::{escape, prose};
use crate::metric::{InRuns, Metric};
use crate::names::{self, Check, Defaults, Names, OfARow};
use crate::page::Page;
use crate::records::{self, Recorded, Records};
use crate::select::{self, Choose, Filter};
use crate::table::{self, Cell, Row};
use crate::unit::Unit;

/// What `[counted.NAME]` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Without, the page's.
    experiment: Option<String>,
    #[serde(default, rename = "where")]
    filter: Filter,
    #[serde(default)]
    emulated: Filter,
    #[serde(default)]
    profiled: Filter,
    #[serde(default)]
    measured: Filter,
    rows: Vec<String>,
    counts: Vec<Count>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    order: Vec<Parameter>,
    #[serde(default)]
    headings: BTreeMap<String, String>,
    caption: String,
}

/// What a request of a warp takes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Count {
    Loads,
    Stores,
    SharedLoads,
    SharedStores,
}

impl Count {
    /// Its heading, and the counters of requests and of the pieces that they take.
    fn names(self) -> [&'static str; 3] {
        match self {
            Count::Loads => ["Load", "global_load_requests", "global_load_sectors"],
            Count::Stores => ["Store", "global_store_requests", "global_store_sectors"],
            Count::SharedLoads => ["Shared load", "shared_load_requests", "shared_load_wavefronts"],
            Count::SharedStores => {
                ["Shared store", "shared_store_requests", "shared_store_wavefronts"]
            }
        }
    }

    /// Its column: sectors or passes of a request in the mean; none without a request.
    fn column(self) -> Column<'static> {
        let [heading, requests, pieces] = self.names();
        let show = move |m: &Measurement| {
            let count = |name| m.counters.get(name).map(|count| *count as f64);
            let requests = count(requests).filter(|requests| *requests > 0.0)?;
            Some(units::number(count(pieces)? / requests))
        };
        (heading, Box::new(show))
    }
}

/// A column that stands in each row: its head, and what it shows of a measurement.
type Column<'r> = (&'static str, Box<dyn Fn(&Measurement) -> Option<String> + 'r>);

/// A record, and the columns made from it.
struct Part<'r> {
    head: String,
    record: &'r Recorded,
    filter: Filter,
    rows: Vec<OfARow<'r>>,
    columns: Vec<Column<'r>>,
}

impl Part<'_> {
    /// Its cells in the row that these values make.
    fn cells(&self, row: &[Parameter]) -> Result<Vec<Cell>, String> {
        let here = self.rows.iter().find(|(keys, _)| keys == row);
        let found = here.map(|(_, here)| select::only(here)).transpose();
        let found = found.map_err(|e| format!("\"{}\": a row {e}", self.head))?;
        let shown = self.columns.iter().map(|(_, show)| found.and_then(show));
        Ok(shown.map(|text| text.map_or_else(Cell::lacking, Cell::number)).collect())
    }
}

impl Block {
    /// Adds the headings that it does not give, and checks what its types cannot state.
    pub fn complete(&mut self, names: &Defaults) -> Result<(), String> {
        if self.rows.is_empty() || self.counts.is_empty() {
            return Err("`rows` and `counts` must not be empty".to_owned());
        }
        table::check_headings(&self.headings, &self.rows)?;
        names.head(&mut self.headings, self.rows.iter());
        Ok(())
    }

    /// The table as HTML.
    pub fn expand(&self, records: &Records, page: &Page) -> Result<String, String> {
        let experiment = page.experiment(&self.experiment)?;
        let emulated = records.emulated(experiment)?;
        let references = records.references();
        let reference = |experiment: &str| records::recorded(&references, experiment, None);
        let (machine, measured) = reference(experiment)?;
        let (_, profiled) = reference(&format!("{experiment}-counters"))?;
        let names = Names { labels: &self.labels, order: &self.order };
        names.check(&self.filter.and(&self.emulated).all(&emulated)?)?;
        let label = &machine.label;
        let counts = || self.counts.iter().map(|count| count.column()).collect();
        let bandwidth = |m: &Measurement| {
            let found = Metric::Bandwidth.of(measured, m).ok();
            found.map(|bandwidth| bandwidth.print(&Unit::Bandwidth))
        };
        let bandwidth: Vec<Column> = vec![("Bandwidth", Box::new(bandwidth))];
        let part = |head: String, record, further, columns| {
            let filter = self.filter.and(further);
            let rows = names.rows(&filter.all(record)?, &self.rows)?;
            Ok(Part { head, record, filter, rows, columns })
        };
        let counted = "Emulated GPU counts".to_owned();
        let parts = [
            part(counted, &emulated, &self.emulated, counts()),
            part(format!("{label} counts"), profiled, &self.profiled, counts()),
            part(format!("{label} measures"), measured, &self.measured, bandwidth),
        ];
        let parts = parts.into_iter().collect::<Result<Vec<Part>, String>>()?;
        let row = |(keys, _): &OfARow| {
            let cells = parts.iter().map(|part| part.cells(keys));
            let cells: Result<Vec<Vec<Cell>>, String> = cells.collect();
            let (labels, keys) = (names.values(&self.rows, keys), keys.clone());
            Ok(Row { keys, labels, cells: cells?.concat() })
        };
        let rows: Result<Vec<Row>, String> = parts[0].rows.iter().map(row).collect();
        Ok(self.head(&parts) + &table::body(&rows?))
    }

    /// The two rows of heads, and all that stands before them.
    fn head(&self, parts: &[Part]) -> String {
        let shown = parts.iter().map(|part| (part.record, &part.filter));
        let mut html = table::top(shown, &prose(&self.caption));
        for key in &self.rows {
            let usual = || names::of_parameter(key);
            let head = self.headings.get(key).cloned().unwrap_or_else(usual);
            html += &format!("<th scope=\"col\" rowspan=\"2\">{}</th>", escape(&head));
        }
        for part in parts {
            html += &format!(
                "<th scope=\"colgroup\" class=\"number\" colspan=\"{}\">{}</th>",
                part.columns.len(),
                escape(&part.head)
            );
        }
        html += "</tr>\n<tr>";
        for (head, _) in parts.iter().flat_map(|part| &part.columns) {
            html += &format!("<th scope=\"col\" class=\"number\">{head}</th>");
        }
        html
    }
}
