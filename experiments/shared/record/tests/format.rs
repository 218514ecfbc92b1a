//! The text format: golden files byte for byte, and a README that tells the same fields.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use record::file::{parse, to_json};
use record::{Cache, Ceiling, Clock, KernelOrigin, Record, Results, Source};
use serde_json::Value;

const MEASURED: &str = include_str!("golden/h200/example.json");
const EMULATED: &str = include_str!("golden/emulated/example.json");
const README: &str = include_str!("../../../../results/README.md");

fn golden(json: &str) -> Record {
    parse(Path::new("example.json"), json).unwrap()
}

#[test]
fn golden_files_are_read_and_written_byte_for_byte() {
    for json in [MEASURED, EMULATED] {
        assert_eq!(to_json(&golden(json)), json);
    }
}

#[test]
fn golden_files_lie_where_results_look() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let results = Results::new(folder);
    assert_eq!(results.machines().unwrap(), ["emulated", "h200"]);
    for machine in ["emulated", "h200"] {
        assert_eq!(results.experiments(machine).unwrap(), ["example"]);
        let record = results.read(machine, "example").unwrap().unwrap();
        assert_eq!(record.machine.name, machine);
    }
    assert_eq!(results.read("h200", "other").unwrap(), None);
    assert_eq!(results.read("other", "example").unwrap(), None);
}

#[test]
fn runs_with_a_label_lie_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let results = Results::new(folder.path());
    let labelled = |label: Option<&str>| {
        let mut record = golden(MEASURED);
        record.run.label = label.map(str::to_owned);
        record
    };
    for label in [Some("b"), None, Some("a")] {
        let path = results.write(&labelled(label)).unwrap();
        let middle = label.map_or(String::new(), |label| format!("{label}/"));
        assert!(path.ends_with(format!("h200/{middle}example.json")), "{path:?}");
        let run = results.labelled(label).unwrap();
        assert_eq!(run.read("h200", "example").unwrap().unwrap(), labelled(label));
    }
    let all = results.all("h200").unwrap();
    let labels: Vec<_> = all.iter().map(|(run, _)| run.label()).collect();
    assert_eq!(labels, [None, Some("a"), Some("b")]);
    // The folder is what a run is called.
    let [a, c] = ["a", "c"].map(|label| folder.path().join("h200").join(label));
    std::fs::rename(a, c).unwrap();
    let run = results.labelled(Some("c")).unwrap();
    let error = run.read("h200", "example").unwrap_err().to_string();
    assert!(error.ends_with("field `run.label`: `a` does not match the folder's name"), "{error}");
    assert!(results.labelled(Some("../x")).is_err());
}

#[test]
fn records_of_the_schemas_before_are_read() {
    for schema in [2, 3] {
        let old = EMULATED.replace("\"schema\": 4", &format!("\"schema\": {schema}"));
        assert_eq!(to_json(&golden(&old)), old);
    }
}

/// What follows from the golden record, worked out by hand.
#[test]
fn derived_values_are_those_of_the_hand_calculation() {
    let record = golden(MEASURED);
    let close = |got: Option<f64>, want: f64| {
        let got = got.unwrap();
        assert!((got / want - 1.0).abs() < 1e-12, "{got} is not {want}");
    };
    // 2 × 3.201 GHz × 6016 bits / 8; 32 GT/s × 16 lanes × 128/130 / 8.
    close(record.peak_bytes_per_second(Ceiling::DeviceMemory), 4_814_304e6);
    close(record.peak_bytes_per_second(Ceiling::HostLink), 64e9 * 128.0 / 130.0);
    close(record.peak_bytes_per_second(Ceiling::HostLinkBothWays), 128e9 * 128.0 / 130.0);
    // 18 links of 26.562 GB/s, of which 256/257 and 514/544 are payload.
    close(record.peak_bytes_per_second(Ceiling::NvLink), 449.991_529_411_764_7e9);
    close(record.peak_bytes_per_second(Ceiling::NvLinkBothWays), 899.983_058_823_529_4e9);
    assert_eq!(record.peak_bytes_per_second(Ceiling::None), None);
    let mut older = record.clone();
    older.machine.gpus[0].nvlink.as_mut().unwrap().version = Some(5);
    close(older.peak_bytes_per_second(Ceiling::NvLink), 478.116e9);

    // 1 GiB in a median of 20 ms.
    let copy = &record.measurements[0];
    close(copy.median_seconds(), 0.02);
    close(copy.bandwidth_bytes_per_second(), 53.6870912e9);
    close(record.share_of_peak(copy), 0.851968);

    // 64 MiB read and 64 MiB written in a median of 125 µs.
    let stride = &record.measurements[1];
    close(stride.bandwidth_bytes_per_second(), 1.073741824e12);
    close(record.share_of_peak(stride), 1.073741824 / 4.814304);

    let emulated = golden(EMULATED);
    let counted = &emulated.measurements[0];
    assert_eq!(counted.statistics(), None);
    assert_eq!(counted.bandwidth_bytes_per_second(), None);
    assert_eq!(emulated.share_of_peak(counted), None);
    assert_eq!(emulated.peak_bytes_per_second(Ceiling::DeviceMemory), None);
}

/// Objects whose keys are free names, not fields.
const MAPS: [&str; 4] = ["functions", "parameters", "model", "counters"];

/// The fields of every object in `value`, by its path: `machine.gpus[]`.
fn fields(path: &str, value: &Value, found: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Array(items) => {
            items.iter().for_each(|item| fields(&format!("{path}[]"), item, found));
        }
        Value::Object(object) => {
            let free = path.ends_with(".memory"); // its keys are names of series
            if !free {
                found.entry(path.to_owned()).or_default().extend(object.keys().cloned());
            }
            for (key, value) in object {
                if !MAPS.contains(&key.as_str()) {
                    let key = if free { "*" } else { key };
                    let dot = if path.is_empty() { "" } else { "." };
                    fields(&format!("{path}{dot}{key}"), value, found);
                }
            }
        }
        _ => {}
    }
}

/// The text between the first pair of backticks, and what follows it.
fn backticked(line: &str) -> Option<(&str, &str)> {
    line.split_once('`')?.1.split_once('`')
}

/// The first column of the README's tables, by the paths that the heading above names;
/// a heading that names none is the record itself.
fn documented_fields() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    let mut paths: Vec<&str> = vec![];
    for line in README.lines() {
        if let Some(mut heading) = line.strip_prefix("### ") {
            paths.clear();
            while let Some((path, rest)) = backticked(heading) {
                paths.push(path);
                heading = rest;
            }
            if paths.is_empty() {
                paths.push("");
            }
        } else if line.starts_with("| `") {
            let (field, _) = backticked(line).unwrap();
            for path in &paths {
                let new = found.entry((*path).to_owned()).or_default().insert(field.to_owned());
                assert!(new, "`{field}` stands twice under `{path}`");
            }
        }
    }
    found
}

#[test]
fn readme_documents_exactly_the_fields_of_the_schema() {
    let mut in_files = BTreeMap::new();
    let mut labelled = golden(MEASURED);
    labelled.run.label = Some("again".to_owned());
    for json in [&to_json(&labelled), EMULATED] {
        fields("", &serde_json::from_str(json).unwrap(), &mut in_files);
    }
    let in_readme = documented_fields();
    assert_eq!(
        in_readme.keys().collect::<Vec<_>>(),
        in_files.keys().collect::<Vec<_>>(),
        "headings of results/README.md (left) against objects of a record (right)"
    );
    for (path, in_file) in &in_files {
        assert_eq!(&in_readme[path], in_file, "README (left), record (right), `{path}`");
    }
}

#[test]
fn readme_names_every_value_of_the_enumerations() {
    fn name(value: impl serde::Serialize) -> String {
        let text = serde_json::to_string(&value).unwrap();
        format!("`{}`", text.trim_matches('"'))
    }
    let names = [
        name(Source::Measured),
        name(Source::Emulated),
        name(KernelOrigin::CommittedPtx),
        name(KernelOrigin::CompiledAtRunTime),
        name(Clock::CudaEvents),
        name(Clock::Host),
        name(Cache::Cold),
        name(Cache::Warm),
        name(Cache::NotApplicable),
        name(Ceiling::DeviceMemory),
        name(Ceiling::HostLink),
        name(Ceiling::HostLinkBothWays),
        name(Ceiling::NvLink),
        name(Ceiling::NvLinkBothWays),
        name(Ceiling::None),
    ];
    for name in names {
        assert!(README.contains(&name), "results/README.md does not name {name}");
    }
}

fn times() -> impl Strategy<Value = Vec<f64>> {
    // Whole picoseconds, as experiments record them, and any other time.
    let picoseconds = (1u64..10_000_000_000_000).prop_map(|ps| ps as f64 / 1e12);
    let any = prop_oneof![1e-12..1e-3f64, 1e-9..1e3f64, 1e3..1e7f64];
    prop::collection::vec(prop_oneof![picoseconds, any], 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A record is the same after a trip through its text, to the last bit.
    #[test]
    fn numbers_survive_the_file(seconds in times(), model in -1e18..1e18f64) {
        let mut record = golden(MEASURED);
        record.measurements[0].seconds = seconds;
        record.measurements[0].model.insert("anything".to_owned(), model);
        let json = to_json(&record);
        let back = golden(&json);
        prop_assert_eq!(&back, &record);
        prop_assert_eq!(to_json(&back), json);
    }

    /// So are texts, whatever characters they hold (but hidden ones).
    #[test]
    fn texts_survive_the_file(text in "[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]{0,60}", number in any::<u64>()) {
        let mut record = golden(MEASURED);
        record.machine.gpus[0].name = text.clone();
        record.run.command = text.clone();
        record.skipped[0].reason = text.clone();
        record.machine.gpus[0].memory_bytes = number;
        record.measurements[0].parameters.insert(text, number.into());
        prop_assert_eq!(golden(&to_json(&record)), record);
    }
}
