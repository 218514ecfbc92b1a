//! Files that are not records: each is refused, and the message names file and field.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::fs;
use std::path::{Path, PathBuf};

use record::file::{MAX_FILE_BYTES, check_name, parse, read, to_json, visible};
use record::{Error, Record, Results};
use serde_json::{Value, json};

const GOLDEN: &str = include_str!("golden/h200/example.json");
const FILE: &str = "results/h200/example.json";

fn golden() -> Value {
    serde_json::from_str(GOLDEN).unwrap()
}

/// The one check: `json` is refused, and the message is `FILE: field …: … problem …`.
#[track_caller]
fn refused(json: &str, field: &str, problem: &str) {
    let message = match parse(Path::new(FILE), json) {
        Ok(_) => panic!("accepted, where `{field}` should be refused: {problem}"),
        Err(e) => e.to_string(),
    };
    let start = format!("{FILE}: field `{field}`: ");
    assert!(message.starts_with(&start), "{message}\n  does not name {start}");
    let found = &message[start.len()..];
    assert!(found.contains(problem), "{message}\n  does not say: {problem}");
}

/// The golden record with `value` put at `place`, such as `measurements[0].seconds[1]`.
fn with(place: &str, value: Value) -> String {
    changed(GOLDEN, place, value)
}

fn changed(record: &str, place: &str, value: Value) -> String {
    let mut file: Value = serde_json::from_str(record).unwrap();
    let pointer = format!("/{}", place.replace(['.', '['], "/").replace(']', ""));
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match file.pointer_mut(parent).unwrap() {
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        object => object[key] = value,
    }
    file.to_string()
}

#[test]
fn values_that_break_a_rule() {
    let long = "x".repeat(4097);
    let cases = [
        (
            "schema",
            json!(1),
            "reads schema 2 to 4, the file has 1: record again with this workbook, once the file is deleted",
        ),
        ("schema", json!(5), "reads schema 2 to 4, the file has 5: update the workbook"),
        ("schema", json!(-1), "invalid value"),
        ("schema", json!("1"), "invalid type"),
        ("source", json!("guessed"), "unknown variant `guessed`"),
        ("run.quick", json!(null), "invalid type: null"),
        ("machine.measured_gpu", json!(1), "no such entry"),
        ("machine.measured_gpu", json!(-1), "invalid value"),
        ("machine.gpus[0].l2_bytes", json!(1.5), "invalid type"),
        ("machine.gpus[0].pcie.width", json!(1u64 << 32), "invalid value"),
        ("kernel.origin", json!("magic"), "unknown variant `magic`"),
        ("gather_seconds[0]", json!(0), "0.0 is not a time of 1e-12"),
        ("measurements[0].clock", json!("sundial"), "unknown variant `sundial`"),
        ("measurements[0].bytes_read", json!(-1), "invalid value"),
        ("measurements[0].bytes_read", json!(u64::MAX), "more than 1152921504606846976 bytes"),
        ("measurements[0].operations_per_sample", json!(0), "must be at least 1"),
        ("measurements[0].parameters.bytes", json!(1.5), "did not match any"),
        // Times.
        ("measurements[0].seconds", json!([]), "a measured record has samples"),
        ("measurements[0].seconds[1]", json!(0), "0.0 is not a time of 1e-12"),
        ("measurements[0].seconds[1]", json!(0.0), "0.0 is not a time of"),
        ("measurements[0].seconds[1]", json!(-0.0), "0.0 is not a time of"),
        ("measurements[0].seconds[2]", json!(-0.02), "-0.02 is not a time of"),
        ("measurements[0].seconds[0]", json!(null), "invalid type: null"),
        ("measurements[0].seconds[0]", json!("NaN"), "invalid type: string"),
        ("measurements[0].counters", json!({ "sectors": 4 }), "has no counters"),
        ("measurements[0].remarks", json!(["a"]), "only an emulated record"),
        ("measurements[0].seconds[0]", json!(1e-13), "is not a time of 1e-12"),
        ("measurements[0].seconds[0]", json!(1.1e7), "is not a time of 1e-12"),
        ("measurements[1].model.sectors_per_request", json!(2e18), "at most 1e18"),
        ("measurements[0].bytes_written", json!(1u64 << 61), "more than 1152921504606"),
        // Texts, which may end up in a terminal or on a page.
        ("run.command", json!("a\u{1b}[31mred"), "hidden characters"),
        ("run.command", json!("two\nlines"), "hidden characters"),
        ("run.command", json!("a\u{0}b"), "hidden characters"),
        ("run.command", json!("a\u{85}b"), "hidden characters"),
        ("machine.cpu.model", json!(long), "longer than 4096 bytes"),
        ("machine.gpus[0].name", json!("\u{7f}"), "hidden characters"),
        ("gpu_after.throttle_reasons[0]", json!("\t"), "hidden characters"),
        ("measurements[0].parameters", json!({ "a\nb": 1 }), "a key is too long or"),
        ("measurements[0].model", json!({ "a\nb": 1.0 }), "a key is too long or"),
        ("skipped[0].reason", json!("\r"), "hidden characters"),
        ("machine.gpus[0].name", json!("H\u{200b}200"), "hidden characters"),
        ("skipped[0].case", json!("\u{202e}drawkcab"), "hidden characters"),
        // Dates, by which records are ordered.
        ("run.started", json!("yesterday"), "`yesterday` is no date such as 2026-"),
        ("run.started", json!("2026-02-30T04:05:06Z"), "is no date such as"),
        ("run.started", json!("2026-11-21T04:05:06"), "is no date such as"),
    ];
    for (place, value, problem) in cases {
        refused(&with(place, value), place, problem);
    }
}

/// Where what is wrong at one place shows at another.
#[test]
fn values_that_do_not_go_together() {
    let (gpu, copy) = (&golden()["machine"]["gpus"][0], &golden()["measurements"][0]);
    let span = &golden()["measurements"][1]["spans"][0];
    let many = |value: &Value, n| json!(vec![value.clone(); n]);
    let no_times = "only a measured record has times";
    let cases = [
        ("machine.gpus", json!([]), "machine.measured_gpu", "no such entry"),
        ("machine.gpus", many(gpu, 65), "machine.gpus", "more than 64"),
        ("measurements[1]", copy.clone(), "measurements[1].case", "here twice"),
        ("measurements", many(copy, 10_001), "measurements", "more than 10000"),
        (
            "measurements[0].seconds",
            many(&json!(1.0), 100_001),
            "measurements[0].seconds",
            "more than 100000 samples",
        ),
        (
            "measurements[1].spans[0].end_seconds",
            json!(-1.0),
            "measurements[1].spans[0].end_seconds",
            "0.0 to -1.0 is not a stretch of time",
        ),
        ("measurements[1].spans", many(span, 2), "measurements[1].spans[1].label", "here twice"),
        ("measurements[1].spans", many(span, 2_001), "measurements[1].spans", "more than 2000"),
        (
            "measurements[1].memory.pool_used[0].seconds",
            json!(1.0),
            "measurements[1].memory.pool_used",
            "in order",
        ),
        (
            "measurements[1].memory.pool_used",
            many(&json!({ "seconds": 0.0, "bytes": 1 }), 10_001),
            "measurements[1].memory.pool_used",
            "more than 10000 readings",
        ),
        ("source", json!("emulated"), "measurements[0].seconds", no_times),
        ("source", json!("profiled"), "measurements[0].seconds", no_times),
    ];
    for (place, value, field, problem) in cases {
        refused(&with(place, value), field, problem);
    }
}

#[test]
fn only_measured_records_have_clocks_and_times() {
    let emulated = include_str!("golden/emulated/example.json");
    let (clock, reasons) = ("measurements[0].sm_clock_khz", "measurements[0].throttle_reasons");
    for (place, value, field, problem) in [
        (clock, json!(1), clock, "only a measured record has clocks"),
        (reasons, json!(["sw_power_cap"]), clock, "only a measured record has clocks"),
        ("gather_seconds", json!([1.0]), "gather_seconds", "only a measured record has times"),
    ] {
        refused(&changed(emulated, place, value), field, problem);
    }
}

/// Every object of the golden record but the maps, as JSON pointers with the paths that
/// messages use.
const OBJECTS: [(&str, &str); 15] = [
    ("", "."),
    ("/run", "run"),
    ("/software", "software"),
    ("/machine", "machine"),
    ("/machine/gpus/0", "machine.gpus[0]"),
    ("/machine/gpus/0/pcie", "machine.gpus[0].pcie"),
    ("/machine/gpus/0/nvlink", "machine.gpus[0].nvlink"),
    ("/machine/cpu", "machine.cpu"),
    ("/kernel", "kernel"),
    ("/further_kernels/0", "further_kernels[0]"),
    ("/gpu_before", "gpu_before"),
    ("/measurements/0", "measurements[0]"),
    ("/measurements/1/spans/0", "measurements[1].spans[0]"),
    ("/measurements/1/memory/pool_used/0", "measurements[1].memory.pool_used[0]"),
    ("/skipped/0", "skipped[0]"),
];

#[test]
fn a_record_of_another_schema_says_so_whatever_its_fields() {
    let mut file = golden();
    file["schema"] = json!(1);
    file["kernel"] = json!({ "name": "example", "source_sha256": "e3b0" });
    refused(&file.to_string(), "schema", "record again");
}

#[test]
fn unknown_fields_at_every_level() {
    for (place, path) in OBJECTS {
        let mut file = golden();
        file.pointer_mut(place).unwrap()["surprise"] = json!(1);
        let field = match path {
            "." => "surprise".to_owned(),
            path => format!("{path}.surprise"),
        };
        refused(&file.to_string(), &field, "unknown field `surprise`");
    }
}

#[test]
fn missing_fields_at_every_level() {
    // A field that may be null, or a map that is empty, may also be left out.
    let optional = "
        revision dirty driver numa_nodes virtualised ecc pcie nvlink max_generation max_width
        version link_bytes_per_second vbios board_part_number memory_celsius gather_seconds
        kernel further_kernels sm_clock_khz memory_clock_khz temperature_celsius
        power_milliwatts throttle_reasons model counters remarks";
    let optional: Vec<_> = optional.split_whitespace().collect();
    for (place, path) in OBJECTS {
        let object = golden();
        let object = object.pointer(place).unwrap().as_object().unwrap();
        for key in object.keys() {
            let in_gpu = place.ends_with("/0") && key.ends_with("_khz");
            if optional.contains(&key.as_str()) && !in_gpu {
                continue;
            }
            let mut file = golden();
            let object = file.pointer_mut(place).unwrap().as_object_mut().unwrap();
            object.remove(key).unwrap();
            refused(&file.to_string(), path, &format!("missing field `{key}`"));
        }
    }
}

#[test]
fn text_that_is_not_a_record() {
    let edit = |from: &str, to: &str| {
        assert_eq!(GOLDEN.matches(from).count(), 1, "{from}");
        GOLDEN.replace(from, to)
    };
    let time = |text| edit("0.0195", text);
    let (sample, range) = ("measurements[0].seconds[1]", "number out of range");
    let deep = format!("\"links\": {}", "[".repeat(100_000));
    let cases = [
        (time("NaN"), sample, "expected value"),
        (time("Infinity"), sample, "expected value"),
        (time("1e999"), sample, range),
        (time("-1e999"), sample, range),
        (time("1e-999"), sample, "is not a time of 1e-12"),
        (edit(":32.0", ":1e999"), "measurements[1].model.sectors_per_request", range),
        (edit("\"quick\":", "\"quick\": true, \"quick\":"), "run", "duplicate field"),
        (
            edit("\"model\":{", "\"model\":{\"sectors_per_request\":1.0,"),
            "measurements[1].model",
            "a key stands here twice",
        ),
        (edit("Linux ", "Linux\n"), "software.operating_system", "control character"),
        (format!("{GOLDEN}{{}}"), ".", "trailing characters"),
        (format!("{GOLDEN}{GOLDEN}"), ".", "trailing characters"),
        (format!("\u{feff}{GOLDEN}"), ".", "expected value"),
        (" \n".to_owned(), ".", "the file is empty"),
        ("null".to_owned(), ".", "invalid type: null"),
        ("[]".to_owned(), ".", "invalid"),
        ("[".repeat(100_000), "[0]", "invalid type"),
        (edit("\"links\": 18", &deep), "machine.gpus[0].nvlink.links", "invalid type"),
    ];
    for (text, field, problem) in cases {
        refused(&text, field, problem);
    }
}

/// No GPU is called so, and what is called so has no time.
#[test]
fn an_emulated_gpu_was_never_timed() {
    let file = with("machine.gpus[0].name", json!(record::EMULATED_GPU));
    refused(&file, "source", "an `Emulated GPU` has no time that could be measured");
}

/// A file's text comes into the error, but not what would steer the terminal that shows it.
#[test]
fn errors_steer_no_terminal() {
    let steering = "\u{1b}]52;c;bHM=\u{7}\u{9b}2J\r\u{202e}";
    let added = |place: &str, key: &str| {
        let mut file = golden();
        let object = file.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.insert(key.to_owned(), json!(steering));
        file.to_string()
    };
    for file in [
        added("", steering),
        added("/measurements/0/parameters", steering),
        with("source", json!(steering)),
        with("experiment", json!(steering)),
        with("measurements[0].clock", json!(steering)),
        with("run.started", json!(steering)),
    ] {
        let folder = Path::new("a\u{1b}[31m");
        let e = parse(&folder.join(FILE), &file).unwrap_err().to_string();
        assert!(!e.contains(char::is_control) && !e.contains('\u{202e}'), "{e:?}");
        assert!(e.starts_with("a\\u{1b}[31m/"), "{e}");
    }
}

#[test]
fn a_file_cut_off_anywhere() {
    let whole = GOLDEN.trim_end();
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let Err(e) = parse(Path::new(FILE), &whole[..end]) else {
            panic!("accepted the first {end} bytes");
        };
        assert!(e.to_string().starts_with(&format!("{FILE}: field `")), "{end}: {e}");
    }
    parse(Path::new(FILE), whole).unwrap();
}

#[test]
fn names_that_could_leave_the_folder() {
    let long = "x".repeat(65);
    let bad = [
        "", ".", "..", "../x", "a/b", "/etc", "a\\b", "-x", "X", "h200X", "a.b", "a b", "a_b", "é",
        "a\0b", "a\n", "~", "c:", &*long,
    ];
    let folder = tempfile::tempdir().unwrap();
    let results = Results::new(folder.path());
    for name in bad {
        for (what, error) in [
            ("machine", results.read(name, "example").map(drop).unwrap_err()),
            ("experiment", results.read("h200", name).map(drop).unwrap_err()),
            ("machine", results.experiments(name).map(drop).unwrap_err()),
            ("machine", results.set_this_machine(name).unwrap_err()),
            ("machine", check_name("machine", name).unwrap_err()),
        ] {
            assert!(matches!(error, Error::Name { .. }), "{error}");
            let name = visible(name);
            let start = format!("`{name}` is not a usable {what} name: ");
            assert!(error.to_string().starts_with(&start), "{error}");
        }

        // In a file, and when it is written.
        let places = [("/experiment", "experiment"), ("/machine/name", "machine.name")];
        for (place, field) in places {
            let mut file = golden();
            *file.pointer_mut(place).unwrap() = json!(name);
            refused(&file.to_string(), field, "is not a usable");
            let record: Record = serde_json::from_value(file).unwrap();
            let error = results.write(&record).unwrap_err();
            assert!(matches!(error, Error::Name { .. }), "{error}");
        }
    }
    for taken in ["this-machine", "imported", "con", "com1", "lpt9"] {
        let error = results.labelled(Some(taken)).map(drop).unwrap_err();
        assert!(matches!(error, Error::Taken { .. }), "{error}");
        let mut file = golden();
        file["machine"]["name"] = json!(taken);
        refused(&file.to_string(), "machine.name", "it means something else");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let longest = "x".repeat(64);
    for good in ["h200", "0", "a-b", "rtx-4090-x2", longest.as_str()] {
        check_name("machine", good).unwrap();
    }
}

/// A results folder with the golden record in it, under whatever names.
fn folder_with(machine: &str, experiment: &str) -> (tempfile::TempDir, Results, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let results = Results::new(folder.path());
    let path = results.path(machine, experiment).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, GOLDEN).unwrap();
    (folder, results, path)
}

#[test]
fn a_record_in_the_wrong_place() {
    for (machine, experiment, field, problem) in [
        ("other", "example", "machine.name", "`h200` does not match the folder's name"),
        ("h200", "other", "experiment", "`example` does not match the file's name"),
    ] {
        let (_folder, results, path) = folder_with(machine, experiment);
        let error = results.read(machine, experiment).unwrap_err().to_string();
        assert_eq!(error, format!("{}: field `{field}`: {problem}", path.display()));
    }
}

#[test]
fn files_of_the_wrong_size_or_kind() {
    let (_folder, results, path) = folder_with("h200", "example");
    let refused = |problem: &str| {
        let error = results.read("h200", "example").unwrap_err().to_string();
        let start = format!("{}: ", path.display());
        assert!(error.starts_with(&start) && error.contains(problem), "{error}");
    };

    // One byte too many; the file is sparse, and is not read.
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(MAX_FILE_BYTES + 1).unwrap();
    refused("16777217 bytes is more than the 16777216 a record may have");
    let error = read(&path).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    // As many as allowed, padded with blanks.
    let blanks = " ".repeat(MAX_FILE_BYTES as usize - GOLDEN.len());
    fs::write(&path, format!("{GOLDEN}{blanks}")).unwrap();
    results.read("h200", "example").unwrap().unwrap();

    // Numbers get longer when they are written.
    let mut file = golden();
    file["measurements"][0]["seconds"] = json!(vec![1e7; 100_000]);
    let measurement = file["measurements"][0].clone();
    let all = (0..20).map(|i| {
        let mut measurement = measurement.clone();
        measurement["parameters"]["number"] = json!(i);
        measurement
    });
    file["measurements"] = all.collect();
    let record: Record = serde_json::from_value(file).unwrap();
    let error = results.write(&record).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    results.read("h200", "example").unwrap().unwrap();

    fs::write(&path, b"{\"schema\": 1, \"experiment\": \"\xff\"}").unwrap();
    refused("UTF-8");

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("not a regular file");

    // A link to something that never ends.
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    refused("not a regular file");
}

/// Folders and files that are no records' are passed over, not tripped over.
#[test]
fn strangers_in_the_folder() {
    let (folder, results, _) = folder_with("h200", "example");
    fs::write(folder.path().join("README.md"), "text").unwrap();
    fs::create_dir(folder.path().join("Not A Machine")).unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join("h200/.record-x1y2z3"), "{").unwrap();
    fs::write(folder.path().join("h200/notes.txt"), "text").unwrap();
    fs::write(folder.path().join("h200/Bad Name.json"), "{}").unwrap();
    assert_eq!(results.machines().unwrap(), ["h200"]);
    assert_eq!(results.experiments("h200").unwrap(), ["example"]);
    assert_eq!(results.experiments("absent").unwrap(), [""; 0]);
    assert_eq!(Results::new(folder.path().join("absent")).machines().unwrap(), [""; 0]);
}

#[test]
fn this_machine_is_a_name_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let results = Results::new(folder.path());
    assert_eq!(results.this_machine().unwrap(), None);
    results.set_this_machine("h200").unwrap();
    assert_eq!(results.this_machine().unwrap().as_deref(), Some("h200"));
    fs::write(folder.path().join("this-machine"), "../h200\n").unwrap();
    let error = results.this_machine().unwrap_err().to_string();
    assert!(error.contains("this-machine: `../h200` is not a usable"), "{error}");
}

/// What a program could put into a record by mistake never gets into a file.
#[test]
fn numbers_that_json_cannot_hold() {
    let (_folder, results, path) = folder_with("h200", "example");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut record = parse(&path, GOLDEN).unwrap();
        record.measurements[0].seconds[1] = bad;
        let error = results.write(&record).unwrap_err().to_string();
        let field = format!("{}: field `measurements[0].seconds[1]`: {bad}", path.display());
        assert!(error.starts_with(&field), "{error}");

        let mut record = parse(&path, GOLDEN).unwrap();
        record.measurements[1].model.insert("sectors_per_request".to_owned(), bad);
        let error = results.write(&record).unwrap_err().to_string();
        let field = "field `measurements[1].model.sectors_per_request`";
        assert!(error.contains(field), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), GOLDEN);
    assert_eq!(to_json(&parse(&path, GOLDEN).unwrap()), GOLDEN);
}

#[test]
fn a_list_of_references_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("references.json");
    let results = Results::new(folder.path());
    assert!(results.references().unwrap_err().to_string().contains("references.json"));
    for (json, problem) in [
        ("[]", "names no machine"),
        ("{}", "invalid type: map"),
        ("[\"h200\",]", "trailing comma"),
        ("[\"../h200\"]", "`../h200`"),
    ] {
        fs::write(&path, json).unwrap();
        let message = results.references().unwrap_err().to_string();
        assert!(message.contains("references.json"), "{json}: {message}");
        assert!(message.contains(problem), "{json}: {message}");
    }
    fs::write(&path, "[\"h200\", \"h200-x2\"]").unwrap();
    assert_eq!(results.references().unwrap(), ["h200", "h200-x2"]);
}
