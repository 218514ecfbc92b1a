//! `cargo workbook run`: measure what this machine can measure, then build the book.
//!
//! | file | what is in it |
//! |---|---|
//! | this one | what is asked for, and whether it can be |
//! | `estimate.rs` | how long a run will take |
//! | `measure.rs` | running the experiments' programs |
//! | `summary.rs` | what a run says at its end |

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use lab::emulator;
use lab::gpu::{self, Gpus};
use lab::layout::{self, beside, wrap};
use lab::options::{self, INTERRUPTED};
use lab::place::{self, Plan};
use lab::workspace;
use lessons::Lesson;
use record::names::nearest;
use record::{EMULATED, Results};
use report::this_machine::{checked, skipped};

use crate::book;
use crate::terminal::{WrongUsage, misused, say};
use measure::Ended;

mod estimate;
mod measure;
mod summary;

/// Options of `cargo workbook run`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Only these experiments [default: all]
    experiments: Vec<String>,
    /// GPU to measure, as CUDA numbers them
    #[arg(long, value_name = "N")]
    device: Option<usize>,
    /// Folder name for this machine's records [default: made from the GPU's name]
    #[arg(long, value_name = "NAME", value_parser = options::machine_name)]
    machine: Option<String>,
    /// Keep this run beside others of the machine, under a name, such as before-driver-580
    #[arg(long, value_name = "NAME", value_parser = options::label_name)]
    label: Option<String>,
    /// Take exactly N samples of each case
    #[arg(long, value_name = "N", value_parser = options::samples())]
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
    /// Print what every experiment prints by itself, the cases that its page shows; without, each
    /// has a line if all run
    #[arg(long)]
    tables: bool,
    /// For authors: run one after the other on the emulated GPU, and write how long each took,
    /// by which a run is estimated
    #[arg(long, hide = true, requires = "emulate", conflicts_with = "experiments")]
    weigh: bool,
}

impl Arguments {
    /// Whether all that experiments print is printed, and not a line of each.
    fn prints_tables(&self) -> bool {
        self.tables || !self.experiments.is_empty()
    }
}

/// Runs the experiments and builds the book. An interrupted run keeps what it recorded.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<ExitCode> {
    let wanted = choose(lessons::all(root)?, &arguments.experiments)?;
    if !arguments.replace {
        check_records(root)?;
    }
    let emulated = arguments.emulate || emulator::stands_in();
    if emulated {
        let text = "The experiments run on an emulated GPU, which checks their results and \
                    counts their memory traffic. It has no time, so this changes no number of \
                    the book: they are what the reference machines measured.";
        say!("{}\n", beside(text, 0));
        emulator::load_if_needed();
    }
    let gpus = match gpu::probe() {
        Gpus::None(why) if !emulated => {
            let text = format!(
                "No GPU can be measured here: {}. So nothing is run, and the book shows what the \
                 reference machines recorded.",
                emulator::why_nothing_runs(&why)
            );
            say!("{}\n", beside(&text, 0));
            book::build(root, &book::Arguments::default())?;
            return Ok(ExitCode::SUCCESS);
        }
        Gpus::Count(count) => {
            if let Some(device) = arguments.device.filter(|device| *device >= count) {
                misused!("there is no GPU {device}, only {count} (numbered from 0)");
            }
            (!emulated).then_some(count)
        }
        Gpus::None(_) => None,
    };
    let results = Results::new(root.join("results"));
    let plan = Plan {
        experiments: wanted.iter().map(|lesson| lesson.name.as_str()).collect(),
        machine: arguments.machine.as_deref(),
        device: arguments.device.unwrap_or(0),
        emulated,
        quick: arguments.quick,
        replace: arguments.replace,
    };
    place::check_run(&results.labelled(arguments.label.as_deref())?, &plan)
        .map_err(|e| WrongUsage(format!("{e:#}")))?;
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
    let run = measure::all(root, &wanted, arguments, gpus, &interrupted)?;

    let built = book::build(root, &book::Arguments::default())?;
    summary::of_run(&run, &built.html);
    let next = match built.account.filter(|_| !emulated) {
        Some(account) => {
            summary::of_machine(&account);
            account.next
        }
        None => {
            let machine = arguments.machine.as_deref().unwrap_or(EMULATED);
            let records = run.ended.iter().filter_map(|(lesson, end)| match end {
                Ended::Recorded => results.read(machine, &lesson.name).ok()?,
                _ => None,
            });
            summary::of_cases(&skipped(&records.collect::<Vec<_>>()));
            checked(&results).iter().for_each(|text| summary::paragraph(text));
            vec![]
        }
    };
    summary::next(&next);
    let failed = run.ended.iter().any(|(_, end)| matches!(end, Ended::Failed(_)));
    Ok(if interrupted.load(Ordering::Relaxed) {
        say!("Interrupted: what is listed as recorded is kept.");
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
        let known = all.iter().map(|lesson| lesson.name.as_str());
        match nearest(unknown, known.clone()) {
            Some(near) => {
                misused!("there is no experiment `{unknown}`; did you mean `{near}`?")
            }
            None => {
                let known = known.collect::<Vec<_>>().join(", ");
                let known = wrap(&known, layout::width(), 0);
                misused!("there is no experiment `{unknown}`; there are\n{known}")
            }
        }
    }
    Ok(all.into_iter().filter(|e| names.is_empty() || names.contains(&e.name)).collect())
}

/// Builds the experiments' programs beside this one, with cargo's own progress display.
fn compile(root: &Path, experiments: &[Lesson]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["build", "--profile", workspace::profile()]);
    // With this program's package named, dependencies have the features that they had when it was
    // compiled, so what is compiled already is used again. It is not compiled itself.
    command.args(["--package", "workbook"]);
    for experiment in experiments {
        command.args(["--package", &experiment.name, "--bin", &experiment.name]);
    }
    let lacking = "cargo, which compiles the experiments, cannot be started; \
                   https://rustup.rs installs it";
    if !command.status().context(lacking)?.success() {
        bail!("the experiments do not compile (see above)");
    }
    Ok(())
}
