//! A copy of the workbook to run the program in, and how a run of it ended.

#![allow(dead_code, reason = "each test takes a part")]

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

/// The pages of the small book, as they stand in the whole one but for links and exercises.
const SMALL: [&str; 3] = ["bank-conflicts", "coalescing", "transpose"];

/// Its others, which in the whole one have more on them.
const SHORT: [(&str, &str); 4] = [
    ("introduction.md", "# A small book\n"),
    ("course.md", "# The course\n"),
    ("scorecard.md", "# Scorecard\n\n{{scorecard}}\n\n{{scorecard 8.3}}\n\n{{errata}}\n"),
    ("this-machine.md", "# This machine\n\n{{this-machine}}\n"),
];

/// What a small book's copy does without: pictures, which its first build draws, and the sources of
/// programs that no experiment is.
const LEFT_OUT: [&str; 8] = [
    "book/engine",
    "book/report",
    "book/src/figures",
    "book/workbook",
    "book/workshop",
    "kernels/emulated-driver",
    "kernels/emulator",
    "kernels/translator",
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
    /// A copy of the whole workbook.
    pub(crate) fn new() -> Checkout {
        Checkout::with(|_| true)
    }

    /// A copy with all experiments, and with a book and records of three of them: it is built ten
    /// times as fast.
    pub(crate) fn small() -> Checkout {
        let is_of_three = |name: &str| SMALL.contains(&name.trim_end_matches("-counters"));
        let checkout = Checkout::with(|file| match file.extension() {
            Some(kind) if kind == "json" && file.starts_with("results") => {
                file.file_stem().is_some_and(|name| is_of_three(&name.to_string_lossy()))
                    || file.ends_with("references.json")
            }
            _ => !LEFT_OUT.iter().any(|folder| file.ends_with(folder)),
        });
        for (page, text) in SHORT {
            checkout.write(&format!("book/src/{page}"), text);
            let _ =
                fs::remove_file(checkout.path(&format!("book/src/{page}")).with_extension("toml"));
        }
        for page in SMALL {
            let page = format!("book/src/access-patterns/{page}.md");
            checkout.write(&page, &without_links(&checkout.read(&page)));
        }
        let pages = SMALL.map(|page| format!("access-patterns/{page}.md")).into_iter();
        let pages: Vec<_> = pages.chain(SHORT.map(|(page, _)| page.to_owned())).collect();
        let is_left = |line: &str| {
            let page = line.split_once("](").map(|(_, page)| page.trim_end_matches(')'));
            page.is_none_or(|page| pages.iter().any(|left| left == page))
        };
        let summary = checkout.read("book/src/SUMMARY.md");
        let summary: Vec<_> = summary.lines().filter(|line| is_left(line)).collect();
        checkout.write("book/src/SUMMARY.md", &summary.join("\n"));
        let claims = checkout.read("book/claims.toml");
        let (head, claims) = claims.split_once("[[claim]]\n").expect("there are claims");
        let of_three = |claim: &&str| {
            SMALL.iter().any(|page| claim.contains(&format!("\npage = \"{page}\"\n")))
        };
        let claims = claims.split("[[claim]]\n").filter(of_three);
        let claims = claims.map(|claim| format!("[[claim]]\n{claim}"));
        checkout.write("book/claims.toml", &(head.to_owned() + &claims.collect::<String>()));
        // What it says of pages that are left out.
        checkout.edit("book/book.toml", "\"my-predictions.md\" = { enable = false }\n", "");
        let config = checkout.read("book/book.toml");
        let (config, _) = config.split_once("[output.html.redirect]").expect("it has some");
        checkout.write("book/book.toml", config);
        checkout
    }

    /// A copy with those records and files of the book that `is_copied` says, by their paths.
    fn with(is_copied: impl Fn(&Path) -> bool) -> Checkout {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let root = folder.path().canonicalize().expect("it was made just now");
        let from = self::root();
        let results = record::Results::new(from.join("results"));
        let references = results.references().expect("they are committed");
        let records = references.iter().map(|machine| format!("results/{machine}"));
        let records = records.filter(|records| from.join(records).is_dir());
        for part in PARTS.map(str::to_owned).into_iter().chain(records) {
            copy(&from, part.as_ref(), &root, &is_copied);
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
    pub(crate) fn with_page_compiler() -> Checkout {
        let checkout = Checkout::new();
        copy(&self::root(), "book/src/compiler".as_ref(), &checkout.root, &|_| true);
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

    /// Writes a program: a script for the shell.
    pub(crate) fn write_program(&self, relative: &str, script: &str) {
        self.write(relative, &format!("#!/bin/sh\n{script}\n"));
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(self.path(relative), runs).expect("it was written just now");
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

    pub(crate) fn run(&self, arguments: &str) -> Ended {
        Ended::of(&mut self.command(arguments))
    }
}

/// Runs of the reference that have one record of most experiments together.
pub(crate) const RUNS: [&str; 2] = ["results/h200", "results/h200/host-r"];

/// Copies the reference's records to `folder`, as another machine's. The GPU has another
/// name and takes twice the time for everything.
pub(crate) fn other_machine(checkout: &Checkout, folder: &str) {
    copy_records(checkout, &RUNS, &format!("{folder}/other"), |record| {
        record["machine"]["name"] = json!("other");
        record["machine"]["gpus"][0]["name"] = json!("NVIDIA GeForce RTX 4090");
        stretch(record, |_| 2.0);
    });
}

/// Copies the records of some of the reference's runs to a folder, as those of one run, each as
/// `change` makes it.
pub(crate) fn copy_records(
    checkout: &Checkout,
    runs: &[&str],
    folder: &str,
    mut change: impl FnMut(&mut Value),
) {
    let files = runs.iter().flat_map(|run| fs::read_dir(checkout.path(run)).expect("a run"));
    for path in files.map(|file| file.expect("a record").path()) {
        if path.is_dir() {
            continue; // further runs
        }
        let text = fs::read_to_string(&path).expect("a record");
        let mut record: Value = serde_json::from_str(&text).expect("a record");
        record["run"].as_object_mut().expect("a record").remove("label");
        change(&mut record);
        let name = path.file_name().expect("a record").to_str().expect("a record");
        checkout.write(&format!("{folder}/{name}"), &record.to_string());
    }
}

/// Multiplies each time of a record by its case's factor.
pub(crate) fn stretch(record: &mut Value, mut factor: impl FnMut(&Value) -> f64) {
    for case in record["measurements"].as_array_mut().expect("a record") {
        let factor = factor(case);
        for time in case["seconds"].as_array_mut().expect("a record") {
            *time = json!(factor * time.as_f64().expect("a record"));
        }
    }
}

/// Leaves a command nothing to find compilers by, but the PATH.
pub(crate) fn hide_compilers(command: &mut Command) -> &mut Command {
    let variables = ["WORKBOOK_CUDA_LIBS", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"];
    variables.into_iter().fold(command, Command::env_remove)
}

/// Copies a part of one folder to the same place in another.
fn copy(from: &Path, part: &Path, to: &Path, is_copied: &impl Fn(&Path) -> bool) {
    let (source, copied) = (from.join(part), to.join(part));
    if !source.is_dir() {
        let folder = copied.parent().expect("a part lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::copy(&source, &copied))
            .unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        return;
    }
    fs::create_dir_all(copied).expect("the copy's folders can be made");
    for entry in fs::read_dir(source).expect("the checkout can be read") {
        // What a build made or a script has fetched, and files that somebody is writing now.
        let name = entry.expect("the checkout can be read").file_name();
        let is_other = {
            let name = name.to_string_lossy();
            ["html", "compiler"].contains(&&*name)
                || (name.starts_with('.') && !part.ends_with(".cargo"))
        };
        let part = part.join(name);
        if !is_other && is_copied(&part) {
            copy(from, &part, to, is_copied);
        }
    }
}

/// A page of the small book, with links to others of its own alone, and without exercises, which
/// need those of other pages.
fn without_links(page: &str) -> String {
    let lines = page.lines().filter(|line| !line.starts_with("{{exercise "));
    let page = lines.map(|line| format!("{line}\n")).collect::<String>();
    let mut parts = page.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').expect("a link ends");
        let file = target.split('#').next().and_then(|file| file.strip_suffix(".md"));
        let is_left = match file {
            Some(file) => SMALL.contains(&file),
            None => !target.starts_with("#exercise-"),
        };
        text += &format!("]({}){rest}", if is_left { target } else { "https://example.org" });
    }
    text
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
    pub(crate) fn warns(&self, texts: &[&str]) {
        self.says(0, texts);
    }

    /// A run that failed with exit code 1, and said all of this on standard error.
    #[track_caller]
    pub(crate) fn refuses(&self, texts: &[&str]) {
        self.says(1, texts);
    }

    /// A run of wrong usage, which said all of this on standard error.
    #[track_caller]
    pub(crate) fn misuses(&self, texts: &[&str]) {
        self.says(2, texts);
    }

    #[track_caller]
    fn says(&self, code: i32, texts: &[&str]) {
        let read = |text: &str| text.replace('\n', " "); // whatever the lines' width
        let error = read(self.fails(code));
        for text in texts {
            assert!(error.contains(&read(text)), "no {text:?} in {self}");
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
