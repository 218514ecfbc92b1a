//! The workbook's command-line program. `.cargo/config.toml` makes it `cargo workbook`.
//!
//! | module | commands |
//! |---|---|
//! | [`list`] | `list`: the experiments, and where they were recorded |
//! | [`mod@compare`] | `compare`: two machines against each other, or two runs |
//! | [`run`] | `run`: measure, then build |
//! | [`book`] | `build`, `preprocess` |
//! | [`print`](mod@print) | `print`: the book as a PDF |
//! | [`serve`] | `serve`: build, show, and build again on every change |
//! | [`doctor`] | `doctor`: what this machine has and can run |
//! | [`exercise`] | `exercise`: checks what a learner wrote |
//! | [`new`] | `new`: the files of another experiment |
//! | [`ptx`] | `ptx`: the committed PTX |
//! | [`engine`] | `engine`: the module that pages load |
//! | [`sass`] | `sass`: where machine code differs from the PTX |
//! | [`import`], [`archive`] | `import`: records that another machine made |
//! | [`temporary`] | folders that go again |
//! | [`terminal`] | what commands print |
//!
//! It times nothing itself (the experiments do) and draws nothing (`report` does).

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use record::file::visible_lines;

mod archive;
mod book;
mod compare;
mod doctor;
mod engine;
mod exercise;
mod import;
mod list;
mod new;
mod print;
mod ptx;
mod run;
mod sass;
mod serve;
mod temporary;
mod terminal;

#[derive(Parser, Debug)]
#[command(
    name = "cargo workbook",
    bin_name = "cargo workbook",
    version,
    about = "The GPU Memory Workbook: measure this machine, redraw the book",
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted."
)]
enum Command {
    /// Run every experiment this machine can run, then build the book
    Run(run::Arguments),
    /// List the experiments: section, needs, whether recorded here
    List(list::Arguments),
    /// Tell what this machine has, and what can run here and why
    Doctor,
    /// Build the book from the records
    Build(book::Arguments),
    /// Build the book, show it on this machine, and rebuild on every change
    Serve(serve::Arguments),
    /// Print the book: a PDF with a title page and contents (needs Chromium)
    Print(print::Arguments),
    /// Check your solution of an exercise, on the emulated GPU; or show how far you are
    Exercise(exercise::Arguments),
    /// Make the files of a new experiment
    New(new::Arguments),
    /// Compile the kernels to the committed PTX (needs NVRTC, no GPU)
    Ptx(ptx::Arguments),
    /// List where machine code accesses memory otherwise than the PTX (needs ptxas, no GPU)
    Sass(sass::Arguments),
    /// Compile what pages run in the browser to WebAssembly (needs no GPU)
    Engine(engine::Arguments),
    /// Take over records that a GPU machine made
    Import(import::Arguments),
    /// Compare two machines, or two runs: what is faster, and which verdicts are others
    Compare(compare::Arguments),
    /// Be mdBook's preprocessor: `mdbook serve book` calls this
    #[command(hide = true)]
    Preprocess(book::Preprocess),
}

fn main() -> ExitCode {
    let done = dispatch(Command::parse());
    match done.and_then(|code| terminal::check().map(|()| code)) {
        Ok(code) => code,
        Err(e) => {
            terminal::complain!("error: {}", visible_lines(&format!("{e:#}")));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode> {
    let root = root()?;
    lab::environment::check()?;
    match command {
        Command::Run(arguments) => return run::run(&root, &arguments),
        Command::Compare(arguments) => return compare::run(&root, &arguments),
        Command::Exercise(arguments) => return exercise::run(&root, &arguments),
        Command::Import(arguments) => return import::run(&root, &arguments),
        Command::List(arguments) => list::run(&root, &arguments)?,
        Command::Doctor => doctor::run(&root)?,
        Command::Build(arguments) => {
            ctrlc::set_handler(|| {
                report::output::abandon();
                std::process::exit(lab::options::INTERRUPTED.into())
            })?;
            book::build(&root, &arguments)?;
        }
        Command::Serve(arguments) => serve::run(&root, &arguments)?,
        Command::Print(arguments) => print::run(&root, &arguments)?,
        Command::New(arguments) => new::run(&root, &arguments)?,
        Command::Ptx(arguments) => ptx::run(&root, &arguments)?,
        Command::Engine(arguments) => engine::run(&root, &arguments)?,
        Command::Sass(arguments) => sass::run(&root, &arguments)?,
        Command::Preprocess(arguments) => {
            return book::preprocess(&root, &arguments);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The workbook's top folder.
fn root() -> Result<PathBuf> {
    lab::workspace::root()
        .context("this is not inside a checkout of the workbook (no book/book.toml here or above)")
}
