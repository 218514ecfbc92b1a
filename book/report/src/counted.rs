//! `counted` blocks: what an emulated GPU counted, beside what the reference machine
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

use crate::block;
use crate::html::{escape, prose};
use crate::names::{self, Names};
use crate::page::Page;
use crate::provenance;
use crate::records::{self, Recorded, Records};
use crate::select::{self, Filter};

/// A `counted` block.
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
    fn heading(self) -> &'static str {
        match self {
            Count::Loads => "Load",
            Count::Stores => "Store",
            Count::SharedLoads => "Shared load",
            Count::SharedStores => "Shared store",
        }
    }

    /// Sectors or passes of a request in the mean; none without a request.
    fn of(self, m: &Measurement) -> Option<f64> {
        let (requests, pieces) = match self {
            Count::Loads => ("global_load_requests", "global_load_sectors"),
            Count::Stores => ("global_store_requests", "global_store_sectors"),
            Count::SharedLoads => ("shared_load_requests", "shared_load_wavefronts"),
            Count::SharedStores => {
                ("shared_store_requests", "shared_store_wavefronts")
            }
        };
        let count = |name| m.counters.get(name).map(|count| *count as f64);
        let requests = count(requests).filter(|requests| *requests > 0.0)?;
        Some(count(pieces)? / requests)
    }
}

/// A column that stands in each row: its head, and what it shows of a measurement.
type Column<'b> = (&'static str, Box<dyn Fn(&Measurement) -> Option<String> + 'b>);

/// A record, and the columns made from it.
struct Part<'r> {
    head: String,
    record: &'r Recorded,
    chosen: Vec<&'r Measurement>,
    filter: Filter,
    columns: Vec<Column<'r>>,
}

impl Block {
    /// Parses a block and checks what its types cannot state.
    pub fn parse(toml: &str) -> Result<Block, String> {
        let block: Block = block::parse(toml)?;
        if block.rows.is_empty() || block.counts.is_empty() {
            return Err("`rows` and `counts` must not be empty".to_owned());
        }
        match block.headings.keys().find(|key| !block.rows.contains(key)) {
            Some(key) => Err(format!("headings: there is no column `{key}`")),
            None => Ok(block),
        }
    }

    /// The table as HTML.
    pub fn expand(&self, records: &Records, page: &Page) -> Result<String, String> {
        let experiment = page.experiment(&self.experiment)?;
        let emulated = records.emulated(experiment)?;
        let references = records.references();
        let reference =
            |experiment: &str| records::recorded(&references, experiment, None);
        let (machine, measured) = reference(experiment)?;
        let (_, profiled) = reference(&format!("{experiment}-counters"))?;
        let label = &machine.label;
        let counts = || self.counts.iter().map(|count| self.count(*count)).collect();
        let parts = [
            self.part("Emulated GPU counts", &emulated, &self.emulated, counts())?,
            self.part(
                &format!("{label} counts"),
                profiled,
                &self.profiled,
                counts(),
            )?,
            self.part(
                &format!("{label} measures"),
                measured,
                &self.measured,
                vec![("Bandwidth", Box::new(bandwidth))],
            )?,
        ];
        let [first, ..] = &parts;
        let names = Names { labels: &self.labels, order: &self.order };
        names.check(&first.chosen)?;
        let mut rows = first
            .chosen
            .iter()
            .map(|m| self.keys(m))
            .collect::<Result<Vec<_>, _>>()?;
        rows.sort_by_key(|keys| {
            keys.iter().map(|key| names.place(key)).collect::<Vec<_>>()
        });
        let mut html = self.head(&parts);
        for keys in &rows {
            html += "<tr>";
            for (name, key) in self.rows.iter().zip(keys) {
                let label = escape(&names.value(name, key));
                html += &format!("<th scope=\"row\">{label}</th>");
            }
            for part in &parts {
                html += &self.cells(part, keys)?;
            }
            html += "</tr>\n";
        }
        Ok(html + "</tbody>\n</table>\n</div>\n")
    }

    fn count<'b>(&self, count: Count) -> Column<'b> {
        let show = move |m: &Measurement| count.of(m).map(units::number);
        (count.heading(), Box::new(show))
    }

    fn part<'r>(
        &self,
        head: &str,
        record: &'r Recorded,
        further: &Filter,
        columns: Vec<Column<'r>>,
    ) -> Result<Part<'r>, String> {
        let filter = self.filter.and(further);
        let chosen = filter.all(record)?;
        Ok(Part { head: head.to_owned(), record, chosen, filter, columns })
    }

    /// The values that make the row of a measurement.
    fn keys(&self, m: &Measurement) -> Result<Vec<Parameter>, String> {
        let value = |key: &String| {
            select::parameter(m, key)
                .ok_or_else(|| format!("rows: a measurement has no `{key}`"))
        };
        self.rows.iter().map(value).collect()
    }

    fn cells(&self, part: &Part, row: &[Parameter]) -> Result<String, String> {
        let chosen = part.chosen.iter().copied();
        let here: Vec<&Measurement> =
            chosen.filter(|m| self.keys(m).is_ok_and(|keys| keys == row)).collect();
        let found = match here.as_slice() {
            [] => None,
            several => Some(select::only(several).map_err(|keys| {
                format!(
                    "\"{}\" has several measurements in a row: give also {keys}",
                    part.head
                )
            })?),
        };
        let cells = part.columns.iter().map(|(_, show)| {
            let text = found.and_then(show).unwrap_or("–".to_owned());
            format!("<td class=\"number\">{}</td>", escape(&text))
        });
        Ok(cells.collect())
    }

    /// All that stands before the rows.
    fn head(&self, parts: &[Part]) -> String {
        let machines = parts.iter().map(|part| escape(&part.record.machine.name));
        let lines =
            parts.iter().map(|part| provenance::line(part.record, &part.filter));
        let mut html = format!(
            "<div class=\"table\" data-machine=\"{}\">\n<table>\n<caption>{} {}</caption>\n\
             <thead><tr>",
            machines.collect::<Vec<_>>().join(" "),
            prose(&self.caption),
            lines.collect::<Vec<_>>().join(" ")
        );
        for key in &self.rows {
            let usual = || names::of_parameter(key);
            let head = self.headings.get(key).cloned().unwrap_or_else(usual);
            html +=
                &format!("<th scope=\"col\" rowspan=\"2\">{}</th>", escape(&head));
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
        html + "</tr></thead>\n<tbody>\n"
    }
}

fn bandwidth(m: &Measurement) -> Option<String> {
    m.bandwidth_bytes_per_second().map(units::bandwidth)
}
