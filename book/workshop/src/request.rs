//! What a page may ask, and the answers.

use anyhow::{Result, bail, ensure};
use record::units;
use referee::plan::Plan;
use referee::subject::Subject;
use referee::trial::Trial;
use referee::{Check, Judge, Limits, compiler, names};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{MOST_SOURCE_BYTES, told};

/// A request: its key, and what belongs to it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// What clang is to be told of a source: `options`, `prelude`, and `compute`, for what it is
    /// compiled.
    Options {
        /// What messages call the source.
        file: String,
        /// CUDA C.
        source: String,
        /// `check.toml`, if it is of an exercise.
        check: Option<String>,
    },
    /// From clang's IR to `ptx`; or `error`, with the `line` of the source where it is known.
    Translate {
        /// LLVM IR, as text.
        ir: String,
    },
    /// From what clang says to `messages` and `advice`.
    Diagnose {
        /// All that it has written.
        log: String,
        /// What it calls the source.
        file: String,
        /// The compute capability that it compiles for.
        compute: String,
    },
    /// Whether a kernel solves an exercise: `solved`, `rows`, `printed`, `lines`.
    Judge {
        /// `check.toml`.
        check: String,
        /// What messages call the source.
        file: String,
        /// CUDA C.
        source: String,
        /// What was made of it.
        ptx: String,
        /// PTX of `expected.cu`.
        expected: String,
    },
    /// What anybody's kernel does: `kernel`, `findings`, `runs`.
    Check {
        /// What to launch, and how, where no comment of the source says so.
        options: Plan,
        /// What messages call the source.
        file: String,
        /// CUDA C.
        source: String,
        /// What was made of it.
        ptx: String,
    },
}

impl Request {
    pub(crate) fn answer(self) -> Result<Value> {
        match self {
            Request::Options { file, source, check } => {
                bounded(&source)?;
                let compute = match check {
                    Some(check) => Check::parse(&check)?.compute,
                    None => Plan::of_comment(&file, &source)?.compute_of(&source)?,
                };
                Ok(json!({
                    "options": translator::OPTIONS.concat(),
                    "prelude": translator::PRELUDE,
                    "compute": compute,
                }))
            }
            Request::Translate { ir } => Ok(match translator::translate(&ir) {
                Ok(ptx) => json!({ "ptx": ptx }),
                Err(error) => json!({ "error": names::in_source(&error.what), "line": error.line }),
            }),
            Request::Diagnose { log, file, compute } => Ok(json!({
                "messages": compiler::messages(&file, &log).iter().map(told::message).collect::<Vec<_>>(),
                "advice": compiler::advice(&log, &compute),
            })),
            Request::Judge { check, file, source, ptx, expected } => {
                bounded(&source)?;
                let check = Check::parse(&check)?;
                let judge = Judge::new(&check, expected, Limits::PAGE);
                Ok(told::outcome(&judge.check(&file, &source, &ptx)?))
            }
            Request::Check { options, file, source, ptx } => {
                bounded(&source)?;
                let plan = options.over(Plan::of_comment(&file, &source)?);
                let subject = Subject { name: file, source, is_ptx: false };
                let made = Ok((ptx, "clang".to_owned()));
                let no_files = |name: &str, _| bail!("{name}: a page opens no files");
                Ok(told::trial(&Trial::of(subject, made, &plan, &Limits::PAGE, &no_files)?))
            }
        }
    }
}

fn bounded(source: &str) -> Result<()> {
    let [bytes, most] = [source.len(), MOST_SOURCE_BYTES].map(|bytes| units::count(bytes as u64));
    ensure!(source.len() <= MOST_SOURCE_BYTES, "the source has {bytes} bytes, of {most} at most");
    Ok(())
}
