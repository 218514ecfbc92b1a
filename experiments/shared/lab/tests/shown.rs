//! What experiments print in a checkout: what their pages show.

use excerpt::page::{Page, Pages};

use crate::driver::{Desk, Ended};
use crate::emulated::COALESCING;

/// A folder that programs take for a checkout, and what its pages show.
fn checkout() -> (Desk, Pages) {
    let desk = Desk::new();
    desk.write("book/book.toml", "");
    let shown = lab::workspace::root().unwrap().join("book/shown.json");
    let shown = std::fs::read_to_string(shown).unwrap();
    desk.write("book/shown.json", &shown);
    (desk, serde_json::from_str(&shown).unwrap())
}

fn page<'p>(pages: &'p Pages, experiment: &str, name: &str) -> &'p Page {
    pages[experiment].iter().find(|page| page.name == name).unwrap()
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What was printed holds the titles and the questions of a page in its order, and no line is
/// too long.
#[track_caller]
fn check(ended: &Ended, page: &Page) {
    for line in ended.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let printed = joined(&ended.stdout);
    let titles = page.tables.iter().map(|table| &table.title);
    let mut rest = printed.as_str();
    for text in titles.chain(page.questions.iter().map(|question| &question.question)) {
        rest = rest.split_once(&joined(text)).unwrap_or_else(|| panic!("`{text}`: {ended}")).1;
    }
}

/// The strides in the first table of `coalescing`.
fn strides(ended: &Ended, pages: &Pages) -> Vec<String> {
    let title = &page(pages, "coalescing", "coalescing").tables[0].title;
    let part = ended.stdout.split_once(title).unwrap().1.split_once("\n\n").unwrap().0;
    let cells = part.lines().filter_map(|line| line.split_whitespace().next());
    cells.filter(|cell| cell.parse::<u32>().is_ok()).map(str::to_owned).collect()
}

#[test]
fn without_a_driver_counts_stand_in_the_order_of_the_page() {
    for experiment in ["coalescing", "occupancy", "working-sets", "allocation", "memory-trace"] {
        let (desk, pages) = checkout();
        let ended = desk.program(experiment, "").without_driver().run().with_code(0);
        check(&ended, page(&pages, experiment, experiment));
        if experiment == "coalescing" {
            assert!(joined(&ended.stdout).contains("An emulated GPU has no time."), "{ended}");
            assert_eq!(strides(&ended, &pages), ["1", "2", "3", "4", "6", "8"], "{ended}");
        }
        let left = joined(&ended.stdout);
        let left = left.split_once(" more cases were measured: --all prints every case");
        let left = left.unwrap_or_else(|| panic!("{ended}")).0.rsplit(' ').next().unwrap();
        let all = desk.record("emulated", experiment).measurements.len();
        assert!((1..all).contains(&left.parse().unwrap()), "{ended}");
    }
}

#[test]
fn coalescing_prints_what_its_page_shows() {
    let (desk, pages) = checkout();
    let ended = desk.run("coalescing", "--results measured").with_code(0);
    let page = page(&pages, "coalescing", "coalescing");
    check(&ended, page);
    assert_eq!(strides(&ended, &pages), ["1", "2", "3", "4", "6", "8"], "{ended}");
    assert!(ended.stdout.contains("Effective bandwidth,"), "{ended}");
    // The tests' GPU does not tell how fast its memory is.
    let asked = joined(&page.questions[0].question);
    let said = "This run does not tell: such a case has no share of peak in it.";
    assert!(joined(&ended.stdout).contains(&format!("{asked} {said}")), "{ended}");
}

#[test]
fn a_run_answers_what_its_page_asks() {
    let (desk, pages) = checkout();
    let ended = desk.run("timing-pitfalls", "--results measured").with_code(0);
    let page = page(&pages, "timing-pitfalls", "timing-pitfalls");
    check(&ended, page);
    let printed = joined(&ended.stdout);
    let (_, answer) = printed.split_once(&joined(&page.questions[0].question)).unwrap();
    let number = answer.split_whitespace().next().unwrap().strip_suffix('×');
    assert!(number.is_some_and(|number| number.parse::<f64>().is_ok()), "{ended}");
}

#[test]
fn another_page_and_all_cases_can_be_asked_for() {
    let (desk, pages) = checkout();
    let run = |arguments: &str| {
        desk.program("coalescing", arguments).without_driver().set("COLUMNS", "80").run()
    };
    check(&run("--page memory-fetches").with_code(0), page(&pages, "coalescing", "memory-fetches"));
    let refused = run("--page transpose").with_code(2);
    assert!(refused.stderr.contains("coalescing, memory-fetches, bytes-in-flight"), "{refused}");
    // As where there is no page.
    let all = run("--all --json").with_code(0);
    let table = |text: &str| text.split("\nrecorded").next().unwrap().to_owned();
    assert_eq!(table(&all.stderr), table(&COALESCING.0.stdout));
    assert!(all.stdout.starts_with('{'), "{all}");
}
