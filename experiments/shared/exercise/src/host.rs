//! Host code is compiled, run on emulated GPUs, and judged by the ledger of what it did.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use ledger::{Engine, Ledger, Schedule};
use record::file::lock;
use referee::check::{Host, ORDER, RESULT};
use referee::outcome::{Line, Outcome, State};

use crate::catalogue::Exercise;
use crate::process::{self, Bounds};
use report::Report;

mod build;
mod report;

/// What a trial may take.
const BOUNDS: Bounds =
    Bounds { time: Duration::from_secs(10), output_bytes: 1 << 20, memory_bytes: 4 << 30 };
/// Characters of a line of the picture.
const WIDTH: usize = 90;

pub struct Judge<'e> {
    pub(crate) exercise: &'e Exercise,
    root: PathBuf,
    together: RefCell<Option<Together>>,
}

/// Files that are compiled together, and the program.
struct Together {
    files: Vec<PathBuf>,
    program: PathBuf,
    _alone: File,
}

/// A program, and which of its files is to be checked.
struct Program {
    path: PathBuf,
    number: usize,
}

/// What is tried: a number of GPUs, their memory, and which schedule. 0 is the one in which nothing
/// overtakes.
#[derive(Clone, Copy)]
struct Attempt {
    gpus: u32,
    memory_mib: u32,
    schedule: u32,
}

impl Attempt {
    /// What is tried of an exercise: each number of GPUs with each size of memory, and under other
    /// schedules with the last one.
    fn all(host: &Host) -> Vec<Attempt> {
        let mut all = vec![];
        for gpus in &host.gpus {
            for (place, memory_mib) in host.memory_mib.iter().enumerate() {
                let is_last = place + 1 == host.memory_mib.len();
                let schedules = if is_last { host.schedules } else { 0 };
                let (gpus, memory_mib) = (*gpus, *memory_mib);
                let of = |schedule| Attempt { gpus, memory_mib, schedule };
                all.extend((0..=schedules).map(of));
            }
        }
        all
    }
}

impl<'e> Judge<'e> {
    pub fn new(exercise: &'e Exercise, root: &Path) -> Judge<'e> {
        let together = RefCell::default();
        Judge { exercise, root: root.to_owned(), together }
    }

    /// Compiles files together: quicker than one by one, if they will all be checked.
    pub fn compile_together(&self, paths: &[PathBuf]) -> Result<()> {
        let _alone = self.alone()?;
        // Where one does not compile, each is compiled on its own and says why.
        if let Ok(program) = self.build(paths)? {
            let files = paths.to_vec();
            *self.together.borrow_mut() = Some(Together { files, program, _alone });
        }
        Ok(())
    }

    /// What is right and wrong with this source, which is in `path` and of which messages speak as
    /// of `file`.
    pub(crate) fn check(&self, file: &str, path: &Path, source: &str) -> Result<Outcome> {
        self.check_on(&self.exercise.check.host, file, path, source)
    }

    /// Checks a source on GPUs other than those that `check.toml` asks for.
    pub(crate) fn check_on(
        &self,
        host: &Host,
        file: &str,
        path: &Path,
        source: &str,
    ) -> Result<Outcome> {
        let _alone = match &*self.together.borrow() {
            Some(_) => None,
            None => Some(self.alone()?),
        };
        let program = match self.compile(path)? {
            Ok(program) => program,
            Err(said) => {
                let said = said.replace(&*path.to_string_lossy(), file);
                return Ok(Outcome::uncompiled(said, ORDER, &self.exercise.check));
            }
        };
        let mut outcome = Outcome::default();
        let attempts = Attempt::all(host);
        let mut orders = vec![];
        let mut last = Report::default();
        for (attempt, report) in attempts.iter().zip(self.run_all(&program, &attempts)?) {
            if let Some(wrong) = &report.wrong {
                let wrong = wrong.replace(&*path.to_string_lossy(), file);
                let wrong = wrong + &conditions(host, attempt);
                self.fail(&mut outcome, file, source, &report, &wrong)?;
                return Ok(outcome);
            }
            // What is counted is what happens when nothing overtakes.
            if attempt.schedule == 0 {
                orders.extend(report.ledgers.iter().cloned());
                last = report;
            }
        }
        let mut tried = last.runs.join(", ");
        if host.memory_mib.len() > 1 {
            let sizes = host.memory_mib.iter().map(|mib| format!("{mib} MiB"));
            let sizes = sizes.collect::<Vec<_>>().join(", ");
            tried += &format!("; with memory of {sizes}");
        }
        if host.schedules > 0 {
            tried += &format!("; the same under {} more schedules", host.schedules);
        }
        outcome.row(RESULT, State::Good, tried);
        outcome.printed.clone_from(&last.printed);
        match conflict(&orders)? {
            Some(conflict) => outcome.bad(ORDER, conflict, None),
            None => outcome.row(ORDER, State::Good, ""),
        }
        let ledger = last.ledgers.last().map_or("", String::as_str).parse()?;
        self.judge(&mut outcome, &ledger, &last)?;
        Ok(outcome)
    }

    /// A program with this file in it. The inner error is the compiler's.
    fn compile(&self, path: &Path) -> Result<Result<Program, String>> {
        if let Some(together) = &*self.together.borrow()
            && let Some(number) = together.files.iter().position(|file| file == path)
        {
            return Ok(Ok(Program { path: together.program.clone(), number }));
        }
        let built = self.build(&[path.to_owned()])?;
        Ok(built.map(|path| Program { path, number: 0 }))
    }

    /// Waits until no other check compiles or runs host code, in this process or another one:
    /// the program has the same name for all.
    fn alone(&self) -> Result<File> {
        Ok(lock(&self.root.join("target/trial.lock"))?)
    }

    /// Compiles files with the exercise's check.
    fn build(&self, files: &[PathBuf]) -> Result<Result<PathBuf, String>> {
        build::program(&self.root, &self.exercise.folder.join("check.rs"), files)
    }

    /// All attempts, as many at a time as there are cores; their reports in the same order. After
    /// one that fails, none begins.
    fn run_all(&self, program: &Program, attempts: &[Attempt]) -> Result<Vec<Report>> {
        let folder = tempfile::tempdir().context("for the reports")?;
        let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let work = || -> Result<Vec<_>> {
            let mut done = vec![];
            loop {
                let number = next.fetch_add(1, Relaxed);
                let attempt = attempts.get(number).filter(|_| !has_failed.load(Relaxed));
                let Some(attempt) = attempt else { return Ok(done) };
                let file = folder.path().join(number.to_string());
                let report = run(program, *attempt, &file)?;
                has_failed.fetch_or(report.wrong.is_some(), Relaxed);
                done.push((number, report));
            }
        };
        let mut all: Vec<(usize, Report)> = vec![];
        std::thread::scope(|scope| -> Result<()> {
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            for thread in threads {
                let done = thread.join().map_err(|_| anyhow!("an attempt has panicked"))?;
                all.extend(done?);
            }
            Ok(())
        })?;
        all.sort_by_key(|(number, _)| *number);
        Ok(all.into_iter().map(|(_, report)| report).collect())
    }

    /// A wrong result; what nothing orders may be why.
    fn fail(
        &self,
        outcome: &mut Outcome,
        file: &str,
        source: &str,
        report: &Report,
        wrong: &str,
    ) -> Result<()> {
        let line = panicked_at(file, wrong).and_then(|number| Line::of(source, number));
        outcome.bad(RESULT, wrong.to_owned(), line);
        outcome.printed.clone_from(&report.printed);
        match conflict(&report.ledgers)? {
            Some(conflict) => outcome.bad(ORDER, conflict, None),
            None => outcome.row(ORDER, State::Open, ""),
        }
        outcome.leave_open(&[], &self.exercise.check);
        Ok(())
    }

    fn judge(&self, outcome: &mut Outcome, ledger: &Ledger, report: &Report) -> Result<()> {
        let check = &self.exercise.check;
        let schedule = ledger::schedule(ledger, &check.host.costs);
        let of = |name: &str| {
            let size = report.sizes.get(name).copied();
            size.or_else(|| count(ledger, &schedule, name))
        };
        for demand in &check.demands {
            let (is_met, text) = demand.judge(of)?;
            let state = if is_met { State::Good } else { State::Bad };
            outcome.row(&demand.name, state, text);
        }
        if check.demands.iter().any(|demand| demand.value.names("makespan")) {
            outcome.timeline = ledger::timeline(&schedule, WIDTH);
        }
        Ok(())
    }
}

/// What is special about an attempt that failed.
fn conditions(host: &Host, attempt: &Attempt) -> String {
    let mut conditions = vec![];
    if attempt.schedule > 0 {
        conditions.push("when streams overtake each other, as they may".to_owned());
    }
    if host.memory_mib.len() > 1 {
        conditions.push(format!("with {} MiB of memory", attempt.memory_mib));
    }
    if conditions.is_empty() { String::new() } else { format!(" ({})", conditions.join(", ")) }
}

/// Runs the program, which reports to `file`.
fn run(program: &Program, attempt: Attempt, file: &Path) -> Result<Report> {
    let Attempt { gpus, memory_mib, schedule } = attempt;
    let mut command = Command::new(&program.path);
    command
        .arg(lab::emulator::OPTION)
        .arg(program.number.to_string())
        .arg(file)
        .env("WORKBOOK_EMULATED_GPUS", gpus.to_string())
        .env("WORKBOOK_EMULATED_MEMORY", memory_mib.to_string())
        // What to put right is told without it, and where memory is short it takes for ever.
        .env("RUST_BACKTRACE", "0")
        .env_remove("WORKBOOK_EMULATED_GPU")
        .env_remove("WORKBOOK_EMULATED_SCHEDULE")
        .env_remove("CUDA_VISIBLE_DEVICES");
    if schedule > 0 {
        command.env("WORKBOOK_EMULATED_SCHEDULE", schedule.to_string());
    }
    let ended = process::run(command, "", BOUNDS)?;
    let told = std::fs::read(file).unwrap_or_default();
    Ok(Report::of(&String::from_utf8_lossy(&told), ended))
}

/// The first pair of operations that nothing orders, in any of these ledgers.
fn conflict(ledgers: &[String]) -> Result<Option<String>> {
    for text in ledgers {
        let ledger: Ledger = text.parse()?;
        if let Some(conflict) = ledger::unordered(&ledger).first() {
            return Ok(Some(conflict.to_string()));
        }
    }
    Ok(None)
}

fn count(ledger: &Ledger, schedule: &Schedule, name: &str) -> Option<f64> {
    let totals = ledger::totals(ledger);
    if let Some(call) = name.strip_prefix("calls.") {
        return Some(ledger.calls.get(call).copied().unwrap_or(0) as f64);
    }
    let busy = |wanted: fn(&Engine) -> bool| {
        let runs = schedule.runs.iter();
        let runs = runs.filter(|run| run.engine.as_ref().is_some_and(wanted));
        runs.map(|run| run.end - run.start).sum::<f64>()
    };
    let number = match name {
        "launches" => totals.launches,
        "uploads" => totals.uploads.count,
        "upload_bytes" => totals.uploads.bytes,
        "downloads" => totals.downloads.count,
        "download_bytes" => totals.downloads.bytes,
        "device_copies" => totals.device_copies.count,
        "device_copy_bytes" => totals.device_copies.bytes,
        "peer_copies" => totals.peer_copies.count,
        "peer_copy_bytes" => totals.peer_copies.bytes,
        "prefetches" => totals.prefetches.count,
        "prefetch_bytes" => totals.prefetches.bytes,
        "faults" => ledger::residence(ledger).faults,
        "fills" => totals.fills.count,
        "allocations" => totals.allocations.values().sum(),
        "makespan" => return Some(schedule.makespan()),
        "upload_time" => {
            return Some(busy(|engine| matches!(engine, Engine::Upload(_))));
        }
        "download_time" => {
            return Some(busy(|engine| matches!(engine, Engine::Download(_))));
        }
        "kernel_time" => {
            return Some(busy(|engine| matches!(engine, Engine::Compute(_))));
        }
        "peer_time" => {
            return Some(busy(|engine| matches!(engine, Engine::Link { .. })));
        }
        _ => return None,
    };
    Some(number as f64)
}

/// The line of `file` in which a program panicked, if it did: `panicked at FILE:LINE:COLUMN`.
fn panicked_at(file: &str, text: &str) -> Option<u32> {
    let (_, rest) = text.split_once(&format!("panicked at {file}:"))?;
    rest.split(':').next()?.parse().ok()
}
