//! `cargo workbook exercise`, as learners use it, and the exercises themselves: every start and
//! every mistake fails for its declared reason, and every solution passes. And `cargo workbook
//! check`, for which a kernel of one's own is one that declares nothing.
//!
//! Kernels need NVRTC, and some tests clang. Without them these tests are skipped.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "exercises/check.rs"]
mod check;
#[path = "support/checkout.rs"]
mod checkout;
#[path = "exercises/clang.rs"]
mod clang;
#[path = "support/skip.rs"]
mod skip;
#[path = "support/turns.rs"]
mod turns;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use checkout::{Checkout, Ended, root};
use exercise::catalogue::Language;
use exercise::{Exercise, Judge};
use serde_json::Value;
use skip::{has_nvrtc, skip};
use turns::is_new;

/// The program in this checkout: what these tests ask of it changes nothing.
fn here(arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
    Ended::of(command.arg("exercise").args(arguments).current_dir(root()))
}

/// All exercises, as the program has listed them.
fn listed(ended: &Ended) -> Vec<Value> {
    let listed: Value = serde_json::from_str(ended.succeeds()).unwrap();
    listed["exercises"].as_array().unwrap().clone()
}

/// All exercises of this checkout.
fn all() -> Vec<Value> {
    listed(&here(&["list", "--json"]))
}

/// A checkout in which the program finds NVRTC as it does in this one; `None`, after
/// saying so, where there is none.
fn checkout_with_nvrtc() -> Option<Checkout> {
    has_nvrtc().then(Checkout::with_compilers)
}

/// The exercises of a language.
fn exercises(language: Language) -> Vec<Exercise> {
    let all = exercise::catalogue::all(&root()).unwrap();
    all.into_iter().filter(|exercise| exercise.language == language).collect()
}

/// An exercise, and its solution.
fn solved(name: &str) -> (Exercise, String) {
    let mut all = exercise::catalogue::all(&root()).unwrap().into_iter();
    let exercise = all.find(|exercise| exercise.name == name).unwrap();
    let solution = exercise.source("solution").unwrap();
    (exercise, solution)
}

/// Of how many exercises one is verified each day, beside those that are new.
const DAYS: u64 = 3;

/// All exercises of a language where what judges them is new, else those of today.
fn todays(language: Language) -> Vec<Exercise> {
    let judges = ["kernels/emulator/src", "kernels/referee/src", "experiments/shared/exercise/src"];
    let all_are_new = judges.iter().any(|judge| is_new(judge.as_ref()));
    turns::todays(DAYS, exercises(language), |each| all_are_new || is_new(&each.folder))
}

/// Verifies exercises, two at a time.
fn verify(exercises: Vec<Exercise>, options: &[&str]) {
    assert!(!exercises.is_empty());
    let (left, problems) = (Mutex::new(exercises), Mutex::new(String::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(exercise) = left.lock().unwrap().pop() else { break };
                    let ended = here(&[&["--verify", &exercise.name], options].concat());
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
fn exercises_in_kernels_are_as_they_declare() {
    if has_nvrtc() {
        verify(todays(Language::Kernel), &[]);
    }
}

#[test]
fn exercises_in_host_code_are_as_they_declare() {
    verify(todays(Language::Host), &[]);
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
    let listed = here(&["list"]);
    let too_long = listed.succeeds().lines().find(|line| line.chars().count() > 100);
    assert_eq!(too_long, None);
}

#[test]
fn what_an_exercise_needs_comes_before_it_in_the_book() {
    let summary = std::fs::read_to_string(root().join("book/src/SUMMARY.md")).unwrap();
    let (mut solved, mut problems) = (vec![], vec![]);
    for exercise in all() {
        let (name, page) = (exercise["name"].as_str().unwrap(), exercise["page"].as_str().unwrap());
        let (read, _) = summary.split_once(&format!("({page})")).unwrap();
        for need in exercise["needs"].as_array().unwrap() {
            let need = need.as_str().unwrap();
            let is_known = match need.contains('/') {
                true => read.contains(&format!("({need}.md)")),
                false => solved.contains(&need.to_owned()),
            };
            if !is_known {
                problems.push(format!("{name} needs {need}, which is not before it"));
            }
        }
        solved.push(name.to_owned());
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_learner_goes_from_the_start_to_the_solution() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
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
    let listed = listed(&checkout.run("exercise --json"));
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
    let (exercise, solution) = solved("first-program");
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("first-program.rs");
    std::fs::write(&mine, solution.replacen("LaunchConfig, ", "", 1)).unwrap();
    let judge = Judge::new(&exercise, &root()).unwrap();
    let check = || judge.check("my/first-program.rs", &mine).unwrap().rows[0].text.clone();
    let broken = check();
    assert!(broken.contains("--> my/first-program.rs:"), "{broken}");
    assert!(!broken.contains("files.rs") && !broken.contains("warning"), "{broken}");
    std::fs::write(&mine, solution.replacen("fn sums", "fn totals", 1)).unwrap();
    let renamed = check();
    assert_eq!(renamed.matches("error").count(), 1, "{renamed}");
    assert!(renamed.contains("The check calls your functions as the start has them"), "{renamed}");
}

/// A compiler that is slow is another matter than one that fails, in crates that the learner has not
/// written.
#[test]
fn crates_that_do_not_compile_are_not_said_to_take_too_long() {
    let checkout = Checkout::new();
    checkout.write_program("slow-cargo", "case \"$*\" in *--lib) exit 101;; esac\nsleep 60");
    let cargo = checkout.path("slow-cargo");
    let ended = Ended::of(checkout.command("exercise kv-cache").env("CARGO", cargo));
    ended.refuses(&["what host code needs does not compile: see above"]);
}

/// Each ends in a way of its own; none of them is right, nor said not to end but the last.
#[test]
fn host_code_that_ends_the_program_is_told_how() {
    let (exercise, solution) = solved("kv-cache");
    let folder = tempfile::tempdir().unwrap();
    let without_end = "prints without end: stopped after 1024 KiB";
    let all = [
        ("std::process::exit(0);", "exit code 0 before the check was through"),
        ("std::process::exit(3);", "exit code 3 before the check was through"),
        ("std::process::abort();", "crashed (SIGABRT"),
        ("unsafe { *(std::hint::black_box(1usize) as *mut u8) = 1 };", "crashed (SIGSEGV"),
        (
            "loop { println!(\"{}\", [0; 99].map(|_| 'x').iter().collect::<String>()); }",
            without_end,
        ),
        (
            "loop { eprintln!(\"{}\", [0; 99].map(|_| 'x').iter().collect::<String>()); }",
            without_end,
        ),
        ("panic!(\"so it is\");", "so it is"),
        ("fn f(n: u64) -> u64 { std::hint::black_box(f(n + 1) + n) } f(users);", "overflowed"),
        ("Vec::<u8>::with_capacity(1 << 34);", "memory allocation of 17179869184 bytes failed"),
        ("std::process::Command::new(\"sleep\").arg(\"60\").spawn().unwrap();", ""),
        ("loop { std::thread::yield_now(); }", "does not end: stopped after 10 s"),
    ];
    let paths: Vec<_> = (0..all.len()).map(|n| folder.path().join(format!("{n}.rs"))).collect();
    for ((code, _), path) in all.iter().zip(&paths) {
        let first = "    let per_token";
        let with = format!("    {{ {code} }}\n{first}");
        assert!(solution.contains(first));
        std::fs::write(path, solution.replacen(first, &with, 1)).unwrap();
    }
    let judge = Judge::new(&exercise, &root()).unwrap();
    let Judge::Host(host) = &judge else { panic!("it is host code") };
    host.compile_together(&paths).unwrap();
    for ((code, said), path) in all.iter().zip(&paths) {
        let start = Instant::now();
        let outcome = judge.check("my/kv-cache.rs", path).unwrap();
        assert!(start.elapsed() < Duration::from_secs(15), "{code}: {:?}", start.elapsed());
        match outcome.first_bad() {
            Some(bad) => assert!(!said.is_empty() && bad.text.contains(said), "{code}: {bad:?}"),
            None => assert!(said.is_empty(), "{code} passes"),
        }
    }
}

/// Where the check calls nothing else, either.
#[test]
fn host_code_that_ends_the_program_at_once_has_solved_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, first) in [("segments", "    let mut starts"), ("pack", "    let packed")] {
        let (exercise, solution) = solved(name);
        assert!(solution.contains(first));
        let path = folder.path().join(format!("{name}.rs"));
        let with = format!("    if true {{ std::process::exit(0); }}\n{first}");
        std::fs::write(&path, solution.replacen(first, &with, 1)).unwrap();
        let judge = Judge::new(&exercise, &root()).unwrap();
        let outcome = judge.check(&format!("my/{name}.rs"), &path).unwrap();
        let bad = outcome.first_bad().unwrap_or_else(|| panic!("{name} is solved"));
        assert!(bad.text.contains("exit code 0 before the check was through"), "{bad:?}");
    }
}

/// On either output, and whether the solution is right or not.
#[test]
fn what_host_code_prints_is_shown() {
    let (exercise, solution) = solved("segments");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segments.rs");
    let judge = Judge::new(&exercise, &root()).unwrap();
    let first = "    let mut starts";
    let prints = "    println!(\"to one\"); eprintln!(\"to the other\");\n";
    for (more, is_solved) in [("", true), ("if layers > 1 { return vec![]; }\n", false)] {
        let with = format!("{prints}{more}{first}");
        std::fs::write(&path, solution.replacen(first, &with, 1)).unwrap();
        let outcome = judge.check("my/segments.rs", &path).unwrap();
        assert_eq!(outcome.is_solved(), is_solved, "{outcome:?}");
        for said in ["to one\n", "to the other\n"] {
            assert!(outcome.printed.contains(said), "no {said} in {outcome:?}");
        }
    }
}

/// What lies in a learner's place may be anything.
#[test]
fn a_kernel_that_is_none_is_told_in_a_sentence_and_in_time() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    let path = checkout.path("my/mirror.cu");
    let check = |said: &[&str]| {
        let start = Instant::now();
        let ended = checkout.run("exercise mirror");
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}\n{ended}", start.elapsed());
        assert_eq!(ended.code, Some(1), "{ended}");
        assert!(said.iter().all(|said| ended.stdout.contains(said)), "{said:?}\n{ended}");
        assert!(ended.stdout.len() < 20_000 && !ended.stdout.contains('\x1b'), "{ended}");
        ended.stdout
    };
    checkout.run("exercise mirror");
    let solution = "experiments/first-steps/vector-add/exercises/mirror/solution.cu";
    let solution = checkout.read(solution);
    let bytes: Vec<u8> = solution.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(&path, bytes).unwrap();
    check(&["no  it is saved as UTF-16: save it as UTF-8", "Not solved yet: compiles"]);
    checkout.write("my/mirror.cu", &solution.replacen("x", "\0x", 1));
    check(&["line 1 has a NUL byte: remove it"]);
    std::fs::File::create(&path).unwrap().set_len(1 << 31).unwrap();
    check(&["larger than 2 MiB"]);
    checkout.run("exercise mirror --reset").succeeds();
    std::fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    check(&["a folder, a pipe or a device"]);
    checkout.run("exercise mirror --reset").succeeds();

    checkout.write("my/mirror.cu", &format!("#include \"/etc/passwd\"\n{solution}"));
    let included = check(&["There are no header files here"]);
    assert!(!included.contains("root:"), "{included}");
    let doubled = (1..40).map(|n| format!("#define A{n} A{0} A{0}\n", n - 1));
    let doubled: String = doubled.collect();
    let sum = format!("#define A0 +n\n{doubled}__device__ int f(int n) {{ return n A39; }}\n");
    checkout.write("my/mirror.cu", &format!("{sum}{solution}"));
    check(&["the compiler ", "does a macro or a template"]);

    let with = |code: &str| {
        let first = "    unsigned int x";
        checkout.write("my/mirror.cu", &solution.replacen(first, &format!("{code}\n{first}"), 1));
    };
    let lines = "i < 100; i++) printf(\"\\x1b[31m%d\\n\", i); return;";
    with(&format!("if (blockIdx.x == 0 && threadIdx.x == 0) for (int i = threadIdx.y; {lines}"));
    check(&["printed, after ", "\\u{1b}[31m99"]);
    with("while (width) { out[0] = in[0]; } /*\x1b[31m*/");
    check(&["it takes too long; find the condition", "Not solved yet: result"]);
    with("__shared__ volatile int flag; if (threadIdx.y == 0) { flag = 0; while (!flag); }");
    check(&["a deadlock"]);
}

/// On the driver for tests, which passes for NVIDIA's.
#[test]
fn a_solved_kernel_is_timed_beside_others() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    let solve = |name: &str, folder: &str| {
        let solution = checkout.read(&format!("{folder}/{name}/solution.cu"));
        checkout.write(&format!("my/{name}.cu"), &solution);
    };
    let folder = "experiments/access-patterns/coalescing/exercises";
    checkout.edit(&format!("{folder}/chunks/check.toml"), "n = 67108864", "n = 4096");
    solve("chunks", folder);
    solve("add", "experiments/first-steps/vector-add/exercises");
    let mut command = checkout.command("exercise chunks --measure");
    command.env("LD_LIBRARY_PATH", &*test_driver::FOLDER).env_remove("CUDA_VISIBLE_DEVICES");
    let timed = Ended::of(&mut command);
    let rows = ["my/chunks.cu", "our solution", "the start", "the driver's copy of as many bytes"];
    for row in rows {
        let row = timed.succeeds().lines().find_map(|line| line.strip_prefix(row));
        assert!(row.is_some_and(|row| row.ends_with(" µs")), "{timed}");
    }
    checkout.run("exercise chunks --measure").refuses(&["nothing can be measured here: "]);
    checkout.run("exercise add --measure").misuses(&["`add` is not timed"]);
}

/// A program that a test started, and that ends with it, even if it fails.
struct Running(Child);

impl Running {
    fn of(command: &mut Command) -> Running {
        Running(command.stdout(Stdio::piped()).spawn().unwrap())
    }

    /// What it has printed by its end, which is a good one.
    fn succeeds(&mut self) -> String {
        let mut said = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        let ended = self.0.wait().unwrap();
        assert!(ended.success(), "{ended}");
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two terminals: what one solves, the other does not forget. Keys lead on.
#[test]
fn a_watch_goes_on_by_keys_and_keeps_what_others_solve() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    let folder = "experiments/first-steps/vector-add/exercises";
    let solve = |name: &str| {
        let solution = checkout.read(&format!("{folder}/{name}/solution.cu"));
        checkout.write(&format!("my/{name}.cu"), &solution);
    };
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < end, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let done = |name: &str| {
        let mut all = listed(&checkout.run("exercise list --json")).into_iter();
        all.find(|e| e["name"] == name).unwrap()
    };
    let mut watch = Running::of(checkout.command("exercise --watch").stdin(Stdio::piped()));
    let mut keys = watch.0.stdin.take().unwrap();
    until("the first one is checked", &|| done("add")["checks"] == 1);
    solve("mirror");
    checkout.run("exercise mirror").succeeds();
    keys.write_all(b"h").unwrap();
    until("there is a hint", &|| done("add")["hints"] == 1);
    solve("add");
    until("it is solved", &|| done("add")["passed"] == true);
    assert_eq!(done("mirror")["passed"], true);
    keys.write_all(b"lr").unwrap();
    until("there is a start", &|| checkout.path("my/add.1.cu").exists());
    keys.write_all(b"n").unwrap();
    let all = listed(&checkout.run("exercise list --json"));
    let mut all = all.iter().map(|e| e["name"].as_str().unwrap());
    let next = all.find(|name| !["add", "mirror"].contains(name)).unwrap();
    let next = checkout.path(&format!("my/{next}.cu"));
    until("the next one begins, and not what is solved", &|| next.exists());
    keys.write_all(b"q").unwrap();
    let said = watch.succeeds();
    for part in [
        "checking my/add.cu…",
        "keys: n next · h hint (1 of 3) · l list · r reset · q quit",
        "hint 1 of 3",
        "Solved.",
        "mirror",
        "kernel  introductory   5 min  solved",
        "Part 0: First steps  ██",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn a_watched_file_is_checked_when_it_is_saved() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    let mut watch = checkout.command("exercise transpose --watch");
    let mut watch = Running::of(watch.stdin(Stdio::null()));
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
    watch.succeeds();
}

#[test]
fn the_same_file_gets_the_same_answer() {
    let Some(checkout) = checkout_with_nvrtc() else { return };
    checkout.run("exercise bug-barrier");
    let first = checkout.run("exercise bug-barrier").stdout;
    for _ in 0..20 {
        assert_eq!(checkout.run("exercise bug-barrier").stdout, first);
    }
}
