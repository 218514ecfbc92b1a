//! The options that all experiments share, and the exit codes.

use std::path::PathBuf;

use crate::compiler;

/// The record was written.
pub const RECORDED: u8 = 0;
/// The experiment failed; no record was written (or it could not be printed).
pub const FAILED: u8 = 1;
/// This machine cannot run the experiment: no driver, no GPU, too few GPUs.
pub const CANNOT_RUN: u8 = 77;
/// Exit code: interrupted by Ctrl-C, as shells report it.
pub const INTERRUPTED: u8 = 130;

/// How the line on standard error begins that says why an earlier record stays, although the
/// experiment has run.
pub const NOT_RECORDED: &str = "not recorded: ";

/// Options of every experiment.
#[derive(Clone, Debug, clap::Parser)]
#[command(after_help = "Exit codes: 0 recorded, 1 failed, 2 wrong usage, 77 cannot run on \
this machine (no driver, no GPU, too few GPUs).")]
pub struct Options {
    /// GPU to measure, as CUDA numbers them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: usize,
    /// Folder name for this machine's records [default: made from the GPU's name]
    #[arg(long, value_name = "NAME", value_parser = machine_name)]
    pub machine: Option<String>,
    /// Keep this run beside others of the machine, under a name, such as before-driver-580
    #[arg(long, value_name = "NAME", value_parser = label_name)]
    pub label: Option<String>,
    /// Take exactly N samples of each case [default: as many as the spread asks for]
    #[arg(long, value_name = "N", value_parser = samples())]
    pub samples: Option<u32>,
    /// Folder of the records [default: `results` of the workbook]
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Fewer samples and smaller sizes: for trying, not for quoting
    #[arg(long)]
    pub quick: bool,
    /// Replace a record made on other hardware, a full one by a quick one, one with this label, or
    /// emulated counts of committed sources by those of edited ones
    #[arg(long)]
    pub replace: bool,
    /// Run on an emulated GPU, which checks and counts but has no time; without an NVIDIA
    /// driver this is so anyway
    #[arg(long)]
    pub emulate: bool,
    /// Count memory traffic with Nsight Compute (ncu) instead of timing; on an emulated GPU,
    /// show what each line of a kernel did
    #[arg(long)]
    pub counters: bool,
    /// nvrtc or clang, for kernels that were edited [default: NVRTC, or clang where there is none]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub compiler: Option<compiler::Choice>,
    /// Print every case as soon as it is measured [default: at the end, those that the page shows]
    #[arg(long, conflicts_with = "page")]
    pub all: bool,
    /// Print the cases that this page shows [default: the page that is called like the experiment]
    #[arg(long, value_name = "NAME")]
    pub page: Option<String>,
    /// Print the record as JSON on standard output (the table goes to standard error)
    #[arg(long)]
    pub json: bool,
    /// Print the name and the revision of the sources
    #[arg(long, short = 'V')]
    pub version: bool,
}

/// How many samples there may be.
pub fn samples() -> impl clap::builder::TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=100_000)
}

/// A name that a machine's folder may have.
pub fn machine_name(name: &str) -> Result<String, String> {
    usable("machine", name)
}

/// A label that a run may have.
pub fn label_name(name: &str) -> Result<String, String> {
    usable("label", name)
}

fn usable(what: &'static str, name: &str) -> Result<String, String> {
    record::file::check_name(what, name).map(|()| name.to_owned()).map_err(|e| e.to_string())
}

/// Why this machine cannot run an experiment, as the rest of a sentence. A lesson that
/// returns it as its error ends with [`CANNOT_RUN`].
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct CannotRun(pub String);
