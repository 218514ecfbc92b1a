//! Which measurement is meant, and which number of it.
//!
//! ```text
//! host-memory copy kind=pinned bytes=1GiB : bandwidth      one measurement
//! max transpose side=8192 : bandwidth                      the largest of several
//! fit host-memory copy kind=pinned : latency               the line through several
//! machine : memory_peak                                    a fact about the machine
//! ```

use std::collections::{BTreeMap, BTreeSet};

use record::statistics::CONFIDENCE;
use record::{Ceiling, Measurement, Parameter, Record, Skipped};
use serde::Deserialize;

use crate::fit::Fit;
use crate::records::Machine;
use crate::unit::Unit;

/// Some of a record's measurements: those that have one of the listed values for each
/// parameter. The case stands among the parameters as [`CASE`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(BTreeMap<String, Vec<Parameter>>);

/// The `where` table of a block: a value for each parameter, or several.
pub type Where = BTreeMap<String, Given>;

/// What a `where` table gives for a parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Given {
    /// One value.
    One(Parameter),
    /// Any of these.
    Any(Vec<Parameter>),
}

impl Filter {
    /// The filter that a `where` table states.
    pub fn new(table: &Where) -> Filter {
        let read = |given: &Parameter| value(&given.to_string());
        let values = |given: &Given| match given {
            Given::One(one) => vec![read(one)],
            Given::Any(any) => any.iter().map(read).collect(),
        };
        Filter(
            table.iter().map(|(key, given)| (key.clone(), values(given))).collect(),
        )
    }

    /// Both filters; where both speak of a parameter, `other` does.
    pub fn and(&self, other: &Filter) -> Filter {
        Filter(self.0.clone().into_iter().chain(other.0.clone()).collect())
    }

    /// The chosen measurements, in the record's order; at least one.
    pub fn all<'r>(
        &self,
        record: &'r Record,
    ) -> Result<Vec<&'r Measurement>, String> {
        let mut chosen: Vec<&Measurement> = record.measurements.iter().collect();
        // The case first: other parameters mean something within it.
        let mut steps: Vec<_> = self.0.iter().collect();
        steps.sort_by_key(|(key, _)| *key != CASE);
        for (key, values) in steps {
            let before = distinct(&chosen, key);
            chosen
                .retain(|m| parameter(m, key).is_some_and(|v| values.contains(&v)));
            if chosen.is_empty() {
                let there_is = match before.as_slice() {
                    [] => format!("there is no parameter `{key}`"),
                    before => format!("`{key}` is {}", list(before)),
                };
                let skipped = self.skipped(record);
                let why = skipped.first().map_or(String::new(), |skipped| {
                    format!("; it was skipped: {}", skipped.reason)
                });
                let machine = &record.machine.name;
                return Err(format!("matches none on `{machine}`: {there_is}{why}"));
            }
        }
        if chosen.is_empty() {
            return Err("the record has no measurement".to_owned());
        }
        Ok(chosen)
    }

    /// The only chosen measurement.
    pub fn one<'r>(&self, record: &'r Record) -> Result<&'r Measurement, String> {
        let chosen = self.all(record)?;
        only(&chosen)
            .map_err(|more| format!("matches {}: give also {more}", chosen.len()))
    }

    /// What would have been chosen, but could not be measured.
    pub fn skipped<'r>(&self, record: &'r Record) -> Vec<&'r Skipped> {
        let chosen = |skipped: &&Skipped| {
            self.0.iter().all(|(key, values)| match key.as_str() {
                CASE => values.contains(&skipped.case.as_str().into()),
                key => {
                    skipped.parameters.get(key).is_none_or(|v| values.contains(v))
                }
            })
        };
        record.skipped.iter().filter(chosen).collect()
    }
}

/// In blocks, the name under which the case stands among the parameters.
pub const CASE: &str = "case";

/// The parameter `key` of a measurement, or its case.
pub fn parameter(measurement: &Measurement, key: &str) -> Option<Parameter> {
    if key == CASE {
        Some(Parameter::Name(measurement.case.clone()))
    } else {
        measurement.parameters.get(key).cloned()
    }
}

/// The values of `key`, each once, in the order of `measurements`.
pub fn distinct(measurements: &[&Measurement], key: &str) -> Vec<Parameter> {
    let mut seen = BTreeSet::new();
    let values = measurements.iter().filter_map(|m| parameter(m, key));
    values.filter(|value| seen.insert(value.clone())).collect()
}

/// The only one of `measurements`; the error names what tells several apart.
pub fn only<'r>(
    measurements: &[&'r Measurement],
) -> Result<&'r Measurement, String> {
    if let [one] = measurements {
        return Ok(one);
    }
    let keys: BTreeSet<&str> = measurements
        .iter()
        .flat_map(|m| m.parameters.keys().map(String::as_str))
        .chain([CASE])
        .collect();
    // A parameter that only some have tells them apart as well.
    let differs = |key: &&str| {
        let first = measurements.first().and_then(|m| parameter(m, key));
        measurements.iter().any(|m| parameter(m, key) != first)
    };
    let keys: Vec<String> = keys.into_iter().filter(differs).map(quoted).collect();
    Err(keys.join(", "))
}

/// The value that `text` writes: an integer, with `KiB`, `MiB` or `GiB` if it is a
/// size, or else a name.
pub fn value(text: &str) -> Parameter {
    let (digits, unit) = [("KiB", 1u64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
        .into_iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))
        .unwrap_or((text, 1));
    match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)) {
        Some(integer) => Parameter::Integer(integer),
        None => Parameter::Name(text.to_owned()),
    }
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("`{text}`")
}

/// At most a dozen values, for an error.
fn list(values: &[Parameter]) -> String {
    let shown: Vec<String> = values.iter().take(12).map(quoted).collect();
    let more = if values.len() > shown.len() { ", …" } else { "" };
    shown.join(", ") + more
}

/// A number of one measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// Median time.
    Time,
    /// Effective bandwidth.
    Bandwidth,
    /// Effective bandwidth over the theoretical peak.
    ShareOfPeak,
    /// Median absolute deviation over the median.
    Spread,
    /// Number of samples.
    Samples,
    /// Elements compared with the expected result.
    Checked,
    /// The theoretical peak that bounds the measurement.
    Peak,
    /// Bytes read and written.
    Bytes,
    /// A value of the experiment's own model.
    Model(String),
    /// A swept parameter.
    Parameter(String),
}

/// A number with the 95 % interval it is known in; both ends equal it where it is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

impl Metric {
    /// The metric called `text`.
    pub fn parse(text: &str) -> Result<Metric, String> {
        Ok(match text {
            "time" => Metric::Time,
            "bandwidth" => Metric::Bandwidth,
            "share_of_peak" => Metric::ShareOfPeak,
            "spread" => Metric::Spread,
            "samples" => Metric::Samples,
            "checked" => Metric::Checked,
            "peak" => Metric::Peak,
            "bytes" => Metric::Bytes,
            _ => match text.split_once('.') {
                Some(("model", name)) => Metric::Model(name.to_owned()),
                Some(("param", name)) => Metric::Parameter(name.to_owned()),
                _ => {
                    return Err(format!(
                        "no metric `{text}`: there are time, bandwidth, share_of_peak, \
                         spread, samples, checked, peak, bytes, model.NAME, param.NAME"
                    ));
                }
            },
        })
    }

    /// The unit it is kept in.
    pub fn unit(&self) -> Unit {
        match self {
            Metric::Time => Unit::Time,
            Metric::Bandwidth | Metric::Peak => Unit::Bandwidth,
            Metric::ShareOfPeak | Metric::Spread => Unit::Share,
            Metric::Samples | Metric::Checked => Unit::Number,
            Metric::Bytes => Unit::Bytes,
            Metric::Model(name) | Metric::Parameter(name) => Unit::of_name(name),
        }
    }

    /// Whether it was timed, so that it has a spread.
    pub fn is_timed(&self) -> bool {
        matches!(self, Metric::Time | Metric::Bandwidth | Metric::ShareOfPeak)
    }

    /// The number, with its interval.
    pub fn of(&self, record: &Record, m: &Measurement) -> Result<Estimate, String> {
        let exact = |value: f64| (value, value, value);
        let per_time = |s: record::Statistics, quantity: f64| {
            (quantity / s.median, quantity / s.high, quantity / s.low)
        };
        let statistics = m.statistics();
        let bytes = (m.bytes() > 0).then(|| m.bytes() as f64);
        let peak = record.peak_bytes_per_second(m.ceiling);
        let found = match self {
            Metric::Time => statistics.map(|s| (s.median, s.low, s.high)),
            Metric::Bandwidth => statistics.zip(bytes).map(|(s, n)| per_time(s, n)),
            Metric::ShareOfPeak => statistics
                .zip(bytes)
                .zip(peak)
                .map(|((s, bytes), peak)| per_time(s, bytes / peak)),
            Metric::Spread => statistics.map(|s| exact(s.mad / s.median)),
            Metric::Samples => Some(exact(m.seconds.len() as f64)),
            Metric::Checked => Some(exact(m.elements_checked as f64)),
            Metric::Peak => peak.map(exact),
            Metric::Bytes => Some(exact(m.bytes() as f64)),
            Metric::Model(name) => m.model.get(name).copied().map(exact),
            Metric::Parameter(name) => m
                .parameters
                .get(name)
                .and_then(Parameter::integer)
                .map(|integer| exact(integer as f64)),
        };
        match found {
            Some((value, low, high))
                if value.is_finite() && low.is_finite() && high.is_finite() =>
            {
                Ok(Estimate { value, low, high })
            }
            Some(_) => Err(format!("`{}` is not a finite number", self.name())),
            None => Err(format!("this measurement has no `{}`", self.name())),
        }
    }

    /// The metric as [`Metric::parse`] reads it.
    pub fn name(&self) -> String {
        match self {
            Metric::Time => "time".to_owned(),
            Metric::Bandwidth => "bandwidth".to_owned(),
            Metric::ShareOfPeak => "share_of_peak".to_owned(),
            Metric::Spread => "spread".to_owned(),
            Metric::Samples => "samples".to_owned(),
            Metric::Checked => "checked".to_owned(),
            Metric::Peak => "peak".to_owned(),
            Metric::Bytes => "bytes".to_owned(),
            Metric::Model(name) => format!("model.{name}"),
            Metric::Parameter(name) => format!("param.{name}"),
        }
    }

    /// The number with how well it is known, in words; plain if it is exact.
    pub fn in_words(&self, m: &Measurement, estimate: &Estimate) -> String {
        let unit = self.unit();
        let value = unit.print(estimate.value);
        let (true, Some(s)) = (self.is_timed(), m.statistics()) else {
            return value;
        };
        let interval = if s.confidence >= CONFIDENCE {
            "95 % interval of the median"
        } else {
            "all samples"
        };
        format!(
            "{value} (median of {}; {interval}: {} to {})",
            Unit::Number.print(s.count as f64),
            unit.print(estimate.low),
            unit.print(estimate.high)
        )
    }
}

/// What a quantity stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    experiment: String,
    filter: Filter,
    wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq)]
enum Wanted {
    /// A number of the only measurement.
    One(Metric),
    /// The largest of at least two.
    Max(Metric),
    /// The smallest of at least two.
    Min(Metric),
    /// A number of the fitted line.
    Fit(OfFit),
    /// A fact about the machine.
    Machine(Fact),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum OfFit {
    Latency,
    Bandwidth,
    Residual,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fact {
    MemoryPeak,
    LinkPeak,
    L2Bytes,
    MemoryBytes,
    Multiprocessors,
}

impl Query {
    /// Parses a selector; `page` is the experiment whose machine `machine :` means.
    pub fn parse(text: &str, page: Option<&str>) -> Result<Query, String> {
        let (selector, number) = text
            .split_once(':')
            .map(|(selector, number)| (selector, number.trim()))
            .ok_or_else(|| format!("`{text}` has no ` : metric`"))?;
        let mut words = selector.split_whitespace().peekable();
        let wanted = match words
            .next_if(|w| ["fit", "max", "min", "machine"].contains(w))
        {
            Some("fit") => Wanted::Fit(match number {
                "latency" => OfFit::Latency,
                "bandwidth" => OfFit::Bandwidth,
                "residual" => OfFit::Residual,
                _ => {
                    return Err(format!(
                        "a fit has no `{number}`: there are latency, bandwidth, residual"
                    ));
                }
            }),
            Some("max") => Wanted::Max(Metric::parse(number)?),
            Some("min") => Wanted::Min(Metric::parse(number)?),
            Some(_) => Wanted::Machine(match number {
                "memory_peak" => Fact::MemoryPeak,
                "link_peak" => Fact::LinkPeak,
                "l2_bytes" => Fact::L2Bytes,
                "memory_bytes" => Fact::MemoryBytes,
                "multiprocessors" => Fact::Multiprocessors,
                _ => {
                    return Err(format!(
                        "a machine has no `{number}`: there are memory_peak, link_peak, \
                         l2_bytes, memory_bytes, multiprocessors"
                    ));
                }
            }),
            None => Wanted::One(Metric::parse(number)?),
        };
        let experiment = match (words.next(), &wanted) {
            (Some(experiment), _) => experiment.to_owned(),
            (None, Wanted::Machine(_)) => page
                .ok_or(
                    "`machine` of which experiment? The page does not name its own",
                )?
                .to_owned(),
            (None, _) => return Err(format!("`{text}` names no experiment")),
        };
        let mut filter = Filter::default();
        for word in words {
            if matches!(wanted, Wanted::Machine(_)) {
                return Err(format!("`{word}` does not select a machine"));
            }
            let (key, text) = word.split_once('=').unwrap_or((CASE, word));
            if filter.0.insert(key.to_owned(), vec![value(text)]).is_some() {
                return Err(format!("`{key}` is given twice"));
            }
        }
        Ok(Query { experiment, filter, wanted })
    }

    /// The unit its value is kept in.
    pub fn unit(&self) -> Unit {
        match &self.wanted {
            Wanted::One(metric) | Wanted::Max(metric) | Wanted::Min(metric) => {
                metric.unit()
            }
            Wanted::Fit(OfFit::Latency) => Unit::Time,
            Wanted::Fit(OfFit::Residual) => Unit::Share,
            Wanted::Fit(OfFit::Bandwidth)
            | Wanted::Machine(Fact::MemoryPeak | Fact::LinkPeak) => Unit::Bandwidth,
            Wanted::Machine(Fact::L2Bytes | Fact::MemoryBytes) => Unit::Bytes,
            Wanted::Machine(Fact::Multiprocessors) => Unit::Number,
        }
    }

    /// Its value on `machine`; always finite.
    pub fn value(&self, machine: &Machine) -> Result<f64, String> {
        let record = machine.record(&self.experiment)?;
        let value = match &self.wanted {
            Wanted::One(metric) => {
                metric.of(record, self.filter.one(record)?)?.value
            }
            Wanted::Max(metric) => self.extreme(record, metric, f64::max)?,
            Wanted::Min(metric) => self.extreme(record, metric, f64::min)?,
            Wanted::Fit(of) => {
                let fit = fit(&self.filter.all(record)?)?;
                match of {
                    OfFit::Latency => fit.latency,
                    OfFit::Bandwidth => fit.bandwidth,
                    OfFit::Residual => fit.residual,
                }
            }
            Wanted::Machine(fact) => {
                let gpu = record.machine.measured_gpu().ok_or("there is no GPU")?;
                match fact {
                    Fact::MemoryPeak => {
                        record.peak_bytes_per_second(Ceiling::DeviceMemory)
                    }
                    Fact::LinkPeak => {
                        record.peak_bytes_per_second(Ceiling::HostLink)
                    }
                    Fact::L2Bytes => Some(gpu.l2_bytes as f64),
                    Fact::MemoryBytes => Some(gpu.memory_bytes as f64),
                    Fact::Multiprocessors => Some(f64::from(gpu.multiprocessors)),
                }
                .ok_or_else(|| format!("`{}` does not tell", machine.name))?
            }
        };
        value.is_finite().then_some(value).ok_or("not a finite number".to_owned())
    }

    fn extreme(
        &self,
        record: &Record,
        metric: &Metric,
        pick: fn(f64, f64) -> f64,
    ) -> Result<f64, String> {
        let chosen = self.filter.all(record)?;
        if chosen.len() < 2 {
            return Err("matches only one: drop `max` or `min`".to_owned());
        }
        let values: Result<Vec<f64>, String> =
            chosen.iter().map(|m| Ok(metric.of(record, m)?.value)).collect();
        values?.into_iter().reduce(pick).ok_or("matches none".to_owned())
    }
}

/// The line through the median times of `measurements`.
pub fn fit(measurements: &[&Measurement]) -> Result<Fit, String> {
    let points: Vec<(f64, f64)> = measurements
        .iter()
        .filter_map(|m| Some((m.bytes() as f64, m.median_seconds()?)))
        .collect();
    Fit::of(&points)
}
