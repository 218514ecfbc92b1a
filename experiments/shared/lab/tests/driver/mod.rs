//! Running the experiments' real programs on the driver for tests, which they take for
//! NVIDIA's, or on the emulated one.

#![allow(dead_code)] // each file of tests takes a part

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::LazyLock;

use record::{Record, Results};
use tempfile::TempDir;
use walkdir::WalkDir;

/// The experiments whose programs are run again and again. The first two only copy.
pub(crate) const EXPERIMENTS: [&str; 3] = ["transfer-bandwidth", "host-memory", "coalescing"];

/// Further programs, most of which are run on the emulated driver only.
const OTHERS: [&str; 15] = [
    "timing-pitfalls",
    "staged-copies",
    "vector-add",
    "warps",
    "memories",
    "reading-the-emulator",
    "transpose",
    "peer-copy",
    "device-selection",
    "multi-gpu-split",
    "pool-properties",
    "memory-trace",
    "occupancy",
    "working-sets",
    "allocation",
];

/// Second programs of two of them.
const SECONDS: [&str; 2] = ["first-program", "mistakes"];

/// Folder of these programs.
static PROGRAMS: LazyLock<PathBuf> = LazyLock::new(|| build(EXPERIMENTS.iter().chain(&OTHERS)));

/// The program of an experiment. One that is built by chance alone would pass here, and be missing
/// elsewhere.
#[track_caller]
fn built(experiment: &str) -> PathBuf {
    let mut all = EXPERIMENTS.iter().chain(&OTHERS).chain(&SECONDS);
    let is_built = all.any(|name| *name == experiment);
    assert!(is_built, "{experiment} is not among the programs that these tests build");
    PROGRAMS.join(experiment)
}

/// Builds the experiments of these names. Returns the folder of their programs: where cargo
/// puts those of the profile that this test was built with. It does not build other packages'
/// programs for a test, so this does.
pub(crate) fn build(names: impl IntoIterator<Item = impl AsRef<str>>) -> PathBuf {
    // <target>/<profile>/deps/sessions-<hash>
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap().to_owned();
    let profile = match folder.file_name().and_then(OsStr::to_str).unwrap() {
        "debug" => "dev",
        other => other,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--profile", profile, "--target-dir"]);
    build.arg(folder.parent().unwrap());
    // As `cargo workbook run` does: what it has compiled serves here, too.
    build.args(["--package", "workbook"]);
    for name in names {
        build.args(["--package", name.as_ref()]);
    }
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(build.status().unwrap().success(), "the experiments do not build");
    folder
}

/// A temporary folder to run programs in. Nothing that they write outlives it. Threads
/// do not share one, so what is found there is known to be the last program's.
pub(crate) struct Desk {
    folder: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let desk = Desk { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(desk.here()).unwrap();
        fs::create_dir(desk.temporary()).unwrap();
        fs::create_dir(desk.no_driver()).unwrap();
        for name in cudarc::get_lib_name_candidates("cuda") {
            fs::write(desk.no_driver().join(name), "").unwrap();
        }
        desk
    }

    /// A folder that makes the loader find no driver: whatever name it looks for, it comes
    /// upon a file first that is no library.
    pub(crate) fn no_driver(&self) -> PathBuf {
        self.folder.path().join("no-driver")
    }

    /// The current folder of the programs.
    pub(crate) fn here(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    /// What the programs take for the system's folder of temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    /// The results folder that programs take if nobody says otherwise.
    pub(crate) fn results(&self) -> Results {
        Results::new(self.here().join("results"))
    }

    /// The only record of `experiment` on `machine`.
    #[track_caller]
    pub(crate) fn record(&self, machine: &str, experiment: &str) -> Record {
        self.results().read(machine, experiment).unwrap().expect("a record was written")
    }

    /// Writes a file below the current folder, and the folders that it lies in.
    pub(crate) fn write(&self, file: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.here().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a program for the shell there.
    pub(crate) fn script(&self, file: &str, script: &str) {
        let path = self.write(file, format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Every file under the current folder with its content, but for the empty one at which
    /// programs take turns.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = WalkDir::new(self.here()).into_iter().map(Result::unwrap);
        let files = entries
            .filter(|entry| entry.file_type().is_file() && entry.file_name() != ".record-lock");
        let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
        files.map(|file| read(file.into_path())).collect()
    }

    /// The program of an experiment with these arguments, on the driver for tests,
    /// with nothing else of the tester's environment than the path.
    pub(crate) fn program(&self, experiment: &str, arguments: &str) -> Program {
        self.prepare(&built(experiment), arguments)
    }

    /// A copy of that program where no driver is, neither beside it an emulated one.
    pub(crate) fn program_elsewhere(&self, experiment: &str, arguments: &str) -> Program {
        let folder = self.folder.path().join("elsewhere");
        fs::create_dir_all(&folder).unwrap();
        copy(&built(experiment), &folder);
        self.prepare(&folder.join(experiment), arguments).without_driver()
    }

    /// A program of these bytes, on the emulated driver.
    pub(crate) fn program_of(&self, bytes: &[u8], folder: &Path) -> Program {
        let (data, program) = (self.here().join("data"), self.here().join("program"));
        let deps = self.here().join("deps");
        let _ = fs::remove_file(&program);
        fs::write(&data, bytes).unwrap();
        copy(&data, &program);
        assert!(Command::new("chmod").arg("+x").arg(&program).status().unwrap().success());
        fs::create_dir_all(&deps).unwrap();
        copy(&folder.join("deps/libemulated_driver.so"), &deps);
        self.prepare(&program, "--emulate").without_driver()
    }

    fn prepare(&self, program: &Path, arguments: &str) -> Program {
        let mut command = Command::new(program);
        command
            .args(arguments.split_whitespace())
            .current_dir(self.here())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TMPDIR", self.temporary())
            .env("LD_LIBRARY_PATH", &*test_driver::FOLDER)
            .stdin(Stdio::null());
        Program { command, no_driver: self.no_driver() }
    }

    /// Puts a pack there as `scripts/pack` makes it, with this one experiment.
    pub(crate) fn unpack(&self, experiment: &str) {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts");
        let deps = self.here().join("bin/deps");
        fs::create_dir_all(&deps).unwrap();
        fs::create_dir(self.here().join("peers")).unwrap();
        self.write("revision", "WORKBOOK_REVISION=abc\n");
        for (from, to) in [
            (scripts.join("run-packed"), self.here().join("run")),
            (built(experiment), deps.with_file_name(experiment)),
            (PROGRAMS.join("deps/libemulated_driver.so"), deps.join("libemulated_driver.so")),
        ] {
            copy(&from, &to);
        }
    }

    pub(crate) fn run(&self, experiment: &str, arguments: &str) -> Ended {
        self.program(experiment, arguments).run()
    }
}

/// Copies a program. Not in this process: while it has the copy open to write it, another
/// test may start a program, which inherits that, and then nobody can start the copy.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

/// A program about to run.
pub(crate) struct Program {
    command: Command,
    no_driver: PathBuf,
}

impl Program {
    pub(crate) fn set(mut self, name: &str, value: impl AsRef<OsStr>) -> Program {
        self.command.env(name, value);
        self
    }

    /// More arguments, separated by spaces.
    pub(crate) fn arguments(mut self, arguments: &str) -> Program {
        self.command.args(arguments.split_whitespace());
        self
    }

    /// One more argument, whatever is in it.
    pub(crate) fn argument(mut self, argument: impl AsRef<OsStr>) -> Program {
        self.command.arg(argument);
        self
    }

    pub(crate) fn inside(mut self, folder: impl AsRef<Path>) -> Program {
        self.command.current_dir(folder);
        self
    }

    pub(crate) fn without_driver(mut self) -> Program {
        self.command.env("LD_LIBRARY_PATH", &self.no_driver);
        self
    }

    /// With less of something, as the shell's `ulimit` calls it. Call it last.
    pub(crate) fn limited(self, limit: &str) -> Program {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")])
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .current_dir(self.command.get_current_dir().unwrap())
            .env_clear()
            .envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null());
        Program { command, ..self }
    }

    pub(crate) fn stdout(mut self, stdout: impl Into<Stdio>) -> Program {
        self.command.stdout(stdout);
        self
    }

    pub(crate) fn run(mut self) -> Ended {
        Ended::of(self.command.output().unwrap())
    }

    /// Runs it until it prints `text`, and then sends it a signal, such as `INT`.
    pub(crate) fn interrupt(self, text: &str, signal: &str) -> Ended {
        self.at(text, |id| send(signal, id))
    }

    /// Runs it until it prints `text`, and goes on with it after something else.
    pub(crate) fn paused(self, text: &str, meanwhile: impl FnOnce()) -> Ended {
        self.at(text, |id| {
            send("STOP", id);
            meanwhile();
            send("CONT", id);
        })
    }

    /// Runs it to its end, and does something when it prints `text`.
    fn at(mut self, text: &str, then: impl FnOnce(u32)) -> Ended {
        let command = self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut printed = String::new();
        while !printed.contains(text) {
            printed += &lines.next().expect("it has not ended").unwrap();
        }
        then(child.id());
        printed.extend(lines.map(Result::unwrap));
        let mut ended = Ended::of(child.wait_with_output().unwrap());
        ended.stdout = printed;
        ended
    }
}

/// Sends a signal, by the shell's own `kill`, for the program may not be installed.
fn send(signal: &str, id: u32) {
    let kill = format!("kill -{signal} {id}");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// How a program ended, and what it said.
pub(crate) struct Ended {
    status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// No program may panic, whatever happens to it.
    fn of(output: Output) -> Ended {
        let Output { status, stdout, stderr } = output;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let ended = Ended { status, stdout: text(stdout), stderr: text(stderr) };
        assert!(!ended.stderr.contains("panicked"), "{ended}");
        ended
    }

    /// Its exit code, if no signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Ended {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    #[track_caller]
    pub(crate) fn by_signal(self, signal: i32) -> Ended {
        assert_eq!(self.status.signal(), Some(signal), "{self}");
        self
    }

    /// Standard error has all of this in it.
    #[track_caller]
    pub(crate) fn saying(self, texts: &[impl AsRef<str>]) -> Ended {
        for text in texts.iter().map(AsRef::as_ref) {
            assert!(self.stderr.contains(text), "no `{text}` in:\n{self}");
        }
        // Rust's notation of a value is no message for people, and a cause that is
        // told twice is one that was wrapped twice.
        assert!(!self.stderr.contains("DriverError("), "{self}");
        assert!(self.stderr.matches("(os error").count() < 2, "{self}");
        self
    }

    /// It ended with this exit code before it measured, saying all of this.
    #[track_caller]
    pub(crate) fn refusing(self, code: i32, texts: &[impl AsRef<str>]) -> Ended {
        self.with_code(code).before_measuring().saying(texts)
    }

    /// Nothing came on standard output: it ended before it measured.
    #[track_caller]
    pub(crate) fn before_measuring(self) -> Ended {
        assert_eq!(self.stdout, "", "{self}");
        self
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended { status, stdout, stderr } = self;
        write!(f, "{status}\n--- standard output\n{stdout}--- standard error\n{stderr}")
    }
}
