//! Who compiles kernels: NVIDIA's NVRTC or, where that is not, any clang that makes PTX. NVRTC makes
//! the committed PTX, and the records; clang is for readers, on systems without NVRTC, too.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;

use crate::kernel;
use crate::libraries::{self, CLANG, NVRTC};

/// What CUDA C has without any `#include`, for clang.
const PRELUDE: &str = include_str!("../../../../kernels/translator/prelude.h");

/// How clang optimises, here and in a page.
const OPTIMISING: [&str; 16] = include!("../../../../kernels/translator/optimising.rs");

/// Where clang believes header files to lie.
const HEADERS: &str = "/headers/";

/// What `--compiler` may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    Nvrtc,
    Clang,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Unit {
    pub source: String,
    /// Header files by the names that [`Unit::source`] and they include them by: names without a
    /// folder. There are no others.
    pub headers: BTreeMap<String, String>,
    /// That header file which is included without being named.
    pub first: Option<String>,
    /// What is not said to be for the host or for the GPU may be for both.
    pub is_program: bool,
}

impl Unit {
    /// A source without header files.
    pub fn of(source: &str) -> Unit {
        Unit { source: source.to_owned(), ..Unit::default() }
    }
}

static CHOSEN: OnceLock<Choice> = OnceLock::new();

/// Takes the reader's choice, for the rest of the program.
pub fn choose(choice: Option<Choice>) {
    if let Some(choice) = choice {
        CHOSEN.get_or_init(|| choice);
    }
}

#[derive(Clone, Debug)]
pub enum Compiler {
    /// With its release.
    Nvrtc((u32, u32)),
    Clang(Clang),
}

#[derive(Clone, Debug)]
pub struct Clang {
    /// The program, with what comes before clang's own options: `zig clang`.
    program: PathBuf,
    first: Option<&'static str>,
    version: String,
}

impl Compiler {
    /// The chosen one, or NVRTC, or clang where there is no NVRTC. The error says how to get one.
    pub fn find() -> Result<Compiler> {
        match CHOSEN.get() {
            Some(Choice::Nvrtc) => Ok(Compiler::Nvrtc(kernel::nvrtc_version()?)),
            Some(Choice::Clang) => Clang::find().map(Compiler::Clang).with_context(|| {
                format!("there is no clang that makes PTX; get it with: {}", CLANG.install)
            }),
            None if NVRTC.load() => Ok(Compiler::Nvrtc(kernel::nvrtc_version()?)),
            None => Clang::find().map(Compiler::Clang).ok_or_else(|| anyhow!(missing())),
        }
    }

    /// PTX of a source, of which messages speak as of `file`. A compile error is shown as the
    /// compiler words it.
    pub fn compile(&self, file: &str, unit: &Unit, compute: &str) -> Result<String> {
        match self {
            Compiler::Nvrtc(_) => kernel::compile_file(file, unit, compute),
            Compiler::Clang(clang) => clang.compile(file, unit, compute),
        }
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compiler::Nvrtc((major, minor)) => write!(f, "NVRTC {major}.{minor}"),
            Compiler::Clang(clang) => write!(f, "clang {}", clang.version),
        }
    }
}

/// What to do without a compiler. (NVRTC is not made for macOS.)
fn missing() -> String {
    let nvrtc = match cfg!(target_os = "macos") {
        true => String::new(),
        false => format!("  {}   (NVIDIA's NVRTC, 25 MB)\n", NVRTC.install),
    };
    format!(
        "there is no compiler of kernels. Get one (no GPU, toolkit or root needed):\n{nvrtc}  {}   \
         (clang, 95 MB)",
        CLANG.install
    )
}

/// A compilation: a command that reads [`Job::input`] and writes PTX.
pub struct Job {
    pub command: Command,
    pub input: String,
    /// What the command needs until it has ended.
    folder: TempDir,
}

impl Clang {
    /// The first that compiles an empty file. It is looked for once.
    pub fn find() -> Option<Clang> {
        static FOUND: OnceLock<Option<Clang>> = OnceLock::new();
        let works = |(program, first): (PathBuf, _)| {
            let mut clang = Clang { program, first, version: String::new() };
            let told = clang.command().arg("--version").output().ok()?.stdout;
            let told = String::from_utf8_lossy(&told);
            let (_, version) = told.split_once("clang version ")?;
            version.split_whitespace().next()?.clone_into(&mut clang.version);
            clang.compile("nothing.cu", &Unit::default(), kernel::COMMITTED_COMPUTE).ok()?;
            Some(clang)
        };
        FOUND.get_or_init(|| libraries::clangs().into_iter().find_map(works)).clone()
    }

    /// Its release, such as `22.1.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.first).stdin(Stdio::null());
        // Variables that add options or folders are for other programs.
        for variable in ["CCC_OVERRIDE_OPTIONS", "CPATH", "CPLUS_INCLUDE_PATH"] {
            command.env_remove(variable);
        }
        command
    }

    /// How to compile `unit`, of which messages speak as of `file`. It can open no other file.
    pub fn job(&self, file: &str, unit: &Unit, compute: &str) -> Result<Job> {
        let folder = tempfile::tempdir().context("for clang's files")?;
        let mut roots = vec![];
        for (number, (name, text)) in unit.headers.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, text)?;
            let name = format!("{HEADERS}{name}");
            roots.push(json!({"type": "file", "name": name, "external-contents": path}));
        }
        let files = folder.path().join("files.yaml");
        let all = json!({
            "version": 0, "redirecting-with": "redirect-only", "use-external-names": false,
            "roots": roots,
        });
        std::fs::write(&files, all.to_string())?;
        let mut command = self.command();
        command
            .args(["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-nostdinc"])
            .arg(format!("--cuda-gpu-arch=sm_{}", compute.replace('.', "")))
            .args(["-Xclang", "-target-feature", "-Xclang", "+ptx84"]) // as NVRTC 12.4 makes
            .args(OPTIMISING)
            .args(["-S", "-gline-tables-only", "-fdebug-compilation-dir=.", "-w"])
            .args(["-fno-color-diagnostics", "-fno-crash-diagnostics", "-ferror-limit=20"])
            .args(["-Xclang", "-ivfsoverlay", "-Xclang"])
            .arg(&files)
            .args(["-I", HEADERS])
            .args(unit.first.iter().flat_map(|name| ["-include", name]))
            .args(["-", "-o", "-"]);
        let name = file.replace('\\', "/").replace(['"', '\n'], "_");
        let input = format!("# 1 \"prelude.h\"\n{PRELUDE}\n# 1 \"{name}\"\n{}\n", unit.source);
        Ok(Job { command, input, folder })
    }

    fn compile(&self, file: &str, unit: &Unit, compute: &str) -> Result<String> {
        let Job { mut command, input, folder } = self.job(file, unit, compute)?;
        let path = folder.path().join("source.cu");
        std::fs::write(&path, input)?;
        let output = command.stdin(File::open(&path)?).output();
        let output = output.with_context(|| self.program.display().to_string())?;
        match output.status.success() {
            true => Ok(ptx(&String::from_utf8_lossy(&output.stdout))),
            false => {
                let said = said(&String::from_utf8_lossy(&output.stderr));
                bail!("{file} does not compile:\n{said}")
            }
        }
    }
}

/// PTX as clang writes it, which names the source as we do.
pub fn ptx(made: &str) -> String {
    made.replace("\"./", "\"")
}

/// What clang says, without how many errors there are.
pub fn said(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains(" generated when compiling for "));
    lines.collect::<Vec<_>>().join("\n").replace(HEADERS, "").trim().to_owned()
}
