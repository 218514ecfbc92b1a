//! `cargo workbook build`, and the preprocessor behind stock mdBook.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use lessons::Lesson;
use record::Results;
use report::{Built, Unused};

use crate::terminal::{complain, misused, say};

/// Options of `cargo workbook build`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Arguments {
    /// Machine whose numbers come first [default: the one that recorded here last, or else the
    /// only one that was imported]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Folder of the finished book [default: book/html]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Fail if a committed figure, or what experiments print, is not what pages and records give,
    /// instead of writing it
    #[arg(long)]
    check: bool,
    /// List the measured cases of the reference records that no page shows
    #[arg(long)]
    unused: bool,
}

/// What mdBook asks of a preprocessor.
#[derive(clap::Args, Debug)]
pub(crate) struct Preprocess {
    #[command(subcommand)]
    question: Option<Question>,
}

#[derive(clap::Subcommand, Debug)]
enum Question {
    /// Succeed if the renderer is supported
    Supports {
        /// The renderer's name
        renderer: String,
    },
}

/// Builds the book and says where it is.
pub(crate) fn build(root: &Path, arguments: &Arguments) -> Result<Built> {
    let mut options = options(root)?;
    if let Some(machine) = &arguments.machine {
        let known = Results::new(&options.results).machines()?;
        if !known.contains(machine) {
            misused!("there are no records of `{machine}`; there are {}", known.join(", "));
        }
        options.this_machine = Some(machine.clone());
    }
    options.check = arguments.check;
    // A relative path means the folder that the command was given in.
    options.output = arguments.output.as_deref().map(std::path::absolute).transpose()?;
    let built = report::build(&options)?;
    for broken in &built.broken {
        complain!("warning: {broken}\n  The book leaves this record out.");
    }
    list(root, "drawn", &built.stored);
    list(root, "removed", &built.removed);
    for Unused { experiment, measured, cases } in &built.unused {
        if arguments.unused {
            say!("{experiment}: {} of {measured} cases", cases.len());
            cases.iter().for_each(|case| say!("    {case}"));
        }
    }
    say!("the book: {}", built.html.join("index.html").display());
    say_whose(&Results::new(&options.results), built.this_machine.as_ref())?;
    Ok(built)
}

/// Says which machine the book is about, and which others there are, where any was imported.
fn say_whose(results: &Results, shown: Option<&String>) -> Result<()> {
    let imported = results.imported()?;
    let others: Vec<&str> = imported.iter().filter(|n| Some(*n) != shown).map(|n| &**n).collect();
    match (shown, &others[..]) {
        (None, []) => {}
        (Some(shown), []) if imported.contains(shown) => {
            say!("about {shown}, which was imported, beside the reference machines");
        }
        (Some(_), []) => {}
        (shown, others) => say!(
            "about {}; for another machine that was imported: --machine NAME ({})",
            shown.map_or("the reference machines", String::as_str),
            others.join(", ")
        ),
    }
    Ok(())
}

/// The parts of the book, and its experiments.
fn options(root: &Path) -> Result<report::Options> {
    let all = lessons::all(root)?;
    let drafts = all.iter().filter(|lesson| lesson.draft).map(Lesson::page).collect();
    let lessons = all.into_iter().map(|lesson| (lesson.name, lesson.gpus)).collect();
    Ok(report::Options { drafts, lessons, ..report::Options::of(&root.join("book"))? })
}

/// Answers mdBook on standard output.
pub(crate) fn preprocess(root: &Path, arguments: &Preprocess) -> Result<ExitCode> {
    match &arguments.question {
        Some(Question::Supports { renderer }) if renderer == "html" => Ok(ExitCode::SUCCESS),
        Some(Question::Supports { .. }) => Ok(ExitCode::FAILURE),
        None => {
            report::preprocess(&options(root)?, std::io::stdin(), std::io::stdout())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Says what was done to figures: a line for each of a few, or how many they are of each machine.
fn list(root: &Path, what: &str, figures: &[PathBuf]) {
    const FEW: usize = 5;
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    if figures.len() <= FEW {
        return figures.iter().for_each(|path| say!("{what}: {}", shown(path)));
    }
    for of_machine in figures.chunk_by(|a, b| a.parent() == b.parent()) {
        let folder = of_machine[0].parent().map(shown).unwrap_or_default();
        say!("{what}: {} figures in {folder}", of_machine.len());
    }
}
