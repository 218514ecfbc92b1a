//! Host code is compiled, run on emulated GPUs, and judged by the ledger of what it did.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use ledger::{Engine, Ledger, Schedule};

use crate::catalogue::Exercise;
use crate::check::{COMPILES, Host, ORDER, RESULT, singular};
use crate::outcome::{Line, Outcome, State};

/// How long a trial may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// What the emulated driver puts before what it says.
const DRIVER: &str = "emulated driver: ";
/// Characters of a line of the picture.
const WIDTH: usize = 90;

pub struct Judge<'e> {
    exercise: &'e Exercise,
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

/// What a trial told.
#[derive(Default)]
struct Report {
    /// Titles of what was tried.
    runs: Vec<String>,
    /// The first thing that is wrong.
    wrong: Option<String>,
    sizes: BTreeMap<String, f64>,
    /// One for each run.
    ledgers: Vec<String>,
    printed: String,
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

    /// What is right and wrong with the source in `path`, of which messages speak as of `file`.
    pub fn check(&self, file: &str, path: &Path) -> Result<Outcome> {
        self.check_on(&self.exercise.check.host, file, path)
    }

    /// Checks a source on GPUs other than those that `check.toml` asks for.
    pub fn check_on(&self, host: &Host, file: &str, path: &Path) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let _alone = match &*self.together.borrow() {
            Some(_) => None,
            None => Some(self.alone()?),
        };
        let program = match self.compile(path)? {
            Ok(program) => program,
            Err(text) => {
                let text = text.replace(&*path.to_string_lossy(), file);
                outcome.bad(COMPILES, text, None);
                outcome.leave_open(&[RESULT, ORDER], &self.exercise.check);
                return Ok(outcome);
            }
        };
        let source = std::fs::read_to_string(path).with_context(|| file.to_owned())?;
        let attempts = Attempt::all(host);
        let mut orders = vec![];
        let mut last = Report::default();
        for (attempt, report) in attempts.iter().zip(self.run_all(&program, &attempts)?) {
            if let Some(wrong) = &report.wrong {
                let wrong = wrong.replace(&*path.to_string_lossy(), file);
                let wrong = wrong + &conditions(host, attempt);
                self.fail(&mut outcome, file, &source, &report, &wrong)?;
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
        let folder = self.root.join("target");
        let path = folder.join("trial.lock");
        let lock = || {
            std::fs::create_dir_all(&folder)?;
            let file = File::create(&path)?;
            match file.lock() {
                // Some network drives know no locks.
                Err(e) if e.kind() != ErrorKind::Unsupported => Err(e),
                _ => Ok(file),
            }
        };
        lock().with_context(|| format!("{}: cannot be locked", path.display()))
    }

    /// Compiles files with the exercise's check.
    fn build(&self, files: &[PathBuf]) -> Result<Result<PathBuf, String>> {
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let built = Command::new(cargo)
            // With the workbook's package named, dependencies have the features that they have
            // there, so what is compiled already is used again.
            .args(["build", "--quiet", "--package", "workbook"])
            .args(["--package", "trial", "--bin", "trial"])
            .args(["--profile", lab::workspace::profile()])
            .args(["--message-format", "json-render-diagnostics"])
            .env("TRIAL_MINE", std::env::join_paths(files)?)
            .env("TRIAL_CHECK", self.exercise.folder.join("check.rs"))
            .current_dir(&self.root)
            .output()
            .context("host code is compiled by cargo")?;
        let said = String::from_utf8_lossy(&built.stderr);
        if !built.status.success() {
            let is_noise = |line: &&str| line.starts_with("error: could not compile `trial`");
            let lines: Vec<_> = said.lines().filter(|line| !is_noise(line)).collect();
            return Ok(Err(lines.join("\n").trim().to_owned()));
        }
        let messages = String::from_utf8_lossy(&built.stdout);
        let program = messages.lines().find_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            Some(PathBuf::from(message.get("executable")?.as_str()?))
        });
        Ok(Ok(program.context("cargo names the program that it made")?))
    }

    /// All attempts, as many at a time as there are cores; their reports in the same order.
    fn run_all(&self, program: &Program, attempts: &[Attempt]) -> Result<Vec<Report>> {
        let folder = tempfile::tempdir().context("for the reports")?;
        let next = AtomicUsize::new(0);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let work = || -> Result<Vec<_>> {
            let mut done = vec![];
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(attempt) = attempts.get(number) else { return Ok(done) };
                let file = folder.path().join(number.to_string());
                done.push((number, run(program, *attempt, &file)?));
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

/// A title in which a 1 stands before one thing: `1 number, 3 steps` for `1 numbers, 3 steps`.
fn singulars(title: &str) -> String {
    let mut words: Vec<String> = vec![];
    for word in title.split(' ') {
        let (word, comma) = word.split_at(word.trim_end_matches(',').len());
        let after_one = words.last().is_some_and(|before| before == "1");
        let word = if after_one { singular(word) } else { word.to_owned() };
        words.push(word + comma);
    }
    words.join(" ")
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
    match conditions.is_empty() {
        true => String::new(),
        false => format!(" ({})", conditions.join(", ")),
    }
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
        .env_remove("WORKBOOK_EMULATED_SCHEDULE")
        .env_remove("CUDA_VISIBLE_DEVICES")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if schedule > 0 {
        command.env("WORKBOOK_EMULATED_SCHEDULE", schedule.to_string());
    }
    let (ended, out, err) = finish(command.spawn()?)?;
    let told = std::fs::read_to_string(file).unwrap_or_default();
    let mut report = Report::read(&told);
    report.printed = out;
    // What the driver noticed, though no call has failed, comes first.
    let noticed = err.lines().find_map(|line| line.strip_prefix(DRIVER));
    let wrong = match (report.wrong.take(), noticed) {
        (Some(wrong), Some(noticed)) => Some(format!("{wrong}\n{noticed}")),
        (None, Some(noticed)) => Some(noticed.to_owned()),
        (None, None) if !ended && err.trim().is_empty() => Some("it does not end".to_owned()),
        (None, None) if !ended => Some(err.trim().to_owned()),
        (wrong, _) => wrong,
    };
    report.wrong = wrong;
    Ok(report)
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

/// What the trial's program put into one line.
fn unescaped(line: &str) -> String {
    let (mut text, mut characters) = (String::new(), line.chars());
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                _ => '\\',
            },
            other => other,
        });
    }
    text
}

impl Report {
    /// Reads what the trial's program has written: `run TITLE`, `size NAME NUMBER`, `wrong TEXT`
    /// and `failed TEXT`; all else is the ledger.
    fn read(text: &str) -> Report {
        let mut report = Report::default();
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            match kind {
                "run" => {
                    report.runs.push(singulars(&unescaped(rest)));
                    report.ledgers.push(String::new());
                }
                "size" => {
                    let number = rest.rsplit_once(' ');
                    let number = number.and_then(|(name, n)| Some((name, n.parse().ok()?)));
                    report.sizes.extend(number.map(|(name, n)| (name.to_owned(), n)));
                }
                "wrong" | "failed" => {
                    let said = unescaped(rest);
                    let said = match report.runs.last() {
                        Some(title) => format!("{title}: {said}"),
                        None => said,
                    };
                    report.wrong.get_or_insert(said);
                }
                _ => {
                    if let Some(ledger) = report.ledgers.last_mut() {
                        *ledger += &format!("{line}\n");
                    }
                }
            }
        }
        report
    }
}

/// A number of the ledger, or of the model, by its name.
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

/// Waits for a program: whether it ended well, and what it wrote to its two outputs. One that takes
/// too long is ended.
fn finish(mut child: Child) -> Result<(bool, String, String)> {
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let out = std::thread::spawn(move || text(out.as_mut()));
    let err = std::thread::spawn(move || text(err.as_mut()));
    let end = Instant::now() + PATIENCE;
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break status.success();
        }
        if Instant::now() > end {
            child.kill()?;
            child.wait()?;
            break false;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let (Ok(out), Ok(err)) = (out.join(), err.join()) else {
        bail!("what a program wrote cannot be read");
    };
    Ok((ended, out, err))
}

fn text(from: Option<&mut impl Read>) -> String {
    let mut bytes = vec![];
    let _ = from.map(|from| from.read_to_end(&mut bytes)); // as much as there is
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The line of `file` in which a program panicked, if it did: `panicked at FILE:LINE:COLUMN`.
fn panicked_at(file: &str, text: &str) -> Option<u32> {
    let (_, rest) = text.split_once(&format!("panicked at {file}:"))?;
    rest.split(':').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_arrives_as_it_was_said() {
        let report = Report::read("run a\\\\b\nwrong C:\\\\new\\nline\n");
        assert_eq!(report.wrong.unwrap(), "a\\b: C:\\new\nline");
    }

    #[test]
    fn one_thing_is_not_several() {
        for (title, said) in [
            ("1 numbers, 1 steps", "1 number, 1 step"),
            ("11 numbers on 1 GPUs", "11 numbers on 1 GPU"),
            ("1×1", "1×1"),
        ] {
            assert_eq!(singulars(title), said);
        }
        assert_eq!(singular("copies are known"), "copy is known");
    }
}
