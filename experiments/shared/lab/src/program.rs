//! An experiment as a program: options, outcome, exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use cudarc::driver::{DriverError, sys};

use crate::compiler;
use crate::counters;
use crate::emulator::{self, Emulator};
use crate::environment;
use crate::gpu::{self, Gpus};
use crate::kernel::Kernel;
use crate::layout;
use crate::options::{CANNOT_RUN, CannotRun, FAILED, Options, RECORDED};
use crate::place;
use crate::session::Lab;
use crate::terminal::Table;
use crate::workspace;
use anyhow::{Result, bail};
use record::file::visible_lines;

/// Runs a lesson as a program ([`run()`]) that is called like its package. Its question is the
/// first line of its `main.rs`.
#[macro_export]
macro_rules! run {
    ($kernel:expr, $experiment:expr) => {{
        let source = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/main.rs"));
        let question = $crate::program::question(source);
        $crate::run(env!("CARGO_PKG_NAME"), question, $kernel, $experiment)
    }};
}

/// The question that the first line of a lesson's source asks.
pub fn question(source: &'static str) -> &'static str {
    let question = source.lines().next().and_then(|line| line.strip_prefix("//! # "));
    question.expect("main.rs begins with `//! # ` and the question")
}

/// Runs an experiment as a program: reads the options, finds the GPU, lets `experiment`
/// measure, writes the record, and says in the exit code how it went
/// ([`crate::options`]). `about` is the experiment's question, for `--help`. A kernel is
/// named unless the experiment only copies.
pub fn run(
    name: &'static str,
    about: &'static str,
    kernel: Option<Kernel>,
    experiment: impl FnOnce(&mut Lab) -> Result<()>,
) -> ExitCode {
    // What every lesson would otherwise compile anew takes the closure by reference.
    let mut experiment = Some(experiment);
    let mut once = |lab: &mut Lab| experiment.take().expect("it is called once")(lab);
    run_with(std::env::args_os().collect(), name, about, kernel, &mut once)
}

/// [`run`] with these arguments, the program's name first. `experiment` is called once.
pub fn run_with(
    arguments: Vec<OsString>,
    name: &'static str,
    about: &'static str,
    kernel: Option<Kernel>,
    experiment: &mut dyn FnMut(&mut Lab) -> Result<()>,
) -> ExitCode {
    emulator::load_if_needed();
    let command = layout::wrap_help(Options::command().name(name).about(about));
    let matches = command.try_get_matches_from(arguments);
    let options = matches.and_then(|matches| Options::from_arg_matches(&matches));
    let options = options.unwrap_or_else(|e| e.exit());
    if options.version {
        Table::new(false).line(&workspace::version(name));
        return ExitCode::from(RECORDED);
    }
    let conducted = conduct(name, kernel, options, experiment);
    let Err(e) = conducted else { return ExitCode::from(RECORDED) };
    let Some(why) = e.downcast_ref::<CannotRun>() else {
        if let Some(emulator) = Emulator::loaded() {
            emulator.explanations().lines().for_each(Table::complain);
        }
        let why = visible_lines(&gpu::explain_all(&e));
        Table::complain(&format!("error: {why}{}", hint(&e)));
        return ExitCode::from(FAILED);
    };
    Table::complain(&format!(
        "{name} cannot run on this machine: {why}.\n\
         Nothing was recorded; `cargo workbook doctor` says more, and the book shows what \
         the reference machines measured.{}",
        if Emulator::loaded().is_none() && emulator::find().is_some() {
            " An emulated GPU runs it with --emulate."
        } else {
            ""
        }
    ));
    ExitCode::from(CANNOT_RUN)
}

fn conduct(
    name: &'static str,
    kernel: Option<Kernel>,
    mut options: Options,
    experiment: &mut dyn FnMut(&mut Lab) -> Result<()>,
) -> Result<()> {
    environment::check()?;
    compiler::choose(options.compiler);
    let emulator = Emulator::loaded();
    if emulator.is_none() && (options.emulate || emulator::has_failed()) {
        bail!(CannotRun(emulator::why_not()));
    }
    // Without a time, large sizes tell no more than small ones.
    options.quick |= emulator.is_some();
    match gpu::probe() {
        Gpus::None(why) => bail!(CannotRun(emulator::why_nothing_runs(&why))),
        Gpus::Count(n) if options.device >= n => bail!(CannotRun(format!(
            "there is no GPU {}, only {n} (numbered from 0)",
            options.device
        ))),
        Gpus::Count(_) => {}
    }
    let profiled = options.counters && emulator.is_none();
    if profiled && counters::skeleton()?.is_none() {
        Table::new(options.json)
            .line(&format!("{name}: counting under ncu, which runs it several times"));
        return place::store(&counters::count()?, &options);
    }
    let mut lab = Lab::start(name, kernel, options, emulator)?;
    experiment(&mut lab)?;
    lab.finish()
}

/// What to do about the errors that people meet.
fn hint(error: &anyhow::Error) -> &'static str {
    use sys::CUresult as C;
    match error.chain().find_map(|e| e.downcast_ref::<DriverError>()).map(|e| e.0) {
        Some(C::CUDA_ERROR_OUT_OF_MEMORY) => {
            "\nThe GPU or the host ran out of memory: close other programs that use it \
             (nvidia-smi lists them), or try --quick, which takes less."
        }
        Some(C::CUDA_ERROR_UNSUPPORTED_PTX_VERSION) => {
            "\nThe driver is older than CUDA 12.4: update it."
        }
        Some(C::CUDA_ERROR_NO_BINARY_FOR_GPU) => {
            "\nThis GPU is older than the kernels ask for (compute capability 7.5)."
        }
        _ => "",
    }
}
