//! `cargo workbook run`: measure what this machine can measure, then build the book.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use lab::emulator;
use lab::gpu::{self, Gpus};
use lab::lessons::{self, Lesson};
use lab::options::{CANNOT_RUN, INTERRUPTED, RECORDED};
use record::Results;

use crate::book;
use crate::terminal::say;

/// Options of `cargo workbook run`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Only these experiments [default: all]
    experiments: Vec<String>,
    /// GPU to measure, as CUDA numbers them
    #[arg(long, value_name = "N")]
    device: Option<usize>,
    /// Folder name for this machine's records [default: made from the GPU's name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Keep this run beside others of the machine, under a name, such as before-driver-580
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Take exactly N samples of each case
    #[arg(long, value_name = "N")]
    samples: Option<u32>,
    /// Fewer samples and smaller sizes: for trying, not for quoting
    #[arg(long)]
    quick: bool,
    /// Run on an emulated GPU, which checks and counts but has no time; without an NVIDIA
    /// driver this is so anyway
    #[arg(long)]
    emulate: bool,
    /// Replace records made on other hardware, or full ones by quick ones
    #[arg(long)]
    replace: bool,
}

/// How one experiment ended.
enum Ended {
    Recorded,
    CannotRun(String),
    Failed(String),
}

/// Runs the experiments and builds the book. An interrupted run keeps what it recorded.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<ExitCode> {
    let wanted = choose(lessons::all(root)?, &arguments.experiments)?;
    if !arguments.replace {
        check_records(root)?;
    }
    let emulated = arguments.emulate || emulator::stands_in();
    if emulated {
        say!(
            "The experiments run on an emulated GPU, which checks their results and \
             counts their memory traffic. It has no time, so the book shows what the \
             reference machines measured.\n"
        );
    } else if let Gpus::None(why) = gpu::probe() {
        say!(
            "No GPU can be measured here: {why}. So nothing is run, and the book shows \
             what the reference machines recorded.\n"
        );
        book::build(root, &book::Arguments::default())?;
        return Ok(ExitCode::SUCCESS);
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;

    if let Err(e) = compile(root, &wanted) {
        if interrupted.load(Ordering::Relaxed) {
            say!("interrupted: nothing was run");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        return Err(e);
    }
    let mut ended = vec![];
    for (i, experiment) in wanted.iter().enumerate() {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let bold = anstyle::Style::new().bold();
        say!("{bold}[{}/{}]{bold:#} {}", i + 1, wanted.len(), experiment.name);
        ended.push((
            experiment.name.as_str(),
            measure(root, &experiment.name, arguments)?,
        ));
        say!();
    }

    book::build(root, &book::Arguments::default())?;
    let is_recorded = |(_, end): &&(&str, Ended)| matches!(end, Ended::Recorded);
    let recorded: Vec<&str> =
        ended.iter().filter(is_recorded).map(|(name, _)| *name).collect();
    if !recorded.is_empty() {
        say!("recorded: {}", recorded.join(", "));
    }
    for (name, end) in &ended {
        match end {
            Ended::Recorded => {}
            Ended::CannotRun(why) => say!("skipped: {name}: {why}"),
            Ended::Failed(why) => say!("failed: {name}: {why}"),
        }
    }
    let failed = ended.iter().any(|(_, end)| matches!(end, Ended::Failed(_)));
    Ok(if interrupted.load(Ordering::Relaxed) {
        say!("interrupted: what is listed as recorded is kept");
        ExitCode::from(INTERRUPTED)
    } else if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Fails if a reference machine's record cannot be read, without which no book is built:
/// better before an hour of measuring than after it.
fn check_records(root: &Path) -> Result<()> {
    let results = Results::new(root.join("results"));
    for machine in results.references()? {
        for (run, experiment) in results.all(&machine)? {
            run.read(&machine, &experiment)?;
        }
    }
    Ok(())
}

fn choose(all: Vec<Lesson>, names: &[String]) -> Result<Vec<Lesson>> {
    if let Some(unknown) = names.iter().find(|n| all.iter().all(|e| e.name != **n)) {
        let known: Vec<_> = all.iter().map(|e| e.name.as_str()).collect();
        bail!("there is no experiment `{unknown}`; there are {}", known.join(", "));
    }
    Ok(all
        .into_iter()
        .filter(|e| names.is_empty() || names.contains(&e.name))
        .collect())
}

/// Builds the experiments' programs, with cargo's own progress display.
fn compile(root: &Path, experiments: &[Lesson]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["build", "--release"]);
    for experiment in experiments {
        command.args(["--package", &experiment.name]);
    }
    if !command.status().context("cannot start cargo")?.success() {
        bail!("the experiments do not compile (see above)");
    }
    Ok(())
}

/// Runs one experiment. Its table goes straight to the terminal; its reason, if it could
/// not run or failed, is kept for the summary.
fn measure(root: &Path, name: &str, arguments: &Arguments) -> Result<Ended> {
    let folder = std::env::current_exe()?;
    let program =
        folder.parent().context("this program lies in a folder")?.join(name);
    let mut command = Command::new(&program);
    command.current_dir(root).stderr(Stdio::piped());
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            command.args([name, &value]);
        }
    };
    option("--device", arguments.device.map(|n| n.to_string()));
    option("--machine", arguments.machine.clone());
    option("--label", arguments.label.clone());
    option("--samples", arguments.samples.map(|n| n.to_string()));
    command.args(arguments.quick.then_some("--quick"));
    command.args(arguments.emulate.then_some(emulator::OPTION));
    command.args(arguments.replace.then_some("--replace"));
    let mut child =
        command.spawn().with_context(|| program.display().to_string())?;
    let mut why = String::new();
    let unable = format!("{name} cannot run on this machine: ");
    for line in BufReader::new(child.stderr.take().context("piped above")?).lines() {
        let line = line?;
        let _ = writeln!(anstream::stderr(), "{line}"); // a closed terminal is no failure
        let reason = line.strip_prefix("error: ").or(line.strip_prefix(&unable));
        match reason {
            Some(reason) => why = reason.to_owned(),
            None if why.is_empty() => why = line, // advice follows a reason
            None => {}
        }
    }
    let status = child.wait()?;
    Ok(match status.code() {
        Some(code) if code == i32::from(RECORDED) => Ended::Recorded,
        Some(code) if code == i32::from(CANNOT_RUN) => Ended::CannotRun(why),
        Some(_) => Ended::Failed(why),
        None => Ended::Failed(format!("ended by {status}")),
    })
}
