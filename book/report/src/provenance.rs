//! Where the numbers come from: in a line under each chart and table, in full where a
//! page asks for it.

use std::collections::{BTreeMap, BTreeSet};

use record::{KernelOrigin, Record, Source, units};

use crate::html::escape;
use crate::records::{Recorded, counted};
use crate::select::Filter;
use crate::unit::Unit;

/// One line: GPUs and how many runs; dates, revisions and command when pointed at. Then what
/// `filter` would have shown but the machine could not measure.
pub fn line(record: &Recorded, filter: &Filter) -> String {
    let mut line = format!(
        "<span class=\"provenance\" title=\"{}\">{}{}{}</span>",
        escape(&format!(
            "{} · {} · {}",
            of_runs(record, |run| day(&run.run.started)),
            of_runs(record, revision),
            record.run.command
        )),
        escape(&gpus(record)),
        match (record.runs().count(), record.source) {
            (_, Source::Emulated) => String::new(),
            (1, _) => " · one run".to_owned(),
            (runs, _) => format!(" · {runs} runs"),
        },
        match (record.source, record.run.quick) {
            (Source::Emulated, _) => " · smaller sizes",
            // What a profiler counts is the same in one sample.
            (Source::Profiled, true) => " · some smaller sizes",
            (_, true) => " · quick run: fewer samples, some smaller sizes",
            (_, false) => "",
        }
    );
    for skipped in filter.skipped(record) {
        let parameters: String =
            skipped.parameters.iter().map(|(k, v)| format!(" {k}={v}")).collect();
        line.push_str(&format!(
            " <span class=\"skipped\">Not measured: {}: {}</span>",
            escape(&format!("{}{parameters}", skipped.case)),
            escape(&skipped.reason)
        ));
    }
    line
}

/// What `of` says of the runs, each once.
fn of_runs(record: &Recorded, of: impl Fn(&Record) -> String) -> String {
    let mut all: Vec<String> = record.runs().map(of).collect();
    all.sort();
    all.dedup();
    all.join(", ")
}

/// Everything a stranger needs to judge the numbers, folded: a list for each record, with
/// whether it stands beside another. Then a line for each record of something else that is
/// `used`, by its name.
pub fn full(records: &[(&Recorded, bool)], used: &BTreeMap<&String, Vec<&Recorded>>) -> String {
    let lists: String = records.iter().map(|(record, beside)| list(record, *beside)).collect();
    let profile = records.first().map(|(record, _)| &record.software.profile);
    let mut others = String::new();
    for (name, of) in used {
        let mut said: Vec<String> = of.iter().map(|record| in_short(record, profile)).collect();
        said.dedup();
        for text in said {
            let (name, text) = (escape(name), escape(&text));
            others.push_str(&format!("<dt>{name}</dt><dd>{text}</dd>\n"));
        }
    }
    if !others.is_empty() {
        others = format!(
            "<p>Numbers are also from these records:</p>\n<dl class=\"provenance\">\n{others}</dl>\n"
        );
    }
    format!(
        "<details class=\"provenance\"><summary>Machine, software, runs and command</summary>\n\
         {lists}{others}</details>\n"
    )
}

/// GPUs and runs; and the libraries of a baseline, whose profile is not that of the others.
fn in_short(record: &Recorded, profile: Option<&String>) -> String {
    let mut parts = vec![gpus(record)];
    if Some(&record.software.profile) != profile {
        parts.push(of_runs(record, |run| run.software.profile.clone()));
        parts.push(record.software.compiler.clone());
    }
    parts.push(match record.runs().count() {
        1 => "one run".to_owned(),
        runs => format!("{runs} runs"),
    });
    parts.join(", ")
}

/// The measured GPU's name, and how many there are.
fn gpus(record: &Record) -> String {
    let gpu = record.machine.measured_gpu().map_or("unknown GPU", |gpu| gpu.name.as_str());
    counted(gpu, record.machine.gpus.len())
}

fn list(record: &Recorded, beside: bool) -> String {
    let class = if beside { "provenance beside" } else { "provenance" };
    let mut list =
        format!("<dl class=\"{class}\" data-machine=\"{}\">\n", escape(&record.machine.name));
    for (term, text) in facts(record) {
        let text = escape(&text);
        let text = if term == "Command" { format!("<code>{text}</code>") } else { text };
        list.push_str(&format!("<dt>{term}</dt><dd>{text}</dd>\n"));
    }
    list + "</dl>\n"
}

fn facts(record: &Recorded) -> Vec<(&'static str, String)> {
    let machine = &record.machine;
    let mut facts = vec![];
    let in_words = |peak: Option<f64>| peak.map_or("unknown peak".to_owned(), units::bandwidth);
    if let Some(gpu) = machine.measured_gpu() {
        let peak = in_words(gpu.memory_peak_bytes_per_second());
        facts.push((
            "GPU",
            format!(
                "{} (compute capability {}, {} multiprocessors, {}{} at {peak}, {} L2)",
                gpu.name,
                gpu.compute_capability,
                gpu.multiprocessors,
                units::bytes(gpu.memory_bytes),
                match gpu.ecc {
                    Some(true) => " with ECC",
                    Some(false) => " without ECC",
                    None => "",
                },
                units::bytes(gpu.l2_bytes),
            ),
        ));
        if let Some(pcie) = &gpu.pcie {
            let peak = in_words(pcie.peak_bytes_per_second());
            let link = format!("PCIe {}.0 x{} ({peak} each way)", pcie.generation, pcie.width);
            facts.push(("Link to the host", link));
        }
        if let Some(nvlink) = &gpu.nvlink {
            let peak = in_words(nvlink.peak_bytes_per_second());
            let link = format!("NVLink, {} links ({peak} each way)", nvlink.links);
            facts.push(("Links to other GPUs", link));
        }
        if machine.gpus.len() > 1 {
            let which = format!("number {} of {}", machine.measured_gpu, machine.gpus.len());
            facts.push(("Measured GPU", which));
        }
    }
    let virtualised = match machine.virtualised {
        Some(true) => ", a virtual machine",
        Some(false) | None => "",
    };
    facts.push((
        "Host",
        format!(
            "{} ({} logical cores, {}{virtualised})",
            machine.cpu.model,
            machine.cpu.logical_cores,
            units::bytes(machine.host_memory_bytes)
        ),
    ));
    let driver = record.software.driver.as_deref().unwrap_or("unknown");
    facts.push((
        "Software",
        format!(
            "driver {driver}, CUDA {}, {}, {}, {}",
            record.software.cuda,
            record.software.operating_system,
            record.software.compiler,
            record.software.profile
        ),
    ));
    for kernel in record.kernel.iter().chain(&record.further_kernels) {
        let origin = match kernel.origin {
            KernelOrigin::CommittedPtx => "committed PTX",
            KernelOrigin::CompiledAtRunTime => "compiled when it ran",
        };
        let kernel = format!(
            "{} ({origin}, {} for compute {})",
            kernel.name, kernel.compiler, kernel.compute
        );
        // A file may have been loaded several times.
        if !facts.contains(&("Kernel", kernel.clone())) {
            facts.push(("Kernel", kernel));
        }
    }
    for run in record.runs() {
        let minute: String = run.run.started.chars().take(16).collect();
        let label = run.run.label.iter().map(|label| format!("{label}: "));
        let kind = match record.kind(run) {
            _ if !record.has_kinds() => String::new(),
            Some(kind) => format!(", memory that gathers in {}", units::time(kind as f64 * 1e-9)),
            None => ", kind of memory not recorded".to_owned(),
        };
        facts.push((
            "Recorded",
            format!(
                "{}{} UTC, {}, {}{kind}",
                label.collect::<String>(),
                minute.replace('T', " "),
                revision(run),
                samples(run)
            ),
        ));
        let held_back = held_back(run);
        if !held_back.is_empty() {
            facts.push(("Clocks were held back by", held_back));
        }
    }
    facts.push(("Command", record.run.command.clone()));
    facts
}

/// Why clocks were below their maximum, each with the cases after which they were.
fn held_back(record: &Record) -> String {
    let mut cases: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for reason in record.gpu_after.throttle_reasons.iter().flatten() {
        cases.entry(reason).or_default().insert("the last case");
    }
    for m in &record.measurements {
        for reason in &m.throttle_reasons {
            cases.entry(reason).or_default().insert(&m.case);
        }
    }
    let listed = cases.iter().map(|(reason, cases)| {
        let cases: Vec<_> = cases.iter().copied().collect();
        format!("{reason} (after {})", cases.join(", "))
    });
    listed.collect::<Vec<_>>().join(", ")
}

fn samples(record: &Record) -> String {
    let count = |n: usize| Unit::Number.print(n as f64);
    let each = record.measurements.iter().map(|m| m.seconds.len());
    let each_in_words = match (each.clone().min(), each.clone().max()) {
        (Some(least), Some(most)) if least < most => {
            format!("{} to {}", count(least), count(most))
        }
        (least, _) => count(least.unwrap_or(0)),
    };
    let quick = if record.run.quick { ", a quick run" } else { "" };
    format!(
        "{each_in_words} of each of {} measurements, {} in all{quick}",
        count(record.measurements.len()),
        count(each.sum())
    )
}

fn revision(record: &Record) -> String {
    let revision = record
        .run
        .revision
        .as_deref()
        .map_or("unknown".to_owned(), |hash| hash.chars().take(7).collect());
    match record.run.dirty {
        Some(true) => format!("revision {revision} with uncommitted changes"),
        Some(false) | None => format!("revision {revision}"),
    }
}

fn day(started: &str) -> String {
    started.chars().take(10).collect()
}
