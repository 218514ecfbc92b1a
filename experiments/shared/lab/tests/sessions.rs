//! Whole sessions: the experiments' real programs, from the command line to the record,
//! on the driver for tests, which they take for NVIDIA's. No GPU is needed, and none is used.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use record::file::to_json;
use record::{Clock, Measurement, Parameter, Record, Source, units};

use crate::driver::{Desk, EXPERIMENTS, Ended, Program};
use crate::skip::skip;
use crate::tables;

/// A true record of transfer-bandwidth on the driver for tests.
static EXAMPLE: LazyLock<Record> = LazyLock::new(|| {
    let desk = Desk::new();
    desk.run("transfer-bandwidth", "--samples 6").with_code(0);
    copies(&desk)
});

/// The record that `transfer-bandwidth`, which most of these sessions run, has made of this
/// machine.
#[track_caller]
fn copies(desk: &Desk) -> Record {
    desk.record("test-gpu", "transfer-bandwidth")
}

/// That program, about to measure as little as it can.
fn one_sample(desk: &Desk) -> Program {
    desk.program("transfer-bandwidth", "--samples 1")
}

/// Runs `test` on all rows of a table at once: the programs mostly wait for a GPU that
/// they believe to be asleep.
fn each<Row: Send>(rows: impl IntoIterator<Item = Row>, test: impl Fn(Row) + Send + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for row in rows {
            scope.spawn(move || test(row));
        }
    });
}

fn example(change: impl FnOnce(&mut Record)) -> Record {
    let mut record = EXAMPLE.clone();
    change(&mut record);
    record
}

fn other_hardware(record: &mut Record) {
    record.machine.cpu.model = "another processor".to_owned();
}

/// The rows of the tables that were printed, without headings and notes.
fn rows(tables: &str) -> Vec<&str> {
    tables::of(tables).into_iter().flat_map(|table| table.rows).collect()
}

/// The table has a row for each measurement, in order, with its figures.
#[track_caller]
fn shows(table: &str, record: &Record) {
    let rows = rows(table);
    assert_eq!(rows.len(), record.measurements.len(), "{table}");
    tables::check(table, 100);
    for (row, m) in rows.iter().zip(&record.measurements) {
        assert!(row.starts_with(&format!("{} ", m.case)), "{row}");
        let figures = [
            m.median_seconds().map(units::time),
            m.bandwidth_bytes_per_second().map(units::bandwidth),
            record.share_of_peak(m).map(units::percent),
        ];
        for figure in figures.into_iter().flatten() {
            assert!(row.contains(&format!(" {figure}")), "no {figure} in {row}");
        }
        for value in m.parameters.values() {
            let value = match value {
                Parameter::Integer(bytes) => units::bytes(*bytes),
                Parameter::Name(name) => name.clone(),
            };
            assert!(row.contains(&value), "no {value} in {row}");
        }
    }
}

// ---- What a run leaves behind ------------------------------------------------------

#[test]
fn a_run_of_transfer_bandwidth_is_recorded() {
    // Options, memory of the GPU in MiB, largest copy.
    let table = [("--samples 6", "32", 4 << 20), ("--quick --samples 6", "512", 64 << 20)];
    each(table, |(options, memory, largest)| {
        let desk = Desk::new();
        let ended = desk
            .program("transfer-bandwidth", options)
            .set("TEST_DRIVER_MEMORY", memory)
            .set("WORKBOOK_REVISION", "0123456789ab")
            .set("WORKBOOK_DIRTY", "0")
            .run()
            .with_code(0);
        assert_eq!(ended.stderr, "", "{ended}");

        let record = copies(&desk);
        assert_eq!(record.run.command, format!("transfer-bandwidth {options}"));
        assert_eq!(record.run.quick, options.contains("--quick"));
        assert_eq!(record.run.revision.as_deref(), Some("0123456789ab"));
        assert_eq!(record.run.dirty, Some(false));
        assert_eq!(record.software.driver.as_deref(), Some("570.0 (test driver)"));
        assert_eq!(record.software.cuda, "12.8");
        assert_eq!(record.machine.measured_gpu().unwrap().name, "NVIDIA Test GPU");
        assert!(record.kernel.is_none() && record.skipped.is_empty());

        // case, parameters, read, written, checked: exactly these, in this order.
        let mut expected = vec![];
        let mut bytes = 1024u64;
        while bytes <= largest {
            for (direction, read, written) in
                [("host_to_device", 0, bytes), ("device_to_host", bytes, 0), ("both", bytes, bytes)]
            {
                expected.push((direction, bytes, read, written, (read + written) / 4));
            }
            bytes *= 2;
        }
        let got = record.measurements.iter().map(|m| {
            assert_eq!((m.case.as_str(), m.clock), ("copy", Clock::CudaEvents));
            assert_eq!(m.seconds.len(), 6);
            // As long as the driver's clock says, which adds 1 µs to what it times.
            if m.bytes_read == 0 || m.bytes_written == 0 {
                let copy = 1e-6 + m.bytes() as f64 / 8.0 * 1e-9;
                let is_right = |s: &f64| (s / copy - 1.0).abs() < 1e-4;
                assert!(m.seconds.iter().all(is_right), "{copy}: {m:?}");
            }
            let Parameter::Name(direction) = &m.parameters["direction"] else {
                panic!("{:?}", m.parameters)
            };
            let bytes = m.parameters["bytes"].integer().unwrap();
            let direction = direction.as_str();
            (direction, bytes, m.bytes_read, m.bytes_written, m.elements_checked)
        });
        assert_eq!(got.collect::<Vec<_>>(), expected);

        shows(&ended.stdout, &record);
        assert_eq!(
            ended.stdout.lines().last(),
            Some("recorded: results/test-gpu/transfer-bandwidth.json")
        );
        assert_eq!(desk.results().this_machine().unwrap().unwrap(), "test-gpu");
        // The record and the machine's name are all there is.
        assert_eq!(desk.files().len(), 2, "{:?}", desk.files().keys());
    });
}

#[test]
fn a_run_of_host_memory_is_recorded() {
    let desk = Desk::new();
    let program = desk.program("host-memory", "--quick --machine by-hand");
    let ended = program.set("TEST_DRIVER_MEMORY", "512").run().with_code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    let record = desk.record("by-hand", "host-memory");
    assert_eq!(desk.results().this_machine().unwrap().unwrap(), "by-hand");
    shows(&ended.stdout, &record);

    let number = |m: &Measurement| m.parameters["bytes"].integer().unwrap();
    let name = |m: &Measurement, parameter: &str| m.parameters[parameter].to_string();
    let mut copies = BTreeMap::new();
    for m in &record.measurements {
        assert_eq!(m.clock, Clock::Host);
        assert!((3..=10).contains(&m.seconds.len()), "{}", m.seconds.len());
        assert!(m.bytes() == 0 || m.bytes() == number(m), "{m:?}");
        if m.case == "copy" {
            assert_eq!(m.elements_checked, number(m) / 4, "{m:?}");
            *copies.entry((name(m, "kind"), name(m, "direction"))).or_insert(0) += 1;
        }
    }
    // Four kinds of memory, both ways, 4 KiB to 64 MiB in steps of four.
    assert_eq!(copies.len(), 8, "{copies:?}");
    assert!(copies.values().all(|sizes| *sizes == 8), "{copies:?}");
}

/// Kernels run, and what they took by the driver's clock is the same every time.
#[test]
fn a_run_with_kernels_is_recorded() {
    let desk = Desk::new();
    let ended = desk.run("coalescing", "--quick --samples 6").with_code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    tables::check(&ended.stdout, 100);
    let record = desk.record("test-gpu", "coalescing");
    assert_eq!(record.source, Source::Measured);
    assert_eq!(record.kernel.unwrap().name, "coalescing");
    assert_eq!(rows(&ended.stdout).len(), record.measurements.len());
    for m in &record.measurements {
        assert!(m.elements_checked > 0 || m.case == "idle", "{m:?}");
        assert_eq!((m.clock, m.seconds.len()), (Clock::CudaEvents, 6));
        // A launch takes 200 µs by the driver's clock; the µs of the events is not in it.
        let is_right = |s: &f64| (s / 200e-6 - 1.0).abs() < 1e-6;
        assert!(m.seconds.iter().all(is_right), "{m:?}");
    }
}

#[test]
fn json_on_standard_output_is_the_record_and_nothing_else() {
    let desk = Desk::new();
    let ended = desk.run("transfer-bandwidth", "--json --samples 6").with_code(0);
    let path = desk.results().path("test-gpu", "transfer-bandwidth").unwrap();
    assert_eq!(ended.stdout, fs::read_to_string(path).unwrap());
    shows(&ended.stderr, &copies(&desk));
    assert_eq!(
        ended.stderr.lines().last(),
        Some("recorded: results/test-gpu/transfer-bandwidth.json")
    );
}

#[test]
fn records_lie_in_the_workbook_or_here_or_where_one_says() {
    // A workbook is a folder with a book in it; programs find it from inside.
    let desk = Desk::new();
    desk.write("workbook/experiments/file", "");
    desk.write("workbook/book/book.toml", "");
    let run = |options: &str, folder: &str| {
        let program = one_sample(&desk).arguments("--machine m").arguments(options);
        program.inside(desk.here().join(folder)).run().with_code(0);
    };
    run("", "workbook/experiments");
    run("", ".");
    run("--results elsewhere/deep", ".");
    for folder in ["workbook/results", "results", "elsewhere/deep"] {
        let results = record::Results::new(desk.here().join(folder));
        let record = results.read("m", "transfer-bandwidth").unwrap().unwrap();
        assert_eq!(results.this_machine().unwrap().unwrap(), "m");
        // Not even the record says where it lay, and outside git there is no revision.
        assert_eq!(record.run.command, "transfer-bandwidth --samples 1 --machine m");
        assert_eq!(record.run.revision, None);
    }
}

#[test]
fn a_results_folder_may_have_any_name() {
    let desk = Desk::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9"); // not UTF-8
    one_sample(&desk).argument("--results").argument(name).run().with_code(0);
    let results = record::Results::new(desk.here().join(name));
    let record = results.read("test-gpu", "transfer-bandwidth").unwrap().unwrap();
    assert_eq!(record.run.command, "transfer-bandwidth --samples 1");
}

#[test]
fn a_share_is_of_a_peak_and_no_peak_has_no_share() {
    // Memory clock, PCIe generation and lanes; the end of the first line; whether there are
    // shares; whether one is above the peak.
    let both = " (peak: memory 128 GB/s, PCIe 4.0 x16 31.5 GB/s each way)";
    // Far less than what the driver's clock makes of it.
    let slow = " (peak: PCIe 1.0 x1 0.250 GB/s each way)";
    let table = [
        ("1000000 4 16", both, true, false),
        ("0 1 1", slow, true, true),
        ("", "", false, false),
        ("1000000 0 0", " (peak: memory 128 GB/s)", false, false),
    ];
    each(table, |(peaks, told, share, note)| {
        let desk = Desk::new();
        let program = desk.program("transfer-bandwidth", "--samples 6");
        let ended = program.set("TEST_DRIVER_PEAKS", peaks).run().with_code(0);
        let record = copies(&desk);
        let first = ended.stdout.lines().next().unwrap();
        assert_eq!(first, format!("transfer-bandwidth on NVIDIA Test GPU{told}"));
        shows(&ended.stdout, &record);
        for (row, m) in rows(&ended.stdout).iter().zip(&record.measurements) {
            assert_eq!(record.share_of_peak(m).is_some(), share, "{peaks}: {row}");
            // One percent sign is the spread's.
            let percents = row.matches('%').count();
            assert_eq!(percents, 1 + usize::from(share), "{peaks}: {row}");
        }
        // A copy faster than the link was no copy over the link, and that is said.
        let noted = ended.stdout.contains("note [1]: more than the theoretical peak");
        assert_eq!(note, noted, "{peaks}: {ended}");
    });
}

#[test]
fn too_few_samples_for_the_interval_show_none() {
    // Five samples span the median with 93.75 % confidence, and the column says 95 %.
    each([(5, 0), (6, 1)], |(samples, percents)| {
        let desk = Desk::new();
        let ended = desk.run("transfer-bandwidth", &format!("--samples {samples}")).with_code(0);
        for row in rows(&ended.stdout) {
            assert_eq!(row.matches('%').count(), percents, "{samples}: {row}");
        }
    });
}

#[test]
fn the_gpu_to_measure_is_chosen_by_number() {
    let desk = Desk::new();
    let program = one_sample(&desk).arguments("--device 1");
    program.set("WORKBOOK_EMULATED_GPUS", "2").run().with_code(0);
    let record = desk.record("test-gpu-x2", "transfer-bandwidth");
    assert_eq!((record.machine.gpus.len(), record.machine.measured_gpu), (2, 1));
}

/// A gated sample times the work and nothing else: no allocation, no wait for the GPU,
/// none of the events that cudarc would set by itself.
#[test]
fn nothing_but_the_work_stands_between_the_events() {
    let desk = Desk::new();
    let trace = desk.temporary().join("trace");
    one_sample(&desk).set("TEST_DRIVER_TRACE", &trace).run().with_code(0);
    let trace = fs::read_to_string(trace).unwrap();
    let samples: Vec<Vec<&str>> = trace
        .split("cuLaunchHostFunc\n") // the gate closes
        .skip(1)
        .map(|sample| sample.lines().take_while(|call| *call != "cuEventSynchronize"))
        .map(|sample| sample.filter(|call| *call != "cuCtxGetCurrent").collect())
        .collect();
    let measurements = &copies(&desk).measurements;
    // Two to warm up, nine without work, and how long one operation takes.
    let before = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let each = before.len() + 1;
    assert_eq!(samples.len(), each * measurements.len());
    let (to_device, to_host) = ("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2");
    let (record, wait) = ("cuEventRecord", "cuStreamWaitEvent");
    for (samples, m) in samples.chunks(each).zip(measurements) {
        let work = match m.parameters["direction"].to_string().as_str() {
            "host_to_device" => vec![to_device],
            "device_to_host" => vec![to_host],
            _ => vec![record, wait, to_device, to_host, record, wait],
        };
        let operations = before.into_iter().chain([m.operations_per_sample as usize]);
        for (sample, operations) in samples.iter().zip(operations) {
            let expected = [vec![record], work.repeat(operations), vec![record]];
            assert_eq!(*sample, expected.concat());
        }
    }
}

// ---- Machines that cannot, and command lines that are wrong ------------------------

/// The program says in one line that this machine cannot run it, and why.
#[track_caller]
fn cannot(ended: Ended, why: &str) {
    let ended = ended.refusing(77, &[why, "Nothing was"]);
    assert_eq!(ended.stderr.lines().count(), 2, "{ended}");
}

#[test]
fn without_a_driver_nothing_is_measured() {
    let desk = Desk::new();
    for experiment in EXPERIMENTS {
        let why = format!("{experiment} cannot run on this machine: no NVIDIA driver");
        let beside = "the emulated driver does not lie beside the program";
        let ended = desk.program_elsewhere(experiment, "").run();
        cannot(ended.saying(&[format!(", and {beside}.")]), &why);
        cannot(desk.program_elsewhere(experiment, "--emulate").run(), beside);
    }
    assert!(desk.files().is_empty());
}

#[test]
fn without_a_usable_gpu_nothing_is_measured() {
    let desk = Desk::new();
    for (options, setting, value, why) in [
        ("", "WORKBOOK_EMULATED_GPUS", "0", "the NVIDIA driver sees no GPU"),
        ("", "TEST_DRIVER_FAIL", "cuInit 1 100", "CUDA_VISIBLE_DEVICES"),
        ("", "TEST_DRIVER_FAIL", "cuInit 1 34", "the CUDA toolkit's stub"),
        (
            "",
            "TEST_DRIVER_FAIL",
            "cuInit 1 803",
            "the NVIDIA driver does not start: system has unsupported display driver / \
             cuda driver combination (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)",
        ),
        ("--device 7", "WORKBOOK_EMULATED_GPUS", "1", "there is no GPU 7, only 1"),
        ("--device 2", "WORKBOOK_EMULATED_GPUS", "2", "there is no GPU 2, only 2"),
    ] {
        for experiment in EXPERIMENTS {
            let program = desk.program(experiment, options).set(setting, value);
            cannot(program.run(), why);
        }
    }
    assert!(desk.files().is_empty());
}

#[test]
fn wrong_usage_is_told_before_anything_else() {
    let desk = Desk::new();
    for (arguments, named) in [
        ("--samples 0", "--samples"),
        ("--samples x", "--samples"),
        ("--samples 100001", "--samples"),
        ("--samples", "--samples"),
        ("--machine ../x", "--machine"),
        ("--machine A", "--machine"),
        ("--machine -x", "-x"),
        ("--device x", "--device"),
        ("--device -1", "-1"),
        ("--results", "--results"),
        ("--quick=yes", "--quick"),
        ("--sample 3", "'--samples'"), // what was meant
        ("--no-such-option", "--no-such-option"),
        ("stray", "stray"),
    ] {
        // It is told with and without a GPU.
        for (experiment, driver) in EXPERIMENTS.into_iter().zip(["0", "1", "0"]) {
            let program = desk.program(experiment, arguments);
            let ended = program.set("WORKBOOK_EMULATED_GPUS", driver).run();
            ended.refusing(2, &["error: ", named, "--help"]);
        }
    }
    assert!(desk.files().is_empty());
}

#[test]
fn help_is_the_same_for_all_but_for_name_and_question() {
    let desk = Desk::new();
    let help = EXPERIMENTS.map(|experiment| {
        let program = desk.program_elsewhere(experiment, "--help");
        let ended = program.run().with_code(0);
        assert_eq!(ended.stderr, "");
        for shown in [
            "--device <N>",
            "--machine <NAME>",
            "--samples <N>",
            "--results <DIR>",
            "--quick",
            "--emulate",
            "--replace",
            "--json",
            "-V, --version",
            "-h, --help",
            "0 recorded",
            "1 failed",
            "2 wrong usage",
            "77 cannot run on this machine",
        ] {
            assert!(ended.stdout.contains(shown), "no `{shown}` in:\n{ended}");
        }
        let (question, rest) = ended.stdout.split_once('\n').unwrap();
        assert!(question.ends_with('?'), "{question}");
        let usage = format!("Usage: {experiment} [OPTIONS]");
        assert!(rest.contains(&usage), "no `{usage}` in:\n{rest}");
        rest.replace(experiment, "NAME")
    });
    assert_eq!(help[0], help[1]);
    assert_eq!(help[0], help[2]);
}

#[test]
fn every_experiment_tells_its_version() {
    let desk = Desk::new();
    for experiment in EXPERIMENTS {
        let version = |settings: &[(&str, &str)]| {
            let program = desk.program_elsewhere(experiment, "--version");
            let program = settings.iter().fold(program, |p, (name, value)| p.set(name, value));
            let ended = program.run().with_code(0);
            assert_eq!(ended.stderr, "");
            ended.stdout
        };
        let start = format!("{experiment} {}", env!("CARGO_PKG_VERSION"));
        assert_eq!(version(&[]), format!("{start}, revision unknown\n"));
        let packed = [("WORKBOOK_REVISION", "1ee1bb9"), ("WORKBOOK_DIRTY", "1")];
        let edited = format!("{start}, revision 1ee1bb9, edited\n");
        assert_eq!(version(&packed), edited);
        assert_eq!(version(&packed[..1]), edited.replace(", edited", ""));
    }
    assert!(desk.files().is_empty());
}

// ---- Runs that fail ----------------------------------------------------------------

/// Runs `experiment` with a setting that makes it fail, beside an earlier record, which
/// stays as it was.
#[track_caller]
fn fails(experiment: &str, setting: &str, value: &str, saying: &[&str]) -> Ended {
    let desk = Desk::new();
    desk.results().write(&example(|record| record.experiment = experiment.to_owned())).unwrap();
    let before = desk.files();
    let ended = desk.program(experiment, "--samples 2").set(setting, value).run();
    let ended = ended.with_code(1).saying(&["error: "]).saying(saying);
    assert_eq!(desk.files(), before, "{value}: {ended}");
    ended
}

#[test]
fn out_of_memory_is_told_with_what_to_do() {
    let table = [
        ("transfer-bandwidth", "cuMemAllocAsync 1", false), // the first of all
        ("transfer-bandwidth", "cuMemHostAlloc 2", false),
        ("transfer-bandwidth", "cuMemAllocAsync 2", false),
        ("host-memory", "cuMemHostAlloc 1", true), // when pageable memory is done
        ("host-memory", "cuMemHostAlloc 10", true),
        ("host-memory", "cuMemHostRegister_v2 3", true),
    ];
    each(table, |(experiment, failing, late)| {
        let saying = ["out of memory (CUDA_ERROR_OUT_OF_MEMORY)", "nvidia-smi", "--quick"];
        let ended = fails(experiment, "TEST_DRIVER_FAIL", &format!("{failing} 2"), &saying);
        assert_eq!(!rows(&ended.stdout).is_empty(), late, "{failing}: {ended}");
    });
}

#[test]
fn a_quick_run_fits_where_a_full_one_does() {
    each(["--samples 1", "--samples 1 --quick"], |options| {
        let desk = Desk::new();
        let program = desk.program("host-memory", options);
        program.set("TEST_DRIVER_MEMORY", "32").run().with_code(0);
    });
}

#[test]
fn other_errors_of_the_driver_are_told_in_its_words() {
    let busy = "busy or unavailable (CUDA_ERROR_DEVICE_UNAVAILABLE)";
    let table = [
        ("cuDevicePrimaryCtxRetain 1 46", &["cannot use GPU 0: ", busy] as &[_]),
        ("cuLaunchHostFunc 5 700", &["illegal memory access was encountered"]),
        ("cuMemcpyHtoDAsync_v2 1 700", &["(CUDA_ERROR_ILLEGAL_ADDRESS)"]),
    ];
    each(table, |(value, saying)| {
        fails("transfer-bandwidth", "TEST_DRIVER_FAIL", value, saying);
    });
}

/// A wrong result is found by the check, whatever the clock says.
#[test]
fn a_wrong_copy_is_never_recorded() {
    let table = [
        (
            "transfer-bandwidth",
            "corrupt",
            "copy 1 KiB host_to_device: wrong result. Element 128 is 465361025 and should be \
             465361024 (1 of 256 elements are wrong)",
        ),
        ("transfer-bandwidth", "skip", "Element "),
        ("host-memory", "corrupt", "Element 512 is "),
        ("host-memory", "skip", "Element "),
    ];
    each(table, |(experiment, copies, saying)| {
        let saying = [saying, "Nothing was recorded"];
        let ended = fails(experiment, "TEST_DRIVER_COPIES", copies, &saying);
        assert_eq!(rows(&ended.stdout).len(), 0, "{ended}");
    });
}

/// Not even a folder, which would look like a machine without records.
#[test]
fn a_failed_run_leaves_nothing() {
    let desk = Desk::new();
    desk.program("transfer-bandwidth", "").set("TEST_DRIVER_COPIES", "corrupt").run().with_code(1);
    assert_eq!(fs::read_dir(desk.here()).unwrap().count(), 0);
}

/// Copies that wait for the GPU wait for the gate, which waits for them: the gate gives
/// up, the run says why, and without gates it goes through.
#[test]
fn work_that_waits_at_a_closed_gate_is_found_out() {
    let saying = ["waits for the GPU while it is being queued", "WORKBOOK_UNGATED=1"];
    let ended = fails("transfer-bandwidth", "TEST_DRIVER_COPIES", "wait", &saying);
    assert_eq!(rows(&ended.stdout).len(), 0, "{ended}");
    let desk = Desk::new();
    let program = one_sample(&desk).set("TEST_DRIVER_COPIES", "wait");
    program.set("WORKBOOK_UNGATED", "1").run().with_code(0);
}

#[test]
fn a_kernel_that_the_driver_refuses_is_named() {
    let named = "kernels/coalescing.cu";
    let table = [
        (218, &[named, "a PTX JIT compilation failed (CUDA_ERROR_INVALID_PTX)"]),
        (222, &[named, "The driver is older than CUDA 12.4: update it."]),
        (209, &[named, "This GPU is older than the kernels ask for"]),
    ];
    each(table, |(code, saying)| {
        let failing = format!("cuModuleLoadData 1 {code}");
        fails("coalescing", "TEST_DRIVER_FAIL", &failing, saying).before_measuring();
    });
}

/// What `--counters` says where nothing can be counted: without ncu, and with an ncu
/// (here a script) that may not read the counters or fails otherwise.
#[test]
fn counting_needs_a_profiler_that_may_count() {
    let refused = "echo '==ERROR== ERR_NVGPUCTRPERM - no permission' > \"$log\"; exit 1";
    let table = [
        (None, "needs NVIDIA Nsight Compute"),
        (Some(refused), "may not read the GPU's hardware counters"),
        (Some("exit 9"), "nothing was counted (exit status: 9)"),
        (Some("exit 0"), "nothing was counted (exit status: 0)"),
    ];
    // Where there is a toolkit, its ncu is found.
    let toolkit = Path::new("/usr/local/cuda/bin/ncu").exists();
    if toolkit {
        skip("counting without ncu was not tried: there is one");
    }
    let table = table.into_iter().filter(|(ncu, _)| ncu.is_some() || !toolkit);
    each(table, |(ncu, saying)| {
        let (desk, tools) = (Desk::new(), Desk::new());
        if let Some(script) = ncu {
            let log = "while [ $# -gt 0 ]; do [ $1 = --log-file ] && log=$2; shift; done";
            tools.script("ncu", &format!("{log}\n{script}"));
        }
        let program = desk.program("coalescing", "--counters").set("PATH", tools.here());
        let ended = program.set("CUDA_HOME", "/nowhere").run().with_code(1);
        assert!(ended.stderr.contains(saying), "{ended}");
        assert_eq!(fs::read_dir(desk.here()).unwrap().count(), 0);
    });
}

#[test]
fn an_interrupted_run_leaves_the_old_record() {
    let desk = Desk::new();
    desk.results().write(&EXAMPLE).unwrap();
    let before = desk.files();
    let program = desk.program("transfer-bandwidth", "--samples 2000");
    // Not INT: shells make what they run in the background ignore that.
    let ended = program.interrupt("1 KiB", "TERM").by_signal(15);
    assert!(!ended.stdout.contains("recorded"), "{ended}");
    assert_eq!(desk.files(), before);
}

#[test]
fn a_reader_that_goes_away_does_not_stop_a_run() {
    each(["--samples 1", "--samples 1 --json"], |options| {
        let desk = Desk::new();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let program = desk.program("transfer-bandwidth", options);
        program.stdout(writer).run().with_code(0);
        copies(&desk);
    });
}

/// Unlike a reader that has gone away, a full disk means that somebody waits for the
/// JSON in vain.
#[test]
fn json_that_cannot_be_written_is_an_error() {
    let desk = Desk::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = one_sample(&desk).arguments("--json").stdout(full).run().with_code(1);
    ended.saying(&["standard output", "No space left on device"]);
}

// ---- Places of records -------------------------------------------------------------

/// What may replace what is tested where records are compared.
#[test]
fn a_record_is_replaced_only_by_its_like() {
    let full = |record: &mut Record| record.run.quick = false;
    let other = ["was recorded on other hardware", "--machine NAME", "--replace"];
    let kept = ["holds a full run", "leave out --quick", "--replace"];
    each([(example(full), kept), (example(other_hardware), other)], |(mut old, refusal)| {
        let desk = Desk::new();
        old.machine.name = "mine".to_owned();
        desk.results().write(&old).unwrap();
        let before = desk.files();
        let quick = || one_sample(&desk).arguments("--machine mine --quick");
        let ended = quick().run().refusing(1, &refusal);
        ended.saying(&["results/mine/transfer-bandwidth.json"]);
        assert_eq!(desk.files(), before);
        quick().arguments("--replace").run().with_code(0);
        let new = desk.record("mine", "transfer-bandwidth");
        assert_eq!((&new.machine.cpu, new.run.quick), (&EXAMPLE.machine.cpu, true));
        assert_eq!(new.measurements[0].seconds.len(), 1);
    });
}

#[test]
fn a_run_without_a_label_takes_the_last_ones_place_and_one_with_a_label_stays() {
    let desk = Desk::new();
    let run = |more: &str| one_sample(&desk).arguments("--machine mine").arguments(more).run();
    run("").with_code(0);
    let again = run("").with_code(0);
    assert!(again.stdout.contains("in place of the run of 2"), "{again}");
    run("--label before").with_code(0);
    let path = "results/mine/before/transfer-bandwidth.json";
    run("--label before").refusing(1, &[path, "is there already", "--replace"]);
    run("--label before --replace").with_code(0);
    run("--label ..").with_code(2);
    let results = desk.results();
    let all = results.all("mine").unwrap();
    let labels: Vec<_> = all.iter().map(|(run, _)| run.label()).collect();
    assert_eq!(labels, [None, Some("before")]);
}

/// Both begin where no record is; the second to end sees the other's, and loses nothing.
#[test]
fn of_two_runs_at_once_none_takes_the_others_place() {
    let desk = Desk::new();
    let first = desk.program("transfer-bandwidth", "--samples 50 --machine mine");
    let meanwhile = || {
        let second = desk.program("transfer-bandwidth", "--samples 2 --machine mine");
        second.arguments("--label before").run().with_code(0);
    };
    let first = first.arguments("--label before").paused("1 KiB", meanwhile);
    let kept = "so this one is results/mine/before-2/transfer-bandwidth.json";
    first.with_code(1).saying(&["results/mine/before/transfer-bandwidth.json", kept, "--replace"]);
    for (label, samples) in [("before", 2), ("before-2", 50)] {
        let run = desk.results().labelled(Some(label)).unwrap();
        let record = run.read("mine", "transfer-bandwidth").unwrap().unwrap();
        assert_eq!(record.measurements[0].seconds.len(), samples);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_measuring() {
    let table = [
        ("file", ""),
        ("file/deeper", "--machine mine"),
        ("link", "--machine mine --replace"),
        ("/sys/results", ""), // root may not write there either
    ];
    each(table, |(results, options)| {
        let desk = Desk::new();
        let file = desk.write("file", "not a folder");
        symlink("/no/such/place", desk.here().join("link")).unwrap();
        let program = one_sample(&desk).argument("--results").argument(results);
        program.arguments(options).run().refusing(1, &["error: ", results]);
        assert_eq!(fs::read_to_string(file).unwrap(), "not a folder");
    });
}

/// What all can be wrong with a record is tested where records are read. No stranger's record
/// steers a terminal.
#[test]
fn a_broken_record_is_told_before_measuring_and_can_be_replaced() {
    let no_such_gpu = to_json(&example(|record| record.machine.measured_gpu = 9));
    // The name may be made from the GPU's, or given.
    let table = [
        ("", "field `.`", ""),
        (&*no_such_gpu, "field `machine.measured_gpu`", "--machine test-gpu"),
        (r#"{"\u001b]52;c;c3RvbGVu\u0007": 1}"#, r"unknown field `\u{1b}]52;c;c3RvbGVu\u{7}`", ""),
    ];
    each(table, |(broken, saying, options)| {
        let desk = Desk::new();
        let path = "results/test-gpu/transfer-bandwidth.json";
        desk.write(path, broken);
        let before = desk.files();
        let ended = one_sample(&desk).arguments(options).run();
        assert!(!ended.stderr.contains(['\u{1b}', '\u{7}']), "{ended}");
        ended.refusing(1, &[path, saying, "--replace"]);
        assert_eq!(desk.files(), before, "{saying}");
        // What was advised helps.
        one_sample(&desk).arguments(options).arguments("--replace").run().with_code(0);
        copies(&desk);
    });
}

/// Nobody's but its own experiment's record is replaced.
#[test]
fn a_broken_record_of_another_experiment_is_left_alone() {
    let desk = Desk::new();
    let path = desk.write("results/test-gpu/host-memory.json", "{");
    let ended = one_sample(&desk).arguments("--replace").run().with_code(0);
    ended.saying(&["warning: ", "results/test-gpu/host-memory.json: field `"]);
    copies(&desk);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{");
    one_sample(&desk).arguments("--machine mine").run().with_code(0);
}

// ---- The surroundings --------------------------------------------------------------

#[test]
fn variables_are_checked_before_measuring() {
    let desk = Desk::new();
    for (name, value) in [
        ("WORKBOOK_UNGATED", "no"),
        ("WORKBOOK_CUDA_LIBS", "/no/such/folder"),
        ("WORKBOOK_DIRTY", "\u{1b}[2J"),
    ] {
        let ended = one_sample(&desk).set(name, value).run();
        assert!(!ended.stderr.contains('\u{1b}'), "{ended}");
        ended.refusing(1, &[&format!("{name} is `"), "but may only be"]);
    }
}

/// Bytes that are no text, where programs look for text.
#[test]
fn arguments_and_variables_need_not_be_text() {
    let desk = Desk::new();
    let bytes = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    for experiment in EXPERIMENTS {
        desk.program(experiment, "").argument(bytes).run().with_code(2);
        let program = desk.program(experiment, "").set("WORKBOOK_PATIENCE", bytes);
        program.run().refusing(1, &["WORKBOOK_PATIENCE"]);
    }
}

/// The program sees a clock that a library puts before the system's.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_clock_after_the_year_9999_is_told_before_measuring() {
    let desk = Desk::new();
    let source = desk.write(
        "clock.rs",
        r#"use std::ffi::{c_int, c_long};
        unsafe extern "C" { fn syscall(number: c_long, ...) -> c_long; }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut [c_long; 2]) -> c_int {
            const CLOCK_GETTIME: c_long = 228;
            let failed = unsafe { syscall(CLOCK_GETTIME, clock, time) };
            if clock == 0 { unsafe { (*time)[0] = 253_402_300_800 } }
            failed as c_int
        }"#,
    );
    let library = desk.here().join("clock.so");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "--crate-type=cdylib", "-o"]).arg(&library).arg(source);
    assert!(rustc.status().unwrap().success());
    let ended = one_sample(&desk).set("LD_PRELOAD", library).run();
    ended.refusing(1, &["this machine's clock is before 1970 or after 9999", "set it"]);
    assert!(!desk.here().join("results").exists());
}

/// A record does without the revision of a checkout whose git never answers.
#[test]
fn git_that_hangs_is_not_waited_for() {
    let desk = Desk::new();
    desk.write("book/book.toml", "");
    desk.script("programs/git", "exec sleep 1000");
    let path = format!("{}:/usr/bin:/bin", desk.here().join("programs").display());
    one_sample(&desk).set("PATH", path).run().with_code(0);
    assert_eq!(copies(&desk).run.revision, None);
}

/// A program that was compiled before the last edit, or in another folder.
#[test]
fn a_kernel_that_is_not_what_runs_is_named() {
    let desk = Desk::new();
    desk.write("book/book.toml", "");
    let kernel = "kernels/coalescing.cu";
    let note = format!("{kernel} of this checkout is not what this program was");
    let compiled = include_str!("../../../../kernels/coalescing.cu");
    for (source, said) in [("// edited", true), (compiled, false)] {
        desk.write(kernel, source);
        let ended = desk.run("coalescing", "--samples 1").with_code(0);
        assert_eq!(ended.stdout.contains(&note), said, "{ended}");
    }
}

// ---- Libraries ---------------------------------------------------------------------

/// NVRTC in a folder that the program is told of: nothing of it is loaded until a kernel has to
/// be compiled.
#[test]
fn what_is_not_needed_is_not_loaded() {
    let desk = Desk::new();
    // Any library will do; nothing compiles with it.
    let library = fs::read(test_driver::FOLDER.join("libcuda.so.1")).unwrap();
    let library = desk.write("libraries/libnvrtc.so.13", library);
    for arguments in ["--help", "--version", "--samples 1"] {
        let program = desk.program("coalescing", arguments);
        let program = program.set("WORKBOOK_CUDA_LIBS", library.parent().unwrap());
        let ended = program.set("LD_DEBUG", "files").run(); // the loader tells what it loads
        assert!(ended.stderr.contains("calling init: "), "{ended}");
        assert!(!ended.stderr.contains("nvrtc"), "{ended}");
    }
    let record = desk.record("test-gpu", "coalescing");
    assert_eq!(record.run.command, "coalescing --samples 1");
    let left = fs::read_dir(desk.temporary()).unwrap().count();
    assert_eq!(left, 0, "it left something in the folder of temporary files");
}

/// One variable named a folder, to be removed; another names a file, to be written.
#[test]
fn no_variable_costs_anybody_a_file() {
    let desk = Desk::new();
    let thesis = desk.write("precious/thesis", "years");
    let precious = thesis.parent().unwrap();
    for arguments in ["--version", "--samples 1", "--no-such-option"] {
        let program = desk.program("transfer-bandwidth", arguments);
        program.set("WORKBOOK_LIBRARIES", precious).set("WORKBOOK_COUNTERS", &thesis).run();
        assert_eq!(fs::read_to_string(&thesis).unwrap(), "years", "{arguments}");
    }
    let program = desk.program("coalescing", "--counters").set("WORKBOOK_COUNTERS", &thesis);
    program.run().refusing(1, &["WORKBOOK_COUNTERS names", "thesis"]);
    assert_eq!(fs::read_to_string(&thesis).unwrap(), "years");
}

/// Another user's `book/book.toml` above the folder that one works in, such as in `/tmp`.
#[test]
fn a_checkout_of_somebody_else_is_not_ours() {
    let desk = Desk::new();
    let file = desk.write("book/book.toml", "");
    let folder = desk.here().join("folder");
    fs::create_dir(&folder).unwrap();
    let results = |owner: &str| {
        let _ = fs::remove_dir_all(desk.here().join("results")); // there may be none
        one_sample(&desk).inside(&folder).run().with_code(0);
        let [ours, above] = [&folder, &desk.here()].map(|at| at.join("results").is_dir());
        assert_ne!(ours, above, "{owner}");
        above
    };
    assert!(results("this user's"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!results("everybody's"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let give = |path: &Path| std::os::unix::fs::lchown(path, Some(12345), None);
    if give(&file).is_err() {
        return skip("only root can give files away");
    }
    assert!(!results("another's"));
    // Also where theirs is a link to something of the system's, or the program lies below.
    fs::remove_file(&file).unwrap();
    symlink("/etc/hostname", &file).unwrap();
    give(&file).unwrap();
    assert!(!results("another's link"));
    give(&desk.write("../elsewhere/book/book.toml", "")).unwrap();
    let elsewhere = desk.here().parent().unwrap().join("elsewhere");
    let folder = elsewhere.join("folder");
    fs::create_dir(&folder).unwrap();
    let program = desk.program_elsewhere("transfer-bandwidth", "--samples 1");
    let program = program.set("LD_LIBRARY_PATH", &*test_driver::FOLDER);
    program.inside(&folder).run().with_code(0);
    assert!(folder.join("results").is_dir() && !elsewhere.join("results").exists());
    // And an emulated driver that somebody else has put beside a program of ours.
    let driver = elsewhere.join("libemulated_driver.so");
    let library = test_driver::FOLDER.join("libcuda.so.1").canonicalize().unwrap();
    fs::copy(library.with_file_name("libemulated_driver.so"), &driver).unwrap();
    let run = || desk.program_elsewhere("transfer-bandwidth", "--samples 1").run();
    run().with_code(0);
    give(&driver).unwrap();
    run().with_code(77);
}
