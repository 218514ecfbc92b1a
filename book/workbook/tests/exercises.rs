//! `cargo workbook exercise`, as learners use it, and the exercises themselves: every start and
//! every mistake fails for its declared reason, and every solution passes.
//!
//! Kernels need NVRTC. Without it these tests are skipped.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "support/checkout.rs"]
mod checkout;
#[path = "support/skip.rs"]
mod skip;

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use checkout::{Checkout, Ended, root};
use serde_json::Value;
use skip::skip;

/// The program in this checkout: what these tests ask of it changes nothing.
fn here(arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    Ended::of(command.arg("exercise").args(arguments).current_dir(root()))
}

/// All exercises, as the program lists them.
fn all() -> Vec<Value> {
    let listed: Value = serde_json::from_str(here(&["list", "--json"]).succeeds()).unwrap();
    listed["exercises"].as_array().unwrap().clone()
}

/// Whether NVRTC is here; if not, says so.
fn has_nvrtc() -> bool {
    let found = lab::kernel::nvrtc_version().is_ok();
    if !found {
        skip("there is no NVRTC");
    }
    found
}

/// Verifies the exercises of a language, on so many threads.
fn verify(language: &str, threads: usize) {
    let exercises = all();
    let of_language = exercises.iter().filter(|e| e["language"] == language);
    let names: Vec<_> = of_language.map(|e| e["name"].as_str().unwrap().to_owned()).collect();
    assert!(!names.is_empty());
    let (left, problems) = (Mutex::new(names), Mutex::new(String::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(name) = left.lock().unwrap().pop() else { break };
                    let ended = here(&["--verify", &name]);
                    if ended.code != Some(0) {
                        *problems.lock().unwrap() += &format!("{ended}\n");
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn every_exercise_in_a_kernel_is_as_it_declares() {
    if has_nvrtc() {
        verify("cuda", 2);
    }
}

#[test]
fn every_exercise_in_host_code_is_as_it_declares() {
    verify("rust", 2); // each waits for the other, for their programs have one name
}

#[test]
fn every_exercise_stands_on_a_page_of_its_section_and_nowhere_else() {
    let mut problems = vec![];
    let pages: Vec<_> = walkdir::WalkDir::new(root().join("book/src"))
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .map(|path| (std::fs::read_to_string(&path).unwrap(), path))
        .collect();
    for exercise in all() {
        let name = exercise["name"].as_str().unwrap();
        let line = format!("\n{{{{exercise {name}}}}}\n");
        let on = pages.iter().filter(|(text, _)| text.contains(&line)).count();
        if on != 1 {
            problems.push(format!("{name} is on {on} pages"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn exercises_are_listed_in_the_order_in_which_they_stand_in_the_book() {
    let (mut before, mut pages) = ((String::new(), 0), vec![]);
    for exercise in all() {
        let (name, page) = (exercise["name"].as_str(), exercise["page"].as_str());
        let (name, page) = (name.unwrap(), page.unwrap().to_owned());
        let text = std::fs::read_to_string(root().join("book/src").join(&page));
        let at = text.unwrap().find(&format!("{{{{exercise {name}}}}}"));
        let at = at.unwrap_or_else(|| panic!("{page} does not show the exercise {name}"));
        if page != before.0 {
            assert!(!pages.contains(&page), "{name} is not beside others of its page");
            pages.push(page.clone());
        } else {
            assert!(at > before.1, "{name} is not in the order of its page");
        }
        before = (page, at);
    }
    let summary = std::fs::read_to_string(root().join("book/src/SUMMARY.md")).unwrap();
    assert!(pages.is_sorted_by_key(|page| summary.find(&format!("({page})"))));
}

#[test]
fn a_learner_goes_from_the_start_to_the_solution() {
    if !has_nvrtc() {
        return;
    }
    let checkout = Checkout::with_compilers();
    checkout.run("exercise").succeeds();
    let unknown = checkout.run("exercise transposes");
    assert!(unknown.fails(2).contains("did you mean `transpose`?"), "{unknown}");

    let first = checkout.run("exercise transpose");
    assert_eq!(first.code, Some(1), "{first}");
    let start = checkout.read("my/transpose.cu");
    let line = start.lines().position(|line| line.contains(" out[column *")).unwrap() + 1;
    for part in [
        "yours to edit",
        "stores  no  32 sectors for 32 elements, at most 4",
        &format!("my/transpose.cu:{line} "),
        "--hint (1 of 3)",
    ] {
        assert!(first.stdout.contains(part), "{part}\n{first}");
    }
    assert!(!first.stdout.contains("tile reads"), "there is none yet: {first}");

    let locked = checkout.run("exercise transpose --solution");
    assert!(locked.fails(1).contains("you have seen 0"), "{locked}");
    for number in 1..=3 {
        let hints = checkout.run("exercise transpose --hint");
        assert!(hints.succeeds().contains(&format!("hint {number} of 3")), "{hints}");
    }
    let solution = checkout.run("exercise transpose --solution").succeeds().to_owned();
    checkout.write("my/transpose.cu", &solution);
    let solved = checkout.run("exercise transpose");
    assert!(solved.succeeds().contains("Solved."), "{solved}");
    let listed = checkout.run("exercise --json");
    let listed: Value = serde_json::from_str(listed.succeeds()).unwrap();
    let listed = listed["exercises"].as_array().unwrap();
    let done = listed.iter().find(|e| e["name"] == "transpose").unwrap();
    assert_eq!(
        (&done["passed"], &done["checks"], &done["hints"]),
        (&true.into(), &2.into(), &3.into())
    );
    assert_eq!(done["solution_shown_before"], true);

    checkout.run("exercise transpose --reset").succeeds();
    assert_eq!(checkout.read("my/transpose.cu"), start);
    assert_eq!(checkout.read("my/transpose.1.cu"), solution);
    // What has not changed is not kept twice.
    checkout.run("exercise transpose --reset").succeeds();
    assert!(!checkout.path("my/transpose.2.cu").exists());

    // The mark stays under what it is about, however long the line is.
    let long = format!("/*{:100}*/ integer column", "");
    checkout.edit("my/transpose.cu", "int column", &long);
    let broken = checkout.run("exercise transpose");
    assert_eq!(broken.code, Some(1), "{broken}");
    assert!(broken.stdout.contains("\"integer\" is undefined"), "{broken}");
    let mut lines = broken
        .stdout
        .lines()
        .filter(|line| line.contains(&long) || line.trim_start().starts_with('^'));
    let (source, mark) = (lines.next().unwrap(), lines.next().unwrap());
    assert_eq!(source.find("integer"), mark.find('^'), "{broken}");
    assert!(broken.stdout.contains("after that   result, races, loads"), "{broken}");

    checkout.write("my/progress.json", "{");
    checkout.write("my/transpose.cu", &solution);
    let solved = checkout.run("exercise transpose");
    assert_eq!(solved.code, Some(0), "{solved}");
    assert!(solved.stderr.contains("It is my/progress.1.json now"), "{solved}");
    assert_eq!(checkout.read("my/progress.1.json"), "{");
}

/// The compiler speaks of the learner's file, not of one that a build script makes.
#[test]
fn host_code_that_does_not_compile_is_named_by_its_own_file() {
    let exercises = exercise::catalogue::all(&root()).unwrap();
    let is_it = |exercise: &&exercise::Exercise| exercise.name == "first-program";
    let exercise = exercises.iter().find(is_it).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("first-program.rs");
    let solution = exercise.source("solution").unwrap();
    std::fs::write(&mine, solution.replacen("LaunchConfig, ", "", 1)).unwrap();
    let judge = exercise::host::Judge::new(exercise, &root());
    let outcome = judge.check("my/first-program.rs", &mine).unwrap();
    let broken = format!("{outcome:?}");
    assert!(broken.contains("--> my/first-program.rs:"), "{broken}");
    assert!(!broken.contains("files.rs"), "{broken}");
}

#[test]
fn a_watched_file_is_checked_when_it_is_saved() {
    if !has_nvrtc() {
        return;
    }
    let checkout = Checkout::with_compilers();
    let mut command = checkout.command("exercise transpose --watch");
    let mut watch = command.stdout(Stdio::piped()).spawn().unwrap();
    let file = checkout.path("my/transpose.cu");
    let end = Instant::now() + Duration::from_secs(60);
    let has_checked = || checkout.path("my/progress.json").exists();
    while !(file.exists() && has_checked()) {
        assert!(Instant::now() < end, "it has not begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    let folder = "experiments/access-patterns/transpose/exercises/transpose";
    let solution = checkout.read(&format!("{folder}/solution.cu"));
    checkout.write("my/transpose.cu", &solution);
    let ended = watch.wait().unwrap();
    assert!(ended.success(), "{ended}");
}

#[test]
fn the_same_file_gets_the_same_answer() {
    if !has_nvrtc() {
        return;
    }
    let checkout = Checkout::with_compilers();
    checkout.run("exercise bug-barrier");
    let first = checkout.run("exercise bug-barrier").stdout;
    for _ in 0..20 {
        assert_eq!(checkout.run("exercise bug-barrier").stdout, first);
    }
}
