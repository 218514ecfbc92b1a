//! `cargo workbook run`: measure what this machine can measure, then build the book.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result, bail};
use lab::emulator;
use lab::gpu::{self, Gpus};
use lab::layout::{self, beside, wrap};
use lab::options::{self, CANNOT_RUN, INTERRUPTED, NOT_RECORDED, RECORDED};
use lab::workspace;
use lessons::Lesson;
use record::{EMULATED, Results};
use report::this_machine::skipped;

use crate::book;
use crate::terminal::{complain, say};

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

/// How one experiment ended, and why.
enum Ended {
    Recorded,
    NotRecorded(String),
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
        let text = "The experiments run on an emulated GPU, which checks their results and \
                    counts their memory traffic. It has no time, so the book shows what the \
                    reference machines measured.";
        say!("{}\n", beside(text, 0));
        emulator::load_if_needed();
    }
    match gpu::probe() {
        Gpus::None(why) if !emulated => {
            say!(
                "No GPU can be measured here: {why}. So nothing is run, and the book shows \
                 what the reference machines recorded.\n"
            );
            book::build(root, &book::Arguments::default())?;
            return Ok(ExitCode::SUCCESS);
        }
        Gpus::Count(count) => {
            if let Some(device) = arguments.device.filter(|device| *device >= count) {
                bail!("there is no GPU {device}, only {count} (numbered from 0)");
            }
        }
        Gpus::None(_) => {}
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
    let results = Results::new(root.join("results"));
    let start = Instant::now();
    let ended = measure_all(root, &wanted, arguments, emulated, &interrupted)?;
    let elapsed = start.elapsed();

    let built = book::build(root, &book::Arguments::default())?;
    summary::of_run(&ended, elapsed, &built.html);
    match built.account.filter(|_| !emulated) {
        Some(account) => summary::of_machine(&account),
        None => {
            let machine = arguments.machine.as_deref().unwrap_or(EMULATED);
            let records = ended.iter().filter_map(|(lesson, end)| match end {
                Ended::Recorded => results.read(machine, &lesson.name).ok()?,
                _ => None,
            });
            summary::of_cases(&skipped(&records.collect::<Vec<_>>()));
        }
    }
    let failed = ended.iter().any(|(_, end)| matches!(end, Ended::Failed(_)));
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

/// The one of `names` that was probably meant by `name`.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let likeness = |near: &&str| strsim::jaro_winkler(name, near);
    let near = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    near.filter(|near| likeness(near) > ALIKE)
}

fn choose(all: Vec<Lesson>, names: &[String]) -> Result<Vec<Lesson>> {
    if let Some(unknown) = names.iter().find(|n| all.iter().all(|e| e.name != **n)) {
        let known = all.iter().map(|lesson| lesson.name.as_str());
        match nearest(unknown, known.clone()) {
            Some(near) => {
                bail!("there is no experiment `{unknown}`; did you mean `{near}`?")
            }
            None => {
                let known = known.collect::<Vec<_>>().join(", ");
                let known = wrap(&known, layout::width(), 0);
                bail!("there is no experiment `{unknown}`; there are\n{known}")
            }
        }
    }
    Ok(all.into_iter().filter(|e| names.is_empty() || names.contains(&e.name)).collect())
}

/// Names at least so much alike, of at most 1, are taken for one that was misspelt.
const ALIKE: f64 = 0.85;

/// Seconds that a case takes beside its samples: preparation, warm-up, checks. What matters is
/// their proportion.
const BESIDE_SAMPLES: f64 = 0.3;

/// How long an experiment takes, in proportion to others: by its record of this machine's kind
/// or of a reference machine's.
fn weight(results: &Results, name: &str, emulated: bool) -> f64 {
    let own = if emulated { Some(EMULATED.to_owned()) } else { None };
    let references = results.references().unwrap_or_default();
    let mut machines = own.into_iter().chain(references);
    let record = machines.find_map(|machine| results.read(&machine, name).ok()?);
    record.map_or(0.0, |record| {
        let sampled = record
            .measurements
            .iter()
            .map(|m| f64::from(m.operations_per_sample) * m.seconds.iter().sum::<f64>());
        let sampled = if emulated { 0.0 } else { sampled.sum() };
        sampled + BESIDE_SAMPLES * record.measurements.len() as f64
    })
}

/// What is said of the time that is left after experiments that weigh `done`, if those to come
/// weigh `to_come`: nothing while there is little to go by, or if it is less than a minute.
fn left(elapsed: Duration, done: f64, to_come: f64) -> String {
    let left = Duration::try_from_secs_f64(elapsed.as_secs_f64() * to_come / done);
    match left {
        Ok(left) if done > to_come / 20.0 && left >= Duration::from_secs(60) => {
            format!(", about {} left", summary::duration(left))
        }
        _ => String::new(),
    }
}

/// Runs the experiments: on a GPU one after the other, so that none disturbs another; on the
/// emulated one, which has no time that could be disturbed, as many at a time as there are cores,
/// and those that take longest first.
fn measure_all<'l>(
    root: &Path,
    wanted: &'l [Lesson],
    arguments: &Arguments,
    emulated: bool,
    interrupted: &AtomicBool,
) -> Result<Vec<(&'l Lesson, Ended)>> {
    let results = Results::new(root.join("results"));
    let weights: Vec<f64> =
        wanted.iter().map(|lesson| weight(&results, &lesson.name, emulated)).collect();
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    let mut workers = 1;
    if emulated {
        order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
        workers = std::thread::available_parallelism()?.get().min(wanted.len());
    }
    let start = Instant::now();
    let total: f64 = weights.iter().sum();
    let head = |number: usize, i: usize, done: f64| {
        let (bold, left) =
            (anstyle::Style::new().bold(), left(start.elapsed(), done, total - done));
        say!("{bold}[{number}/{}] {}{bold:#}{left}", wanted.len(), wanted[i].name);
    };
    let queue = Mutex::new(order.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let ended = Mutex::new((0.0, vec![]));
    let work = || -> Result<()> {
        while !interrupted.load(Ordering::Relaxed)
            && let Some(i) = next()
        {
            if workers == 1 {
                let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                head(ended.1.len() + 1, i, ended.0);
            }
            let (end, said) = measure(root, &wanted[i].name, arguments, workers == 1)?;
            let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.0 += weights[i];
            ended.1.push((i, end));
            if workers > 1 {
                head(ended.1.len(), i, ended.0);
                say!("{}", said.printed.trim_end());
                if !said.complained.is_empty() {
                    complain!("{}", said.complained.trim_end());
                }
            }
            say!();
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        ended.collect::<Result<Vec<()>>>()
    })?;
    let (_, mut ended) = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended.sort_by_key(|(i, _)| *i);
    Ok(ended.into_iter().map(|(i, end)| (&wanted[i], end)).collect())
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

/// What an experiment that does not run alone has printed, on standard output and on standard
/// error.
#[derive(Default)]
struct Said {
    printed: String,
    complained: String,
}

/// Runs one experiment. What it prints goes straight to the terminal if it runs `alone`, and is
/// returned otherwise; its reason, if it could not run or failed, is kept for the summary.
fn measure(root: &Path, name: &str, arguments: &Arguments, alone: bool) -> Result<(Ended, Said)> {
    let folder = std::env::current_exe()?;
    let program = folder.parent().context("this program lies in a folder")?.join(name);
    let mut command = Command::new(&program);
    command.current_dir(root).stderr(Stdio::piped());
    if !alone {
        // It prints as if it had the terminal for itself.
        command.stdout(Stdio::piped()).env("COLUMNS", layout::width().to_string());
        if AutoStream::choice(&std::io::stdout()) != ColorChoice::Never {
            command.env("CLICOLOR_FORCE", "1");
        }
    }
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
    let mut child = command.spawn().with_context(|| program.display().to_string())?;
    let printed = child.stdout.take().map(|mut stdout| {
        std::thread::spawn(move || {
            let mut printed = vec![];
            stdout.read_to_end(&mut printed).map(|_| printed)
        })
    });
    let (mut why, mut not_recorded, mut said) = (String::new(), None, Said::default());
    let unable = format!("{name} cannot run on this machine: ");
    for line in BufReader::new(child.stderr.take().context("piped above")?).lines() {
        let line = line?;
        if alone {
            complain!("{line}");
        } else {
            said.complained += &format!("{line}\n");
        }
        if let Some(reason) = line.strip_prefix(NOT_RECORDED) {
            not_recorded = Some(reason.to_owned());
            continue;
        }
        let reason = line.strip_prefix("error: ").or(line.strip_prefix(&unable));
        match reason {
            Some(reason) => why = reason.to_owned(),
            None if why.is_empty() => why = line, // advice follows a reason
            None => {}
        }
    }
    let status = child.wait()?;
    if let Some(reader) = printed {
        let printed = reader.join().expect("reading panics never")?;
        said.printed = String::from_utf8_lossy(&printed).into_owned();
    }
    let ended = match status.code() {
        Some(code) if code == i32::from(RECORDED) => match not_recorded {
            Some(why) => Ended::NotRecorded(why),
            None => Ended::Recorded,
        },
        Some(code) if code == i32::from(CANNOT_RUN) => Ended::CannotRun(why),
        Some(_) => Ended::Failed(why),
        None => Ended::Failed(format!("ended by {status}")),
    };
    Ok((ended, said))
}
