//! What the reference machine measured, to be shown beside what an emulated GPU counted.

use record::{Measurement, Parameter, Record, Results, Source, units};

use crate::{words, workspace};

/// A record of `experiment` of the first reference machine that has one. None outside of
/// a checkout.
pub(crate) fn record(experiment: &str) -> Option<Record> {
    let results = Results::new(workspace::root()?.join("results"));
    let machines = results.references().ok()?;
    let runs = machines.iter().filter_map(|name| Some((name, results.runs(name).ok()?)));
    let mut records = runs.flat_map(|(name, runs)| {
        runs.into_iter().filter_map(|run| run.read(name, experiment).ok().flatten())
    });
    records.find(|record| record.source == Source::Measured)
}

/// Which hardware made the record: `NVIDIA H200`, `NVIDIA H200 ×4`.
pub(crate) fn hardware(record: &Record) -> String {
    let gpu = record.machine.measured_gpu().map_or("", |gpu| &gpu.name);
    match record.machine.gpus.len() {
        1 => gpu.to_owned(),
        gpus => format!("{gpu} ×{gpus}"),
    }
}

/// Hardware and day of the record: `NVIDIA H200, 2026-11-21`.
pub(crate) fn label(record: &Record) -> String {
    let day = record.run.started.get(..10).unwrap_or_default();
    format!("{}, {day}", hardware(record))
}

/// Whether the record was made with other kernels of these names than `now` has.
pub(crate) fn kernels_differ<'a>(
    record: &Record,
    now: &Record,
    mut functions: impl Iterator<Item = &'a String>,
) -> bool {
    functions.any(|name| hash(record, name) != hash(now, name))
}

/// What the GPU runs for a kernel.
fn hash<'a>(record: &'a Record, function: &str) -> Option<&'a String> {
    let mut kernels = record.kernel.iter().chain(&record.further_kernels);
    kernels.find_map(|kernel| kernel.functions.get(function))
}

/// What the record has of the case of `m`: its bandwidth, or its time. If it has the case
/// in other sizes only, then the largest, and which that is; if the driver answered something else,
/// then that.
pub(crate) fn figure(record: &Record, m: &Measurement) -> Option<String> {
    let equal = |other: &&Measurement| {
        let same = |(name, value): (&String, &Parameter)| m.parameters.get(name) == Some(value);
        other.parameters.iter().filter(|parameter| same(*parameter)).count()
    };
    let like = record.measurements.iter().filter(|other| is_like(other, m));
    let other = like.max_by_key(|other| (equal(other), other.bytes()))?;
    if let Some(answer) = other.parameters.get(ANSWER)
        && m.parameters.get(ANSWER) != Some(answer)
    {
        return Some(format!("{answer} there"));
    }
    let number = match other.bandwidth_bytes_per_second() {
        Some(bandwidth) => units::bandwidth(bandwidth),
        None => units::time(other.median_seconds()?),
    };
    let mut sizes = other.parameters.clone();
    sizes.retain(|name, value| m.parameters.get(name) != Some(value));
    Some(match sizes.is_empty() {
        true => number,
        false => format!("{number} at{}", words::parameters(&sizes)),
    })
}

/// The parameter that is no part of a case, but what the driver answered.
const ANSWER: &str = "answer";

/// Whether two measurements differ in numbers only, or in the driver's answer.
fn is_like(a: &Measurement, b: &Measurement) -> bool {
    let names = |m: &Measurement| {
        let parameters = m.parameters.iter();
        parameters
            .filter(|(name, _)| *name != ANSWER)
            .map(|(name, value)| match value {
                Parameter::Name(text) => (name.clone(), Some(text.clone())),
                Parameter::Integer(_) => (name.clone(), None),
            })
            .collect::<Vec<_>>()
    };
    a.case == b.case && names(a) == names(b)
}
