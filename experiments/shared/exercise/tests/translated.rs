//! The translator and NVRTC: of each exercise's start, mistakes and solution, PTX of both is
//! judged alike, leaves the same bytes in memory, and moves as much for each line of the source.
//!
//! And ptxas accepts PTX of all our kernels, of which the emulated GPU knows as many as of NVRTC's.
//!
//! It needs NVRTC and the wheel `ziglang`, whose clang makes the IR. Without them it is skipped.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "../../../../book/workbook/tests/support/skip.rs"]
mod skip;
#[path = "../../../../book/workbook/tests/support/turns.rs"]
mod turns;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use emulator::{Module, Tally};
use exercise::catalogue::{self, Language};
use exercise::verify::is_reason;
use exercise::{Exercise, kernel};
use lab::compiler::Unit;
use referee::Outcome;
use referee::count;
use referee::launch::{self, Limits};
use skip::skip;
use turns::todays;

const UNROLLED: &str = "NVRTC unrolls a loop that lanes leave at different turns, and their requests \
                        are others";
const MOVED: &str = "clang moves a load to another line, or makes one of two";
const JOINED: &str = "NVRTC loads several words of shared memory at once";
const LOCAL: &str = "NVRTC keeps a part of an array in registers, clang all of it or nothing";

/// Exercises with sources of which lines move something else, and why.
const OTHER_COUNTS: [(&str, &str); 20] = [
    ("bug-total", UNROLLED),
    ("bump", UNROLLED),
    ("chained-scan", MOVED),
    ("compact", MOVED),
    ("contrast", JOINED),
    ("filter", MOVED),
    ("five-bugs", MOVED),
    ("four-products", UNROLLED),
    ("fuse", UNROLLED),
    ("join", UNROLLED),
    ("keep", UNROLLED),
    ("key-tiles", LOCAL),
    ("long-sums", MOVED),
    ("nibbles", MOVED),
    ("one-pass", UNROLLED),
    ("online-softmax", MOVED),
    ("outer-product", LOCAL),
    ("read-once", UNROLLED),
    ("round-to-bf16", MOVED),
    ("row-sum", UNROLLED),
];

/// Mistakes that leave other bytes: the last bits of a few of their numbers, we do not know why.
const OTHER_BYTES: [(&str, &str); 2] =
    [("horner", "adds-before-it-multiplies"), ("softmax", "own-sum")];

/// Of how many exercises one is tried each day.
const DAYS: u64 = 10;

/// The program that has clang in it.
fn zig(root: &Path) -> Option<PathBuf> {
    let pythons = std::fs::read_dir(root.join(".venv/lib")).ok()?;
    let packages = pythons.map(|python| python.unwrap().path().join("site-packages"));
    let zigs = packages.map(|packages| packages.join("ziglang/zig"));
    zigs.into_iter().find(|zig| zig.is_file())
}

fn ir(zig: &Path, folder: &Path, source: &str, compute: &str) -> String {
    std::fs::write(folder.join("prelude.h"), translator::PRELUDE).unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    let target = format!("sm_{}", compute.replace('.', ""));
    let mut command = Command::new(zig);
    command.args(["clang", "-cc1", "-triple", "nvptx64-nvidia-cuda", "-x", "cuda", "-w"]);
    command.args(translator::OPTIONS.concat());
    command.args(["-target-feature", "+ptx84", "-target-cpu", &target]);
    command.args(["-include", "prelude.h", "k.cu", "-o", "-"]);
    let made = command.current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap()
}

/// What moved: for each line of the source sectors, wavefronts, atomics, barriers.
type Moved = BTreeMap<u32, [u64; 8]>;

/// What the launches of the smaller shapes left in memory, and what they moved.
fn ran(exercise: &Exercise, ptx: &str) -> Vec<Option<(Vec<Vec<u8>>, Moved)>> {
    let check = &exercise.check;
    let mut module = Module::parse(ptx).unwrap();
    let shapes = check.shapes.iter();
    let ran = shapes.map(|shape| {
        let patience = Some(Duration::from_secs(60));
        let limits = Limits { patience, ..Limits::TERMINAL };
        let ran = launch::run(&mut module, &check.buffers, &check.launches, shape, &limits, false);
        let finished = ran.unwrap().ok()?;
        let lines = count::lines(&finished.ran.counts, false);
        let moved = |tally: Tally| {
            [
                tally.global_loads.sectors,
                tally.global_stores.sectors,
                tally.async_copies.sectors,
                tally.shared_loads.wavefronts,
                tally.shared_stores.wavefronts,
                tally.atomics(),
                tally.local_accesses,
                tally.barriers,
            ]
        };
        let moved = lines.into_iter().map(|(line, tally)| (line, moved(tally)));
        let moved = moved.filter(|(_, counts)| counts.iter().any(|count| *count > 0)).collect();
        let buffers = finished.buffers.iter();
        let bytes = buffers.map(|(_, placed)| placed.read(&finished.memory).unwrap());
        Some((bytes.collect(), moved))
    });
    ran.collect()
}

/// What is not the same of one exercise's sources.
fn differences(zig: &Path, exercise: &Exercise) -> Vec<String> {
    let judge = kernel::Judge::new(exercise).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let compute = &exercise.check.compute;
    let mut differences = Vec::new();
    let reasons = exercise.check.reasons().map(|(name, why)| (name, Some(why)));
    for (name, reason) in reasons.chain([("solution", None)]) {
        let mut differs = |what: String| {
            differences.push(format!("{} {name}: {what}", exercise.name));
        };
        let source = exercise.source(name).unwrap();
        let Ok(of_nvrtc) = lab::kernel::compile_file("k.cu", &Unit::of(&source), compute) else {
            continue;
        };
        let translated = match translator::translate(&ir(zig, folder.path(), &source, compute)) {
            Ok(ptx) => ptx,
            // An exercise that begins with an empty file: NVRTC's PTX has no kernel, either.
            Err(_) if !of_nvrtc.contains(".entry") => continue,
            Err(error) => {
                differs(error.to_string());
                continue;
            }
        };
        let said = |outcome: &Outcome| match outcome.first_bad() {
            Some(bad) => format!("{}: {}", bad.name, bad.text),
            None => "passes".to_owned(),
        };
        let outcome = judge.check_ptx("k.cu", &source, &translated).unwrap();
        let is_so = match reason {
            Some(reason) => is_reason(reason, &outcome),
            None => outcome.is_solved(),
        };
        if !is_so {
            differs(format!("has to be `{}`, is `{}`", reason.unwrap_or("solved"), said(&outcome)));
        }
        for (place, pair) in
            ran(exercise, &of_nvrtc).iter().zip(ran(exercise, &translated)).enumerate()
        {
            match pair {
                (None, None) => {}
                (Some((bytes, moved)), Some((own_bytes, own_moved))) => {
                    let mut pairs = bytes.iter().flatten().zip(own_bytes.iter().flatten());
                    let is_known = OTHER_BYTES.contains(&(exercise.name.as_str(), name));
                    if let Some(at) = pairs.position(|(a, b)| a != b).filter(|_| !is_known) {
                        differs(format!("shape {place}: other bytes, the first at {at}"));
                    }
                    let may_differ = OTHER_COUNTS.iter().any(|(name, _)| *name == exercise.name);
                    if *moved != own_moved && !may_differ {
                        let lines = moved.keys().chain(own_moved.keys());
                        let other = lines.filter(|line| moved.get(line) != own_moved.get(line));
                        let mut said: Vec<_> = other
                            .map(|line| {
                                let of =
                                    |moved: &Moved| moved.get(line).copied().unwrap_or_default();
                                format!("line {line}: {:?} {:?}", of(moved), of(&own_moved))
                            })
                            .collect();
                        said.dedup();
                        differs(format!("shape {place}: {}", said.join(", ")));
                    }
                }
                (nvrtc, _) => {
                    differs(format!("shape {place}: does NVRTC's end: {}", nvrtc.is_some()))
                }
            }
        }
    }
    differences
}

#[test]
fn exercises_do_the_same_with_the_translator_and_with_nvrtc() {
    let root = lab::workspace::root().unwrap();
    let Some(zig) = zig(&root) else { return skip("there is no ziglang in .venv") };
    if lab::kernel::nvrtc_version().is_err() {
        return skip("there is no NVRTC");
    }
    let all = catalogue::all(&root).unwrap();
    let kernels = all.iter().filter(|exercise| exercise.language == Language::Kernel);
    let left = Mutex::new(todays(DAYS, kernels, |_| false));
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(exercise) = left.lock().unwrap().pop() else { break };
                    let differences = differences(&zig, exercise);
                    found.lock().unwrap().extend(differences);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Of clang 22, `__cluster_dims__` is lost on the way to IR, so the prelude does not have it.
const IN_CLUSTERS: &str = "matrix-product-hopper.cu";

#[test]
fn ptxas_and_the_emulated_gpu_know_what_the_translator_makes_of_our_kernels() {
    let root = lab::workspace::root().unwrap();
    let Some(zig) = zig(&root) else { return skip("there is no ziglang in .venv") };
    let Some(ptxas) = lab::libraries::find_program("ptxas") else {
        return skip("there is no ptxas");
    };
    let folder = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    let mut count = 0;
    for file in std::fs::read_dir(root.join("kernels")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "cu") || path.ends_with(IN_CLUSTERS)
        {
            continue;
        }
        count += 1;
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        let compute = source.lines().next().and_then(|line| line.strip_prefix("// compute: "));
        let compute = compute.and_then(|line| line.split(' ').next()).unwrap_or("7.5");
        let ptx = match translator::translate(&ir(&zig, folder.path(), &source, compute)) {
            Ok(ptx) => ptx,
            Err(error) => {
                problems.push(format!("{name}: {error}"));
                continue;
            }
        };
        let made = folder.path().join("k.ptx");
        std::fs::write(&made, &ptx).unwrap();
        let target = format!("-arch=sm_{}", compute.replace('.', ""));
        let mut command = Command::new(&ptxas);
        command.arg("-O0").arg(&target).arg(&made).arg("-o").arg(folder.path().join("k.cubin"));
        let said = command.output().unwrap();
        if !said.status.success() {
            problems.push(format!("{name}: {}", String::from_utf8_lossy(&said.stderr)));
        }
        let by_nvrtc = root.join(format!("kernels/ptx/{name}.ptx"));
        let by_nvrtc = Module::parse(&std::fs::read_to_string(by_nvrtc).unwrap()).unwrap();
        let own = Module::parse(&ptx).unwrap();
        for kernel in by_nvrtc.kernels() {
            let unknown = own.kernel(&kernel.name).map(|own| own.unsupported.clone());
            match unknown {
                None => problems.push(format!("{name}: there is no {}", kernel.name)),
                Some(Some(why)) if kernel.unsupported.is_none() => {
                    problems.push(format!("{name}: {}: {why}", kernel.name));
                }
                _ => {}
            }
        }
    }
    assert!(count > 40 && problems.is_empty(), "{}", problems.join("\n"));
}
