//! The table an experiment prints: a row as soon as it is measured, so that it is the
//! progress display too.

use std::collections::BTreeMap;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use record::statistics::{CONFIDENCE, Statistics};
use record::{Measurement, Parameter, Record, Skipped, units};

use crate::emulator::{Counts, LineCounts};
use crate::reference;

const HEADING: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Where the table goes: standard output, or standard error beside `--json`.
pub(crate) struct Table {
    to_stderr: bool,
    /// Its rows are of an emulated GPU: counts in place of times.
    pub(crate) emulated: bool,
    /// What such rows show beside the counts, where there is one: a record of another
    /// machine, which measured.
    pub(crate) reference: Option<Record>,
    heading_printed: bool,
}

impl Table {
    pub(crate) fn new(to_stderr: bool) -> Table {
        Table { to_stderr, emulated: false, reference: None, heading_printed: false }
    }

    /// A line of text.
    pub(crate) fn line(&self, text: &str) {
        // Nobody is there to be told when the terminal has gone away.
        let _ = if self.to_stderr {
            writeln!(anstream::stderr(), "{text}")
        } else {
            writeln!(anstream::stdout(), "{text}")
        };
    }

    /// A line of text on standard error.
    pub(crate) fn complain(text: &str) {
        let _ = writeln!(anstream::stderr(), "{text}"); // as above
    }

    /// A note that the reader should not miss.
    pub(crate) fn warn(&self, text: &str) {
        self.line(&format!("{WARNING}note:{WARNING:#} {text}"));
    }

    /// One measurement; `record` is the one being made.
    pub(crate) fn measured(&mut self, record: &Record, m: &Measurement) {
        self.heading();
        let enough = |s: &Statistics| s.confidence >= CONFIDENCE;
        let spread = m.statistics().filter(enough);
        let spread = spread
            .map(|s| format!("±{:>8}", units::spread(s.relative_half_width())));
        let bandwidth = m.bandwidth_bytes_per_second();
        let share = record.share_of_peak(m);
        let model: Vec<String> = m
            .model
            .iter()
            .map(|(name, value)| match name.strip_suffix("_bytes_per_second") {
                Some(name) => format!("{name} {}", units::bandwidth(*value)),
                None => {
                    format!("{} {}", name.replace('_', " "), units::number(*value))
                }
            })
            .collect();
        self.line(&format!(
            "{:<48} {:>10} {DIM}{:>9}{DIM:#} {:>12} {:>8}  {DIM}{}{DIM:#}",
            label(&m.case, &m.parameters),
            units::time(m.median_seconds().unwrap_or(f64::NAN)),
            spread.unwrap_or_default(),
            bandwidth.map(units::bandwidth).unwrap_or_default(),
            share.map(units::percent).unwrap_or_default(),
            model.join(", "),
        ));
        if share.is_some_and(|share| share > 1.0) {
            self.warn(
                "more than the theoretical peak, so something other than this path was \
                 measured: do not quote it",
            );
        }
    }

    /// What an emulated GPU counted of one case, and how much was checked.
    pub(crate) fn emulated(&mut self, m: &Measurement) {
        self.heading();
        let [loads, stores, shared_loads, shared_stores] = per_request(&m.counters);
        let figure = |record| {
            let figure = reference::figure(record, m)?;
            Some(format!("  {DIM}{figure}{DIM:#}"))
        };
        self.line(&format!(
            "{:<48} {loads:>9} {stores:>8} {shared_loads:>12} {shared_stores:>8} {:>19}{}",
            label(&m.case, &m.parameters),
            match m.elements_checked {
                0 => NOTHING.to_owned(),
                n => n.to_string(),
            },
            self.reference.as_ref().and_then(figure).unwrap_or_default(),
        ));
        for remark in &m.remarks {
            self.line(&format!("{DIM}  {remark}{DIM:#}"));
        }
    }

    /// What the lines of a kernel's source did that access memory; `text` is the source.
    pub(crate) fn lines<'a>(
        &self,
        lines: &[LineCounts],
        text: impl Fn(&str, usize) -> Option<&'a str>,
    ) {
        for line in lines {
            let each = per_request(&line.counts);
            if each.iter().all(|each| each == NOTHING) {
                continue;
            }
            let [loads, stores, shared_loads, shared_stores] = each;
            let text = text(&line.file, line.number).unwrap_or_default().trim();
            self.line(&format!(
                "{DIM}{:>42} {:>5} {loads:>9} {stores:>8} {shared_loads:>12} \
                 {shared_stores:>8}  {text}{DIM:#}",
                "line", line.number
            ));
        }
    }

    /// What a profiler counted of one case: traffic per request, and DRAM's bytes.
    pub(crate) fn counted(&mut self, m: &Measurement) {
        if !std::mem::replace(&mut self.heading_printed, true) {
            self.line(&format!(
                "{HEADING}{:<48} {:>18} {:>21} {:>10} {:>10}{HEADING:#}",
                "per request:",
                "sectors ld / st",
                "wavefronts ld / st",
                "DRAM in",
                "out"
            ));
        }
        let count = |name: &str| m.counters.get(name).copied().unwrap_or(0);
        let [loads, stores, shared_loads, shared_stores] = per_request(&m.counters);
        self.line(&format!(
            "{:<48} {loads:>9} {stores:>8} {shared_loads:>12} {shared_stores:>8} {:>10} \
             {:>10}",
            label(&m.case, &m.parameters),
            units::bytes(count("dram_read_bytes")),
            units::bytes(count("dram_write_bytes")),
        ));
    }

    /// One case that cannot be measured here.
    pub(crate) fn skipped(&mut self, skipped: &Skipped) {
        self.heading();
        let label = label(&skipped.case, &skipped.parameters);
        self.line(&format!(
            "{label:<48} {WARNING}skipped{WARNING:#}: {}",
            skipped.reason
        ));
    }

    fn heading(&mut self) {
        if std::mem::replace(&mut self.heading_printed, true) {
            return;
        }
        if self.emulated {
            self.line(&format!(
                "{HEADING}{:<48} {:>18} {:>21} {:>19}{}{HEADING:#}",
                "per request:",
                "sectors ld / st",
                "wavefronts ld / st",
                "elements checked",
                match &self.reference {
                    Some(record) => format!("  {}", reference::label(record)),
                    None => String::new(),
                }
            ));
        } else {
            self.line(&format!(
                "{HEADING}{:<48} {:>10} {:>9} {:>12} {:>8}{HEADING:#}",
                "case", "median", "± 95 %", "bandwidth", "of peak"
            ));
        }
    }
}

/// Where there were no requests.
const NOTHING: &str = "–";

/// Sectors of global loads and stores, and wavefronts of shared ones, each per request.
fn per_request(counts: &Counts) -> [String; 4] {
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    [
        ("global_load", "sectors"),
        ("global_store", "sectors"),
        ("shared_load", "wavefronts"),
        ("shared_store", "wavefronts"),
    ]
    .map(|(operation, pieces)| {
        let requests = count(&format!("{operation}_requests"));
        let pieces = count(&format!("{operation}_{pieces}"));
        match requests {
            0 => NOTHING.to_owned(),
            _ => format!("{:.2}", pieces as f64 / requests as f64),
        }
    })
}

pub(crate) fn label(case: &str, with: &BTreeMap<String, Parameter>) -> String {
    case.to_owned() + &parameters(with)
}

/// Each with a space before it.
pub(crate) fn parameters(of: &BTreeMap<String, Parameter>) -> String {
    let parameters = of.iter().map(|(name, value)| match value.integer() {
        Some(n) if name == "bytes" => format!(" {}", units::bytes(n)),
        Some(n) => format!(" {name}={n}"),
        None => format!(" {value}"),
    });
    parameters.collect()
}
