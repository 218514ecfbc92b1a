//! A copy of the workbook to run the program in, and how a run of it ended.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// What a copy consists of, beside the reference machines' records. Those of other machines
/// stay behind: a reader who has measured gets the same answers from these tests as one
/// who has not. (The emulated GPU's are the same everywhere.)
const PARTS: [&str; 10] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "book",
    "experiments",
    "kernels",
    "results/README.md",
    "results/references.json",
    "results/emulated",
    "scripts/baselines",
];

/// The checkout that these tests belong to.
pub(crate) fn root() -> PathBuf {
    lab::workspace::root().expect("the package lies in the workspace")
}

/// A copy of it that a test may change, removed with this value.
pub(crate) struct Checkout {
    // The program says where files lie as the system says it, without links.
    root: PathBuf,
    _folder: TempDir,
}

impl Checkout {
    pub(crate) fn new() -> Checkout {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let root = folder.path().canonicalize().expect("it was made just now");
        let from = self::root();
        for part in PARTS {
            copy(&from.join(part), &root.join(part));
        }
        let references = record::Results::new(from.join("results")).references();
        for machine in references.expect("it was copied just now") {
            let records = format!("results/{machine}");
            if from.join(&records).is_dir() {
                copy(&from.join(&records), &root.join(&records));
            }
        }
        Checkout { root, _folder: folder }
    }

    /// A copy in which the program finds NVRTC and ptxas as it does in this checkout.
    pub(crate) fn with_compilers() -> Checkout {
        let checkout = Checkout::new();
        let environment = self::root().join(".venv");
        if environment.exists() {
            let link = checkout.path(".venv");
            std::os::unix::fs::symlink(environment, link).expect("it is not there");
        }
        checkout
    }

    /// A copy with what `scripts/page-compiler` has fetched, which is larger than all the rest.
    #[allow(dead_code)] // not of all tests
    pub(crate) fn with_page_compiler() -> Checkout {
        let checkout = Checkout::new();
        let compiler = "book/src/compiler";
        copy(&self::root().join(compiler), &checkout.path(compiler));
        checkout
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    #[track_caller]
    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"))
    }

    /// Writes a file, in a new folder if there is none for it.
    #[track_caller]
    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        let folder = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .unwrap_or_else(|e| panic!("{relative}: {e}"));
    }

    /// Replaces the first `from` in a file, which must be there.
    #[track_caller]
    pub(crate) fn edit(&self, relative: &str, from: &str, to: &str) {
        let text = self.read(relative);
        assert!(text.contains(from), "{relative} has no {from:?} to replace");
        self.write(relative, &text.replacen(from, to, 1));
    }

    /// The program in this checkout's top folder, with no GPU to be seen.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
        command
            .args(arguments.split_whitespace())
            .current_dir(&self.root)
            .env("CUDA_VISIBLE_DEVICES", "");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &str) -> Ended {
        Ended::of(&mut self.command(arguments))
    }
}

/// Runs of the reference that have one record of most experiments together.
#[allow(dead_code)] // not of all tests
pub(crate) const RUNS: [&str; 2] = ["results/h200", "results/h200/host-r"];

/// Copies the reference's records to `folder`, as another machine's. The GPU has another
/// name and takes twice the time for everything.
#[allow(dead_code)] // not of all tests
pub(crate) fn other_machine(checkout: &Checkout, folder: &str) {
    let files = RUNS.map(|run| fs::read_dir(checkout.path(run)).expect("a record"));
    for entry in files.into_iter().flatten() {
        let path = entry.expect("a record").path();
        if path.is_dir() {
            continue; // further runs
        }
        let text = fs::read_to_string(&path).expect("a record");
        let mut record: Value = serde_json::from_str(&text).expect("a record");
        record["run"].as_object_mut().expect("a record").remove("label");
        record["machine"]["name"] = json!("other");
        record["machine"]["gpus"][0]["name"] = json!("NVIDIA GeForce RTX 4090");
        for measurement in record["measurements"].as_array_mut().expect("a record") {
            for time in measurement["seconds"].as_array_mut().expect("a record") {
                *time = json!(2.0 * time.as_f64().expect("a record"));
            }
        }
        let name = path.file_name().expect("a record").to_str().expect("a record");
        checkout.write(&format!("{folder}/other/{name}"), &record.to_string());
    }
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        let folder = to.parent().expect("a part lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::copy(from, to))
            .unwrap_or_else(|e| panic!("{}: {e}", from.display()));
        return;
    }
    fs::create_dir_all(to).expect("the copy's folders can be made");
    for entry in fs::read_dir(from).expect("the checkout can be read") {
        let entry = entry.expect("the checkout can be read");
        // What a build made or a script has fetched, and files that somebody is writing now.
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !["html", "compiler"].contains(&&*name)
            && (!name.starts_with('.') || from.ends_with(".cargo"))
        {
            copy(&entry.path(), &to.join(&*name));
        }
    }
}

/// How a run of a program ended, and what it said.
pub(crate) struct Ended {
    command: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn of(command: &mut Command) -> Ended {
        let output = command.output();
        let Output { status, stdout, stderr } =
            output.unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Ended {
            command: arguments.join(" "),
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        }
    }

    /// Standard output of a run that succeeded and complained of nothing.
    #[track_caller]
    pub(crate) fn succeeds(&self) -> &str {
        assert!(self.code == Some(0) && self.stderr.is_empty(), "{self}");
        &self.stdout
    }

    /// A run that succeeded, and said all of this on standard error.
    #[track_caller]
    #[allow(dead_code)] // not of all tests
    pub(crate) fn warns(&self, texts: &[&str]) {
        self.says(0, texts);
    }

    /// A run that failed with exit code 1, and said all of this on standard error.
    #[allow(dead_code)] // not of all tests
    #[track_caller]
    pub(crate) fn refuses(&self, texts: &[&str]) {
        self.says(1, texts);
    }

    /// A run of wrong usage, which said all of this on standard error.
    #[allow(dead_code)] // not of all tests
    #[track_caller]
    pub(crate) fn misuses(&self, texts: &[&str]) {
        self.says(2, texts);
    }

    #[track_caller]
    fn says(&self, code: i32, texts: &[&str]) {
        let error = self.fails(code);
        for text in texts {
            assert!(error.contains(text), "no {text:?} in {self}");
        }
    }

    /// Standard error of a run that ended with `code`, and did not panic.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32) -> &str {
        assert!(self.code == Some(code), "not exit code {code}: {self}");
        &self.stderr
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Ended { command, code, stdout, stderr } = self;
        write!(f, "`workbook {command}` ended with {code:?}\n{stdout}{stderr}")
    }
}
