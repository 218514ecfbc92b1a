//! The baselines' scripts, as far as they can be tested without a GPU and the libraries that
//! they measure: a made-up baseline runs, on the driver for tests, from its command line to a
//! record.
//!
//! Without Python the tests are skipped.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "../../../../book/workbook/tests/support/skip.rs"]
mod skip;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use record::{Cache, Ceiling, Clock, Results};
use skip::skip;

const MACHINE: &str = "test-gpu";

/// A baseline that measures sleep. Its GPU takes 30 µs for an operation and 1 µs for two events,
/// and at first its queue is slow.
const FAKE: &str = r#"
import time

from baselines import lab as module
from baselines.lab import Lab

queued = 0

class Stream:
    def __init__(self, handle):
        pass

    def seconds(self, delay, enqueue):
        global queued
        queued = 0
        enqueue()
        return queued * 30e-6 + 1e-6 if delay > 3e-3 else None

module.Stream = Stream

def queue(turn):
    global queued
    queued += 1

def experiment(lab: Lab) -> None:
    print("what a library says")
    lab.begin("Fake 1.0", "NVIDIA Test GPU", 1 << 40)
    slept = lab.time_on_host(lambda _: time.sleep(1e-3))
    short = lab.time_on_host(lambda turn: turn, repeat=True)
    lab.check("the last turn", short.last_result == short.last_turn)
    lab.record_copy("copy", "host_to_device", lab.sizes[0], slept, kind="pinned")
    lab.record("nothing", {"side": lab.sides[0]}, short, model={"answer": 42.0})
    lab.record_transpose(lab.sides[0], lab.pairs(lab.sides[0]), lab.time_on_gpu(1, queue))
    lab.pairs(1 << 20)
"#;

/// A copy of the scripts, and a fake one.
struct Scripts {
    folder: tempfile::TempDir,
}

impl Scripts {
    /// `None`, and the test is skipped, without Python.
    fn new() -> Option<Scripts> {
        if Command::new("python3").arg("--version").output().is_err() {
            skip("there is no python3");
            return None;
        }
        let scripts = Scripts { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(scripts.path("baselines")).unwrap();
        let from = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/baselines");
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "py") {
                let to = scripts.path("baselines").join(path.file_name().unwrap());
                fs::copy(&path, to).unwrap();
            }
        }
        scripts.add("fake", FAKE);
        Some(scripts)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn add(&self, name: &str, baseline: &str) {
        fs::write(self.path(&format!("baselines/{name}.py")), baseline).unwrap();
    }

    /// The exit code of `baseline` and what it says, as from a packed workbook's folder.
    fn baseline(&self, arguments: &str) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baseline"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        command.env("LD_LIBRARY_PATH", &*test_driver::FOLDER);
        command.env("WORKBOOK_REVISION", "0123456789ab").env("WORKBOOK_DIRTY", "0");
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout) + &text(output.stderr))
    }
}

#[test]
fn every_script_is_python() {
    let Some(scripts) = Scripts::new() else { return };
    let mut python = Command::new("python3");
    python.args(["-W", "error", "-m", "compileall", "-q", "baselines"]);
    let output = python.current_dir(scripts.folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_baseline_leaves_a_record_as_an_experiment_does() {
    let Some(scripts) = Scripts::new() else { return };
    let (code, said) = scripts.baseline("fake --samples 7");
    assert_eq!(code, 0, "{said}");
    let results = Results::new(scripts.path("results"));
    let record = results.read(MACHINE, "fake").unwrap().unwrap();
    assert_eq!(record.run.command, "baseline fake --samples 7");
    assert_eq!(record.run.revision.as_deref(), Some("0123456789ab"));
    assert_eq!(record.software.driver.as_deref(), Some("570.0 (test driver)"));
    assert!(record.software.compiler.starts_with("Python 3."));
    assert_eq!(record.software.profile, "Fake 1.0");
    assert!(record.kernel.is_none());

    let [copy, nothing, transpose] = record.measurements.as_slice() else {
        panic!("three measurements: {:?}", record.measurements)
    };
    assert_eq!((copy.clock, copy.ceiling), (Clock::Host, Ceiling::HostLink));
    assert_eq!((copy.bytes_read, copy.bytes_written), (0, 64 << 10));
    assert_eq!((copy.elements_checked, copy.seconds.len()), (16 << 10, 7));
    assert!(copy.operations_per_sample == 1 && copy.seconds.iter().all(|s| *s > 1e-3));
    assert!(nothing.operations_per_sample > 1 && nothing.seconds[0] < 1e-3);
    assert_eq!(nothing.model["answer"], 42.0);
    assert_eq!((transpose.clock, transpose.cache), (Clock::CudaEvents, Cache::Cold));
    assert_eq!((transpose.operations_per_sample, &transpose.seconds[..]), (7, &[30e-6; 7][..]));
    assert!(record.skipped[0].reason.ends_with("MiB of free device memory"));
    assert!(said.contains("what a library says"), "{said}");
}

#[test]
fn what_a_baseline_refuses() {
    let Some(scripts) = Scripts::new() else { return };
    scripts.add("lacking", "import no_such_library\n\ndef experiment(lab): ...\n");
    scripts.add("wrong", "\ndef experiment(lab): lab.check('copy', False)\n");
    scripts.add("broken", "\ndef experiment(lab): lab.nothing()\n");
    scripts.add("other", "\ndef experiment(lab): lab.begin('Fake 1.0', 'NVIDIA H100', 0)\n");
    for (arguments, code, part) in [
        ("", 2, "NAME is one of scripts/baselines"),
        ("lab", 2, "NAME is one of scripts/baselines; `lab` is none"),
        ("fake --samples 0", 2, "0 is not in 1..=100000"),
        ("fake --device 1", 77, "there is no GPU 1"),
        ("fake --emulate", 77, "fake cannot run on this machine: "),
        ("fake --counters", 77, "the kernels are its library's, not ours"),
        ("lacking", 77, "lacking cannot run on this machine: No module named 'no_such_library'"),
        ("wrong", 1, "error: copy: wrong result. Nothing was recorded"),
        ("broken", 1, "'Lab' object has no attribute 'nothing'"),
        ("other", 1, "error: Fake 1.0 uses NVIDIA H100, and GPU 0 is NVIDIA Test GPU"),
        ("fake --samples 1", 0, "recorded: results/test-gpu/fake.json"),
        ("fake --quick", 1, "replace it with --replace"),
        ("fake --quick --samples 1 --replace", 0, "recorded: "),
        ("--help", 0, "baseline NAME [OPTIONS] measures"),
    ] {
        let (got, said) = scripts.baseline(arguments);
        assert!(got == code && said.contains(part), "{arguments}: {got}\n{said}");
    }
    assert!(!scripts.path("results/test-gpu/wrong.json").exists());
}
