//! Host code is compiled, by cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::process::{self, Bounds, End, Ended};

/// How long the compiler may take for each file, first with all that it needs, then alone: the
/// crates are compiled in between, and cargo shows how far it is.
const TIMES: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];
/// Cargo names each crate.
const OUTPUT_BYTES: usize = 16 << 20;
/// Address space of a compiler.
const MEMORY_BYTES: u64 = 8 << 30;

#[derive(Deserialize)]
struct Line {
    executable: Option<PathBuf>,
    /// What a compiler says.
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    rendered: Option<String>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    is_primary: bool,
}

/// A program made of learners' files, each with the exercise's check. The inner error is the
/// compiler's.
pub(super) fn program(
    root: &Path,
    check: &Path,
    files: &[PathBuf],
) -> Result<Result<PathBuf, String>> {
    let cargo = || -> Result<Command> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo
            // With the workbook's package named, dependencies have the features that they have
            // there, so what is compiled already is used again.
            .args(["build", "--package", "workbook", "--package", "trial"])
            .args(["--profile", lab::workspace::profile()])
            .env("TRIAL_MINE", std::env::join_paths(files)?)
            .env("TRIAL_CHECK", check)
            .current_dir(root);
        Ok(cargo)
    };
    for time in TIMES {
        let mut command = cargo()?;
        command.args(["--bin", "trial", "--quiet", "--message-format", "json"]);
        let bounds = Bounds {
            time: time * files.len() as u32,
            output_bytes: OUTPUT_BYTES,
            memory_bytes: MEMORY_BYTES,
        };
        let Ended { end, out, err } = process::run(command, "", bounds)?;
        match end {
            End::Code(0) => {
                let made = lines(&out).find_map(|line| line.executable);
                return Ok(Ok(made.context("cargo names the program that it made")?));
            }
            End::TooLong(_) if time == TIMES[0] => {
                let mut command = cargo()?;
                command.args(["--lib"]).stdin(Stdio::null()).stdout(Stdio::null());
                let status = command.status().context("host code is compiled by cargo")?;
                ensure!(status.success(), "what host code needs does not compile: see above");
            }
            End::Code(_) => return Ok(Err(said(&out, &err, root, files))),
            end => {
                return Ok(Err(format!(
                    "the compiler {end}; does a macro or a type expand without end, or is \
                     the machine busy?"
                )));
            }
        }
    }
    unreachable!("the last time, there is an answer")
}

fn lines(out: &str) -> impl Iterator<Item = Line> {
    out.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// What the compiler says of a program that it does not make: no warnings, and where the learner's
/// file is right in itself, the first thing that the check misses in it.
fn said(out: &str, err: &str, root: &Path, files: &[PathBuf]) -> String {
    let errors = lines(out).filter_map(|line| line.message);
    let errors = errors.filter(|m| m.level.starts_with("error") && !m.spans.is_empty());
    let is_mine = |message: &Message| {
        let mut primary = message.spans.iter().filter(|span| span.is_primary);
        primary.any(|span| files.iter().any(|file| file.ends_with(&span.file_name)))
    };
    let (mine, others): (Vec<_>, Vec<_>) = errors.partition(is_mine);
    let shown = |messages: &[Message]| {
        let rendered = messages.iter().filter_map(|message| message.rendered.as_deref());
        let rendered = rendered.map(str::trim_end).collect::<Vec<_>>().join("\n\n");
        rendered.replace(&format!("{}/", root.display()), "")
    };
    match (&mine[..], &others[..]) {
        ([], []) => err.trim().to_owned(),
        ([], [first, ..]) => {
            let first = shown(std::slice::from_ref(first));
            format!(
                "{first}\n\nThe check calls your functions as the start has them: keep their \
                 names, parameters and results."
            )
        }
        (mine, _) => shown(mine),
    }
}
