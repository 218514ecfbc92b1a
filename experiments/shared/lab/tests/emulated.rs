//! The experiments' real programs on the emulated GPU: what a machine without a driver runs.

use std::sync::LazyLock;

use record::{Record, Source};

use crate::driver::{Desk, Ended};
use crate::tables;

/// Runs an experiment where there is no driver but the emulated one.
#[track_caller]
fn emulated(desk: &Desk, experiment: &str, arguments: &str) -> (Ended, Record) {
    let program = desk.program(experiment, arguments).without_driver();
    let ended = program.run().with_code(0);
    let record = desk.record("emulated", experiment);
    (ended, record)
}

/// What a run printed on a terminal of 80 columns where there is no driver, and its record; of
/// lessons that take seconds, one run for all tests.
pub(crate) static COALESCING: LazyLock<(Ended, Record)> = LazyLock::new(|| narrow("coalescing"));
static TRANSPOSE: LazyLock<(Ended, Record)> = LazyLock::new(|| narrow("transpose"));

fn narrow(experiment: &str) -> (Ended, Record) {
    let desk = Desk::new();
    let program = desk.program(experiment, "").without_driver().set("COLUMNS", "80");
    (program.run().with_code(0), desk.record("emulated", experiment))
}

#[test]
fn without_a_driver_an_experiment_counts_and_checks() {
    let (ended, record) = &*COALESCING;
    let first = ended.stdout.lines().next().unwrap();
    assert!(first.starts_with("coalescing on an emulated GPU"), "{ended}");
    assert_eq!(ended.stderr, "");
    assert_eq!((record.source, record.run.quick), (Source::Emulated, true));
    let timed = |m: &record::Measurement| !m.seconds.is_empty();
    assert!(!record.measurements.iter().any(timed));
    // The lesson's model and what was counted agree, to the sector.
    let mut compared = 0;
    for m in &record.measurements {
        let loads = |what: &str| m.counters.get(what).copied().unwrap_or(0) as f64;
        let kind = m.parameters.get("kind").map(ToString::to_string);
        if kind.as_deref() == Some("gather") && m.case == "stride" {
            let counted = loads("global_load_sectors") / loads("global_load_requests");
            assert_eq!(counted, m.model["sectors_per_request"], "{m:?}");
            compared += 1;
        }
    }
    assert!(compared >= 12, "{compared}");
}

#[test]
fn an_emulated_driver_that_cannot_be_loaded_is_not_said_to_be_missing() {
    let desk = Desk::new();
    let program = desk.program_elsewhere("vector-add", "");
    desk.write("../elsewhere/libemulated_driver.so", "no library");
    let ended = program.run().with_code(77);
    assert!(ended.stderr.contains("the emulated driver cannot be loaded: "), "{ended}");
}

#[test]
fn where_no_thread_can_be_made_an_experiment_says_so_and_ends() {
    let desk = Desk::new();
    let program = desk.program("vector-add", "").without_driver();
    let program = program.set("RUST_MIN_STACK", "8000000000").limited("-v 4000000");
    let said = ["no thread can be made for a host function: ", "out of memory"];
    program.run().with_code(1).saying(&said);
}

#[test]
fn counters_are_told_for_each_line_of_the_source() {
    let source = include_str!("../../../../kernels/coalescing.cu");
    let line = source.lines().find(|line| line.ends_with("[i * stride + offset];"));
    let line = line.unwrap().trim();
    assert!(!COALESCING.0.stdout.contains(line), "{}", COALESCING.0);
    let desk = Desk::new();
    let (ended, _) = emulated(&desk, "coalescing", "--counters");
    assert!(ended.stdout.contains(line), "{ended}");
    assert!(ended.stdout.contains(" lines of 128 bytes, "), "{ended}");
    assert!(ended.stdout.contains(" sectors, each once a block"), "{ended}");
}

#[test]
fn beside_the_counts_stands_what_the_reference_machine_measured() {
    let desk = Desk::new();
    let measured = include_str!("../../../../results/h200/host-c/transfer-bandwidth.json");
    let table = |reference: &str| {
        desk.write("book/book.toml", "");
        desk.write("results/references.json", reference);
        desk.write("results/h200/host-c/transfer-bandwidth.json", measured);
        desk.run("transfer-bandwidth", "--emulate").with_code(0).stdout
    };
    let beside = table("[\"nobody\", \"h200\"]");
    let label = "Beside it, where there is room, is what another machine measured: NVIDIA H200, 20";
    assert!(beside.contains(label), "{beside}");
    for row in tables::of(&beside).iter().flat_map(|table| &table.rows) {
        assert!(row.ends_with("B/s") || row.contains("B/s at "), "{beside}");
    }
    assert!(!table("[\"nobody\"]").contains("H200"));

    // Where the driver's answer is the result, another one is no other case.
    let answers = include_str!("../../../../results/h200/host-r/pool-properties.json");
    let answers = answers.replace("\"host-r\"", "\"host-c\"");
    desk.write("results/references.json", "[\"h200\"]");
    desk.write("results/h200/host-c/pool-properties.json", answers);
    let beside = desk.run("pool-properties", "--emulate").with_code(0).stdout;
    assert!(beside.contains("invalid_value there"), "{beside}");
}

/// A reference record of other kernels than those that have run has nothing to compare.
#[test]
fn beside_an_edited_kernel_stands_that_it_is_another() {
    let desk = Desk::new();
    let measured = include_str!("../../../../results/h200/host-c/coalescing.json");
    let mut reference = record::file::parse("coalescing.json".as_ref(), measured).unwrap();
    desk.write("book/book.toml", "");
    desk.write("results/references.json", "[\"h200\"]");
    let functions = &mut reference.kernel.as_mut().unwrap().functions;
    let (_, hash) = functions.iter_mut().find(|(name, _)| *name == "scatter4").unwrap();
    *hash = "0".repeat(64);
    desk.results().write(&reference).unwrap();
    let printed = desk.run("coalescing", "--emulate").with_code(0).stdout;
    for row in tables::of(&printed).iter().flat_map(|table| &table.rows) {
        assert_eq!(row.ends_with("other kernel"), row.contains(" scatter "), "{row}");
    }
}

/// What edited sources count is not put in the place of what the committed ones do.
#[test]
fn counts_of_edited_sources_replace_no_others_unasked() {
    let desk = Desk::new();
    let path = "results/emulated/vector-add.json";
    let read = || std::fs::read_to_string(desk.here().join(path)).unwrap();
    let run = |dirty: &str, arguments: &str| {
        let program = desk.program("vector-add", "--emulate").arguments(arguments);
        program.set("WORKBOOK_REVISION", "abc").set("WORKBOOK_DIRTY", dirty).run().with_code(0)
    };
    run("0", "");
    let other = read().replacen("\"elements_checked\":", "\"elements_checked\":1", 1);
    desk.write(path, &other);
    run("1", "").saying(&["not recorded: ", "results/emulated/", "--replace"]);
    assert_eq!(read(), other);
    run("1", "--replace");
    assert_eq!(desk.record("emulated", "vector-add").run.dirty, Some(true));
    run("1", ""); // its own
    run("0", "");
}

/// What the driver refuses because the lesson wants to know whether it does is no news.
#[test]
fn errors_that_a_lesson_expects_are_silent_and_others_are_explained() {
    let desk = Desk::new();
    let (ended, record) = emulated(&desk, "pool-properties", "");
    let refused = |m: &record::Measurement| {
        m.parameters.get("answer").is_some_and(|a| a.to_string() == "invalid_value")
    };
    assert!(record.measurements.iter().filter(|m| refused(m)).count() > 5);
    assert_eq!(ended.stderr, "");
}

#[test]
fn tables_fit_the_terminal_and_have_no_empty_columns() {
    let fits = |(ended, record): &(Ended, Record), width| {
        tables::check(&ended.stdout, width);
        let rows: usize = tables::of(&ended.stdout).iter().map(|table| table.rows.len()).sum();
        assert_eq!(record.measurements.len(), rows, "{ended}");
    };
    fits(&COALESCING, 80);
    fits(&TRANSPOSE, 80);
    for experiment in ["memory-trace", "pool-properties", "peer-copy"] {
        fits(&narrow(experiment), 80);
    }
    let desk = Desk::new();
    for experiment in ["pool-properties", "peer-copy"] {
        let wide = desk.program(experiment, "--emulate").set("COLUMNS", "100").run().with_code(0);
        fits(&(wide, desk.record("emulated", experiment)), 100);
    }
}

#[test]
fn what_was_counted_before_stays_with_its_date() {
    let desk = Desk::new();
    let path = "results/emulated/vector-add.json";
    let run = || {
        desk.run("vector-add", "--emulate").with_code(0);
        std::fs::read_to_string(desk.here().join(path)).unwrap()
    };
    let old = run().replace("\"started\": \"20", "\"started\": \"21");
    desk.write(path, &old);
    assert_eq!(run(), old);
    // But another check is another record.
    desk.write(path, old.replacen("\"elements_checked\":", "\"elements_checked\":1", 1));
    let new = run();
    assert!(new.contains("\"started\": \"20"), "{new}");
}

#[test]
fn counts_that_are_not_the_hardwares_say_so() {
    let (ended, record) = &*TRANSPOSE;
    let remark = "machine code has the shared store under a predicate";
    let said = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(remark), "{ended}");
    for m in &record.measurements {
        let has = m.remarks.iter().any(|r| r.contains(remark));
        assert_eq!(has, m.case.starts_with("tile"), "{m:?}");
    }
}

/// What a page of the first steps shows of its program's output is in this file of the
/// program's folder, between anchors.
#[track_caller]
fn shown_on_its_page(folder: &str, file: &str, printed: &str) {
    let path = lab::workspace::root().unwrap();
    let path = path.join("experiments/first-steps").join(folder).join(file);
    let committed = std::fs::read_to_string(&path).unwrap();
    let lines = |text: &str| -> Vec<String> {
        let kept = text.lines().filter(|line| !line.starts_with("ANCHOR"));
        // Where the record is, is not on the page.
        let kept = kept.filter(|line| !line.starts_with("recorded: "));
        kept.map(|line| line.trim_end().to_owned()).collect()
    };
    let (printed, committed) = (lines(printed), lines(&committed));
    let printed_text = printed.join("\n");
    assert!(printed == committed, "{} is not:\n{printed_text}", path.display());
}

#[test]
fn the_first_steps_print_what_their_pages_show() {
    let desk = Desk::new();
    let print = |program: &str, arguments: &str| {
        let program = desk.program(program, arguments).without_driver();
        program.set("COLUMNS", "80").run()
    };
    for lesson in ["warps", "memories", "reading-the-emulator"] {
        let printed = print(lesson, "").with_code(0).stdout;
        shown_on_its_page(lesson, "output.txt", &printed);
    }
    let printed = ["vector-add", "first-program"];
    let printed = printed.map(|program| print(program, "").with_code(0).stdout);
    shown_on_its_page("vector-add", "output.txt", &printed.concat());
    let mistakes = ["first", "second", "third", "fourth"];
    let said = mistakes.map(|which| print("mistakes", which).with_code(1).stderr);
    let lines = said.iter().flat_map(|said| said.lines());
    let lines: Vec<_> = lines.map(|l| lab::layout::wrap(l, 80, 0)).collect();
    shown_on_its_page("reading-the-emulator", "mistakes.txt", &lines.join("\n"));
}

#[test]
fn copies_and_a_second_run_need_nothing_more() {
    let desk = Desk::new();
    for _ in 0..2 {
        let (ended, record) = emulated(&desk, "transfer-bandwidth", "--samples 3");
        assert_eq!(ended.stderr, "");
        assert!(record.measurements.iter().all(|m| m.elements_checked > 0));
        assert!(record.measurements.iter().all(|m| m.counters.is_empty()));
    }
    let left: Vec<_> = std::fs::read_dir(desk.temporary()).unwrap().collect();
    assert!(left.is_empty(), "links are left behind: {left:?}");
}

#[test]
fn work_is_shared_among_the_gpus_that_are_there() {
    let desk = Desk::new();
    for (name, value, skips, missing) in [
        ("WORKBOOK_EMULATED_GPUS", "1", true, 0.0),
        ("CUDA_VISIBLE_DEVICES", "1", true, 0.0),
        ("WORKBOOK_EMULATED_GPUS", "3", false, 1.0),
    ] {
        for experiment in ["multi-gpu-split", "device-selection"] {
            let program = desk.program(experiment, "").without_driver();
            program.set(name, value).run().with_code(0);
            let skipped = desk.record("emulated", experiment).skipped;
            let why = |s: &record::Skipped| s.reason == "CUDA sees one GPU";
            assert_eq!(skipped.iter().any(why), skips, "{experiment}: {skipped:?}");
        }
        // What the chapter's listing leaves out of its million elements.
        let record = desk.record("emulated", "multi-gpu-split");
        let left_out = |code: &str| -> f64 {
            let has = |m: &&record::Measurement, name: &str, value: &str| {
                m.parameters.get(name).is_some_and(|p| p.to_string() == value)
            };
            let listings = record
                .measurements
                .iter()
                .filter(|m| has(m, "code", code) && has(m, "elements", "1000000"));
            listings.filter_map(|m| m.model.get("elements_missing")).sum()
        };
        assert_eq!((left_out("printed"), left_out("corrected")), (missing, 0.0));
    }
}

/// With the limits of a newer GPU it still lacks that one's instructions, and lessons skip them.
#[test]
fn a_gpu_with_newer_limits_skips_what_it_cannot_run() {
    let desk = Desk::new();
    let program = desk.program("transpose", "").without_driver();
    let program = program.set("WORKBOOK_EMULATED_GPU", "9.0").set("WORKBOOK_EMULATED_GPUS", "3");
    program.run().with_code(0);
    let record = desk.record("emulated", "transpose");
    assert_eq!(record.machine.gpus[0].compute_capability, "9.0");
    assert!(record.skipped.iter().any(|skipped| skipped.case == "bulk"));
}

#[test]
fn a_pack_runs_without_a_driver() {
    let desk = Desk::new();
    desk.unpack("transfer-bandwidth");
    let mut run = std::process::Command::new("./run");
    let run = run.current_dir(desk.here()).env("TMPDIR", desk.temporary());
    let run = run.env("LD_LIBRARY_PATH", desk.no_driver());
    let output = run.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("on an emulated GPU"), "{said}");
    assert!(said.contains("\nrecorded: transfer-bandwidth\n"), "{said}");
    let record = desk.record("emulated", "transfer-bandwidth");
    assert_eq!(record.source, Source::Emulated);
    assert_eq!(record.run.revision.as_deref(), Some("abc"));
}

/// Runs `peer-copy` with `--emulate` and these settings of the environment.
fn peer_copy(desk: &Desk, settings: &[(&str, &str)]) -> Ended {
    let program = desk.program("peer-copy", "--emulate");
    settings.iter().fold(program, |program, (name, value)| program.set(name, value)).run()
}

#[test]
fn every_pair_of_gpus_that_are_left_copies() {
    let four = ("WORKBOOK_EMULATED_GPUS", "4");
    for (settings, gpus, skipped, expected) in [
        (&[four][..], 4, 0, "01 02 03 10 12 13 20 21 23 30 31 32"),
        // Two cannot both send to a third.
        (&[four, ("CUDA_VISIBLE_DEVICES", "3,1")], 2, 1, "01 10"),
    ] {
        let desk = Desk::new();
        peer_copy(&desk, settings).with_code(0);
        let record = desk.record("emulated", "peer-copy");
        assert_eq!(record.machine.gpus.len(), gpus);
        assert_eq!(record.skipped.iter().filter(|s| s.case != "threads").count(), skipped);
        let pairs = record.measurements.iter().filter(|m| m.case == "pair");
        let pairs = pairs.map(|m| format!("{}{}", m.parameters["from"], m.parameters["to"]));
        assert_eq!(pairs.collect::<Vec<_>>().join(" "), expected);
        assert!(record.measurements.iter().all(|m| m.elements_checked > 0));
    }
}

#[test]
fn with_one_gpu_there_is_no_peer() {
    for settings in [
        &[("WORKBOOK_EMULATED_GPUS", "1")][..],
        &[("CUDA_VISIBLE_DEVICES", "1")],
        &[("CUDA_VISIBLE_DEVICES", "0,5,1")], // 5 is not there, and ends the list
    ] {
        let desk = Desk::new();
        let ended = peer_copy(&desk, settings).with_code(77);
        ended.saying(&["it needs 2 GPUs, and CUDA sees 1 GPU", "CUDA_VISIBLE_DEVICES"]);
        assert!(desk.files().is_empty());
    }
}

#[test]
fn without_peer_access_copies_go_through_the_host() {
    for (peers, why) in
        [("none", "the driver says that it cannot have it"), ("0", "it has too many peers already")]
    {
        let desk = Desk::new();
        peer_copy(&desk, &[("WORKBOOK_EMULATED_PEERS", peers)]).with_code(0);
        let record = desk.record("emulated", "peer-copy");
        let of = |case: &str| {
            let measured: Vec<_> = record.measurements.iter().filter(|m| m.case == case).collect();
            assert!(measured.iter().all(|m| m.elements_checked > 0), "{case}");
            measured.len()
        };
        assert_eq!((of("access"), of("pair"), of("copy")), (4, 0, 0));
        assert!(of("staged") > 2 && of("link") == 2);
        assert!(record.skipped.len() > 4);
        for skipped in &record.skipped {
            assert!(skipped.reason.ends_with(why), "{skipped:?}");
        }
    }
}

#[test]
fn a_measured_record_is_not_replaced_by_an_emulated_one() {
    let desk = Desk::new();
    let measured = "--machine here --samples 1 --quick";
    desk.run("transfer-bandwidth", measured).with_code(0);
    for emulated in ["--machine here --emulate", "--machine here --emulate --replace"] {
        let ended = desk.run("transfer-bandwidth", emulated).with_code(1);
        ended.saying(&["was measured, and a record of the emulated GPU never takes"]);
    }
    assert_eq!(desk.record("here", "transfer-bandwidth").source, Source::Measured);
    // Nor does one come beside it.
    let ended = desk.run("coalescing", "--machine here --emulate").with_code(1);
    ended.saying(&["here holds what was measured: leave out --machine"]);
}
