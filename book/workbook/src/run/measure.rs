//! Running the experiments' programs: in which order, how many at a time, and how each ended.

use std::fmt::{self, Display, Formatter};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result};
use lab::emulator;
use lab::layout;
use lab::options::{CANNOT_RUN, NOT_RECORDED, RECORDED};
use lessons::Lesson;
use record::Results;

use super::{Arguments, estimate, summary};
use crate::terminal::{complain, say};

/// How one experiment ended, and why.
pub(super) enum Ended {
    Recorded,
    NotRecorded(String),
    CannotRun(String),
    Failed(String),
}

/// A run of experiments: how each ended, and the time that it took and was expected to take.
pub(super) struct Run<'l> {
    pub(super) ended: Vec<(&'l Lesson, Ended)>,
    pub(super) expected: Duration,
    pub(super) took: Duration,
}

impl Display for Ended {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Ended::Recorded => f.write_str("recorded"),
            Ended::NotRecorded(why) => write!(f, "not recorded, {why}"),
            Ended::CannotRun(why) => write!(f, "skipped, {why}"),
            Ended::Failed(why) => write!(f, "failed, {why}"),
        }
    }
}

/// Runs the experiments: on a GPU one after the other, so that none disturbs another; on the
/// emulated one, which has no time that could be disturbed, as many at a time as there are cores,
/// and those that take longest first. Of `gpus` that measure there are so many, or none if an
/// emulated one counts.
pub(super) fn all<'l>(
    root: &Path,
    wanted: &'l [Lesson],
    arguments: &Arguments,
    gpus: Option<usize>,
    interrupted: &AtomicBool,
) -> Result<Run<'l>> {
    let results = Results::new(root.join("results"));
    let at_once = gpus.is_none() && !arguments.weigh;
    let workers = match at_once {
        true => std::thread::available_parallelism()?.get().min(wanted.len()),
        false => 1,
    };
    let seconds = estimate::seconds(wanted, &results, gpus, workers, arguments.quick)?;
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    if at_once {
        order.sort_by(|a, b| seconds[*b].total_cmp(&seconds[*a]));
    }
    let expected = estimate::together(order.iter().map(|i| seconds[*i]), workers);
    if wanted.len() > 1 {
        say!("{} experiments, about {}\n", wanted.len(), summary::duration(expected));
    }
    let start = Instant::now();
    let total: f64 = seconds.iter().sum();
    let bold = anstyle::Style::new().bold();
    let head = |number: usize, i: usize, how: &str, done: f64| {
        let left = estimate::left(start.elapsed(), done, total - done);
        let (all, name) = (wanted.len(), &wanted[i].name);
        say!("{bold}[{number}/{all}] {name}{bold:#}{how}{left}");
    };
    let tables = arguments.prints_tables();
    let alone = tables && workers == 1;
    let queue = Mutex::new(order.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let done = Mutex::new((0.0, vec![]));
    let work = || -> Result<()> {
        while !interrupted.load(Ordering::Relaxed)
            && let Some(i) = next()
        {
            if alone {
                let done = done.lock().unwrap_or_else(PoisonError::into_inner);
                head(done.1.len() + 1, i, "", done.0);
            }
            let scale = arguments.weigh.then(estimate::Scale::new).transpose()?;
            let begun = Instant::now();
            let (end, said) = one(root, &wanted[i].name, arguments, alone)?;
            let took = begun.elapsed();
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.0 += seconds[i];
            let number = done.1.len() + 1;
            if !tables {
                head(number, i, &format!(": {end}, {}", summary::duration(took)), done.0);
            } else if !alone {
                head(number, i, "", done.0);
                say!("{}", said.printed.trim_end());
            }
            if (tables || matches!(end, Ended::Failed(_))) && !said.complained.is_empty() {
                complain!("{}", said.complained.trim_end());
            }
            if tables {
                say!();
            }
            let weight = scale.map(|scale| scale.weight()).transpose()?;
            done.1.push((i, end, weight));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        ended.collect::<Result<Vec<()>>>()
    })?;
    let (_, mut done) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(i, ..)| *i);
    if arguments.weigh {
        let weights = done.iter().map(|(i, _, weight)| (wanted[*i].name.as_str(), *weight));
        estimate::store(root, weights.filter_map(|(name, weight)| Some((name, weight?))))?;
    }
    let ended = done.into_iter().map(|(i, end, _)| (&wanted[i], end)).collect();
    Ok(Run { ended, expected, took: start.elapsed() })
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
fn one(root: &Path, name: &str, arguments: &Arguments, alone: bool) -> Result<(Ended, Said)> {
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
