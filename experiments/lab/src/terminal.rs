//! The table an experiment prints: a row as soon as it is measured, so that it is the
//! progress display too.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use record::statistics::{CONFIDENCE, Statistics};
use record::{Measurement, Record, Skipped, units};

const HEADING: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Where the table goes: standard output, or standard error beside `--json`.
pub(crate) struct Table {
    to_stderr: bool,
    heading_printed: bool,
}

impl Table {
    pub(crate) fn new(to_stderr: bool) -> Table {
        Table { to_stderr, heading_printed: false }
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
        let each = |operation: &str, pieces: &str| {
            let requests = count(&format!("{operation}_requests"));
            let pieces = count(&format!("{operation}_{pieces}"));
            if requests == 0 {
                return "–".to_owned();
            }
            format!("{:.2}", pieces as f64 / requests as f64)
        };
        self.line(&format!(
            "{:<48} {:>9} {:>8} {:>12} {:>8} {:>10} {:>10}",
            label(&m.case, &m.parameters),
            each("global_load", "sectors"),
            each("global_store", "sectors"),
            each("shared_load", "wavefronts"),
            each("shared_store", "wavefronts"),
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
        if !std::mem::replace(&mut self.heading_printed, true) {
            self.line(&format!(
                "{HEADING}{:<48} {:>10} {:>9} {:>12} {:>8}{HEADING:#}",
                "case", "median", "± 95 %", "bandwidth", "of peak"
            ));
        }
    }
}

fn label(
    case: &str,
    parameters: &std::collections::BTreeMap<String, record::Parameter>,
) -> String {
    let parameters = parameters.iter().map(|(name, value)| match value.integer() {
        Some(n) if name == "bytes" => format!(" {}", units::bytes(n)),
        Some(n) => format!(" {name}={n}"),
        None => format!(" {value}"),
    });
    case.to_owned() + &parameters.collect::<String>()
}
