//! The numbers of one measurement.

use record::{Measurement, Parameter, Record, Span, Statistics};
use serde::{Deserialize, Serialize};

use crate::unit::Unit;

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Metric {
    Time,
    Bandwidth,
    /// Additions and multiplications per second.
    Arithmetic,
    /// Effective bandwidth over the theoretical peak.
    ShareOfPeak,
    Samples,
    /// Elements compared with the expected result.
    Checked,
    Bytes,
    /// A value of the experiment's own model.
    Model(String),
    /// What a profiler or an emulator counted.
    Counter(String),
    Parameter(String),
    /// A time of a piece of work, given by lane and label.
    Span(String, String, String),
    /// A reading of memory over time.
    Memory(String, String),
}

/// The times of a piece of work on a timeline.
const OF_A_SPAN: [&str; 3] = ["start", "end", "duration"];
/// The readings of a series.
const OF_A_SERIES: [&str; 4] = ["first", "last", "max", "min"];

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(text: String) -> Result<Metric, String> {
        Metric::parse(&text)
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> String {
        metric.name()
    }
}

/// `LANE.LABEL.WHAT`: the label may have dots.
fn span(text: &str) -> Option<Metric> {
    let (piece, what) = text.rsplit_once('.')?;
    let (lane, label) = piece.split_once('.')?;
    let span = || Metric::Span(lane.to_owned(), label.to_owned(), what.to_owned());
    OF_A_SPAN.contains(&what).then(span)
}

/// `SERIES.WHAT`.
fn memory(text: &str) -> Option<Metric> {
    let (series, what) = text.rsplit_once('.')?;
    let memory = || Metric::Memory(series.to_owned(), what.to_owned());
    OF_A_SERIES.contains(&what).then(memory)
}

/// What was done in a time: bytes and operations.
pub type Work = (u64, u64);

const PLAIN: [(&str, Metric); 7] = [
    ("time", Metric::Time),
    ("bandwidth", Metric::Bandwidth),
    ("arithmetic", Metric::Arithmetic),
    ("share_of_peak", Metric::ShareOfPeak),
    ("samples", Metric::Samples),
    ("checked", Metric::Checked),
    ("bytes", Metric::Bytes),
];

impl Metric {
    pub fn parse(text: &str) -> Result<Metric, String> {
        if let Some((_, metric)) = PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(metric.clone());
        }
        match text.split_once('.') {
            Some(("model", name)) => Ok(Metric::Model(name.to_owned())),
            Some(("counter", name)) => Ok(Metric::Counter(name.to_owned())),
            Some(("param", name)) => Ok(Metric::Parameter(name.to_owned())),
            Some(("span", of)) => span(of)
                .ok_or_else(|| format!("`{text}` is not span.LANE.LABEL.{}", OF_A_SPAN.join("|"))),
            Some(("memory", of)) => memory(of)
                .ok_or_else(|| format!("`{text}` is not memory.SERIES.{}", OF_A_SERIES.join("|"))),
            _ => {
                let names = PLAIN.map(|(name, _)| name).join(", ");
                Err(format!(
                    "no metric `{text}`: there are {names}, model.NAME, counter.NAME, param.NAME, span.LANE.LABEL.{}, memory.SERIES.{}",
                    OF_A_SPAN.join("|"),
                    OF_A_SERIES.join("|")
                ))
            }
        }
    }

    pub fn unit(&self) -> Unit {
        match self {
            Metric::Time => Unit::Time,
            Metric::Bandwidth => Unit::Bandwidth,
            Metric::Arithmetic => Unit::Arithmetic,
            Metric::ShareOfPeak => Unit::Share,
            Metric::Samples | Metric::Checked => Unit::Number,
            Metric::Bytes => Unit::Bytes,
            Metric::Model(name) | Metric::Counter(name) | Metric::Parameter(name) => {
                Unit::of_name(name)
            }
            Metric::Span(..) => Unit::Time,
            Metric::Memory(..) => Unit::Bytes,
        }
    }

    /// Whether it was timed, so that it has a spread.
    pub fn is_timed(&self) -> bool {
        use Metric::{Arithmetic, Bandwidth, ShareOfPeak, Time};
        matches!(self, Time | Bandwidth | Arithmetic | ShareOfPeak)
    }

    /// Whether nothing has it where there is no time.
    pub fn needs_time(&self) -> bool {
        self.is_timed() || matches!(self, Metric::Span(..) | Metric::Memory(..))
    }

    /// What was done in it, if it is a time: times of other work are not to be compared.
    pub fn work(&self, m: &Measurement) -> Option<Work> {
        (*self == Metric::Time).then(|| m.work())
    }

    /// The number in one run, and the lower and the upper end of the interval that it is known in
    /// there.
    pub fn in_run(&self, record: &Record, m: &Measurement) -> Result<(f64, f64, f64), String> {
        let exact = |value: f64| (value, value, value);
        let per_time = |s: Statistics, quantity: f64| {
            (quantity / s.median, quantity / s.high, quantity / s.low)
        };
        let statistics = m.statistics();
        let bytes = (m.bytes() > 0).then(|| m.bytes() as f64);
        let arithmetic = m.arithmetic_operations;
        let arithmetic = (arithmetic > 0).then_some(arithmetic as f64);
        let peak = record.peak_bytes_per_second(m.ceiling);
        let found = match self {
            Metric::Time => statistics.map(|s| (s.median, s.low, s.high)),
            Metric::Bandwidth => statistics.zip(bytes).map(|(s, n)| per_time(s, n)),
            Metric::Arithmetic => statistics.zip(arithmetic).map(|(s, n)| per_time(s, n)),
            Metric::ShareOfPeak => {
                statistics.zip(bytes).zip(peak).map(|((s, bytes), peak)| per_time(s, bytes / peak))
            }
            Metric::Samples => Some(exact(m.seconds.len() as f64)),
            Metric::Checked => Some(exact(m.elements_checked as f64)),
            Metric::Bytes => Some(exact(m.bytes() as f64)),
            Metric::Model(name) => m.model.get(name).copied().map(exact),
            Metric::Counter(name) => m.counters.get(name).map(|count| {
                let whole = if name.ends_with("_percent") { 100.0 } else { 1.0 };
                exact(*count as f64 / whole)
            }),
            Metric::Parameter(name) => m
                .parameters
                .get(name)
                .and_then(Parameter::integer)
                .map(|integer| exact(integer as f64)),
            Metric::Span(lane, label, what) => {
                let is = |span: &&Span| span.lane == *lane && span.label == *label;
                m.spans.iter().find(is).map(|span| match what.as_str() {
                    "start" => exact(span.start_seconds),
                    "end" => exact(span.end_seconds),
                    _ => exact(span.end_seconds - span.start_seconds),
                })
            }
            Metric::Memory(series, what) => m.memory.get(series).and_then(|series| {
                let mut bytes = series.iter().map(|reading| reading.bytes);
                let bytes = match what.as_str() {
                    "first" => bytes.next(),
                    "last" => bytes.next_back(),
                    "max" => bytes.max(),
                    _ => bytes.min(),
                };
                bytes.map(|bytes| exact(bytes as f64))
            }),
        };
        match found {
            Some((value, low, high))
                if value.is_finite() && low.is_finite() && high.is_finite() =>
            {
                Ok((value, low, high))
            }
            Some(_) => Err(format!("`{}` is not a finite number", self.name())),
            None => Err(format!("this measurement has no `{}`", self.name())),
        }
    }

    /// The metric as [`Metric::parse`] reads it.
    pub fn name(&self) -> String {
        match self {
            Metric::Model(name) => format!("model.{name}"),
            Metric::Counter(name) => format!("counter.{name}"),
            Metric::Parameter(name) => format!("param.{name}"),
            Metric::Span(lane, label, what) => format!("span.{lane}.{label}.{what}"),
            Metric::Memory(series, what) => format!("memory.{series}.{what}"),
            plain => {
                let name = PLAIN.iter().find(|(_, known)| known == plain);
                name.map_or("", |(name, _)| name).to_owned()
            }
        }
    }
}
