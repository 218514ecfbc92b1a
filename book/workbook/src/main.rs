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
//! | [`check`] | `check`: runs anybody's kernel, and says what is wrong with it |
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
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use lab::layout;
use record::file::visible_lines;

use terminal::WrongUsage;

mod archive;
mod book;
mod check;
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
    #[command(flatten)]
    Learn(Learn),
    #[command(flatten)]
    Measure(Measure),
    #[command(flatten)]
    Contribute(Contribute),
}

#[derive(Subcommand, Debug)]
enum Learn {
    /// Build the book, show it on this machine, and rebuild on every change
    Serve(serve::Arguments),
    /// Check your solution of an exercise, on the emulated GPU; or show how far you are
    Exercise(exercise::Arguments),
    /// Check a kernel of your own, on the emulated GPU: its mistakes, and what each line moves
    Check(Box<check::Arguments>),
    /// Build the book from the records
    Build(book::Arguments),
    /// Print the book: a PDF with a title page and contents (needs Chromium)
    Print(print::Arguments),
}

#[derive(Subcommand, Debug)]
enum Measure {
    /// Tell what this machine has, and what can run here and why
    Doctor,
    /// List the experiments: section, needs, which machines' records are here
    List(list::Arguments),
    /// Run every experiment this machine can run, then build the book
    Run(run::Arguments),
    /// Compare two machines, or two runs: what is faster, and which verdicts are others
    Compare(compare::Arguments),
    /// Take over records that a GPU machine made
    Import(import::Arguments),
}

#[derive(Subcommand, Debug)]
enum Contribute {
    /// Make the files of a new experiment
    New(new::Arguments),
    /// Compile the kernels to the committed PTX (needs NVRTC, no GPU)
    Ptx(ptx::Arguments),
    /// List where machine code accesses memory otherwise than the PTX (needs ptxas, no GPU)
    Sass(sass::Arguments),
    /// Compile what pages run in the browser to WebAssembly (needs no GPU)
    Engine(engine::Arguments),
    /// Compile a kernel: `exercise` calls this
    #[command(hide = true, name = ::exercise::compile::COMMAND)]
    CompileKernel { file: String, compute: String },
    /// Be mdBook's preprocessor: `mdbook serve book` calls this
    #[command(hide = true)]
    Preprocess(book::Preprocess),
}

/// The program's options, and its commands by what they are for.
fn options() -> clap::Command {
    let bold = anstyle::Style::new().bold();
    let groups = [
        ("Learn", Learn::augment_subcommands(clap::Command::new(""))),
        ("Measure", Measure::augment_subcommands(clap::Command::new(""))),
        ("Contribute", Contribute::augment_subcommands(clap::Command::new(""))),
    ];
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, group) in groups {
        template += &format!("\n{bold}{heading}:{bold:#}\n");
        for command in group.get_subcommands().filter(|command| !command.is_hide_set()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            template += &format!("  {bold}{:<9}{bold:#} {about}\n", command.get_name());
        }
    }
    template += &format!("\n{bold}Options:{bold:#}\n{{options}}{{after-help}}");
    layout::wrap_help(Command::command().help_template(template))
}

fn main() -> ExitCode {
    let command = Command::from_arg_matches(&options().get_matches());
    let done = dispatch(command.unwrap_or_else(|e| e.exit()));
    match done.and_then(|code| terminal::check().map(|()| code)) {
        Ok(code) => code,
        Err(e) => {
            let why = format!("error: {}", visible_lines(&format!("{e:#}")));
            terminal::complain!("{}", terminal::sentences(&why));
            ExitCode::from(if e.is::<WrongUsage>() || e.is::<referee::Misused>() {
                WrongUsage::CODE
            } else {
                1
            })
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode> {
    let root = root()?;
    lab::environment::check()?;
    match command {
        Command::Learn(Learn::Serve(arguments)) => serve::run(&root, &arguments)?,
        Command::Learn(Learn::Exercise(arguments)) => return exercise::run(&root, &arguments),
        Command::Learn(Learn::Check(arguments)) => return check::run(&arguments),
        Command::Learn(Learn::Build(arguments)) => {
            ctrlc::set_handler(|| {
                report::output::abandon();
                std::process::exit(lab::options::INTERRUPTED.into())
            })?;
            book::build(&root, &arguments)?;
        }
        Command::Learn(Learn::Print(arguments)) => print::run(&root, &arguments)?,
        Command::Measure(Measure::Doctor) => doctor::run(&root)?,
        Command::Measure(Measure::List(arguments)) => list::run(&root, &arguments)?,
        Command::Measure(Measure::Run(arguments)) => return run::run(&root, &arguments),
        Command::Measure(Measure::Compare(arguments)) => return compare::run(&root, &arguments),
        Command::Measure(Measure::Import(arguments)) => return import::run(&root, &arguments),
        Command::Contribute(Contribute::New(arguments)) => new::run(&root, &arguments)?,
        Command::Contribute(Contribute::Ptx(arguments)) => ptx::run(&root, &arguments)?,
        Command::Contribute(Contribute::Sass(arguments)) => sass::run(&root, &arguments)?,
        Command::Contribute(Contribute::Engine(arguments)) => engine::run(&root, &arguments)?,
        Command::Contribute(Contribute::CompileKernel { file, compute }) => {
            return ::exercise::compile::compiler(&file, &compute);
        }
        Command::Contribute(Contribute::Preprocess(arguments)) => {
            return book::preprocess(&root, &arguments);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The workbook's top folder.
fn root() -> Result<PathBuf> {
    lab::workspace::root().context(
        "this is not inside a checkout of the workbook (no book/book.toml here or above): \
         change to one first; `check` takes files of other folders by their full paths",
    )
}
