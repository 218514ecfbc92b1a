//! The baselines' scripts, as far as they can be tested without a GPU and the libraries that
//! they measure: a made-up baseline runs from its command line to a record that is read.
//!
//! Without Python the tests are skipped.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "support/skip.rs"]
mod skip;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use record::{Ceiling, Clock, Results, Statistics};
use skip::skip;

const MACHINE: &str = "h200";

/// A baseline that measures sleep.
const FAKE: &str = r#"
import time

from baselines.lab import Lab

def experiment(lab: Lab) -> None:
    lab.begin("Fake 1.0", "NVIDIA H200", 1 << 40)
    samples = lab.time_on_host(lambda _: time.sleep(1e-3))
    lab.record_copy("copy", "host_to_device", lab.sizes[0], samples, kind="pinned")
    samples = lab.time_on_host(lambda _: None, repeat=True)
    lab.record("nothing", {"side": lab.sides[0]}, samples)
    lab.pairs(1 << 20)
"#;

fn root() -> PathBuf {
    lab::workspace::root().unwrap()
}

/// A copy of the scripts, with results beside them.
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
        let (from, to) = (root().join("scripts/baselines"), scripts.path("scripts/baselines"));
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "py") {
                fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
        Some(scripts)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn results(&self) -> Results {
        Results::new(self.path("results"))
    }

    /// Leaves a record of an experiment, as a run on the reference machine would.
    fn experiment_ran(&self) -> record::Record {
        let reference = Results::new(root().join("results"));
        let run = reference.labelled(Some("host-c")).unwrap();
        let mut beside = run.read(MACHINE, "transfer-bandwidth").unwrap().unwrap();
        beside.run.label = None;
        self.results().write(&beside).unwrap();
        self.results().set_this_machine(MACHINE).unwrap();
        beside
    }

    fn add(&self, name: &str, baseline: &str) {
        fs::write(self.path(&format!("scripts/baselines/{name}.py")), baseline).unwrap();
    }

    fn python(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("python3");
        command.args(["-B", "-W", "error"]).args(arguments);
        command.current_dir(self.path("scripts")).output().unwrap()
    }

    /// The exit code of a baseline, and what it says on standard error.
    fn baseline(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.python(&[&["-m", "baselines"], arguments].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), said)
    }
}

#[test]
fn every_script_is_python_and_its_own_tests_pass() {
    let Some(scripts) = Scripts::new() else { return };
    for arguments in
        [["-m", "compileall", "-q", "baselines"], ["-m", "unittest", "-q", "baselines.test_lab"]]
    {
        let output = scripts.python(&arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}\n{said}");
    }
}

#[test]
fn a_baseline_leaves_a_record_beside_the_experiments() {
    let Some(scripts) = Scripts::new() else { return };
    let beside = scripts.experiment_ran();
    scripts.add("fake", FAKE);
    let (code, said) = scripts.baseline(&["fake", "--samples", "7"]);
    assert_eq!(code, 0, "{said}");

    let record = scripts.results().read(MACHINE, "fake").unwrap().unwrap();
    assert_eq!(record.machine, beside.machine);
    assert_eq!(record.run.revision, beside.run.revision);
    assert_eq!(record.run.dirty, beside.run.dirty);
    assert_eq!(record.run.command, "python3 -m baselines fake --samples 7");
    assert_eq!(record.software.driver, beside.software.driver);
    assert!(record.software.compiler.starts_with("Python 3."));
    assert_eq!(record.software.profile, "Fake 1.0");

    let [copy, nothing] = record.measurements.as_slice() else {
        panic!("two measurements: {:?}", record.measurements)
    };
    assert_eq!((copy.clock, copy.ceiling), (Clock::Host, Ceiling::HostLink));
    assert_eq!((copy.bytes_read, copy.bytes_written), (0, 64 << 10));
    assert_eq!((copy.elements_checked, copy.seconds.len()), (16 << 10, 7));
    assert!(copy.operations_per_sample == 1 && copy.seconds.iter().all(|s| *s > 1e-3));
    assert!(nothing.operations_per_sample > 1 && nothing.seconds[0] < 1e-3);
    assert!(record.skipped[0].reason.ends_with("MiB of free device memory"));
}

#[test]
fn what_a_baseline_refuses() {
    let Some(scripts) = Scripts::new() else { return };
    scripts.add("fake", FAKE);
    let check = |arguments: &[&str], code, part: &str| {
        let (got, said) = scripts.baseline(arguments);
        assert_eq!(got, code, "{said}");
        assert!(said.contains(part), "{said}");
    };
    check(&["fake"], 77, "has no record of this machine to stand beside");
    let mut beside = scripts.experiment_ran();
    check(&["lab"], 2, "invalid choice: 'lab'");
    check(&["fake", "--samples", "0"], 2, "argument --samples: take at least 1");
    check(&["fake", "--device", "1"], 1, "is of another GPU than --device 1");
    scripts.add("lacking", "import no_such_library\n\ndef experiment(lab): ...\n");
    check(&["lacking"], 77, "lacking cannot run here: No module named 'no_such_library'");
    scripts.add("wrong", "\ndef experiment(lab): lab.check('copy', False)\n");
    check(&["wrong"], 1, "error: copy: wrong result. Nothing was recorded");
    assert!(scripts.results().read(MACHINE, "wrong").unwrap().is_none());

    check(&["fake", "--samples", "1"], 0, "");
    check(&["fake", "--quick"], 1, "holds a full run, which a quick one does not replace");
    check(&["fake", "--quick", "--samples", "1", "--replace"], 0, "");
    beside.machine.gpus[0].name = "NVIDIA H100".to_owned();
    scripts.results().write(&beside).unwrap();
    check(&["fake"], 1, "was recorded on other hardware: replace it with --replace");
    check(&["fake", "--replace"], 1, "uses NVIDIA H200, the record beside is of NVIDIA H100");
}

/// The rule that ends sampling must be the experiments'.
#[test]
fn a_baseline_knows_its_spread_as_the_record_crate_does() {
    let Some(scripts) = Scripts::new() else { return };
    // Shuffled, alike and equal neighbours, and some drift.
    let orders: [fn(u32) -> u32; 3] = [|i| i * 37 % 101, |i| i / 3 * 37 % 11, |i| i];
    let counts = [1, 2, 6, 7, 20, 21, 57, 100];
    for (count, order) in counts.into_iter().flat_map(|n| orders.map(|f| (n, f))) {
        let samples: Vec<f64> = (0..count).map(|i| f64::from(order(i)) + 1.0).collect();
        let program = format!(
            "from baselines.lab import relative_half_width\nprint(relative_half_width({samples:?}))"
        );
        let output = scripts.python(&["-c", &program]);
        let printed = String::from_utf8(output.stdout).unwrap();
        let got: f64 = printed.trim().parse().unwrap();
        let want = Statistics::of(&samples).unwrap().relative_half_width();
        assert!((got - want).abs() < 1e-12, "{count} samples: {got}, not {want}");
    }
}
