//! `cargo workbook check`: runs anybody's kernel on the emulated GPU, and says what is wrong with
//! it and what it moves.
//!
//! | file | what is in it |
//! |---|---|
//! | this one | what is asked for |
//! | `options.rs` | what to launch, on which buffers |
//! | `npy.rs` | arrays in files, as NumPy writes them |
//! | `subject.rs` | a file: read, and compiled |
//! | `headers.rs` | header files: found, and read |
//! | `host.rs` | what of a file is for the host |
//! | `instance.rs` | a kernel that is a template, with its arguments |
//! | `table.rs` | counts of one kernel or of two |
//! | `show.rs` | all of it in the terminal, and as JSON |
//! | `page.rs` | all of it as a page of HTML |
//!
//! The kernel is run by the crate `referee`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use lab::compiler;
use options::Options;
use referee::Limits;
use referee::plan::{self, Plan};
use referee::trial::Trial;

use crate::terminal::say;

mod headers;
mod host;
mod instance;
mod npy;
mod options;
mod page;
mod show;
mod subject;
mod table;

/// Options of `cargo workbook check`.
#[derive(clap::Args, Debug)]
#[group(skip)] // the name of its group would be that of the flattened one's
pub(crate) struct Arguments {
    /// CUDA C, or PTX that any compiler made (`.ptx`)
    file: PathBuf,
    #[command(flatten)]
    options: Options,
    /// The file is PTX, whatever it is called
    #[arg(long)]
    ptx: bool,
    /// Another file, launched in the same way but for what its own comment says: counts side by
    /// side. FILE:KERNEL names a kernel of it
    #[arg(long, value_name = "FILE")]
    compare: Option<String>,
    /// A folder with header files, beside the file's own; may be given several times
    #[arg(long, short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
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
    let first = subject::read(&arguments.file, arguments.ptx)?;
    let typed = Plan::from(&arguments.options);
    // Files of options are looked for where one is, those of a comment beside the first file.
    let is_comments = typed.arg.is_empty() && typed.expect.is_empty();
    let folder = is_comments.then(|| subject::folder(&arguments.file));
    let files = |file: &str, element| subject::array(folder.as_deref(), file, element);
    let patience = Some(Duration::from_secs(arguments.seconds.into()));
    let limits = Limits { budget: 1 << 40, patience, buffer_bytes: 1 << 28, ..Limits::TERMINAL };
    let tried = |mut subject, plan: &Plan| {
        let mut plan = plan.clone();
        let made = subject::compile(&mut subject, &mut plan, &arguments.include)?;
        Trial::of(subject, made, &plan, &limits, &files)
    };
    let plan = typed.clone().over(Plan::of_comment(&first.name, &first.source)?);
    let mut trials = vec![tried(first, &plan)?];
    if let Some(other) = &arguments.compare {
        let (path, kernel) = named(other);
        let other = subject::read(path, arguments.ptx)?;
        let own = Plan::of_comment(&other.name, &other.source)?;
        let own_kernel = own.kernel.clone();
        let mut plan = typed.over(own).over(plan);
        let is_there = |name: &String| other.names(instance::plain(name));
        plan.kernel = kernel.or(plan.kernel.filter(is_there)).or(own_kernel);
        trials.push(tried(other, &plan)?);
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
            [one, other, ..] => {
                show::agreement(one, other);
                show::beside(one, other);
            }
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
        && (plan::is_name(kernel) || instance::is_one(kernel))
    {
        return (Path::new(file), Some(kernel.to_owned()));
    }
    (Path::new(text), None)
}
