//! `cargo workbook compare`, of the committed records and of copies that are changed.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "support/checkout.rs"]
mod checkout;

use checkout::{Checkout, other_machine, stretch};
use serde_json::{Value, json};

/// A run of the reference's `experiment` with this label, each time of it so many times as long
/// in the cases that `chosen` chooses.
fn run(
    checkout: &Checkout,
    experiment: &str,
    label: &str,
    factor: f64,
    chosen: impl Fn(&Value) -> bool,
) {
    let json = checkout.read(&format!("results/h200/host-c/{experiment}.json"));
    let mut record: Value = serde_json::from_str(&json).unwrap();
    record["run"]["label"] = json!(label);
    stretch(&mut record, |case| if chosen(case) { factor } else { 1.0 });
    let path = format!("results/h200/{label}/{experiment}.json");
    checkout.write(&path, &record.to_string());
}

#[test]
fn an_error_that_names_many_runs_has_lines_of_100_characters() {
    let ended = Checkout::new().run("compare h200/nosuch h200");
    ended.misuses(&["no measured records of `h200/nosuch`; there are h200/host-a, h200/host-b, "]);
    let error = ended.fails(2);
    assert!(error.lines().count() > 1, "{ended}");
    assert!(error.lines().all(|line| line.chars().count() <= 100), "{ended}");
}

#[test]
fn what_differs_comes_first_and_the_exit_code_tells() {
    let checkout = Checkout::new();
    run(&checkout, "transfer-bandwidth", "same", 1.0, |_| true);
    run(&checkout, "transfer-bandwidth", "before", 1.0, |_| true);
    run(&checkout, "transfer-bandwidth", "after", 20.0, |m| m["parameters"]["direction"] != "both");
    let ended = checkout.run("compare h200/before h200/same --threshold 5%");
    let same = ended.succeeds();
    assert!(same.contains("All claims that both can try have the same verdict."), "{same}");
    assert!(same.contains("8.1  1.000× in the geometric mean"), "{same}");
    assert!(!same.contains("slower") && !same.contains("faster,"), "{same}");

    let told = checkout.run("compare h200/before h200/after");
    let told = told.succeeds();
    // In which order, and what the words mean that sections count.
    for part in ["Each line has h200/before, then h200/after.", "Same: less than 5% apart."] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let claim = told.find(" → ").expect(told);
    let section = told.find("8.1  0.").expect("it is slower on the whole");
    assert!(claim < section, "{told}");
    assert!(told.contains("0.050× slower") && told.contains("more; --all lists them"));
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    let ended = checkout.run("compare h200/before h200/after --threshold 5%");
    assert_eq!(ended.fails(3), "");
    checkout.run("compare h200/after h200/before --threshold 5%").succeeds();
}

/// Of two hosts, every case is listed under a name that no other has.
#[test]
fn names_are_whole_and_tell_cases_apart() {
    let checkout = Checkout::new();
    let ended = checkout.run("compare h200/host-a h200/host-c --all");
    let told = ended.succeeds();
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    let markdown = checkout.run("compare h200/host-a h200/host-c --all --markdown");
    let (mut names, mut count) = (std::collections::BTreeSet::new(), 0);
    let experiments = markdown.succeeds().split("\n### ").skip(1);
    for experiment in experiments.filter(|text| text.contains("| case |")) {
        let name = experiment.lines().next().unwrap();
        for row in experiment.lines().filter(|row| row.starts_with("| ")).skip(1) {
            names.insert((name, row.split(" | ").next().unwrap()));
            count += 1;
        }
    }
    assert!(count > 1000 && names.len() == count, "{count} rows, {} names", names.len());
    // A parameter that all cases share tells nothing.
    let row = "| host_read registered | ";
    assert!(markdown.stdout.contains(row) && !markdown.stdout.contains('…'), "no {row}");

    let products = checkout.run("compare h200/host-n h200/host-o --all");
    assert!(products.succeeds().contains(" TFLOP/s"), "{products}");
}

/// What the page on a machine says of it is what `compare` counts; attention as it is printed has
/// no rate.
#[test]
fn the_page_and_compare_count_the_same_differences() {
    let checkout = Checkout::small();
    other_machine(&checkout, "brought");
    checkout.run("import brought").succeeds();
    checkout.run("build").succeeds();
    let told = checkout.run("compare h200 other");
    let count = told.succeeds().lines().find(|line| line.contains(" cases differ by more than"));
    let count = count.unwrap().split(' ').next().unwrap();
    let page = checkout.read("book/html/this-machine.html");
    let said = format!("{count} cases are faster or slower here than on the H200, by more than 5%");
    assert!(page.contains(&said), "{said}\n{page}");
    assert!(
        told.stdout.contains("Where other has one run, its verdicts are provisional."),
        "{told}"
    );

    let checkout = Checkout::new();
    let products = checkout.run("compare h200/host-g h100/host-p --all");
    let printed = products.succeeds().lines().filter(|line| line.contains(" as_printed "));
    let printed: Vec<_> = printed.collect();
    assert!(printed.len() > 3 && printed.iter().all(|row| !row.contains("FLOP/s")), "{printed:?}");
}

#[test]
fn without_arguments_the_last_two_runs_are_compared() {
    let checkout = Checkout::new();
    let machine = |name: &str| checkout.write("results/this-machine", name);
    machine("h200");
    let ended = checkout.run("compare");
    let first = ended.succeeds().lines().next().unwrap();
    let runs = std::fs::read_dir(checkout.path("results/h200")).unwrap();
    let runs = runs.map(|run| run.unwrap().file_name().into_string().unwrap());
    let mut hosts: Vec<_> = runs.filter(|run| !run.contains('.')).collect();
    hosts.sort(); // they were named in the order of their runs
    let [.., before, last] = &hosts[..] else { panic!("{hosts:?}") };
    assert!(first.starts_with(&format!("h200/{last} against h200/{before}:")), "{first}");
    let json = checkout.read("results/h200/host-r/host-memory.json");
    checkout.write(
        "results/mine/host-memory.json",
        &json.replace("\"h200\"", "\"mine\"").replace("\"label\": \"host-r\"", "\"label\": null"),
    );
    machine("mine");
    checkout.run("compare").misuses(&["mine has one run", "--label again"]);
    checkout.run("compare h200 mine/").succeeds();
}

#[test]
fn programs_can_read_it() {
    let checkout = Checkout::new();
    run(&checkout, "host-memory", "after", 2.0, |_| true);
    let ended = checkout.run("compare h200 h200/after --json");
    let json: Value = serde_json::from_str(ended.succeeds()).unwrap();
    let case = &json["experiments"][0]["cases"][0];
    assert_eq!(json["experiments"][0]["name"], "host-memory");
    assert_eq!(json["experiments"][0]["runs"][1], json!(1));
    assert!(case["speedup"]["value"].as_f64().unwrap() < 1.0, "{case}");
    let ended = checkout.run("compare h200 h200/after --csv");
    let csv = ended.succeeds();
    let columns: Vec<usize> = csv.lines().map(|line| line.matches(',').count()).collect();
    assert!(columns.len() > 10 && columns.iter().all(|count| *count == 12), "{csv}");
}

#[test]
fn a_side_that_is_not_there_is_refused() {
    let checkout = Checkout::new();
    for (arguments, why) in [
        ("compare h200 nosuch", "there are no measured records of `nosuch`; there are"),
        ("compare h200 h200/nosuch", "there are no measured records of `h200/nosuch`"),
        ("compare h200 ../h200", "is not a usable machine name"),
        ("compare h200 emulated", "there are no measured records of `emulated`"),
        ("compare h200 h200", "both sides are h200: name another"),
        ("compare h200", "nothing was measured in this checkout yet"),
        ("compare", "nothing was measured in this checkout yet: name two sides"),
        ("compare nosuch:h200 h200", "git has no nosuch"),
        ("compare h200 --output=x:h200", "unexpected argument"),
    ] {
        checkout.run(arguments).misuses(&[why]);
    }
}

#[test]
fn a_revision_is_a_side() {
    let checkout = Checkout::new();
    let git = |arguments: &str| {
        let mut command = std::process::Command::new("git");
        command.current_dir(checkout.path("")).args(arguments.split_whitespace());
        assert!(command.output().unwrap().status.success(), "git {arguments}");
    };
    git("init -q");
    git("add results");
    git("-c user.name=a -c user.email=a@b commit -q -m all");
    run(&checkout, "host-memory", "after", 2.0, |_| true);
    std::fs::remove_file(checkout.path("results/h200/host-c/host-memory.json")).unwrap();
    let ended = checkout.run("compare HEAD:h200/host-c h200/after");
    assert!(ended.succeeds().contains("0.500×"), "{ended}");
}
