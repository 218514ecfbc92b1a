//! An experiment as a program: options, outcome, exit code.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use cudarc::driver::{DriverError, sys};

use crate::counters;
use crate::emulator::{self, Emulator};
use crate::gpu::{self, Gpus};
use crate::kernel::Kernel;
use crate::libraries;
use crate::options::{CannotRun, Options, Outcome};
use crate::place;
use crate::session::Lab;
use crate::terminal::Table;
use anyhow::Result;

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
    libraries::expose(&[libraries::NVRTC]);
    let command = Options::command().name(name).about(about);
    let options = command
        .try_get_matches()
        .and_then(|matches| Options::from_arg_matches(&matches));
    let options = options.unwrap_or_else(|e| {
        libraries::tidy();
        e.exit()
    });
    let outcome = conduct(name, kernel, options, experiment);
    libraries::tidy();
    match &outcome {
        Outcome::Recorded => {}
        Outcome::Failed(e) => {
            anstream::eprintln!("error: {}{}", gpu::explain_all(e), hint(e));
        }
        Outcome::CannotRun(why) => anstream::eprintln!(
            "{name} cannot run on this machine: {why}.\n\
             Nothing was recorded; `cargo workbook doctor` says more, and the book shows \
             what the reference machines measured.{}",
            if Emulator::loaded().is_none() && emulator::find().is_some() {
                " An emulated GPU runs it with --emulate."
            } else {
                ""
            }
        ),
    }
    outcome.exit_code()
}

fn conduct(
    name: &str,
    kernel: Option<Kernel>,
    mut options: Options,
    experiment: impl FnOnce(&mut Lab) -> Result<()>,
) -> Outcome {
    let emulator = Emulator::loaded();
    if options.emulate && emulator.is_none() {
        let why = "the emulated driver does not lie beside the program";
        return Outcome::CannotRun(CannotRun(why.to_owned()));
    }
    // Without a time, large sizes tell no more than small ones.
    options.quick |= emulator.is_some();
    match gpu::probe() {
        Gpus::None(why) => return Outcome::CannotRun(CannotRun(why)),
        Gpus::Count(n) if options.device >= n => {
            let why = format!(
                "there is no GPU {}, only {n} (numbered from 0)",
                options.device
            );
            return Outcome::CannotRun(CannotRun(why));
        }
        Gpus::Count(_) => {}
    }
    let profiled = options.counters && emulator.is_none();
    let recorded = if profiled && counters::skeleton().is_none() {
        Table::new(options.json).line(&format!(
            "{name}: counting under ncu, which runs it several times"
        ));
        counters::count().and_then(|record| place::store(&record, &options))
    } else {
        Lab::start(name, kernel, options, emulator).and_then(|mut lab| {
            experiment(&mut lab)?;
            lab.finish()
        })
    };
    match recorded {
        Ok(()) => Outcome::Recorded,
        Err(e) => match e.downcast() {
            Ok(why) => Outcome::CannotRun(why),
            Err(e) => Outcome::Failed(e),
        },
    }
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
