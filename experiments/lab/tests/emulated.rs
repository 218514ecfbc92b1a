//! The experiments' real programs on the emulated GPU: what a machine without a driver runs.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do
#![allow(dead_code)] // of the helpers that the other tests use

mod driver;

use driver::{Desk, Ended};
use record::{Record, Source};

/// Runs an experiment where there is no driver but the emulated one.
#[track_caller]
fn emulated(desk: &Desk, experiment: &str, arguments: &str) -> (Ended, Record) {
    let program = desk.program(experiment, arguments).without_driver();
    let ended = program.run().with_code(0);
    let record = desk.record("emulated", experiment);
    (ended, record)
}

/// Opens the driver library if there is one. These tests are for machines without.
fn has_driver() -> bool {
    // SAFETY: it has no other effect.
    let has = unsafe { cudarc::driver::sys::is_culib_present() };
    if has {
        eprintln!("not tried: this machine has a driver");
    }
    has
}

#[test]
fn without_a_driver_an_experiment_counts_and_checks() {
    if has_driver() {
        return;
    }
    let desk = Desk::new();
    let (ended, record) = emulated(&desk, "coalescing", "");
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
            let counted =
                loads("global_load_sectors") / loads("global_load_requests");
            assert_eq!(counted, m.model["sectors_per_request"], "{m:?}");
            compared += 1;
        }
    }
    assert!(compared >= 12, "{compared}");
}

#[test]
fn counters_are_told_for_each_line_of_the_source() {
    if has_driver() {
        return;
    }
    let desk = Desk::new();
    let (ended, _) = emulated(&desk, "coalescing", "");
    let line = "dense[i] = apart[i * stride + offset];";
    assert!(!ended.stdout.contains(line), "{ended}");
    let (ended, _) = emulated(&desk, "coalescing", "--counters");
    assert!(ended.stdout.contains(line), "{ended}");
}

#[test]
fn copies_and_a_second_run_need_nothing_more() {
    if has_driver() {
        return;
    }
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
fn an_order_by_chance_gives_the_same_results() {
    if has_driver() {
        return;
    }
    let desk = Desk::new();
    for seed in ["1", "2", "3"] {
        let program = desk.program("staged-copies", "").without_driver();
        let program = program.set("WORKBOOK_EMULATED_SCHEDULE", seed);
        program.run().with_code(0);
    }
}

#[test]
fn the_emulated_gpu_takes_the_place_of_a_real_one_if_asked_to() {
    let desk = Desk::new();
    // The stand-in for NVIDIA's driver is there, and not used.
    let ended = desk.run("transfer-bandwidth", "--emulate").with_code(0);
    assert!(ended.stdout.contains("emulated GPU"), "{ended}");
    let record = desk.record("emulated", "transfer-bandwidth");
    assert_eq!(record.source, Source::Emulated);
    assert_eq!(record.machine.gpus[0].name, "Emulated GPU");
}

#[test]
fn a_measured_record_is_not_replaced_by_an_emulated_one() {
    let desk = Desk::new();
    let measured = "--machine here --samples 1 --quick";
    desk.run("transfer-bandwidth", measured).with_code(0);
    for emulated in
        ["--machine here --emulate", "--machine here --emulate --replace"]
    {
        desk.run("transfer-bandwidth", emulated)
            .with_code(1)
            .saying(&["was measured, and a record of the emulated GPU never takes"]);
    }
    assert_eq!(desk.record("here", "transfer-bandwidth").source, Source::Measured);
}
