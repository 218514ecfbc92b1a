//! The program `cargo workbook`, run as its users run it: each test in a copy of the
//! workbook of its own, most with a small book, with no GPU to be seen.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "support/checkout.rs"]
mod checkout;
#[path = "support/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::env::consts::EXE_EXTENSION;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use checkout::{Checkout, Ended, RUNS, hide_compilers, other_machine, stretch};
use serde_json::{Value, json};
use server::Server;
use walkdir::WalkDir;

/// Every command that `--help` lists, and the one that only mdBook calls, with arguments
/// that they need.
fn commands() -> Vec<String> {
    let help = Ended::of(Command::new(env!("CARGO_BIN_EXE_workbook")).arg("--help"));
    let lines = help.succeeds().lines().take_while(|line| *line != "Options:");
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let listed = names.map(|name| match name {
        "new" => "new some-name --section 8.3",
        "import" => "import folder",
        "compare" => "compare h200",
        "check" => "check my.cu",
        other => other,
    });
    let commands: Vec<_> = listed.chain(["preprocess"]).map(str::to_owned).collect();
    assert!(commands.len() > 10, "{commands:?}");
    commands
}

/// A page, what becomes of it, and the newest run of its record: most tests look at them.
const PAGE: &str = "book/src/access-patterns/coalescing.md";
const HTML: &str = "access-patterns/coalescing.html";
const RECORD: &str = "results/h200/host-u/coalescing.json";

/// Every file below `folder` with its content, to tell whether anything was changed. Programs that
/// write records take turns at an empty file.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = WalkDir::new(folder).into_iter().map(Result::unwrap);
    let files =
        entries.filter(|entry| entry.file_type().is_file() && entry.file_name() != ".record-lock");
    let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
    files.map(|file| read(file.into_path())).collect()
}

/// The pages of a built book: name and HTML.
fn pages(html: &Path) -> BTreeMap<String, String> {
    let pages = contents(html).into_iter();
    let is_page = |path: &PathBuf| path.extension().is_some_and(|e| e == "html");
    pages
        .filter(|(path, _)| is_page(path))
        .map(|(path, html_bytes)| {
            let name = path.strip_prefix(html).unwrap().display().to_string();
            (name, String::from_utf8(html_bytes).unwrap())
        })
        .collect()
}

/// Changes a record as JSON.
fn edit_record(checkout: &Checkout, path: &str, edit: impl FnOnce(&mut Value)) {
    let mut record = serde_json::from_str(&checkout.read(path)).unwrap();
    edit(&mut record);
    checkout.write(path, &record.to_string());
}

// ---- From anywhere, with anything ---------------------------------------------------

#[test]
fn wrong_usage_ends_with_exit_code_2_and_how_to_use_it() {
    let checkout = Checkout::small();
    let before = contents(&checkout.path(""));
    let unknown: Vec<_> =
        commands().into_iter().map(|command| format!("{command} --nosuch")).collect();
    let others = [
        "",
        "nosuch",
        "list extra",
        "run --samples many",
        "run --samples 0",
        "run --device first",
        "build --output",
        "serve --port 65536",
        "new",
        "new some-name",
        "ptx --compute 7.5",
        "import",
        "preprocess nosuch",
    ];
    for arguments in unknown.iter().map(String::as_str).chain(others) {
        let ended = checkout.run(arguments);
        let error = ended.fails(2);
        let helps = error.contains("--help") || error.contains("Usage: cargo workbook");
        assert!(helps, "{ended}");
    }
    assert!(contents(&checkout.path("")) == before, "wrong usage changed something");
}

#[test]
fn help_is_given_outside_of_a_checkout_and_documents_the_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
        Ended::of(command.args(arguments.split_whitespace()).current_dir(&folder))
    };
    let help = run("--help");
    let page = fs::read_to_string(checkout::root().join("book/src/running.md")).unwrap();
    for part in ["Exit codes: 0 ", "Learn:\n", "Measure:\n", "Contribute:\n"] {
        assert!(help.succeeds().contains(part), "no {part:?} in {help}");
    }
    fits(&help.stdout, "100");
    for command in commands() {
        let name = command.split(' ').next().unwrap();
        let ended = run(&format!("{name} --help"));
        let usage = format!("Usage: cargo workbook {name}");
        assert!(ended.succeeds().contains(&usage), "{ended}");
        let wide = ended.stdout.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{name}");
        assert!(name == "preprocess" || page.contains(&format!("\n| `{name}")), "{name}");
    }
}

#[test]
fn outside_of_a_checkout_every_command_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in commands() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
        command.args(arguments.split_whitespace()).current_dir(&folder);
        let ended = Ended::of(command.stdin(Stdio::null()));
        ended.refuses(&["not inside a checkout of the workbook"]);
    }
    assert!(contents(folder.path()).is_empty(), "something was written there");
}

#[test]
fn commands_work_in_every_folder_of_a_checkout() {
    let checkout = Checkout::small();
    let below = checkout.path("book/src");
    let list = Ended::of(checkout.command("list").current_dir(&below));
    assert_eq!(list.succeeds(), checkout.run("list").succeeds());
    let build = Ended::of(checkout.command("build").current_dir(&below));
    let html = checkout.path("book/html/index.html").display().to_string();
    assert!(build.succeeds().contains(&html), "{build}");
}

#[test]
fn a_reader_that_has_gone_is_no_failure_and_a_full_disk_is_one() {
    let checkout = Checkout::small();
    checkout.run("build").succeeds(); // draws what is checked
    for arguments in ["list", "doctor", "build --check"] {
        let mut command = checkout.command(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = Ended::of(command.stdout(writer));
        assert_eq!(ended.fails(0), "", "{ended}");
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = Ended::of(command.stdout(full));
        ended.refuses(&["error: standard output cannot be written: No space left"]);
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert_eq!(command.stderr(full).status().unwrap().code(), Some(1));
    }
}

#[test]
fn variables_are_checked_first() {
    let checkout = Checkout::small();
    let mut command = checkout.command("build");
    let ended = Ended::of(command.env("WORKBOOK_EMULATED_GPUS", "two"));
    ended.refuses(&["WORKBOOK_EMULATED_GPUS is `two`, but may only be a number from 0 to 8"]);
    let bytes = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff");
    let ended = Ended::of(checkout.command("list").env("WORKBOOK_PATIENCE", bytes));
    ended.refuses(&["WORKBOOK_PATIENCE is `\u{fffd}`"]);
    Ended::of(checkout.command("list").arg(bytes)).fails(2);
}

/// What cannot be opened would otherwise be told as missing: compilers, git.
#[test]
fn too_few_open_files_are_said_to_be_too_few() {
    let checkout = Checkout::small();
    for command in commands() {
        let inner = checkout.command(&command);
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -n 4; exec \"$0\" \"$@\""]).arg(inner.get_program());
        limited.args(inner.get_args()).current_dir(inner.get_current_dir().unwrap());
        let ended = Ended::of(limited.stdin(Stdio::null()));
        ended.refuses(&["only 4 files may be open at a time here", "ulimit -n 32"]);
    }
}

// ---- list, doctor, run --------------------------------------------------------------

/// No line has more characters than `columns`, but where a path or a command is longer.
#[track_caller]
fn fits(printed: &str, columns: &str) {
    let columns = columns.parse().unwrap();
    for line in printed.lines().filter(|line| !line.contains(['/', '&'])) {
        assert!(line.chars().count() <= columns, "wider than {columns}:\n{line}");
    }
}

#[test]
fn list_shows_every_experiment_and_where_it_was_recorded() {
    let checkout = Checkout::new();
    other_machine(&checkout, "results");
    checkout.write("results/this-machine", "other\n");
    fs::remove_file(checkout.path("results/other/transpose.json")).unwrap();
    let results = WalkDir::new(checkout.path("results")).into_iter().map(Result::unwrap);
    for record in results.filter(|entry| entry.file_name() == "warps.json") {
        fs::remove_file(record.path()).unwrap();
    }
    checkout.run("new not-yet --section 8.2").succeeds();

    let ended = checkout.run("list");
    // However many runs there are, and whether they fit into a line.
    let narrow = format!("\n{:76}", "");
    let listed = ended.succeeds().replace(&narrow, " ");
    let listed =
        (2..100).fold(listed, |listed, runs| listed.replace(&format!(" ({runs} runs)"), ""));
    let lines = listed.lines();
    // Columns are padded with spaces; two or more of them end a column.
    let rows: Vec<Vec<_>> = lines
        .take_while(|line| !line.is_empty())
        .map(|line| line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect())
        .collect();
    let expected = [
        ["experiment", "section", "needs", "title", "recorded on"],
        ["transfer-bandwidth", "8.1", "1 GPU", "Transfer bandwidth", "h100, h200, other (here)"],
        ["host-memory", "8.2", "1 GPU", "Host memory", "h100, h200, other (here)"],
        ["not-yet", "8.2", "1 GPU", "not-yet", "no machine yet (draft)"],
        ["coalescing", "8.3", "1 GPU", "Coalescing", "h100, h200, other (here)"],
        ["transpose", "8.3", "1 GPU", "Transpose: tile and padding", "h100, h200"],
        ["warps", "0", "1 GPU", "Warps", "no record needed"],
    ];
    for row in expected {
        assert!(rows.contains(&row.to_vec()), "no {row:?} in {ended}");
    }
    let products = rows.iter().find(|row| row[0] == "concurrent-products").unwrap();
    assert_eq!(products[3], "page of concurrent-kernels");
    let count = format!("\n{} experiments. One: ", rows.len() - 1);
    assert!(ended.stdout.contains(&count), "no {count:?} in {ended}");
    for columns in ["80", "100"] {
        let ended = Ended::of(checkout.command("list").env("COLUMNS", columns));
        fits(ended.succeeds(), columns);
    }
    let mut sections: Vec<_> = rows.iter().skip(1).map(|row| row[1]).collect();
    let shown = sections.clone();
    sections.sort();
    assert_eq!(shown, sections, "not in the order of the book");
    for (good, bad, said) in [
        ("gpus = 1", "gpus = 0", "nonzero"),
        ("section = \"8.2\"", "section = \"memory\"", "`memory` is no section"),
    ] {
        let manifest = "experiments/host-memory/not-yet/Cargo.toml";
        checkout.edit(manifest, good, bad);
        checkout.run("list").refuses(&[manifest, said]);
        checkout.edit(manifest, bad, good);
    }
}

/// A command of the program where no emulated driver lies beside it, so that a machine
/// without a GPU has nothing that runs an experiment.
fn command_without_an_emulator(checkout: &Checkout, arguments: &str) -> Command {
    let program = checkout.path("elsewhere/workbook");
    if !program.exists() {
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_workbook"), &program).unwrap();
    }
    let there = checkout.command(arguments);
    let mut command = Command::new(program);
    command.args(there.get_args()).current_dir(there.get_current_dir().unwrap());
    command.env("CUDA_VISIBLE_DEVICES", "");
    command
}

#[test]
fn doctor_says_what_is_missing_and_how_to_get_it() {
    let checkout = Checkout::small();
    let mut command = command_without_an_emulator(&checkout, "doctor");
    let ended = Ended::of(hide_compilers(&mut command));
    let report = ended.succeeds();
    let line = |start: &str| {
        let mut lines = report.lines();
        lines.find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("no {start}: {ended}"))
    };
    line("-- emulated GPU    the emulated driver does not lie beside the program");
    let why = line("-- GPU").split_once("none can be measured: ").unwrap().1;
    assert!(why.contains("driver"), "no reason in {ended}");
    // A toolkit's NVRTC cannot be hidden from the program; then it is found.
    if !report.contains("ok NVRTC") {
        line("-- NVRTC");
        assert!(report.contains(lab::libraries::NVRTC.install), "{ended}");
    }
    // Whether the host has enough to spare is another matter.
    assert!(report.lines().any(|l| l[2..].starts_with(" host ")), "{ended}");
    // What is the same for all experiments is said once.
    let said = " experiments  cannot run here, a GPU is needed;";
    let says = |l: &str| l.starts_with("-- ") && l.contains(said);
    assert!(report.lines().any(says), "{ended}");
    assert_eq!(report.matches("cannot run here").count(), 1, "{ended}");
    for name in ["transfer-bandwidth", "host-memory", "coalescing", "transpose"] {
        assert!(report.contains(name), "{ended}");
    }
    fits(report, "100");
}

#[test]
fn what_a_bare_machine_lacks_is_told_in_a_line() {
    let checkout = Checkout::small();
    let bare = |arguments: &str| {
        let mut command = checkout.command(arguments);
        let nothing = checkout.path("nothing");
        Ended::of(command.env_clear().env("PATH", nothing).env("TMPDIR", "/nonexistent"))
    };
    bare("list").succeeds();
    bare("build").succeeds();
    let folder = "no temporary folder can be made in /nonexistent; set TMPDIR";
    let doctor = bare("doctor");
    for line in ["-- git             not found", "-- temporary files no temporary folder"] {
        assert!(doctor.succeeds().contains(line), "no {line:?} in {doctor}");
    }
    for (arguments, line) in [
        ("compare HEAD:h200 h200/host-a", folder),
        ("run coalescing --emulate", "cargo, which compiles the experiments, cannot be started"),
    ] {
        let ended = bare(arguments);
        ended.refuses(&[line]);
        assert!(ended.fails(1).lines().count() <= 2, "{ended}");
    }
}

#[test]
fn run_without_a_gpu_says_why_and_builds_the_book() {
    let checkout = Checkout::small();
    for arguments in ["run", "run coalescing --quick --device 0"] {
        let before = contents(&checkout.path("results"));
        let mut command = command_without_an_emulator(&checkout, arguments);
        let ended = Ended::of(&mut command);
        let said = ended.succeeds();
        let first = said.split("\n\n").next().unwrap().replace('\n', " ");
        let reason = first.strip_prefix("No GPU can be measured here: ");
        assert!(reason.is_some_and(|reason| reason.contains("driver")), "{ended}");
        for part in ["the emulated driver does not lie beside the program", "reference machine"] {
            assert!(first.contains(part), "no {part} in {ended}");
        }
        let index = checkout.path("book/html/index.html");
        let last = said.lines().last().unwrap();
        assert_eq!(last, format!("the book: {}", index.display()));
        fs::remove_file(index).unwrap();
        assert!(contents(&checkout.path("results")) == before, "results were changed");
    }
}

/// A program that stands in for an experiment's, and ends as `script` says.
fn stand_in(checkout: &Checkout, experiment: &str, script: &str) {
    checkout.write_program(&format!("elsewhere/{experiment}"), script);
}

/// Runs the program beside what stands in for experiments' programs: there is nothing to compile.
fn run_stand_ins(checkout: &Checkout, arguments: &str) -> Ended {
    Ended::of(command_without_an_emulator(checkout, arguments).env("CARGO", "true"))
}

#[test]
fn run_lists_what_cannot_run_here_with_the_reason_and_succeeds() {
    let checkout = Checkout::small();
    stand_in(&checkout, "transpose", "exit 0");
    stand_in(
        &checkout,
        "coalescing",
        "echo 'coalescing cannot run on this machine: it needs 2 GPUs.' >&2\n\
         echo 'Nothing was recorded.' >&2\nexit 77",
    );
    stand_in(&checkout, "host-memory", "echo 'error: wrong result' >&2\necho 'advice' >&2\nexit 1");

    let ended = run_stand_ins(&checkout, "run coalescing transpose --emulate");
    ended.fails(0); // it says on standard error what the experiment says
    let skipped = "\nSkipped\n  coalescing: it needs 2 GPUs.\n";
    let recorded = "\nRecorded 1 of 2 experiments, in ";
    for said in
        [skipped, recorded, "\n  transpose\n", "/book/html/access-patterns/transpose.html\n"]
    {
        assert!(ended.stdout.contains(said), "no {said} in {ended}");
    }
    assert!(checkout.path("book/html/index.html").is_file(), "{ended}");

    let ended = run_stand_ins(&checkout, "run coalescing host-memory --emulate");
    ended.fails(1);
    let failed = "\nFailed\n  host-memory: wrong result\n";
    for line in [skipped, failed] {
        assert!(ended.stdout.contains(line), "{ended}");
    }
    assert!(ended.stdout.contains("Recorded 0 of 2 experiments"), "{ended}");

    stand_in(&checkout, "coalescing", "echo 'not recorded: it is edited' >&2");
    stand_in(&checkout, "host-memory", "echo 'not recorded: it is edited' >&2");
    let ended = run_stand_ins(&checkout, "run coalescing host-memory transpose --emulate");
    ended.fails(0);
    for said in ["Recorded 1 of 3 ", "\nNot recorded\n  host-memory, coalescing: it is edited\n"] {
        assert!(ended.stdout.contains(said), "no {said} in {ended}");
    }
    fits(&ended.stdout, "100");
}

/// Where all run, each has a line, and only what failed says more.
#[test]
fn a_run_of_all_says_how_each_ended_and_what_is_next() {
    let checkout = Checkout::small();
    let list = checkout.run("list --names");
    let names: Vec<&str> = list.succeeds().lines().collect();
    names.iter().for_each(|name| stand_in(&checkout, name, "echo a table; echo a note >&2"));
    stand_in(&checkout, "transpose", "echo 'error: wrong result' >&2; exit 1");
    let ended = run_stand_ins(&checkout, "run --emulate");
    assert_eq!(ended.fails(1), "error: wrong result\n");
    let count = names.len();
    for part in [
        &format!("\n{count} experiments, about "),
        "transpose: failed, wrong result, ",
        "] coalescing: recorded, ",
        &format!("\n[{count}/{count}] "),
        &format!("\nRecorded {} of {count} experiments, in ", count - 1),
        " (the estimate was ",
        "\nAn emulated GPU has run ",
        "\nNext\n  cargo workbook serve: the book",
        "\n  cargo workbook exercise: your first exercise",
    ] {
        assert!(ended.stdout.contains(part), "no {part:?} in {ended}");
    }
    assert!(!ended.stdout.contains("a table"), "{ended}");
    fits(&ended.stdout, "100");
    let page = &pages(&checkout.path("book/html"))["this-machine.html"];
    for part in ["Nothing was measured here yet, so these are", "An emulated GPU has run "] {
        assert!(page.contains(part), "no {part:?} in {page}");
    }
    let ended = run_stand_ins(&checkout, "run --emulate --tables");
    assert_eq!(ended.stdout.matches("a table").count(), count - 1, "{ended}");
    assert!(ended.fails(1).contains("a note"), "{ended}");
}

/// Cases that a record leaves out are told by their reasons.
#[test]
fn run_tells_what_records_leave_out() {
    let checkout = Checkout::small();
    let record = checkout.path("results/emulated/coalescing.json");
    let skipped = |stride: u64, reason: &str| json!({ "case": "stride", "parameters": { "stride": stride }, "reason": reason });
    let reasons = ["no room", "no room", "needs 64 MiB of memory", "needs 8192 MiB of memory"];
    edit_record(&checkout, "results/emulated/coalescing.json", |record| {
        let cases = (1..).zip(reasons).map(|(stride, reason)| skipped(stride, reason));
        record["skipped"] = cases.collect();
    });
    assert!(record.is_file());
    stand_in(&checkout, "coalescing", "");
    let ended = run_stand_ins(&checkout, "run coalescing --emulate");
    let said = "\nSkipped cases\n  coalescing (2): no room\n  \
                coalescing (2): needs 64 MiB to 8 GiB of memory\n";
    assert!(ended.succeeds().contains(said), "{ended}");
}

/// The same on the driver for tests, which passes for NVIDIA's.
fn run_on_test_driver(checkout: &Checkout, arguments: &str) -> Ended {
    let mut command = command_without_an_emulator(checkout, arguments);
    command.env("CARGO", "true").env("LD_LIBRARY_PATH", &*test_driver::FOLDER);
    Ended::of(command.env_remove("CUDA_VISIBLE_DEVICES"))
}

/// On the driver for tests. The records are there already.
#[test]
fn run_says_of_this_machine_what_its_page_says() {
    let checkout = Checkout::new();
    stand_in(&checkout, "coalescing", "");
    let other = run_on_test_driver(&checkout, "run coalescing --machine h200");
    other.misuses(&["h200 was recorded on other hardware", "--machine NAME"]);
    let run = |machine: &str| {
        checkout.write("results/this-machine", machine);
        let ended = run_on_test_driver(&checkout, "run coalescing");
        fits(ended.succeeds(), "100");
        // As one line of words, whatever the terminal's width.
        let words: Vec<&str> = ended.stdout.split_whitespace().collect();
        let page = &pages(&checkout.path("book/html"))["this-machine.html"];
        let main = page.split("<main>").nth(1).unwrap().split("</main>").next().unwrap();
        (words.join(" "), main.to_owned())
    };
    other_machine(&checkout, "results");
    edit_record(&checkout, "results/other/coalescing.json", |record| {
        record["skipped"] = json!([{ "case": "stride", "parameters": {}, "reason": "no <room>" }]);
        // Faster than any memory.
        record["measurements"][0]["seconds"] = json!([1e-6, 1e-6, 1e-6]);
    });
    let (said, page) = run("other");
    for part in [
        "RTX 4090 (this machine): ",
        " experiments are recorded, started 20",
        "coalescing: no ",
        "coalescing, stride access_bytes=",
        "cargo workbook compare h200 other",
        "every case beside the reference",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
        assert!(page.contains(part), "no {part:?} in {page}");
    }
    assert!(said.contains("no <room>") && page.contains("no &lt;room&gt;"));
    // As many verdicts, and the same; the same differences; the same goals.
    let list = page.split("id=\"verdicts\"").nth(1).unwrap().split("<h2").next().unwrap();
    let flips = list.split("<a class=\"verdict").skip(1).filter_map(|link| {
        let text = link.split_once('>')?.1.split_once('<')?.0;
        text.split_once(" · ")
    });
    let flips: Vec<_> = flips.collect();
    let count = format!(" claims, and {} have other verdicts here.", flips.len());
    assert!(flips.len() > 1 && said.contains(&count), "no {count} in {said}");
    for (id, verdict) in flips {
        assert!(said.contains(&format!(" {id} {verdict}, ")), "{id} {verdict}: {said}");
    }
    let differences = page.split("id=\"differences\"").nth(1).unwrap();
    let items = differences.split("<h2").next().unwrap().split("<span class=\"value\">").skip(1);
    let speeds: Vec<_> = items.map(|item| item.split('×').next().unwrap()).collect();
    assert_eq!(speeds.len(), 10, "{page}");
    for speed in speeds {
        assert!(said.contains(&format!(" {speed}× as fast: ")), "{speed}: {said}");
    }
    let goals = page.split("id=\"goals\"").nth(1).unwrap();
    let goals = goals.split("class=\"counts\">").nth(1).unwrap();
    let goals = goals.split("</p>").next().unwrap();
    assert!(said.contains(&format!("Goals: {goals} ")), "no {goals} in {said}");

    let (said, page) = run("h200");
    let reference = "is a reference machine: what the book says of it is of all its runs.";
    assert!(said.contains(reference) && page.contains(reference), "{said} {page}");
}

/// An experiment of which a program is needed, not a stand-in: cargo builds none for a test of
/// another package.
fn build(checkout: &Checkout, experiment: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "workbook", "--package", experiment]);
    cargo.arg("--target-dir").arg(target).current_dir(checkout::root());
    Ended::of(&mut cargo).succeeds();
    let program = checkout.path("elsewhere").join(experiment);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::copy(target.join("debug").join(experiment), program).unwrap();
}

/// On the driver for tests, with the experiment's own program: it would find out, too.
#[test]
fn records_that_a_run_may_not_replace_stop_it_at_once() {
    let checkout = Checkout::small();
    build(&checkout, "transfer-bandwidth");
    let run = |arguments: &str| {
        run_on_test_driver(&checkout, &format!("run transfer-bandwidth --samples 1 {arguments}"))
    };
    run("").succeeds();
    run("--label before").succeeds();
    let (results, book) = (contents(&checkout.path("results")), checkout.path("book/html"));
    fs::remove_dir_all(&book).unwrap();
    let path = "results/test-gpu/transfer-bandwidth.json holds a full run";
    let labelled = "results/test-gpu/before/transfer-bandwidth.json is there already";
    for (arguments, said) in [
        ("--quick", [path, "leave out --quick"]),
        ("--quick --machine test-gpu", [path, "--replace"]),
        ("--label before", [labelled, "take another label than before"]),
        // The other one has no record yet.
        ("--label before host-memory", ["1 of 2 experiments: ", labelled]),
    ] {
        run(arguments).misuses(&said);
    }
    assert!(contents(&checkout.path("results")) == results && !book.exists());
    run("--label after").succeeds();
    run("--quick --replace").succeeds();
    assert!(checkout.read("results/test-gpu/transfer-bandwidth.json").contains("\"quick\": true"));
}

#[test]
fn what_is_refused_at_once_builds_no_book() {
    let checkout = Checkout::small();
    let run = |arguments: &str| {
        let mut command = checkout.command(arguments);
        command.env_remove("CUDA_VISIBLE_DEVICES").env_remove("CHROMIUM");
        Ended::of(command.env("PATH", checkout.path("nowhere")))
    };
    let names = ["`nosuch`", "coalescing", "host-memory", "transfer-bandwidth"];
    let meant = "did you mean `coalescing`?";
    let rows: [(&str, &[&str]); 11] = [
        ("run coalescing nosuch", &names),
        ("run transpose coalesing", &["coalesing", meant]),
        ("run transpose coalescng", &["coalescng", meant]),
        ("run transpose Coalescing", &["Coalescing", meant]),
        ("run coalescing --emulate --device 7", &["there is no GPU 7, only 2"]),
        ("run --emulate --machine h200", &["h200 holds what was measured"]),
        ("build --machine nosuch", &["`nosuch`", "h200"]),
        ("build --machine ../h200", &["`../h200`", "h200"]),
        ("exercise add --json", &["--json is for `list`"]),
        ("exercise 0", &["there is no exercise 0: they have the numbers 1 to "]),
        ("exercise list --hint", &["`list` is of all exercises: name the one"]),
    ];
    for (arguments, said) in rows {
        run(arguments).misuses(said);
    }
    fits(run("run coalescing nosuch").fails(2), "100");
    run("print").refuses(&["no Chromium was found", "set CHROMIUM"]);
    assert!(!checkout.path("book/html").exists(), "the book was built");
}

// ---- print --------------------------------------------------------------------------

/// The browser is a stand-in, which is handed the page of all pages.
#[test]
fn print_puts_the_pdf_in_its_place() {
    let checkout = Checkout::small();
    let print_to = |pdf: &str, script: &str| {
        checkout.write_program("browser", script);
        let mut command = checkout.command("print --pdf");
        Ended::of(command.arg(pdf).env("CHROMIUM", checkout.path("browser")))
    };
    // Before anything is built.
    print_to("nowhere/mine.pdf", "").refuses(&["nowhere/mine.pdf cannot be written: "]);
    print_to("book", "").misuses(&["book is a folder"]);
    let mut command = checkout.command("print");
    Ended::of(command.env("CHROMIUM", "/nonexistent")).refuses(&["cannot start /nonexistent"]);
    assert!(!checkout.path("book/html").exists(), "the book was built");
    let print = |script: &str| print_to("mine.pdf", script);
    print(
        "for each; do case $each in --print-to-pdf=*) pdf=${each#*=};; *print.html) \
         page=$each;; esac; done; grep -o 'class=\"title-page\"' \"$page\" > \"$pdf\"",
    )
    .succeeds();
    assert_eq!(checkout.read("mine.pdf"), "class=\"title-page\"\n");
    print("echo no display >&2").refuses(&["has printed nothing", "no display"]);
    assert_eq!(checkout.read("mine.pdf"), "class=\"title-page\"\n");
}

// ---- build --------------------------------------------------------------------------

/// What all it finds is tested where books are built.
#[test]
fn a_build_says_what_it_draws_and_a_check_what_it_would() {
    let checkout = Checkout::small();
    checkout.run("build").succeeds();
    let edited = "book/src/figures/h200/coalescing-sectors.svg";
    let stray = "book/src/figures/h200/nothing-draws-this.svg";
    checkout.edit(edited, "</svg>", "<desc>better numbers</desc></svg>");
    checkout.write(stray, "<svg aria-labelledby=\"chart-nothing-draws-this-wide-title\">\n");
    let before = contents(&checkout.path("book/src/figures"));
    checkout.run("build --check").refuses(&[edited, stray, "cargo workbook build"]);
    assert!(contents(&checkout.path("book/src/figures")) == before, "it drew");
    let ended = checkout.run("build");
    let index = checkout.path("book/html/index.html");
    let said = format!("drawn: {edited}\nremoved: {stray}\nthe book: {}\n", index.display());
    assert_eq!(ended.succeeds(), said);
    assert_eq!(
        checkout.run("build --check").succeeds(),
        said.lines().last().unwrap().to_owned() + "\n"
    );
}

#[test]
fn output_is_relative_to_the_folder_that_the_command_is_given_in() {
    let checkout = Checkout::small();
    fs::create_dir(checkout.path("below")).unwrap();
    // What is there the second time is a book, which the next build replaces.
    for _ in 0..2 {
        let mut command = checkout.command("build --output mine/book");
        let ended = Ended::of(command.current_dir(checkout.path("below")));
        let index = checkout.path("below/mine/book/index.html");
        assert!(ended.succeeds().ends_with(&format!("the book: {}\n", index.display())), "{ended}");
        assert!(index.is_file(), "{ended}");
    }
    assert!(!checkout.path("book/html").exists(), "it was built there, too");
}

#[test]
fn output_never_removes_what_is_not_a_book() {
    let checkout = Checkout::small();
    checkout.write("precious/letter.txt", "Dear reader");
    // As if it were a book; and a book with something else in it.
    checkout.write("public/toc.html", "my own");
    checkout.write("public/thesis.html", "years");
    checkout.run("build --output mixed").succeeds();
    checkout.write("mixed/access-patterns/thesis.html", "years");
    // A list that names what no build made; and a page of a book that was edited since.
    checkout.write("forged/thesis.html", "years");
    checkout.write("forged/.made-by-cargo-workbook", "  thesis.html\n");
    checkout.run("build --output edited").succeeds();
    checkout.write("edited/scorecard.html", "my notes");
    std::os::unix::fs::symlink("precious", checkout.path("link")).unwrap();
    for folder in
        ["precious", ".", "book", "book/src", "public", "mixed", "forged", "edited", "link"]
    {
        let before = contents(&checkout.path(""));
        let ended = checkout.run(&format!("build --output {folder}"));
        assert!(
            contents(&checkout.path("")) == before,
            "--output {folder} changed or removed files:\n{ended}"
        );
        let path = checkout.path(folder).canonicalize().unwrap();
        ended.refuses(&[&path.display().to_string(), "is not as a build here made it"]);
    }
    // The default folder is the workbook's own, unless it is a link to somebody's.
    fs::rename(checkout.path("link"), checkout.path("book/html")).unwrap();
    std::os::unix::fs::symlink("../precious", checkout.path("book/link")).unwrap();
    fs::rename(checkout.path("book/link"), checkout.path("book/html")).unwrap();
    checkout.run("build").refuses(&["letter.txt"]);
    assert_eq!(checkout.read("precious/letter.txt"), "Dear reader");
}

/// Links, pictures of somebody's own, and pages that lie above the book.
#[test]
fn a_build_writes_and_removes_its_own_alone() {
    let checkout = Checkout::small();
    let figures = "book/src/figures/h200";
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(checkout.path(from), checkout.path(to)).unwrap();
    };
    checkout.write("precious/letter.txt", "Dear reader");
    checkout.write("precious/holiday.svg", "<svg></svg>");
    checkout.write(&format!("{figures}/sketch.svg"), "<svg>mine</svg>");
    let drawn = format!("{figures}/coalescing-offset.svg");
    link("precious/letter.txt", &drawn);
    checkout.run("build").succeeds();
    assert!(!checkout.path(&drawn).is_symlink());
    assert_eq!(checkout.read(&format!("{figures}/sketch.svg")), "<svg>mine</svg>");
    link("precious", "book/src/figures/h200-x4");
    checkout.run("build").refuses(&["h200-x4 is a link"]);
    fs::remove_file(checkout.path("book/src/figures/h200-x4")).unwrap();

    checkout.write("foo.html", "my own");
    checkout.write("foo.md", "# Foo");
    let summary = checkout.read("book/src/SUMMARY.md");
    checkout.write("book/src/SUMMARY.md", &format!("{summary}\n[Foo](../../foo.md)\n"));
    checkout.run("build").refuses(&["../../foo.md in book.toml or SUMMARY.md leaves"]);
    checkout.write("book/src/SUMMARY.md", &summary);
    checkout.edit("book/book.toml", "\"theme/workbook.css\"", "\"../../claims.toml\"");
    checkout.run("build").refuses(&["../../claims.toml in book.toml or SUMMARY.md leaves"]);
    assert_eq!(checkout.read("foo.html"), "my own");
    assert_eq!(checkout.read("precious/letter.txt"), "Dear reader");
    assert_eq!(checkout.read("precious/holiday.svg"), "<svg></svg>");
}

/// What a stranger's archive says is shown as text, whatever reads it.
#[test]
fn an_archive_steers_no_terminal() {
    let checkout = Checkout::small();
    let tar = "mkdir -p a/results/m; echo '{}' > a/results/m/x.json; \
               tar -C a --format=ustar -cf a.tar results/m/x.json";
    let mut shell = Command::new("sh");
    let shell = shell.current_dir(checkout.path("")).args(["-c", tar]);
    assert!(shell.status().unwrap().success());
    let mut bytes = fs::read(checkout.path("a.tar")).unwrap();
    bytes[124..135].copy_from_slice(b"\x1b[31m\x1b]0;x\x07"); // the member's size
    fs::write(checkout.path("a.tar"), bytes).unwrap();
    let gzip = Command::new("gzip").arg(checkout.path("a.tar")).status();
    assert!(gzip.unwrap().success());
    let ended = checkout.run("import a.tar.gz");
    assert!(!ended.fails(1).contains(['\u{1b}', '\u{7}']), "{ended}");
}

#[test]
fn no_variable_says_where_the_book_goes() {
    let checkout = Checkout::small();
    checkout.write("precious/letter.txt", "Dear reader");
    let mut command = checkout.command("build");
    command.env("MDBOOK_BUILD__BUILD_DIR", checkout.path("precious"));
    command.env("MDBOOK_BOOK__TITLE", "Another title");
    Ended::of(&mut command).succeeds();
    assert_eq!(checkout.read("precious/letter.txt"), "Dear reader");
    assert!(!checkout.read("book/html/index.html").contains("Another title"));
}

/// A book that is wrong leaves the one before as it was, and nothing beside it.
#[test]
fn a_book_is_put_in_its_place_when_it_is_done() {
    let checkout = Checkout::small();
    checkout.write("book/html/of-before.html", "a page that is gone");
    checkout.run("build").succeeds();
    assert!(!checkout.path("book/html/of-before.html").exists());
    let before = contents(&checkout.path("book"));
    checkout.edit(PAGE, "](", "](no-such-page.md) [and](");
    checkout.run("build").refuses(&["no-such-page"]);
    checkout.write(PAGE, std::str::from_utf8(&before[&checkout.path(PAGE)]).unwrap());
    assert!(contents(&checkout.path("book")) == before);
}

/// The books that are being built, by the names of their folders.
fn unfinished(checkout: &Checkout) -> Vec<String> {
    let entries = fs::read_dir(checkout.path("book")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".building-")).collect()
}

/// Neither an interrupt nor what a killed program has left an hour ago stays beside the book.
#[test]
fn no_unfinished_book_stays() {
    let checkout = Checkout::small();
    let unfinished = || unfinished(&checkout);
    checkout.write("book/.building-old/index.html", "");
    let hours = std::time::Duration::from_secs(2 * 3600);
    let old = fs::File::open(checkout.path("book/.building-old")).unwrap();
    old.set_modified(std::time::SystemTime::now() - hours).unwrap();
    let mut child = checkout.command("build").stdout(Stdio::null()).spawn().unwrap();
    while unfinished().iter().all(|name| name == ".building-old") {
        assert!(child.try_wait().unwrap().is_none(), "it has ended before");
    }
    assert_eq!(unfinished().len(), 1, "the old one is still there");
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(unfinished().is_empty() && !checkout.path("book/html").exists());
}

/// What all can be wrong with a record is tested where records are read.
#[test]
fn a_broken_record_is_refused_with_file_and_field() {
    let checkout = Checkout::small();
    let good = checkout.read(RECORD);
    let cut = good.find("\"seconds\"").unwrap() + 20;
    checkout.edit(RECORD, "\"name\": \"h200\"", "\"name\": \"h100\"");
    let renamed = checkout.read(RECORD);
    for (broken, field) in [(&good[..cut], "measurements[0].seconds"), (&renamed, "machine.name")] {
        checkout.write(RECORD, broken);
        let place = format!("{}: field `{field}`: ", checkout.path(RECORD).display());
        for command in ["build", "build --check", "run"] {
            checkout.run(command).refuses(&[&place]);
        }
        let ended = checkout.run("list");
        ended.warns(&[&place]);
        assert!(ended.stdout.contains(" broken)"), "{ended}");
    }
    checkout.write(RECORD, &good);
    checkout.write("results/this-machine", "../somewhere\n");
    for command in ["build", "list"] {
        checkout.run(command).refuses(&["`../somewhere`", "results/this-machine"]);
    }
    assert!(!checkout.path("book/html").exists(), "the book was built");
}

/// What is wrong with one record of a reader's machine costs that record.
#[test]
fn a_broken_record_of_another_machine_is_left_out() {
    let checkout = Checkout::small();
    other_machine(&checkout, "results");
    checkout.write("results/this-machine", "other\n");
    checkout.write("results/other/coalescing.json", "{");
    checkout.write("results/third/transpose.json", "{}");
    let place = |path| format!("{}: field `", checkout.path(path).display());
    let broken = place("results/other/coalescing.json");
    checkout.run("build").warns(&["warning: ", &broken]);
    let page = checkout.read(&format!("book/html/{HTML}"));
    // In the list of records, and under charts and tables.
    let shown = ["data-machine=\"other\"", "RTX 4090 · "];
    assert!(!shown.iter().any(|part| page.contains(part)), "it is shown");
    let page = checkout.read("book/html/access-patterns/transpose.html");
    assert!(shown.iter().all(|part| page.contains(part)), "others are not");
    // Nothing is measured here: the programs are not compiled.
    let ended = Ended::of(checkout.command("run").env("CARGO", "/bin/false"));
    ended.refuses(&["the experiments do not compile"]);
    checkout.run("list").warns(&[&broken, &place("results/third/transpose.json")]);
}

#[test]
fn an_imported_machine_is_not_this_machine_and_quick_runs_are_marked() {
    let checkout = Checkout::small();
    other_machine(&checkout, "brought");
    let shown = |folder: &str| {
        let read = |page| checkout.read(&format!("{folder}/{page}.html"));
        (read("access-patterns/coalescing"), read("scorecard"))
    };
    checkout.run("import brought").succeeds();
    // The only one that was imported is what is asked for.
    let ended = checkout.run("build --output theirs");
    assert!(ended.succeeds().contains("about other, which was imported, beside the "), "{ended}");
    let (page, scorecard) = shown("theirs");
    assert!(page.contains("on RTX 4090 (other)<") && !page.contains("on this machine<"));
    assert!(!scorecard.contains("was measured quickly"));
    checkout.run("compare h200").succeeds();
    checkout.run("import brought --as another").succeeds();
    let both = "another, other were imported: name what h200 is compared with";
    checkout.run("compare h200").misuses(&[both]);
    let ended = checkout.run("build --output theirs");
    let said = "about the reference machines; for another machine that was imported: --machine \
                NAME (another, other)";
    assert!(ended.succeeds().contains(said), "{ended}");
    assert!(!shown("theirs").0.contains("(other)<"));
    fs::remove_dir_all(checkout.path("results/another")).unwrap();

    fs::remove_file(checkout.path("results/other/imported")).unwrap();
    edit_record(&checkout, "results/other/coalescing.json", |record| {
        record["run"]["quick"] = json!(true);
    });
    checkout.run("build --machine other --output ours").succeeds();
    let (page, scorecard) = shown("ours");
    assert!(page.contains("on this machine<") && page.contains("of a quick run: fewer"));
    assert!(scorecard.contains("measured on this machine was measured quickly"));
}

#[test]
fn a_folder_with_two_kinds_of_gpu_is_refused() {
    let checkout = Checkout::small();
    other_machine(&checkout, "results");
    let record = "results/other/transpose.json";
    edit_record(&checkout, record, |record| {
        record["machine"]["gpus"][0]["name"] = json!("NVIDIA Z");
    });
    let ended = checkout.run("build --machine other");
    ended.refuses(&["results/other: ", "NVIDIA GeForce RTX 4090, transpose on NVIDIA Z"]);
}

/// What all can be wrong with a page is tested where books are built.
#[test]
fn a_page_that_only_the_summary_has_is_not_made() {
    let checkout = Checkout::small();
    let line = "/coalescing.md)\n";
    let more = format!("{line}- [Nobody wrote this](nobody-wrote-this.md)\n");
    checkout.edit("book/src/SUMMARY.md", line, &more);
    checkout.run("build").refuses(&["nobody-wrote-this.md"]);
    assert!(!checkout.path("book/src/nobody-wrote-this.md").exists());
}

/// How the pages show two machines is tested where books are built.
#[test]
fn this_machine_is_the_one_that_recorded_last_or_is_named() {
    let checkout = Checkout::small();
    checkout.run("build").succeeds();
    let figures = contents(&checkout.path("book/src/figures"));
    other_machine(&checkout, "results");
    for (recorded_last, arguments, is_shown) in [
        ("other", "build", true),
        ("other", "build --machine h200", false),
        ("h200", "build", false),
        ("h200", "build --machine other", true),
    ] {
        checkout.write("results/this-machine", &format!("{recorded_last}\n"));
        let ended = checkout.run(arguments);
        assert!(!ended.succeeds().contains("drawn: "), "{recorded_last}: {ended}");
        let drawn = checkout.path("book/html/figures/other/coalescing-sectors.svg");
        assert_eq!(drawn.exists(), is_shown, "{recorded_last}: {ended}");
        let html = &pages(&checkout.path("book/html"))[HTML];
        let first = html.split_once("data-machine=\"").unwrap().1;
        let shown = if is_shown { "other\"" } else { "h200\"" };
        assert!(first.starts_with(shown), "{recorded_last}: {ended}");
        assert_eq!(html.contains("RTX 4090"), is_shown, "{recorded_last}: {ended}");
        assert!(html.contains("NVIDIA H200"), "{recorded_last}: {ended}");
    }
    assert!(contents(&checkout.path("book/src/figures")) == figures);

    // Where this machine has no record, the reference's is shown and says so.
    fs::remove_file(checkout.path("results/other/transpose.json")).unwrap();
    checkout.run("build --machine other").succeeds();
    let html = &pages(&checkout.path("book/html"))["access-patterns/transpose.html"];
    assert!(!html.contains("data-machine=\"other\""), "numbers out of nowhere");
    assert!(html.contains(" <span class=\"beside\">(H200)</span>"), "not labelled");
}

// ---- preprocess ---------------------------------------------------------------------

/// What mdBook sends a preprocessor: where it is, and a book of one chapter.
fn sent_by_mdbook(checkout: &Checkout, content: &str) -> String {
    let chapter = json!({
        "name": "Coalescing",
        "content": content,
        "number": [1],
        "sub_items": [],
        "path": "coalescing.md",
        "source_path": "coalescing.md",
        "parent_names": [],
    });
    let context = json!({
        "root": checkout.path("book"),
        "config": {
            "book": { "title": "A book", "src": "src" },
            "preprocessor": { "workbook": {} },
        },
        "renderer": "html",
        "mdbook_version": "0.5.4",
        "chapter_titles": {},
    });
    json!([context, { "items": [{ "Chapter": chapter }, "Separator"] }]).to_string()
}

fn preprocess(checkout: &Checkout, input: &str) -> Ended {
    let file = checkout.path("input.json");
    fs::write(&file, input).unwrap();
    let input = fs::File::open(&file).unwrap();
    Ended::of(checkout.command("preprocess").stdin(input))
}

#[test]
fn the_preprocessor_supports_html_and_nothing_else() {
    let checkout = Checkout::small();
    assert_eq!(checkout.run("preprocess supports html").succeeds(), "");
    for renderer in ["epub", "markdown", "HTML", "linkcheck"] {
        let ended = checkout.run(&format!("preprocess supports {renderer}"));
        assert_eq!(ended.fails(1), "", "{renderer}: mdBook asks, nothing is wrong");
    }
}

#[test]
fn the_preprocessor_gives_mdbook_the_expanded_chapters_and_nothing_else() {
    let checkout = Checkout::small();
    checkout.write("book/claims.toml", ""); // the book has one page, it would miss others
    let content =
        "# A page\n\nIt reaches {{peak}}. `{{peak}}` is how to say so.\n\n{{provenance}}\n";
    let toml = "experiment = \"coalescing\"\n[quantities]\n\
        peak = \"machine coalescing : memory_peak\"\n";
    checkout.write("book/src/coalescing.toml", toml);
    let figures = contents(&checkout.path("book/src"));
    let ended = preprocess(&checkout, &sent_by_mdbook(&checkout, content));
    let book: Value =
        serde_json::from_str(ended.succeeds()).unwrap_or_else(|e| panic!("not JSON: {e}: {ended}"));
    let chapter = &book["items"][0]["Chapter"];
    assert_eq!(chapter["name"], "Coalescing");
    assert_eq!(chapter["path"], "coalescing.md");
    assert_eq!(book["items"][1], "Separator");
    let expanded = chapter["content"].as_str().unwrap();
    let (start, rest) = expanded.split_once("<span class=\"value\">").unwrap();
    assert!(start.ends_with("It reaches "), "{expanded}");
    assert!(rest.contains("GB/s</span>. `{{peak}}` is how"), "{expanded}");
    assert!(expanded.contains("NVIDIA H200"), "no provenance: {expanded}");
    let now = contents(&checkout.path("book/src"));
    assert!(now == figures, "writing figures would start mdBook's next build");
}

#[test]
fn the_preprocessor_fails_without_a_word_on_standard_output() {
    let checkout = Checkout::small();
    checkout.write("book/claims.toml", "");
    let mistake = sent_by_mdbook(&checkout, "# A page\n\n{{no_such_number}}\n");
    for (input, problem) in [
        (mistake.as_str(), "coalescing.md:3: {{no_such_number}}"),
        ("", "EOF"),
        ("{}", "error"),
        ("[{}, {}]", "error"),
    ] {
        let ended = preprocess(&checkout, input);
        ended.refuses(&[problem]);
        assert_eq!(ended.stdout, "", "{ended}");
    }
}

// ---- new ----------------------------------------------------------------------------

/// What `new` makes for the experiment `shared-atomics` of section 8.3.
const NEW: [&str; 6] = [
    "experiments/access-patterns/shared-atomics/Cargo.toml",
    "experiments/access-patterns/shared-atomics/src/main.rs",
    "kernels/shared-atomics.cu",
    "kernels/ptx/shared-atomics.ptx",
    "book/src/access-patterns/shared-atomics.md",
    "book/src/access-patterns/shared-atomics.toml",
];

#[test]
fn new_makes_a_draft_that_the_book_takes_at_once() {
    let checkout = Checkout::small();
    let before = contents(&checkout.path(""));
    let ended = checkout.run("new shared-atomics --section 8.3");
    let said = ended.succeeds();
    for file in NEW {
        assert!(said.contains(&format!("made: {file}\n")), "no {file} in {ended}");
        let text = checkout.read(file);
        for place in ["NAME", "SECTION", "FOLDER"] {
            assert!(!text.is_empty() && !text.contains(place), "{file}: {text}");
        }
    }
    assert!(said.contains("cargo run -p shared-atomics"), "{ended}");
    let list = "/transpose.md)\n- [shared-atomics](access-patterns/shared-atomics.md)\n\n# ";
    let summary = checkout.read("book/src/SUMMARY.md");
    assert!(summary.contains(list), "not at the end of its section: {summary}");
    let changed = contents(&checkout.path(""));
    let changed = before.iter().filter(|(path, text)| changed[*path] != **text);
    assert_eq!(changed.count(), 1, "more than the summary was changed");

    checkout.run("build").succeeds();
    checkout.run("build --check").succeeds();
    let pages = pages(&checkout.path("book/html"));
    let page = &pages["access-patterns/shared-atomics.html"];
    assert!(page.contains("This page is a draft"), "{page}");
    assert!(page.contains("How many times as long does"), "{page}");
    assert!(page.contains("Not recorded yet."), "{page}");
    assert!(!page.contains("not recorded yet</span>"), "{page}");
    let shown = pages.values().filter(|page| page.contains("class=\"draft\"")).count();
    assert_eq!(shown, 2, "other pages than the draft and the one for printing");

    // What is wrong on a draft is still wrong.
    let [.., page, toml] = NEW;
    let ratio = "ratio = \"twice / once";
    for (file, good, bad, said) in [
        (page, "{{once}}", "{{one}}", "one"),
        (toml, "once : time", "once : tme", "tme"),
        (toml, "answer = \"ratio", "answer = \"raito", "raito"),
        (toml, ratio, "ratio = \"twice / ratio", "goes in a circle"),
        (toml, "experiment = \"shared-atomics\"", "# none", "name the `experiment`"),
        (toml, "experiment = \"shared-atomics\"", "experiment = \"shared\"", "`shared`"),
    ] {
        checkout.edit(file, good, bad);
        checkout.run("build").refuses(&[said]);
        checkout.edit(file, bad, good);
    }
    // What could divide by zero without a record is not.
    checkout.edit(toml, ratio, "ratio = \"once / (twice - once)");
    checkout.run("build").succeeds();
    checkout.edit(toml, "ratio = \"once / (twice - once)", ratio);
    // What holds only under a condition is not said before it was measured.
    let text = "TODO(author): the mechanism";
    let sentence = format!("{{{{if ratio > 1.5}}}}Much more, {{{{ratio}}}}.{{{{end}}}} {text}");
    checkout.edit(page, text, &sentence);
    checkout.run("build").succeeds();
    let html = checkout.read("book/html/access-patterns/shared-atomics.html");
    assert!(!html.contains("Much more") && html.contains(text), "{html}");
    checkout.edit(page, ".{{end}}", ".");
    checkout.run("build").refuses(&["an `{{if}}` ends in its paragraph"]);
    checkout.edit(page, &sentence.replace(".{{end}}", "."), text);

    // A claim that it is to settle waits for a record.
    let claims = checkout.read("book/claims.toml");
    let claim = "\n[[claim]]\nid = \"C999\"\nsection = \"8.3\"\nsource = \"chapter, line 1\"\n\
        says = \"It takes twice as long.\"\njapanese = \"2倍かかる\"\n\
        page = \"shared-atomics\"\n\
        [[claim.test]]\nwhat = \"twice over once\"\nquantity = \"ratio\"\nclaimed = 2.0\n\
        unit = \"×\"\ntolerance = 0.2\n";
    checkout.write("book/claims.toml", &format!("{claims}{claim}"));
    checkout.edit(page, text, &format!("{{{{verdict C999}}}} {text}"));
    checkout.run("build").succeeds();
    let html = checkout.read("book/html/access-patterns/shared-atomics.html");
    assert!(html.contains("not yet measured"), "{html}");

    // The reader's own record is shown; and once a page is no draft, it needs a reference's.
    checkout.write("results/this-machine", "other\n");
    let own = "results/other/shared-atomics.json";
    checkout.write(own, &checkout.read(RECORD));
    edit_record(&checkout, own, |record| {
        record["run"].as_object_mut().unwrap().remove("label");
        record["experiment"] = json!("shared-atomics");
        record["machine"]["name"] = json!("other");
        let measurements = record["measurements"].as_array_mut().unwrap();
        measurements.truncate(2);
        for (measurement, case) in measurements.iter_mut().zip(["once", "twice"]) {
            measurement["case"] = json!(case);
        }
    });
    checkout.run("build").fails(0);
    let html = checkout.read("book/html/access-patterns/shared-atomics.html");
    assert!(html.contains("This page is a draft"), "{html}");
    assert!(!html.contains("ot recorded yet."), "{html}");
    let scorecard = checkout.read("book/html/scorecard.html");
    assert!(scorecard.contains("C999"), "{scorecard}");
    checkout.edit(NEW[0], "status = \"draft\"", "");
    checkout.run("build").refuses(&["has a measured record of `shared-atomics`"]);
}

#[test]
fn new_refuses_names_that_are_taken_and_what_could_not_work() {
    let checkout = Checkout::new();
    checkout.run("new shared-atomics --section 8.3").succeeds();
    checkout.write("kernels/only-a-kernel.cu", "// only a kernel\n");
    checkout.write("experiments/streams/only-a-folder/notes", "");
    checkout.write("results/other/only-a-record.json", "");
    let before = contents(&checkout.path(""));
    let refused = |name: &str, section: &str, why: &str| {
        let mut command = checkout.command("new");
        Ended::of(command.args([name, "--section", section])).misuses(&[why]);
    };
    for (name, taken) in [
        ("shared-atomics", "experiments/access-patterns/shared-atomics"),
        ("lab", "experiments/shared/lab"),
        ("report", "package"),
        ("emulator", "package"),
        ("cudarc", "package"),
        ("serde-json", "package"),
        ("method", "page method.md"),
        ("broken-kernels", "page broken-kernels.md"),
        ("only-a-kernel", "kernels/only-a-kernel.cu"),
        ("only-a-folder", "experiments/streams/only-a-folder"),
        ("only-a-record", "results/other/only-a-record.json"),
        ("cupy", "/cupy.json"),
    ] {
        refused(name, "8.4", taken);
    }
    let long = "a".repeat(65);
    for name in [
        "../x",
        "a/b",
        "Banks",
        "bank_conflicts",
        "banks.md",
        "ünder",
        "",
        &long,
        // cargo takes no such package or program, or counters have this name
        "3d-stencil",
        "deps",
        "build",
        "fit",
        "test",
        "gather-counters",
        "nul",
        "proc-macro",
        // mdBook's own pages
        "index",
        "print",
        "searchindex",
        "toc",
    ] {
        refused(name, "8.3", &format!("`{name}`"));
    }
    for section in ["", "8", "8.", "8.30", "eight", "8.3\n"] {
        refused("some-name", section, &format!("`{section}`"));
        refused("some-name", section, "8.3 (access-patterns)");
    }
    assert!(contents(&checkout.path("")) == before, "files were changed");
}

#[test]
fn new_makes_all_or_nothing() {
    let checkout = Checkout::small();
    fs::rename(checkout.path("kernels/ptx"), checkout.path("ptx")).unwrap();
    checkout.write("kernels/ptx", "a file in the place of a folder");
    let before = contents(&checkout.path(""));
    let ended = checkout.run("new shared-atomics --section 8.3");
    ended.refuses(&["kernels/ptx/shared-atomics.ptx"]);
    assert!(contents(&checkout.path("")) == before, "files were changed");
    assert!(!checkout.path("experiments/access-patterns/shared-atomics").exists());
}

/// An experiment in this checkout, where all else is compiled, which goes with this value.
struct Draft {
    made: Vec<PathBuf>,
    before: [(PathBuf, String); 2],
}

impl Draft {
    fn new(root: &Path, name: &str) -> Draft {
        let before = ["Cargo.lock", "book/src/SUMMARY.md"].map(|file| root.join(file));
        let before = before.map(|path| (path.clone(), fs::read_to_string(path).unwrap()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_workbook"));
        let ended = Ended::of(command.args(["new", name, "--section", "8.3"]).current_dir(root));
        let made = ended.succeeds().lines().filter_map(|line| line.strip_prefix("made: "));
        let made = made.map(|file| root.join(file)).collect();
        Draft { made, before }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.before.iter().for_each(|(path, text)| drop(fs::write(path, text)));
        for path in &self.made {
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
        }
    }
}

#[test]
#[ignore = "adds an experiment to this checkout for some seconds; .ci/run runs it"]
fn what_new_makes_runs_as_it_is_and_passes_the_tests() {
    let root = checkout::root();
    let mut draft = Draft::new(&root, "warp-votes");
    let more = ["experiments/access-patterns/warp-votes", "results/emulated/warp-votes.json"];
    draft.made.extend(more.map(|path| root.join(path)));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let cargo = |arguments: &str| {
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments.split_whitespace()).current_dir(&root);
        Ended::of(command.env("CARGO_TARGET_DIR", target)).fails(0);
    };
    cargo("fmt --check --package warp-votes");
    cargo("clippy --offline --quiet --package warp-votes -- -D warnings");
    cargo("build --offline --quiet --package workbook --package warp-votes --bin warp-votes");
    let program = target.join("debug/warp-votes").with_extension(EXE_EXTENSION);
    let run = || {
        let mut program = Command::new(&program);
        Ended::of(program.arg("--emulate").current_dir(&root))
    };
    run().fails(0);
    // A program has its PTX in it: one thread too many has to show.
    let right = fs::read(&program).unwrap();
    let check = b"setp.ge.";
    let at = right.windows(check.len()).position(|bytes| bytes == check).unwrap();
    let mut wrong = right.clone();
    wrong[at..at + check.len()].copy_from_slice(b"setp.gt.");
    fs::write(&program, wrong).unwrap();
    run().refuses(&["ragged, past its end"]);
    fs::write(&program, right).unwrap();
    // Machine code of all other kernels takes a minute, and CI has compared it already.
    cargo(
        "test --offline --quiet --package workbook --test complete --test kernels \
         -- --skip machine_code_differs",
    );
    let record = fs::read_to_string(root.join("results/emulated/warp-votes.json")).unwrap();
    assert!(record.contains("\"case\":\"twice\""), "{record}");
}

// ---- import -------------------------------------------------------------------------

#[test]
fn import_takes_over_records_of_a_new_machine() {
    let checkout = Checkout::small();
    other_machine(&checkout, "brought");
    let brought = contents(&checkout.path("brought")).len();
    checkout.write("brought/other/notes.txt", "not a record");
    let before = contents(&checkout.path("results"));
    let ended = checkout.run("import brought");
    for name in ["bank-conflicts", "coalescing", "transpose"] {
        let line = format!("imported: results/other/{name}.json\n");
        assert!(ended.succeeds().contains(&line), "no {line:?} in {ended}");
        let read = |folder| -> Value {
            let text = checkout.read(&format!("{folder}/other/{name}.json"));
            serde_json::from_str(&text).unwrap()
        };
        assert_eq!(read("results"), read("brought"), "{name} was changed on its way");
    }
    let after = contents(&checkout.path("results"));
    let marked = before.len() + 1;
    assert_eq!(after.len(), marked + brought, "not the records came");
    assert!(before.iter().all(|(path, content)| &after[path] == content));
    let listed = checkout.run("list");
    assert!(listed.succeeds().split_whitespace().any(|word| word == "other"), "{listed}");
    let said = "To read the book about it: cargo workbook serve\n\
                Beside a reference machine: cargo workbook compare h200 other\n";
    assert!(ended.succeeds().ends_with(said), "{ended}");
}

/// A record of the reference's that `change` makes another's, in `brought` under `name`.
fn brought(checkout: &Checkout, name: &str, experiment: &str, change: impl Fn(&mut Value)) {
    let path = format!("brought/{name}/{experiment}.json");
    let places = RUNS.map(|run| format!("{run}/{experiment}.json"));
    let measured = places.iter().find(|path| checkout.path(path).exists());
    checkout.write(&path, &checkout.read(measured.unwrap()));
    edit_record(checkout, &path, |record| {
        record["run"].as_object_mut().unwrap().remove("label");
        record["machine"]["name"] = json!(name);
        record["software"]["driver"] = json!("999.99");
        change(record);
    });
}

/// Each row: what changes in the second of two records that were imported before, why it is
/// refused then, and whether `--replace` lets it in.
#[test]
fn import_replaces_nothing_silently_and_takes_over_the_rest() {
    let other = |record: &mut Value| record["machine"]["gpus"][0]["name"] = json!("Z");
    let quick = |record: &mut Value| record["run"]["quick"] = json!(true);
    let earlier = |record: &mut Value| record["run"]["started"] = json!("2020-01-01T00:00:00Z");
    let counted = |record: &mut Value, source: &str| {
        record["source"] = json!(source);
        for measurement in record["measurements"].as_array_mut().unwrap() {
            measurement["seconds"] = json!([]);
            measurement.as_object_mut().unwrap().remove("sm_clock_khz");
        }
    };
    let emulated = |record: &mut Value| counted(record, "emulated");
    let profiled = |record: &mut Value| counted(record, "profiled");
    type Row<'a> = (&'a dyn Fn(&mut Value), &'a str, bool);
    let empty = |record: &mut Value| {
        (record["measurements"], record["skipped"]) = (json!([]), json!([]));
    };
    let ahead = |record: &mut Value| record["run"]["started"] = json!("9999-12-31T23:59:59Z");
    let rows: [Row; 7] = [
        (&other, "was recorded on other hardware", false),
        (&quick, "holds a full run", true),
        (&earlier, "holds a later run", true),
        (&emulated, "the emulated GPU never takes its place", false),
        (&profiled, "one is timed, the other is counted", true),
        (&empty, "it has no measurements", false),
        (&ahead, "9999-12-31T23:59:59Z, which has not come yet", false),
    ];
    let checkout = Checkout::small();
    for (change, why, replaceable) in rows {
        for experiment in ["coalescing", "transpose"] {
            brought(&checkout, "other", experiment, |_| {});
        }
        checkout.run("import --replace brought").succeeds();
        let path = "results/other/transpose.json";
        let before = checkout.read(path);

        brought(&checkout, "other", "coalescing", |record| {
            record["software"]["driver"] = json!("1000.00");
        });
        brought(&checkout, "other", "transpose", change);
        let ended = checkout.run("import brought");
        let refused = "brought/other/transpose.json: ";
        ended.refuses(&[refused, why, "1 of 2 records were"]);
        assert_eq!(checkout.read(path), before, "{why}: it was replaced");
        let taken = checkout.read("results/other/coalescing.json");
        assert!(taken.contains("\"driver\": \"1000.00\""), "{why} took others along");

        let ended = checkout.run("import --replace brought");
        if replaceable {
            ended.succeeds();
        } else {
            ended.refuses(&[refused, "1 of 2 records were refused"]);
        }
        assert_eq!(checkout.read(path) != before, replaceable, "{why}");
        fs::remove_dir_all(checkout.path("results/other")).unwrap();
    }
}

/// Whoever writes records takes turns with it.
#[test]
fn import_waits_until_nobody_else_writes_records() {
    let checkout = Checkout::small();
    brought(&checkout, "other", "transpose", |_| {});
    let lock = record::Results::new(checkout.path("results")).lock().unwrap();
    let mut import = checkout.command("import brought").stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(import.try_wait().unwrap().is_none() && !checkout.path("results/other").exists());
    drop(lock);
    assert!(import.wait().unwrap().success());
    assert!(checkout.path("results/other/transpose.json").exists());
}

#[test]
fn import_takes_over_runs_with_their_labels() {
    let checkout = Checkout::small();
    for experiment in ["coalescing", "transpose"] {
        brought(&checkout, "other", experiment, |_| {});
    }
    let ended = checkout.run("import brought --label before");
    let path = "results/other/before/transpose.json";
    assert!(ended.succeeds().contains(&format!("imported: {path}\n")), "{ended}");
    let record: Value = serde_json::from_str(&checkout.read(path)).unwrap();
    assert_eq!(record["run"]["label"], json!("before"));
    // The same once more is no harm; another run of this label is.
    checkout.run("import brought --label before").succeeds();
    brought(&checkout, "other", "transpose", |record| {
        record["software"]["driver"] = json!("1000.00");
    });
    let ended = checkout.run("import brought --label before");
    ended.refuses(&["before/transpose.json is there already", "--replace", "1 of 2"]);
    checkout.run("import brought --label after").succeeds();
    let ended = checkout.run("list");
    let words: Vec<&str> = ended.succeeds().split_whitespace().collect();
    assert!(words.join(" ").contains("other (2 runs)"), "{ended}");
    // An archive's own labels stay.
    fs::rename(checkout.path("results/other"), checkout.path("brought/third")).unwrap();
    fs::remove_dir_all(checkout.path("brought/other")).unwrap();
    for label in ["before", "after"] {
        for experiment in ["coalescing", "transpose"] {
            let path = format!("brought/third/{label}/{experiment}.json");
            edit_record(&checkout, &path, |record| {
                record["machine"]["name"] = json!("third");
            });
        }
    }
    checkout.run("import brought --label new").succeeds();
    assert!(checkout.path("results/third/after/coalescing.json").exists());
    assert!(!checkout.path("results/third/new").exists());
}

/// What is refused takes no place of its own, and nothing takes that of another that comes.
#[test]
fn import_replaces_only_by_what_it_takes_over() {
    let checkout = Checkout::small();
    let other = |record: &mut Value| record["machine"]["gpus"][0]["name"] = json!("Z");
    brought(&checkout, "other", "coalescing", |_| {});
    brought(&checkout, "other", "transpose", |_| {});
    checkout.run("import brought").succeeds();
    let results = contents(&checkout.path("results"));
    brought(&checkout, "other", "coalescing", other);
    brought(&checkout, "other", "transpose", |record| {
        other(record);
        record["measurements"] = json!([]);
        record["skipped"] = json!([]);
    });
    let refused = ["it has no measurements", "other hardware", "2 of 2 records were"];
    checkout.run("import brought --replace").refuses(&refused);
    assert!(contents(&checkout.path("results")) == results);

    fs::remove_dir_all(checkout.path("results/other")).unwrap();
    brought(&checkout, "other", "coalescing", |_| {});
    let labelled = "brought/other/a/coalescing.json";
    checkout.write(labelled, &checkout.read("brought/other/coalescing.json"));
    edit_record(&checkout, labelled, |record| record["run"]["label"] = json!("a"));
    let ended = checkout.run("import brought --label a --replace");
    let why = "a/coalescing.json: brought/other/coalescing.json is to have the same label";
    ended.refuses(&[why, "it has no measurements", "2 of 3 records were refused"]);
    let ended = checkout.run("import brought --label imported");
    ended.misuses(&["it means something else"]);
}

/// The book shows what the committed records of the emulated GPU say.
#[test]
fn import_leaves_what_the_emulated_gpu_counted() {
    let checkout = Checkout::small();
    let record = "results/emulated/coalescing.json";
    let before = checkout.read(record);
    checkout.write("brought/emulated/coalescing.json", &before);
    edit_record(&checkout, "brought/emulated/coalescing.json", |record| {
        record["run"]["revision"] = json!("forged");
    });
    checkout.run("import brought").refuses(&["--as NAME", "1 of 1 records were"]);
    assert_eq!(checkout.read(record), before);
    assert!(!checkout.path("results/emulated/imported").exists());
}

/// A stranger's records bear the name of a reference machine, as everybody's do who has one.
#[test]
fn import_changes_a_reference_machine_only_if_told_to_and_never_its_hardware() {
    let checkout = Checkout::small();
    let results = contents(&checkout.path("results"));
    let new = "brought/h200/new-experiment.json";
    let other = |record: &mut Value| record["machine"]["gpus"][0]["name"] = json!("Z");
    brought(&checkout, "h200", "coalescing", |record| stretch(record, |_| 10.0));
    brought(&checkout, "h200", "transpose", other);
    checkout.write(new, &checkout.read("brought/h200/coalescing.json"));
    edit_record(&checkout, new, |record| record["experiment"] = json!("new-experiment"));
    let ended = checkout.run("import brought");
    let why = "h200 is a machine that the book is about";
    ended.refuses(&[why, "--as NAME", "3 of 3 records were refused"]);
    assert!(contents(&checkout.path("results")) == results, "{ended}");

    // Under another name it is another machine, which has one kind of hardware, too.
    let ended = checkout.run("import brought --as mine");
    let why = "results/mine/coalescing.json was recorded on other hardware, and a folder is";
    ended.refuses(&["brought/h200/transpose.json: ", why, "1 of 3 records were"]);
    let after = contents(&checkout.path("results"));
    assert_eq!(after.len(), results.len() + 3); // and the mark that they were imported
    assert!(results.iter().all(|(path, content)| &after[path] == content));
    checkout.run("build --machine mine").succeeds();

    // Somebody who means it.
    let ended = checkout.run("import brought --replace");
    let why = "was recorded on other hardware, and a folder is one machine's";
    ended.refuses(&["brought/h200/transpose.json: ", why, "1 of 3 records were"]);
    brought(&checkout, "h200", "transpose", |_| {});
    checkout.run("import brought --replace").succeeds();
    assert!(checkout.read("results/h200/coalescing.json").contains("999.99"));
}

#[test]
fn import_of_anything_broken_leaves_it_out() {
    let good = Checkout::small().read(RECORD);
    let broken = [
        ("transpose", good.as_str(), "field `experiment`"), // the file's name says another
        ("gather", &good[..good.len() / 2], "field `measurements["),
        ("memories", "{}", "missing field"),
        ("fusion", "", "the file is empty"),
        ("warps", r#"{"\u001b]0;title\u0007": 1}"#, r"unknown field `\u{1b}]0;title\u{7}`"),
    ];
    for arguments in ["--as mine", "--as mine --replace"] {
        let checkout = Checkout::small();
        let results = contents(&checkout.path("results"));
        brought(&checkout, "h200", "coalescing", |_| {});
        for (name, text, _) in broken {
            checkout.write(&format!("brought/h200/{name}.json"), text);
        }
        let ended = checkout.run(&format!("import brought {arguments}"));
        ended.refuses(&["5 of 6 records were refused"]);
        for (name, _, problem) in broken {
            let file = format!("brought/h200/{name}.json");
            let said = |line: &str| line.contains(&file) && line.contains(problem);
            assert!(ended.stderr.lines().any(said), "no {file:?} with {problem:?} in {ended}");
        }
        let after = contents(&checkout.path("results"));
        assert_eq!(after.len(), results.len() + 2, "{ended}"); // and the mark
    }
}

/// Whoever renames a folder, or has records of a machine that the book knows, is told so once.
#[test]
fn import_names_a_reason_once_and_the_remedy_with_it() {
    let checkout = Checkout::small();
    brought(&checkout, "h200", "coalescing", |_| {});
    let record = checkout.read("brought/h200/coalescing.json");
    for name in ["gather", "fusion", "memories", "warps"] {
        let path = format!("brought/h200/{name}.json");
        checkout.write(&path, &record);
        edit_record(&checkout, &path, |record| record["experiment"] = json!(name));
    }
    let lines = |ended: &str| ended.lines().filter(|line| line.contains(".json: ")).count();
    let ended = checkout.run("import brought");
    let rest = "refused, for the same reason: 3 more";
    ended.refuses(&["brought/h200/coalescing.json: h200 is a", rest, "5 of 5 records were"]);
    assert_eq!(lines(&ended.stderr), 2, "{ended}");

    fs::rename(checkout.path("brought/h200"), checkout.path("brought/mine")).unwrap();
    let ended = checkout.run("import brought");
    let remedy = "give the folder this name again; `--as NAME` takes the machine over";
    ended.refuses(&["`h200` does not match the folder's name", rest, remedy]);
    assert_eq!(lines(&ended.stderr), 2, "{ended}");
}

/// Out of an archive come records, whatever else is in it.
#[test]
fn import_takes_records_out_of_an_archive_and_nothing_else() {
    let checkout = Checkout::small();
    let tar = |arguments: &str| {
        let mut tar = Command::new("tar");
        tar.current_dir(checkout.path("")).args(arguments.split(' '));
        assert!(tar.status().unwrap().success(), "{arguments}");
    };
    other_machine(&checkout, "away/results");
    checkout.write("away/results/this-machine", "other\n");
    checkout.write("away/results/other/notes.txt", "not a record");
    checkout.write("away/Cargo.toml", "stolen");
    checkout.write("away/results/other/far/deep/gather.json", "{}");
    checkout.write("away/results/other/broken.json", "{");
    let link = checkout.path("away/results/other/link.json");
    std::os::unix::fs::symlink("/etc/passwd", link).unwrap();
    checkout.write("above", "above");
    tar("-C away -czPf good.tar.gz results ./results Cargo.toml ../above");
    let before = contents(&checkout.path(""));
    let ended = checkout.run("import good.tar.gz");
    ended.refuses(&["refused: good.tar.gz/other/broken.json: field `", "1 of "]);
    assert!(ended.stdout.contains("imported: results/other/coalescing.json\n"), "{ended}");
    let after = contents(&checkout.path(""));
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(new.iter().all(|path| path.starts_with(checkout.path("results/other"))));
    assert!(before.iter().all(|(path, content)| &after[path] == content));
    assert!(!checkout.path("results/other/link.json").exists());

    tar("-C away/results -czf bare.tar.gz other");
    let place = "bare.tar.gz holds no records: they lie there as results/MACHINE/EXPERIMENT.json";
    checkout.run("import bare.tar.gz").refuses(&[place]);

    // Bombs, and what was cut off on its way.
    let bytes = fs::read(checkout.path("good.tar.gz")).unwrap();
    fs::write(checkout.path("cut.tar.gz"), &bytes[..bytes.len() / 2]).unwrap();
    let large = fs::File::create(checkout.path("away/results/other/large.json"));
    large.unwrap().set_len(17 << 20).unwrap();
    tar("-C away -czf large.tar.gz results/other/large.json");
    let huge = fs::File::create(checkout.path("away/huge"));
    huge.unwrap().set_len(300 << 20).unwrap();
    tar("-C away -czf huge.tar.gz huge results");
    for (archive, why) in [
        ("cut.tar.gz", "it was cut off"),
        ("large.tar.gz", "other/large.json is larger than any record"),
        ("huge.tar.gz", "is larger than 256 MiB"),
    ] {
        let before = contents(&checkout.path("results"));
        checkout.run(&format!("import {archive}")).refuses(&[archive, why]);
        assert!(contents(&checkout.path("results")) == before, "{archive}");
    }
}

#[test]
fn import_says_what_is_wrong_with_a_folder_that_has_no_records() {
    let checkout = Checkout::small();
    fs::create_dir(checkout.path("empty")).unwrap();
    for n in 0..20 {
        fs::create_dir_all(checkout.path(&format!("many/folder-{n}"))).unwrap();
    }
    brought(&checkout, "near", "coalescing", |_| {});
    let record = checkout.read("brought/near/coalescing.json");
    checkout.write("taken/this-machine/coalescing.json", &record);
    checkout.write("taken/near/imported/coalescing.json", &record);
    checkout.write("brought/far/a/coalescing.json", &record);
    edit_record(&checkout, "brought/far/a/coalescing.json", |record| {
        record["machine"]["name"] = json!("far");
        record["run"]["label"] = json!("a");
    });
    for (folder, problem) in [
        ("empty", "empty holds no records: they lie there as MACHINE/EXPERIMENT.json"),
        ("Cargo.toml", "Cargo.toml: it is no archive of records"),
        // Other things have these names.
        ("taken", "taken holds no records"),
        ("many", "many holds no records"),
    ] {
        checkout.run(&format!("import {folder}")).refuses(&[problem]);
    }
    for (arguments, problem) in [
        ("nosuch", "there is no nosuch"),
        // One level too deep, with and without labels.
        ("brought/far", "brought/far is the folder of one machine: import the folder"),
        ("brought/near", "brought/near is the folder of one machine"),
        ("brought --as mine", "brought holds several machines, so --as cannot name one"),
        (".", ". is a checkout of the workbook: import the folder results in it"),
        ("results", "results lies where this checkout keeps its own records"),
        ("results/h200", "results/h200 lies where this checkout keeps its own"),
    ] {
        checkout.run(&format!("import {arguments}")).misuses(&[problem]);
    }
}

// ---- serve --------------------------------------------------------------------------

/// One server is asked for everything that changes nothing.
#[test]
fn serve_answers_whoever_asks_and_however() {
    let checkout = Checkout::new();
    let server = Server::start(&checkout);
    shows_the_book_and_nothing_beside_it(&checkout, &server);
    answers_only_requests_to_read_from_this_machine(&server);
    does_not_read_more_than_a_request_for_a_page_needs(&server);
    answers_at_once_beside_300_requests_that_do_not_end(&server);
}

fn shows_the_book_and_nothing_beside_it(checkout: &Checkout, server: &Server<&Checkout>) {
    let build = server.state().0.to_string();
    for path in ["/", "/index.html", &format!("/{HTML}"), &format!("/{HTML}?query")] {
        let page = server.get(path);
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
        assert!(page.body.contains(&build), "{path} does not know its build");
        assert!(page.body.trim_end().ends_with("</html>"), "{path} was cut off");
    }
    let index = fs::read_to_string(checkout.path("book/html/index.html")).unwrap();
    assert!(!index.contains("build-error"), "the finished book asks, too");
    // Everything that a page loads comes with the type that browsers insist on.
    let types = [("css", "text/css"), ("js", "text/javascript"), ("svg", "image/svg+xml")];
    for path in contents(&checkout.path("book/html")).into_keys() {
        let url = path.strip_prefix(checkout.path("book/html")).unwrap().display();
        let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if let Some((_, expected)) = types.iter().find(|(k, _)| *k == kind) {
            let file = server.get(&format!("/{url}"));
            assert_eq!((file.status, file.header("content-type")), (200, *expected), "{url}");
        }
    }

    for path in [
        "/nosuch.html",
        "/../book.toml",
        "/../Cargo.toml",
        "/../../Cargo.toml",
        "/css/../../../Cargo.toml",
        "/./../../Cargo.toml",
        "//../../Cargo.toml",
        "/%2e%2e/%2e%2e/Cargo.toml",
        "/%2E%2E%2F%2E%2E%2FCargo.toml",
        "/..%2f..%2fCargo.toml",
        "/%252e%252e/%252e%252e/Cargo.toml",
        "/..\\..\\Cargo.toml",
        "/..%5c..%5cCargo.toml",
        "//etc/passwd",
        &checkout.path("Cargo.toml").display().to_string(),
        &format!("/{}", checkout.path("Cargo.toml").display()),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        // The page that says so, with the list of all.
        assert!(answer.body.contains("<title>Page not found"), "{path}: {}", answer.body);
    }
}

fn answers_only_requests_to_read_from_this_machine(server: &Server<&Checkout>) {
    let page = server.get("/");
    for host in ["localhost", "LocalHost", "127.0.0.1", "[::1]"] {
        for host in [host, &format!("{host}:3000")] {
            let answer = server.ask(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(answer.status, 200, "{host}: {}", answer.body);
            assert!(answer.body == page.body, "{host}");
        }
    }
    for hosts in [
        "",
        "Host: \r\n",
        "Host: example.org\r\n",
        "Host: example.org:3000\r\n",
        "Host: localhost.example.org\r\n",
        "Host: localhost:3000.example.org\r\n",
        "Host: 127.0.0.1.example.org\r\n",
        "Host: localhost@example.org\r\n",
        "Host: localhost\r\nHost: example.org\r\n",
    ] {
        for path in ["/", "/build", "/nosuch"] {
            let answer = server.ask(&format!("GET {path} HTTP/1.1\r\n{hosts}\r\n"));
            assert_eq!(answer.status, 403, "{hosts}: {}", answer.body);
            assert!(answer.body.contains("open the book as localhost"));
            assert_eq!(answer.body.lines().count(), 1, "{}", answer.body);
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
        }
    }
    let local = "HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc";
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "NOSUCH"] {
        for path in ["/", "/build", "/nosuch"] {
            let answer = server.ask(&format!("{method} {path} {local}"));
            assert_eq!(answer.status, 405, "{method} {path}: {}", answer.body);
            assert_eq!(answer.header("allow"), "GET, HEAD");
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
        }
    }
    for path in ["/", &format!("/{HTML}"), "/build", "/nosuch"] {
        let get = server.get(path);
        let head = server.ask(&format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert_eq!((head.status, &*head.body), (get.status, ""));
        for name in ["content-type", "content-length", "x-content-type-options"] {
            assert_eq!(head.header(name), get.header(name), "{path}: {name}");
        }
        assert_eq!(get.header("content-length"), get.body.len().to_string());
        assert_eq!(get.header("x-content-type-options"), "nosniff");
    }
}

fn does_not_read_more_than_a_request_for_a_page_needs(server: &Server<&Checkout>) {
    let start = "HTTP/1.1\r\nHost: localhost\r\n";
    let memory = server.resource("VmHWM");

    let huge = "Content-Length: 100000000000000\r\n\r\n";
    assert_eq!(server.ask(&format!("GET / {start}{huge}")).status, 200);
    assert_eq!(server.ask(&format!("POST / {start}{huge}")).status, 405);
    let more = "Content-Length: 99999999999999999999999999\r\n\r\n";
    assert_eq!(server.ask(&format!("GET / {start}{more}")).status, 400);

    // Until it has heard enough, in one header or in many.
    for line in ["x".repeat(1 << 20), format!("X: {}\r\n", "y".repeat(1000))] {
        let mut stream = server.connect();
        write!(stream, "GET / {start}X: ").unwrap();
        let mut sent = 0;
        while sent < 200 << 20 && stream.write_all(line.as_bytes()).is_ok() {
            sent += line.len();
        }
        assert!(sent < 50 << 20, "it took {sent} bytes of headers");
    }
    let long = "y".repeat(17_000);
    assert_eq!(server.ask(&format!("GET / {start}X: {long}\r\n\r\n")).status, 431);

    assert_eq!(server.get("/").status, 200);
    let grown = server.resource("VmHWM") - memory;
    assert!(grown < 16 << 10, "they cost {grown} KiB");
}

fn answers_at_once_beside_300_requests_that_do_not_end(server: &Server<&Checkout>) {
    let memory = server.resource("VmHWM");
    let check = |patience: u64| {
        let asked = Instant::now();
        assert_eq!(server.get(&format!("/{HTML}")).status, 200);
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(patience), "{took:?}");
        let threads = server.resource("Threads");
        assert!(threads < 128 + 10, "{threads} threads");
        let files = server.open_files();
        assert!(files < 200, "{files} open files");
        let grown = server.resource("VmHWM") - memory;
        assert!(grown < 64 << 10, "they cost {grown} KiB");
    };
    let start = "HTTP/1.1\r\nHost: localhost\r\n";
    // The oldest may be gone before they have said this.
    let ask = |what: &str| {
        let mut stream = server.connect();
        let _ = stream.write_all(what.as_bytes());
        stream
    };
    // Half requests and those that say nothing end after five seconds.
    let half = format!("GET / {start}X-Never: ");
    let mut waiting: Vec<_> = (0..300).map(|_| ask(&half)).collect();
    check(3);
    waiting.extend((0..100).map(|_| ask("")));
    check(3);
    let waited = Instant::now();
    for request in waiting {
        assert!(server::answer(request).is_none(), "it was never asked");
    }
    assert!(waited.elapsed() < Duration::from_secs(30), "{:?}", waited.elapsed());
    // Those that never read the largest page last for a minute.
    let largest = format!("GET /print.html {start}\r\n");
    let deaf: Vec<_> = (0..300).map(|_| ask(&largest)).collect();
    check(30);
    drop(deaf);
}

#[test]
fn serve_needs_a_free_port_and_a_good_first_build() {
    let checkout = Checkout::small();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let ended = checkout.run(&format!("serve --port {port}"));
    ended.refuses(&[&format!("127.0.0.1:{port}"), "in use", "--port"]);
    assert_eq!(ended.stdout, "");
    assert!(!checkout.path("book/html").exists(), "it was built first");
    checkout.write(PAGE, &format!("{}\n{{{{no_such_number}}}}\n", checkout.read(PAGE)));
    checkout.run("serve --port 0").refuses(&["{{no_such_number}}"]);
}

#[test]
fn serve_builds_again_on_every_change_and_tells_the_pages() {
    let checkout = Checkout::small();
    let server = Server::start(&checkout);
    let (first, error) = server.state();
    assert_eq!(error, None);
    let good = checkout.read(PAGE);
    checkout.write(PAGE, &format!("{good}\nA sentence that was not there.\n"));
    let second = server.wait_for_build_after(first);
    let page = server.get(&format!("/{HTML}")).body;
    assert!(page.contains("A sentence that was not there."));
    assert!(page.contains(&second.to_string()), "it would load forever");

    edit_record(&checkout, RECORD, |record| {
        record["software"]["driver"] = json!("999.1");
    });
    let third = server.wait_for_build_after(second);
    assert!(server.get(&format!("/{HTML}")).body.contains("driver 999.1"));

    checkout.edit("kernels/transpose.cu", "\n", "\n// A comment in a kernel.\n");
    let fourth = server.wait_for_build_after(third);
    checkout.edit("scripts/baselines/pytorch.py", "\n", "\n# A comment.\n");
    server.wait_for_build_after(fourth);
}

#[test]
fn serve_keeps_the_last_good_book_while_a_build_fails() {
    let checkout = Checkout::small();
    let mut server = Server::start(&checkout);
    let good = checkout.read(PAGE);
    let mistakes = [
        ("{{no_such_number}}", "{{no_such_number}}"),
        ("[dead](nosuch.html)", "link to `nosuch.html`"),
    ];
    for (mistake, problem) in mistakes {
        let (build, _) = server.state();
        let book = server.get(&format!("/{HTML}")).body;
        checkout.write(PAGE, &format!("{good}\n{mistake}\n"));
        server.wait_until_it_says(problem);
        server.wait_until_it_says("the last good build stays");
        let (same, error) = server.state();
        assert_eq!(same, build);
        assert!(error.is_some_and(|error| error.contains(problem)), "{mistake}");
        let page = server.get(&format!("/{HTML}"));
        assert_eq!(page.status, 200, "after {mistake}: {}", page.body);
        assert!(page.body == book, "{mistake}: the page is not the last good one");

        checkout.write(PAGE, &good);
        server.wait_for_build_after(build);
    }
}

#[test]
fn serve_ends_with_ctrl_c_and_leaves_nothing_half_built() {
    let checkout = Checkout::small();
    let mut server = Server::start(&checkout);
    assert_eq!(server.interrupt(), Some(0), "{}", server.said());

    let mut server = Server::start(&checkout);
    checkout.edit(PAGE, "\n", "\n\n");
    let edited = Instant::now();
    while unfinished(&checkout).is_empty() {
        assert!(edited.elapsed() < Duration::from_mins(1), "{}", server.said());
    }
    assert_eq!(server.interrupt(), Some(0), "{}", server.said());
    assert_eq!(unfinished(&checkout), [""; 0]);
    assert!(checkout.path("book/html").join(HTML).is_file());
}
