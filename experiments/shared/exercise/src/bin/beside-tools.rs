//! Tries the exercises' wrong kernels on a GPU, alone and under the tools of NVIDIA's
//! compute-sanitizer, and on the emulated one: who names which mistake? Prints the tables of
//! the page *Beside other tools*. It runs inside a checkout, on a machine with a GPU, NVRTC and
//! compute-sanitizer.
//!
//! Kernels that move too much, or rightly compute other numbers, are no mistakes to a sanitizer,
//! and are left out; the solutions are tried as well, for no tool should blame them. Each kernel
//! runs at all sizes of its exercise, in a process of its own; its buffers are allocations of
//! exactly their size, and what is not filled is not written.
//!
//! It takes ten minutes. With a file's name as its argument, each kernel's results are in that file
//! as soon as it has been tried, and kernels whose results are there already are not tried again.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use cudarc::driver::CudaContext;
use exercise::catalogue::Language;
use exercise::measure::{Around, OnGpu};
use exercise::{Exercise, Judge, catalogue, compile};
use serde::{Deserialize, Serialize};

/// Tools of compute-sanitizer, in its manual's order.
const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];
/// Processes at a time.
const AT_A_TIME: usize = 16;
/// Seconds after which a process does not end.
const PATIENCE: &str = "20";
/// What `timeout` exits with then.
const KILLED: i32 = 137;
/// The source that nothing is wrong with.
const SOLUTION: &str = "solution";
/// What compute-sanitizer exits with if it has something to say.
const NAMED: i32 = 99;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [] => all(None),
        [file] => all(Some(file.as_ref())),
        [exercise, name] => one(exercise, name),
        // As which the judge starts this program.
        [command, file, compute] if command == compile::COMMAND => {
            match compile::compiler(file, compute) {
                Ok(code) => return code,
                Err(error) => Err(error),
            }
        }
        _ => Err(anyhow::anyhow!("usage: beside-tools [FILE | EXERCISE SOURCE]")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn exercises() -> Result<Vec<Exercise>> {
    let root = lab::workspace::root().context("run it inside of a checkout")?;
    let mut all = catalogue::all(&root)?;
    all.retain(|exercise| exercise.language == Language::Kernel);
    Ok(all)
}

/// Runs one kernel at its exercise's sizes, and prints the first thing that is wrong.
fn one(exercise: &str, name: &str) -> Result<()> {
    let exercises = exercises()?;
    let exercise = exercises.iter().find(|e| e.name == exercise).context("no such exercise")?;
    let source = exercise.source(name)?;
    let file = format!("{name}.cu");
    let stream = CudaContext::new(0)?.new_stream()?;
    let sizes = exercise.check.shapes.iter().filter(|shape| !shape.values().any(|n| *n == 0));
    for shape in sizes {
        if let Err(wrong) =
            OnGpu::prepare(exercise, &file, &source, shape, &stream, Around::Nothing)
        {
            println!("{wrong:#}");
            break;
        }
    }
    Ok(())
}

/// One kernel, and what was said of it.
#[derive(Serialize, Deserialize)]
struct Tried {
    exercise: String,
    name: String,
    kind: Kind,
    /// First line that the emulated GPU says, and seconds until then.
    ours: (String, f64),
    /// What is wrong without any tool; empty if nothing shows.
    alone: String,
    /// By tool: whether it names something, and seconds.
    tools: Vec<(bool, f64)>,
}

/// What is wrong with a kernel, by the emulated GPU's words.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    SharedRace,
    Race,
    Bounds,
    Unwritten,
    Barrier,
    Endless,
    Missing,
    /// It computes something else, and is not tried further.
    Value,
    /// It is a solution.
    Nothing,
}

/// With their rows' names on the page.
const KINDS: [(Kind, &str); 8] = [
    (Kind::SharedRace, "two threads race in shared memory"),
    (Kind::Race, "two threads race in device memory"),
    (Kind::Bounds, "an access out of bounds"),
    (Kind::Unwritten, "memory that was never written is used"),
    (Kind::Barrier, "a barrier or a shuffle that not all reach"),
    (Kind::Endless, "threads wait for ever"),
    (Kind::Missing, "results that are never written"),
    (Kind::Nothing, "nothing (the solutions)"),
];

impl Kind {
    fn of(row: &str, text: &str) -> Kind {
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        match () {
            () if row == "races" && says(&["shared memory"]) => Kind::SharedRace,
            () if row == "races" => Kind::Race,
            () if says(&["has to be", "has to read"]) && says(&["nothing writes it"]) => {
                Kind::Missing
            }
            () if says(&["has to be"]) => Kind::Value,
            () if says(&["deadlock", "instructions", "end"]) && says(&["wait", "executed"]) => {
                Kind::Endless
            }
            () if says(&["nothing", "nobody", "no one"]) && says(&["writ"]) => Kind::Unwritten,
            () if says(&["barrier", "shuffle", "mask", "takes no part", "vote"]) => Kind::Barrier,
            () => Kind::Bounds,
        }
    }
}

fn all(file: Option<&Path>) -> Result<()> {
    let exercises = exercises()?;
    let known = file.and_then(|file| read_to_string(file).ok()).unwrap_or_default();
    // A run that was cut off may have left a line that is not whole.
    let known: Vec<Tried> =
        known.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let file = file.map(|file| OpenOptions::new().create(true).append(true).open(file));
    let file = file.transpose()?;
    let mut todo = vec![];
    for exercise in &exercises {
        for (name, reason) in exercise.check.reasons() {
            let row = reason.split_once(": ").map_or(reason, |(row, _)| row);
            if matches!(row, "result" | "races") {
                todo.push((exercise, name));
            }
        }
        todo.push((exercise, SOLUTION));
    }
    todo.retain(|(exercise, name)| {
        !known.iter().any(|one| one.exercise == exercise.name && one.name == *name)
    });
    let (next, tried, failed) = (AtomicUsize::new(0), Mutex::new(known), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((exercise, name)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = attempt(exercise, name);
                    let one = one.and_then(|one| write(file.as_ref(), one));
                    match one {
                        Ok(one) => tried.lock().expect("nobody panics").extend(one),
                        Err(error) => {
                            eprintln!("error: {error:#}");
                            *failed.lock().expect("nobody panics") = Some(error);
                        }
                    }
                    eprintln!("{}, {name}", exercise.name);
                }
            });
        }
    });
    let mut tried = tried.into_inner()?;
    tried.sort_by(|a, b| (&a.exercise, &a.name).cmp(&(&b.exercise, &b.name)));
    print(&tried)?;
    failed.into_inner()?.map_or(Ok(()), Err)
}

/// Appends a line of what was said, if there is a file for it.
fn write(file: Option<&File>, tried: Option<Tried>) -> Result<Option<Tried>> {
    if let (Some(mut file), Some(one)) = (file, &tried) {
        file.write_all(format!("{}\n", serde_json::to_string(one)?).as_bytes())?;
    }
    Ok(tried)
}

/// Nothing if the kernel rightly computes other numbers.
fn attempt(exercise: &Exercise, name: &str) -> Result<Option<Tried>> {
    let root = lab::workspace::root().context("a checkout")?;
    let judge = Judge::new(exercise, &root)?;
    let folder = tempfile::tempdir()?;
    let file = format!("{name}.cu");
    let path = folder.path().join(&file);
    std::fs::write(&path, exercise.source(name)?)?;
    let start = Instant::now();
    let outcome = judge.check(&file, &path)?;
    let seconds = start.elapsed().as_secs_f64();
    let bad = outcome.first_bad();
    if bad.is_some() == (name == SOLUTION) {
        bail!("{}: {name} is not judged as it declares", exercise.name);
    }
    let kind = bad.map_or(Kind::Nothing, |bad| Kind::of(&bad.name, &bad.text));
    if kind == Kind::Value {
        return Ok(None);
    }
    let program = std::env::current_exe()?;
    let program = program.to_str().context("its path")?;
    let (code, said, _) = ended(program, &[&exercise.name, name])?;
    let alone = match code {
        None => "does not end".to_owned(),
        _ => said.lines().next().unwrap_or_default().to_owned(),
    };
    let tools = TOOLS.map(|tool| {
        let code = NAMED.to_string();
        let options = ["--tool", tool, "--error-exitcode", &code, "--print-limit", "1"];
        let all = [&options[..], &[program, &exercise.name, name]].concat();
        let (code, _, seconds) = ended("compute-sanitizer", &all)?;
        Ok((code == Some(NAMED), seconds))
    });
    Ok(Some(Tried {
        exercise: exercise.name.clone(),
        name: name.to_owned(),
        kind,
        ours: (bad.map(|bad| bad.text.clone()).unwrap_or_default(), seconds),
        alone,
        tools: tools.into_iter().collect::<Result<_>>()?,
    }))
}

/// A process's exit code (none if it had to be ended, and with it all that it started), its
/// output, and its seconds.
fn ended(program: &str, arguments: &[&str]) -> Result<(Option<i32>, String, f64)> {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", PATIENCE, program]).args(arguments);
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let code = output.status.code().filter(|code| *code != KILLED);
    Ok((code, said, start.elapsed().as_secs_f64()))
}

fn print(tried: &[Tried]) -> Result<()> {
    let gpu = CudaContext::new(0)?.name()?;
    let version = ended("compute-sanitizer", &["--version"])?.1;
    let version = version.split_whitespace().skip_while(|word| *word != "Version").nth(1);
    let version = version.unwrap_or("of an unknown version");
    println!(
        "Made by `beside-tools`, not to be edited.\n\nANCHOR: machine\n{gpu}, compute-sanitizer {version}"
    );
    println!("ANCHOR_END: machine\n\nANCHOR: kinds");
    println!(
        "| what is wrong | kernels | wrong on the GPU | emulated GPU | {} | any of these |",
        TOOLS.join(" | ")
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (kind, says) in KINDS {
        let of: Vec<_> = tried.iter().filter(|one| one.kind == kind).collect();
        let shows = of.iter().filter(|one| !one.alone.is_empty()).count();
        let named = (0..TOOLS.len()).map(|tool| of.iter().filter(|one| one.tools[tool].0).count());
        let named: Vec<_> = named.map(|count| count.to_string()).collect();
        let ours = of.iter().filter(|one| !one.ours.0.is_empty()).count();
        let any = of.iter().filter(|one| one.tools.iter().any(|(named, _)| *named)).count();
        let (all, named) = (of.len(), named.join(" | "));
        println!("| {says} | {all} | {shows} | {ours} | {named} | {any} |");
    }
    let median = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        format!("{:.2} s", seconds[seconds.len() / 2])
    };
    let ours = median(tried.iter().map(|one| one.ours.1).collect());
    let theirs = (0..TOOLS.len()).map(|i| median(tried.iter().map(|one| one.tools[i].1).collect()));
    println!("| median time | | | {ours} | {} | |", theirs.collect::<Vec<_>>().join(" | "));
    println!("ANCHOR_END: kinds\n\nANCHOR: all");
    println!(
        "| exercise, mistake | emulated GPU | on the GPU | compute-sanitizer |\n|---|---|---|---|"
    );
    for one in tried {
        let names = TOOLS.iter().zip(&one.tools).filter(|(_, (named, _))| *named);
        let names: Vec<_> = names.map(|(tool, _)| *tool).collect();
        let alone = if one.alone.is_empty() { "nothing shows" } else { &one.alone };
        let [ours, alone] = [&one.ours.0, alone].map(cell);
        println!("| {}, {} | {ours} | {alone} | {} |", one.exercise, one.name, names.join(", "));
    }
    println!("ANCHOR_END: all");
    Ok(())
}

/// A text as it stands in a table's cell: without the sizes before it, and the block and thread
/// behind it.
fn cell(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let what = match line.strip_prefix("with ").and_then(|rest| rest.split_once(": ")) {
        Some((_, what)) => what,
        None => line.trim_start_matches("on the GPU: "),
    };
    let line = what.split_once(", block (").map_or(what, |(what, _)| what);
    line.replace('|', "\\|").replace('<', "&lt;").replace('_', "\\_").replace('*', "\\*")
}
