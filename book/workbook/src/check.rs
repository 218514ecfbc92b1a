//! `cargo workbook check`: runs anybody's kernel on the emulated GPU, and says what is wrong with
//! it and what it moves.
//!
//! | file | what is in it |
//! |---|---|
//! | this one | what is asked for |
//! | `plan.rs` | what to launch, on which buffers: from options, or from a comment in the file |
//! | `npy.rs` | arrays in files, as NumPy writes them |
//! | `subject.rs` | a file: read, compiled, and which of its kernels |
//! | `host.rs` | what of a file is for the host |
//! | `trial.rs` | the kernel is run: what it did, and what was found |
//! | `table.rs` | counts by lines, of one kernel or of two |
//! | `show.rs` | all of it in the terminal, and as JSON |
//! | `page.rs` | all of it as a page of HTML |

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use lab::compiler;
use plan::Plan;
use subject::Subject;
use trial::Trial;

use crate::terminal::say;

mod host;
mod npy;
mod page;
mod plan;
mod show;
mod subject;
mod table;
mod trial;

/// Options of `cargo workbook check`.
#[derive(clap::Args, Debug)]
#[group(skip)] // the name of its group would be that of the flattened one's
pub(crate) struct Arguments {
    /// CUDA C, or PTX that any compiler made (`.ptx`)
    file: PathBuf,
    #[command(flatten)]
    plan: Plan,
    /// The file is PTX, whatever it is called
    #[arg(long)]
    ptx: bool,
    /// Another file, launched in the same way: counts side by side. FILE:KERNEL names a kernel of it
    #[arg(long, value_name = "FILE")]
    compare: Option<String>,
    /// nvrtc or clang [default: NVRTC, or clang where there is none]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    compiler: Option<compiler::Choice>,
    /// How long each launch may take, in seconds
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
    /// Write a page with the source, its counts and what was found: one file, to be sent
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Exit code of a check that found a mistake.
const FOUND: u8 = 1;

/// Checks, and tells.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(path) = &arguments.html {
        page::may_write(path)?;
    }
    compiler::choose(arguments.compiler);
    let first = Subject::read(&arguments.file, arguments.ptx)?;
    let mut plan = arguments.plan.clone().over(Plan::of_comment(&first)?);
    let mut trials = vec![Trial::of(first, &plan, arguments.seconds)?];
    if let Some(other) = &arguments.compare {
        let (path, kernel) = named(other);
        let other = Subject::read(path, arguments.ptx)?;
        let known = kernel.or_else(|| plan.kernel.clone().filter(|name| other.names(name)));
        plan.kernel = known;
        trials.push(Trial::of(other, &plan, arguments.seconds)?);
    }
    if let Some(path) = &arguments.html {
        page::write(path, &trials)?;
    }
    if arguments.json {
        say!("{}", show::json(&trials)?);
    } else {
        trials.iter().for_each(show::trial);
        match &trials[..] {
            [one] => show::lines(one),
            [one, other, ..] => show::beside(one, other),
            [] => {}
        }
    }
    if let Some(path) = arguments.html.as_ref().filter(|_| !arguments.json) {
        say!("\nthe report: {}", path.display());
    }
    let found = trials.iter().any(Trial::has_mistakes);
    Ok(if found { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
}

/// `FILE:KERNEL`, where there is such a file and no file of the whole name.
fn named(text: &str) -> (&Path, Option<String>) {
    if let Some((file, kernel)) = text.rsplit_once(':')
        && !Path::new(text).exists()
        && plan::is_name(kernel)
    {
        return (Path::new(file), Some(kernel.to_owned()));
    }
    (Path::new(text), None)
}
