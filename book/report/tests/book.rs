//! The fixture book, built: what its pages become, and what is refused.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod fixture;

use fixture::{CLAIMS, COPY, Fixture, PEERS, SCORECARD, peers, record};
use mdbook_preprocessor::PreprocessorContext;
use mdbook_preprocessor::book::{Book, Chapter};
use mdbook_preprocessor::config::Config;
use proptest::prelude::*;

// What a page becomes.

/// The expanded page, as the stock `mdbook` program gets it, without the pictures.
fn expanded(fixture: &Fixture, stem: &str) -> String {
    let (root, src) = (fixture.path("book"), fixture.path("book/src"));
    let mut book = Book::new();
    for page in ["copy", "peers", "scorecard"] {
        let path = format!("{page}.md");
        if !src.join(&path).exists() {
            continue; // only some fixtures have several GPUs
        }
        let text = fixture.read(&format!("book/src/{path}"));
        book.push_item(Chapter::new(page, text, path, vec![]));
    }
    let config = Config::from_disk(root.join("book.toml")).unwrap();
    let context = PreprocessorContext::new(root, config, "html".to_owned());
    let input = serde_json::to_vec(&(context, book)).unwrap();
    let mut output = vec![];
    report::preprocess(&fixture.options(), input.as_slice(), &mut output).unwrap();
    let book: Book = serde_json::from_slice(&output).unwrap();
    let page = book.chapters().find(|chapter| chapter.name == stem).unwrap();
    without_pictures(&page.content)
}

fn without_pictures(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("<svg") {
        out += before;
        out += "<svg/>";
        rest = after.split_once("</svg>").expect("a closed picture").1;
    }
    out + rest
}

/// Compares with the committed file; `UPDATE_GOLDEN=1 cargo test` writes it.
#[track_caller]
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text, stored,
        "if this is meant, run UPDATE_GOLDEN=1 cargo test -p report"
    );
}

#[test]
fn every_directive_on_the_reference_machine() {
    golden("copy.md", &expanded(&Fixture::new(), "copy"));
}

#[test]
fn every_directive_with_this_machine_first() {
    golden("copy-here.md", &expanded(&here(), "copy"));
}

#[test]
fn every_kind_of_claim() {
    golden("scorecard.md", &expanded(&Fixture::new(), "scorecard"));
    golden("scorecard-here.md", &expanded(&here(), "scorecard"));
}

/// A fixture that was last recorded on another machine: two slower GPUs, for which
/// pinning brings nothing, no PCIe link that it would tell of, and no 32 KiB.
fn here() -> Fixture {
    let fixture = Fixture::new();
    let mut record = record("laptop", "NVIDIA GeForce RTX 4090", 0.5);
    for gpu in &mut record.machine.gpus {
        gpu.pcie = None;
    }
    record.machine.gpus.push(record.machine.gpus[0].clone());
    let pageable: Vec<_> = record.measurements[..3].to_vec();
    for (pinned, pageable) in record.measurements[3..].iter_mut().zip(pageable) {
        pinned.seconds = pageable.seconds;
    }
    record.measurements.retain(|m| m.bytes() != 1 << 15);
    fixture.record(&record);
    fixture.results().set_this_machine("laptop").unwrap();
    fixture
}

#[test]
fn every_directive_on_several_reference_machines() {
    golden("peers.md", &expanded(&Fixture::of_several(), "peers"));
    golden("peers-here.md", &expanded(&here_of_two(), "peers"));
}

/// The book of several GPUs, last recorded on a machine of two others.
fn here_of_two() -> Fixture {
    let fixture = Fixture::of_several();
    fixture.record(&peers("laptop", "NVIDIA GeForce RTX 4090", 2));
    fixture.results().set_this_machine("laptop").unwrap();
    fixture
}

#[test]
fn figures_lie_with_the_machine_that_was_measured() {
    let fixture = here_of_two();
    let built = fixture.build().unwrap();
    let folder = fixture.path("book/src/figures");
    let stored = built.stored.iter().map(|path| path.strip_prefix(&folder).unwrap());
    let stored: Vec<_> = stored.map(|path| path.to_str().unwrap()).collect();
    let wide: Vec<_> =
        stored.iter().filter(|path| !path.contains("narrow")).collect();
    let expected = [
        "h200/copies.svg",
        "h200-x2/peers-of-two.svg",
        "h200-x4/peers.svg",
        "laptop/peers.svg",
    ];
    assert_eq!(wide, expected.iter().collect::<Vec<_>>());
    // What no chart makes is stale on every reference machine.
    fixture.write("book/src/figures/h200-x8/old.svg", "of a chart that is gone");
    let built = fixture.build().unwrap();
    assert_eq!(built.removed, [folder.join("h200-x8/old.svg")]);
    assert!(built.stored.is_empty());
}

/// A reader whose machine is a reference machine sees its numbers, and those of the others
/// under their labels.
#[test]
fn this_machine_may_be_a_reference_machine() {
    let fixture = Fixture::of_several();
    let alone = expanded(&fixture, "copy");
    fixture.results().set_this_machine("h200").unwrap();
    assert_eq!(expanded(&fixture, "copy"), alone);
    let page = expanded(&fixture, "peers");
    for part in [
        "GPUs <span class=\"value\"><span class=\"beside\">H200 ×4:</span> 114 GB/s</span>",
        "to the\nhost <span class=\"value\">28.5 GB/s</span>",
        "so <span class=\"value\"><span class=\"beside\">H200 and H200 ×4:</span> 4.00×",
    ] {
        assert!(page.contains(part), "{part}\nis not in\n{page}");
    }
    fixture.results().set_this_machine("h200-x2").unwrap();
    let page = expanded(&fixture, "peers");
    for part in [
        "<span class=\"value\">57.0 GB/s <span class=\"beside\">(H200 ×4: 114 GB/s)</span></span>",
        "with <span class=\"value\">2</span> <span class=\"value\">57.0 GB/s</span>",
    ] {
        assert!(page.contains(part), "{part}\nis not in\n{page}");
    }
    // In a list of machines it stands once, in its place.
    assert_eq!(
        page.matches("<th scope=\"col\" class=\"number\">H200 ×2</th>").count(),
        1
    );
    assert!(!page.contains("(this machine)"), "{page}");
    assert_eq!(fixture.build().unwrap().removed, Vec::<std::path::PathBuf>::new());
}

#[test]
fn reference_machines_that_cannot_be_shown() {
    let cases = [
        (
            "bytes=1MiB on h200-x2",
            "bytes=1MiB on h200-x8",
            "`quantities` block: `peer_of_two`: `h200-x8` has no measured record of `peer-copy`",
        ),
        (
            "bytes=1MiB on h200-x2",
            "bytes=1MiB on h100",
            "`quantities` block: `peer_of_two`: `h100` is no reference machine: results/references.json names `h200`, `h200-x4`, `h200-x2`, `h200-x8`",
        ),
        (
            "bytes=1MiB on h200-x2",
            "bytes=1MiB on",
            "`quantities` block: `peer_of_two`: `on` which machine?",
        ),
        (
            "[peer]\nis = \"peer-copy",
            "[peer]\nis = \"peer-reads",
            "`quantities` block: `peer`: none of `h200`, `h200-x4`, `h200-x2`, `h200-x8` has a measured record of `peer-reads`",
        ),
        (
            "machine = \"h200-x2\"\ntitle",
            "machine = \"h200-x8\"\ntitle",
            "chart \"peers-of-two\": `h200-x8` has no measured record of `peer-copy`",
        ),
        (
            "machine = \"h200-x2\"\nwhere",
            "machine = \"h100\"\nwhere",
            "`table` block: `h100` is no reference machine: results/references.json names `h200`, `h200-x4`, `h200-x2`, `h200-x8`",
        ),
        (
            "machine = \"h200-x2\"\nwhere",
            "machine = \"h200-x2\"\nmachines = [\"h200-x4\"]\nwhere",
            "`table` block: take `machine` or `machines`",
        ),
        (
            "[\"h200-x2\", \"h200-x4\", \"h200-x8\"]",
            "[\"h200-x2\", \"h100\"]",
            "`table` block: `h100` is no reference machine: results/references.json names `h200`, `h200-x4`, `h200-x2`, `h200-x8`",
        ),
        (
            "[\"h200-x2\", \"h200-x4\", \"h200-x8\"]",
            "[\"h200-x8\"]",
            "`table` block: no machine has a measured record of `peer-copy`",
        ),
        (
            "[\"h200-x2\", \"h200-x4\", \"h200-x8\"]",
            "[]",
            "`table` block: say in `machines` which are compared",
        ),
        (
            "rows = [\"machine\", \"kind\"]",
            "rows = [\"kind\", \"machine\"]",
            "`table` block: with `machines`, `machine` is the first of `rows`, without `columns_by`, or is `columns_by`",
        ),
        (
            "rows = [\"machine\", \"kind\"]",
            "rows = [\"machine\", \"size\"]",
            "`table` block: rows: a measurement has no `size`",
        ),
    ];
    for (from, to, expected) in cases {
        let fixture = Fixture::of_several();
        assert!(PEERS.contains(from), "{from}");
        let page = PEERS.replacen(from, to, 1);
        fixture.write("book/src/peers.md", &page);
        let problems = fixture.problems();
        let is_there = |problem: &String| problem.ends_with(expected);
        assert!(
            problems.iter().any(is_there),
            "{expected}\nis not in {problems:#?}"
        );
    }
}

#[test]
fn what_this_machine_lacks_is_shown_from_the_reference() {
    let fixture = here();
    let mut record = record("laptop", "NVIDIA GeForce RTX 4090", 0.5);
    record.measurements.truncate(1);
    fixture.record(&record);
    let page = expanded(&fixture, "copy");
    for part in [
        "is <span class=\"value\"><span class=\"beside\">H200:</span> 3.67×</span> as fast",
        "<span class=\"beside\">H200:</span> <a class=\"verdict verdict-reproduced\" href=\"scorecard.html#C1\">C1 · reproduced</a>",
        "data-answer-text=\"3.67×\"",
        "<figure class=\"chart\" id=\"figure-copies\" data-machine=\"laptop\">",
        "<figure class=\"chart beside\" id=\"figure-copies-reference\" data-machine=\"h200\">",
    ] {
        assert!(page.contains(part), "{part}\nis not in\n{page}");
    }
}

#[test]
fn a_machine_without_measurements_is_not_shown() {
    let reference = expanded(&Fixture::new(), "copy");
    let fixture = Fixture::new();
    fixture.results().set_this_machine("laptop").unwrap();
    assert_eq!(expanded(&fixture, "copy"), reference);

    let mut emulated = record("laptop", "Emulated", 1.0);
    emulated.source = record::Source::Emulated;
    for m in &mut emulated.measurements {
        m.seconds.clear();
    }
    fixture.record(&emulated);
    assert_eq!(expanded(&fixture, "copy"), reference);
    assert_eq!(fixture.build().unwrap().this_machine, None);
}

#[test]
fn two_machines_with_one_kind_of_gpu_are_told_apart() {
    let fixture = Fixture::new();
    fixture.record(&record("lab", "NVIDIA H200", 2.0));
    fixture.results().set_this_machine("lab").unwrap();
    let page = expanded(&fixture, "copy");
    assert!(
        page.contains("<span class=\"beside\">(h200: 28.5 GB/s)</span>"),
        "{page}"
    );
}

/// Every text of a record that a stranger could have written.
#[test]
fn nothing_in_a_record_is_markup() {
    const HOSTILE: &str =
        "</title><script>alert(1)</script>{{#include book.toml}} *b* [a](b)";
    let fixture = Fixture::new();
    fixture.write("book/src/book.toml", "SECRET");
    let mut record = record("laptop", HOSTILE, 1.0);
    let hostile = || HOSTILE.to_owned();
    record.run.started = hostile();
    record.run.command = hostile();
    record.run.revision = Some(hostile());
    record.software.driver = Some(hostile());
    record.software.cuda = hostile();
    record.software.operating_system = hostile();
    record.machine.cpu.model = hostile();
    record.machine.gpus[0].compute_capability = hostile();
    record.gpu_after.throttle_reasons = Some(vec![hostile()]);
    record.skipped[0].reason = hostile();
    for m in &mut record.measurements {
        let kind = format!("{HOSTILE} {}", m.parameters["kind"]);
        m.parameters.insert("kind".to_owned(), kind.as_str().into());
        m.parameters.insert(hostile(), 1u64.into());
    }
    fixture.record(&record);
    fixture.results().set_this_machine("laptop").unwrap();
    // As this machine, and as the label that stands beside.
    check_harmless(&fixture);
    fixture.write("results/references.json", "[\"laptop\"]");
    fixture.write("book/claims.toml", "");
    fixture.pages(&[(
        "copy",
        "```quantities\n[peak]\nis = \"machine host-memory : memory_peak\"\n```\n\n{{peak}}\n",
    )]);
    fixture.results().set_this_machine("h200").unwrap();
    check_harmless(&fixture);
}

#[track_caller]
fn check_harmless(fixture: &Fixture) {
    fixture.build().unwrap();
    let page = fixture.read("book/book/copy.html");
    let main = page.split_once("<main>").unwrap().1.split_once("</main>").unwrap().0;
    assert!(main.contains("&lt;script&gt;"), "the text itself is shown: {main}");
    for markup in ["<script", "SECRET", "<em>b</em>", "href=\"b\""] {
        assert!(!main.contains(markup), "{markup} in {main}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever this machine's record holds, as long as it is a record: the book is built.
    #[test]
    fn no_record_of_this_machine_stops_the_build(
        measurements in prop::collection::vec(measurement(), 0..9),
        memory in prop_oneof![Just((0, 0)), Just((u64::MAX, u32::MAX)), Just((1, 8))],
        generation in 0u32..9,
    ) {
        let fixture = Fixture::of_several();
        let mut record = record("laptop", "", 1.0);
        let gpu = &mut record.machine.gpus[0];
        (gpu.memory_clock_khz, gpu.memory_bus_bits) = memory;
        gpu.pcie.as_mut().unwrap().generation = generation;
        record.measurements = measurements;
        let mut seen = std::collections::HashSet::new();
        record.measurements.retain(|m| seen.insert((m.case.clone(), m.parameters.clone())));
        fixture.record(&record);
        record.experiment = "peer-copy".to_owned();
        fixture.record(&record);
        fixture.results().set_this_machine("laptop").unwrap();
        expanded(&fixture, "copy");
        expanded(&fixture, "peers");
    }
}

fn measurement() -> impl Strategy<Value = record::Measurement> {
    let seconds = prop_oneof![Just(f64::MIN_POSITIVE), Just(f64::MAX), 1e-9..1e3f64];
    (
        prop::sample::select(vec!["copy", "other"]),
        prop::sample::select(vec!["pageable", "pinned", "{{x}}", ""]),
        prop::sample::select(vec![0, 1, 1024, 32768, 1 << 20, 1 << 62]),
        prop::collection::vec(seconds, 1..4),
    )
        .prop_map(|(case, kind, bytes, seconds)| {
            let mut m = record("laptop", "", 1.0).measurements.remove(0);
            m.case = case.to_owned();
            m.parameters.insert("kind".to_owned(), kind.into());
            m.parameters.insert("bytes".to_owned(), bytes.into());
            (m.bytes_read, m.seconds) = (bytes, seconds);
            m
        })
}

// The finished book.

#[test]
fn the_same_records_give_the_same_bytes() {
    let (first, second) = (here(), here());
    let (a, b) = (first.build().unwrap(), second.build().unwrap());
    assert_eq!((a.pages, a.this_machine.as_deref()), (2, Some("laptop")));
    let stored: Vec<_> = a
        .stored
        .iter()
        .map(|path| path.strip_prefix(first.path("book/src/figures")).unwrap())
        .collect();
    let names = ["copies-narrow.svg", "copies.svg"];
    let expected: Vec<_> = ["h200", "laptop"]
        .iter()
        .flat_map(|machine| {
            names.map(|name| std::path::Path::new(machine).join(name))
        })
        .collect();
    assert_eq!(stored, expected);
    assert_eq!(first.files("book"), second.files("book"));
    assert_eq!(a.stored.len(), b.stored.len());
    let again = first.build().unwrap();
    assert_eq!((again.stored, again.removed), (vec![], vec![]));
}

#[test]
fn a_reference_figure_does_not_depend_on_this_machine() {
    let (alone, beside) = (Fixture::new(), here());
    alone.build().unwrap();
    beside.build().unwrap();
    let figures = "book/src/figures/h200";
    assert_eq!(alone.files(figures), beside.files(figures));
}

#[test]
fn figures_are_kept_or_checked() {
    let fixture = Fixture::new();
    fixture.build().unwrap();
    let check = report::Options { check: true, ..fixture.options() };
    let unchanged = report::build(&check).unwrap();
    assert_eq!((unchanged.stored, unchanged.removed), (vec![], vec![]));

    fixture.write("book/src/figures/h200/copies.svg", "drawn by hand");
    fixture.write("book/src/figures/h200/old.svg", "of a chart that is gone");
    fixture.write(
        "book/src/figures/elsewhere/old.svg",
        "of a machine that is not built",
    );
    let error = format!("{:#}", report::build(&check).unwrap_err());
    let folder = fixture.path("book/src/figures/h200").display().to_string();
    assert_eq!(
        error.replace(&folder, "…"),
        "the book has 2 problems:\n  \
         …/copies.svg: is not what the records give; run `cargo workbook build` and commit it\n  \
         …/old.svg: no chart makes this figure; run `cargo workbook build` and commit it"
    );
    assert_eq!(fixture.read("book/src/figures/h200/copies.svg"), "drawn by hand");

    let built = fixture.build().unwrap();
    assert_eq!(built.stored, [fixture.path("book/src/figures/h200/copies.svg")]);
    assert_eq!(built.removed, [fixture.path("book/src/figures/h200/old.svg")]);
    assert!(fixture.path("book/src/figures/elsewhere/old.svg").exists());
}

#[test]
fn bars_stand_in_groups() {
    let chart = |lines: &str| {
        format!(
            "```chart\nid = \"bars\"\nexperiment = \"host-memory\"\ntitle = \"T.\"\n\
             description = \"D.\"\nform = \"bars\"\ny = \"time\"\ny_label = \"Time\"\n\
             bar = \"kind\"\n{lines}\n```\n"
        )
    };
    check_page(
        &chart(""),
        &[
            "page.md:1: chart \"bars\": 3 measurements are \"pageable\"; add `bytes` to `where`",
        ],
    );
    check_page(
        &chart("where = { bytes = 1024 }\ngroup = \"none\""),
        &["page.md:1: chart \"bars\": there is nothing to draw"],
    );

    let fixture = Fixture::new();
    fixture.write("book/claims.toml", "");
    let lines = "group = \"bytes\"\norder = [\"pinned\"]\n\
                 where = { bytes = [\"1MiB\", \"1KiB\"] }\nlabels = { \"1KiB\" = \"small\" }";
    fixture.pages(&[("page", &chart(lines))]);
    fixture.build().unwrap();
    let svg = fixture.read("book/src/figures/h200/bars.svg");
    let hovers: Vec<&str> = svg
        .split("<title>")
        .skip(1)
        .map(|rest| rest.split([' ', '<']).next().unwrap())
        .collect();
    assert_eq!(hovers, ["pinned:", "pageable:", "pinned:", "pageable:"], "{svg}");
    assert!(svg.contains(">small<") && svg.contains(">1 MiB<"), "{svg}");
}

/// A heat map of the fixture's record with these lines added.
fn heatmap(lines: &str) -> String {
    format!(
        "```chart\nid = \"map\"\nexperiment = \"host-memory\"\ntitle = \"T.\"\n\
         description = \"D.\"\nform = \"heatmap\"\ny_label = \"Time\"\n\
         column = \"bytes\"\ncolumn_label = \"Size\"\nrow = \"kind\"\n\
         row_label = \"Memory\"\n{lines}\n```\n"
    )
}

const RATIO: &str = "y = \"time\"\nwhere = { kind = \"pinned\" }\n\
    over = { kind = \"pageable\" }\nbelow = \"faster\"\nabove = \"slower\"";

#[test]
fn heat_maps_show_a_number_or_how_it_compares() {
    let hovers = |lines: &str, record: Option<&record::Record>| {
        let fixture = Fixture::new();
        fixture.write("book/claims.toml", "");
        if let Some(record) = record {
            fixture.record(record);
        }
        fixture.pages(&[("page", &heatmap(lines))]);
        fixture.build().unwrap();
        let svg = fixture.read("book/src/figures/h200/map.svg");
        let titles = svg.split("<title>").skip(1);
        let titles = titles.map(|rest| rest.split("</title>").next().unwrap());
        titles.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        hovers(RATIO, None),
        [
            "Memory pinned, Size 1 KiB: 0.977× (4.03 µs over 4.13 µs)",
            "Memory pinned, Size 32 KiB: 0.621× (5.02 µs over 8.10 µs)",
            "Memory pinned, Size 1 MiB: 0.272× (36.8 µs over 135 µs)",
        ]
    );
    // Six cells of a table of which one was not measured.
    let mut lacking = record("h200", "NVIDIA H200", 1.0);
    lacking.measurements.remove(0);
    let lines = "y = \"bandwidth\"\nempty = \"not tried\"\norder = [\"pinned\"]";
    let hovers = hovers(lines, Some(&lacking));
    assert_eq!(hovers.len(), 6);
    assert!(
        hovers[2].starts_with("Memory pinned, Size 1 MiB: 28.5 GB/s (median of 8;")
    );
    assert_eq!(hovers[3], "Memory pageable, Size 1 KiB: not tried");
}

/// A record with the course of its two measurements of 1 MiB, which the others lack.
fn with_courses(machine: &str) -> record::Record {
    let mut record = record(machine, "NVIDIA H200", 1.0);
    for m in record.measurements.iter_mut().filter(|m| m.bytes_read == 1 << 20) {
        let end = m.seconds[3];
        let span = |lane: &str, label: &str, start: f64, end: f64| record::Span {
            lane: lane.to_owned(),
            label: label.to_owned(),
            start_seconds: start,
            end_seconds: end,
        };
        m.spans = vec![
            span("host", "launch it", 0.0, 4e-6),
            span("host", "wait", 4e-6, end),
            span("stream 1", "copy 1", 6e-6, end / 2.0),
            span("stream_2", "other 1", end / 4.0, end),
        ];
        let readings = [
            (0.0, 0),
            (1e-6, 1 << 20),
            (2e-6, 1 << 20),
            (3e-6, 1 << 20),
            (end, 1 << 19),
        ];
        let reading = |&(seconds, bytes): &(f64, u64)| record::MemoryReading {
            seconds,
            bytes,
        };
        m.memory
            .insert("pool_used".to_owned(), readings.iter().map(reading).collect());
        m.memory.insert("driver_used".to_owned(), vec![reading(&(0.0, 5 << 20))]);
    }
    record
}

/// A chart of the course of copies of 1 MiB.
fn course(form: &str, lines: &str) -> String {
    format!(
        "```chart\nid = \"course\"\nexperiment = \"host-memory\"\ntitle = \"T.\"\n\
         description = \"D.\"\nform = \"{form}\"\nwhere = {{ bytes = \"1MiB\" }}\n{lines}\n```\n"
    )
}

const KINDS: &str = "[[panel]]\nlabel = \"Pageable memory\"\nwhere = { kind = \"pageable\" }\n\
    [[panel]]\nlabel = \"Pinned memory\"\nwhere = { kind = \"pinned\" }\n";

/// The chart's hovers, on a page with these lines; the reference's, then this machine's.
fn course_hovers(page: &str, here: bool) -> [Vec<String>; 2] {
    let fixture = Fixture::new();
    fixture.write("book/claims.toml", "");
    fixture.record(&with_courses("h200"));
    if here {
        let mut here = with_courses("laptop");
        here.measurements.iter_mut().take(3).for_each(|m| m.spans.clear());
        fixture.record(&here);
        fixture.results().set_this_machine("laptop").unwrap();
    }
    fixture.pages(&[("page", page)]);
    fixture.build().unwrap();
    ["h200", "laptop"].map(|machine| {
        let path = format!("book/src/figures/{machine}/course.svg");
        let svg = if machine == "h200" || here {
            fixture.read(&path)
        } else {
            String::new()
        };
        let titles = svg.split("<title>").skip(1);
        let titles = titles.map(|rest| rest.split("</title>").next().unwrap());
        titles.map(str::to_owned).collect()
    })
}

#[test]
fn timelines_show_what_ran_when() {
    let labels = "labels = { wait = \"waiting\", stream_2 = \"second stream\" }\ny = \"time\"\n";
    let lanes = "lanes = [\"stream_2\", \"host\"]\n";
    let page = course("timeline", &format!("{labels}{lanes}{KINDS}"));
    let of_pinned = [
        "second stream, other 1: 27.6 µs, from 9.19 µs to 36.8 µs",
        "host, launch it: 4.00 µs, from 0.00 ns to 4.00 µs",
        "host, wait: 32.8 µs, from 4.00 µs to 36.8 µs",
    ];
    let [reference, here] = course_hovers(&page, true);
    assert_eq!(reference.len(), 6, "{reference:?}");
    assert_eq!(reference[3..], of_pinned);
    assert_eq!(here, of_pinned, "what this machine lacks is left out");
    // Without panels and lanes: the only measurement, all that is there.
    let page = course("timeline", "")
        .replace("\"1MiB\" }", "\"1MiB\", kind = \"pinned\" }");
    let [all, _] = course_hovers(&page, false);
    assert_eq!(all.len(), 4, "{all:?}");
}

#[test]
fn memory_is_shown_over_time() {
    let lines = "y_label = \"Memory\"\nlabels = { pool_used = \"the pool\" }\n\
                 readings = [\"pool_used\"]\n";
    let cap = "[[reference]]\nlabel = \"Cap\"\nkind = \"peak\"\nvalue = 2097152.0\n";
    let page = course("memory", &format!("{lines}{KINDS}{cap}"));
    let [hovers, _] = course_hovers(&page, false);
    // Of each panel, the readings where something changes.
    assert_eq!(hovers.len(), 8, "{hovers:?}");
    assert_eq!(hovers[1], "the pool at 1.00 µs: 1 MiB");
    assert_eq!(hovers[2], "the pool at 3.00 µs: 1 MiB");
}

#[test]
fn courses_that_cannot_be_drawn() {
    let kinds = |of: &str| format!("{of}\n{KINDS}");
    let timeline = |lines: &str| course("timeline", lines);
    let memory = |lines: &str| course("memory", lines);
    let cases = [
        (
            timeline("y_label = \"Time\""),
            "`chart` block: a timeline has no `y_label`",
        ),
        (memory(""), "`chart` block: a chart of memory needs `y_label`"),
        (
            memory("y_label = \"Memory\"\nlanes = []"),
            "`chart` block: a chart of memory has no `lanes`",
        ),
        (timeline(""), "chart \"course\": matches 2: give also `kind`"),
        (
            timeline(&KINDS.replace("\"pinned\"", "\"none\"")),
            "chart \"course\": panel \"Pinned memory\": matches none on `h200`: `kind` is `pageable`, `pinned`",
        ),
        (
            timeline(
                &KINDS
                    .replace("kind = \"pinned\"", "kind = \"pinned\", bytes = 1024"),
            ),
            "chart \"course\": panel \"Pinned memory\": the measurement has no timeline",
        ),
        (
            memory(&format!(
                "y_label = \"Memory\"\n{}",
                KINDS
                    .replace("kind = \"pinned\"", "kind = \"pinned\", bytes = 1024")
            )),
            "chart \"course\": panel \"Pinned memory\": the measurement has no memory over time",
        ),
        (
            timeline(&kinds("lanes = [\"host\", \"hots\"]")),
            "chart \"course\": lanes: no span lies in `hots`",
        ),
        (
            memory(&kinds("y_label = \"Memory\"\nreadings = [\"pool\"]")),
            "chart \"course\": readings: there are none of `pool`",
        ),
        (
            timeline(&kinds("labels = { launch = \"call\", weit = \"wait\" }")),
            "chart \"course\": labels: nothing that is drawn is called `weit`",
        ),
    ];
    for (page, expected) in cases {
        check_course(&page, expected);
    }
    // A seventh colour would be the first again.
    let mut many = with_courses("h200");
    let spans = &mut many.measurements[5].spans;
    let other = spans[3].clone();
    spans.extend(
        ["b 1", "c 1", "d 1", "e 1"]
            .map(|label| record::Span { label: label.to_owned(), ..other.clone() }),
    );
    let fixture = Fixture::new();
    fixture.record(&many);
    fixture.write("book/claims.toml", "");
    let page = timeline(KINDS);
    fixture.pages(&[("page", &page)]);
    let expected = "page.md:1: chart \"course\": more than 6 kinds of work: launch, wait, copy, other, b, c, d, e; draw fewer `lanes`, or give labels that begin with the same word";
    check_problems(&fixture, &page, &[expected]);
}

#[track_caller]
fn check_course(page: &str, expected: &str) {
    let fixture = Fixture::new();
    fixture.record(&with_courses("h200"));
    fixture.write("book/claims.toml", "");
    fixture.pages(&[("page", page)]);
    check_problems(&fixture, page, &[&format!("page.md:1: {expected}")]);
}

#[test]
fn times_and_readings_are_quantities() {
    let of = "host-memory copy kind=pinned bytes=1MiB";
    let cases = [
        ("span.stream 1.copy 1.start", "6.00 µs"),
        ("span.stream 1.copy 1.end", "18.4 µs"),
        ("span.host.wait.duration", "32.8 µs"),
        ("memory.pool_used.max", "1 MiB"),
        ("memory.pool_used.min", "0 B"),
        ("memory.pool_used.first", "0 B"),
        ("memory.pool_used.last", "512 KiB"),
    ];
    for (metric, expected) in cases {
        let fixture = Fixture::new();
        fixture.record(&with_courses("h200"));
        fixture.write("book/claims.toml", "");
        let page = format!(
            "```quantities\n[a]\nis = \"{of} : {metric}\"\n```\n\nIt is {{{{a}}}}.\n"
        );
        fixture.pages(&[("page", &page)]);
        fixture.build().unwrap();
        let html = fixture.read("book/book/page.html");
        assert!(html.contains(expected), "{metric}: {html}");
    }
    for (metric, problem) in [
        (
            "span.host.start",
            "`span.host.start` is not span.LANE.LABEL.start|end|duration",
        ),
        (
            "memory.pool_used",
            "`memory.pool_used` is not memory.SERIES.first|last|max|min",
        ),
        ("span.host.wait.end", "this measurement has no `span.host.wait.end`"),
        ("memory.pool.max", "this measurement has no `memory.pool.max`"),
    ] {
        check_quantity(&format!("{of} : {metric}"), problem);
    }
}

#[test]
fn the_finished_book_can_go_elsewhere() {
    let fixture = Fixture::new();
    let output = fixture.path("elsewhere");
    let options =
        report::Options { output: Some(output.clone()), ..fixture.options() };
    assert_eq!(report::build(&options).unwrap().html, output);
    assert!(
        output.join("copy.html").exists() && !fixture.path("book/book").exists()
    );
}

#[test]
fn a_page_in_a_folder_finds_the_scorecard() {
    let fixture = Fixture::new();
    let deep = COPY
        .replace("\"copies\"", "\"deep\"")
        .replace("id = \"pinned\"", "id = \"deep\"");
    fixture.pages(&[("copy", COPY), ("part/deep", &deep), ("scorecard", SCORECARD)]);
    fixture.build().unwrap(); // dead links would be refused
    let page = fixture.read("book/book/part/deep.html");
    assert!(page.contains("href=\"../scorecard.html#C1\""));
}

#[test]
fn only_html_is_made() {
    assert!(report::supports("html") && !report::supports("epub"));
}

// What is refused. Each case lists every problem, so none may hide another.

#[track_caller]
fn check_problems(fixture: &Fixture, what: &str, expected: &[&str]) {
    let root = fixture.path("").display().to_string();
    let problems: Vec<String> =
        fixture.problems().iter().map(|p| p.replace(&root, "")).collect();
    assert_eq!(problems, expected, "{what}");
}

/// A book of one page, `page.md`, with no claims.
#[track_caller]
fn check_page(text: &str, expected: &[&str]) {
    let fixture = Fixture::new();
    fixture.write("book/claims.toml", "");
    fixture.write("book/src/code.rs", "fn main() {}\n// ANCHOR: open\n// ANCHOR: a-b\nlet a;\n// ANCHOR_END: a-b\n");
    fixture.pages(&[("page", text)]);
    check_problems(&fixture, text, expected);
}

/// A page with one quantity.
#[track_caller]
fn check_quantity(is: &str, expected: &str) {
    let text = format!("```quantities\n[value]\nis = \"{is}\"\n```\n");
    check_page(
        &text,
        &[&format!("page.md:1: `quantities` block: `value`: {expected}")],
    );
}

#[test]
fn directives_that_are_none() {
    check_page(
        "a\n\n{{nothing}} b",
        &["page.md:3: {{nothing}}: there is no quantity `nothing` on `page.md`"],
    );
    check_page(
        "{{draw a chart}}",
        &["page.md:1: {{draw a chart}}: there is no such directive"],
    );
    check_page(
        "{{open\n}}",
        &["page.md:1: {{open: has no closing braces on its line"],
    );
    check_page(
        "{{verdict C9}}",
        &["page.md:1: {{verdict C9}}: there is no claim `C9`"],
    );
    check_page("{{claim C9}}", &["page.md:1: {{claim C9}}: there is no claim `C9`"]);
    check_page(
        "so {{errata}}",
        &["page.md:1: {{errata}}: must stand alone on its line"],
    );
    check_page("{{errata}}", &["page.md:1: {{errata}}: there are no errata"]);
    check_page(
        "{{scorecard 8.9}}",
        &["page.md:1: {{scorecard 8.9}}: no claim is of this section"],
    );
    check_page(
        "{{provenance}}",
        &[
            "page.md:1: {{provenance}}: name the page's `experiment` in its `quantities` block",
        ],
    );
    check_page(
        "- ```table\n  rows = []\n  ```",
        &["page.md:1: `table` block: must stand at the left margin"],
    );
    check_page(
        "{{a}} {{b}}",
        &[
            "page.md:1: {{a}}: there is no quantity `a` on `page.md`",
            "page.md:1: {{b}}: there is no quantity `b` on `page.md`",
        ],
    );
}

#[test]
fn queries_that_mean_nothing_or_too_much() {
    let cases = [
        ("host-memory copy", "`host-memory copy` has no ` : metric`"),
        (": time", "`: time` names no experiment"),
        (
            "host-memory copy : speed",
            "no metric `speed`: there are time, bandwidth, share_of_peak, spread, samples, checked, peak, bytes, model.NAME, counter.NAME, param.NAME, span.LANE.LABEL.start|end|duration, memory.SERIES.first|last|max|min",
        ),
        ("copies copy : time", "`h200` has no measured record of `copies`"),
        ("host-memory move : time", "matches none on `h200`: `case` is `copy`"),
        (
            "host-memory copy size=1 : time",
            "matches none on `h200`: there is no parameter `size`",
        ),
        (
            "host-memory copy bytes=2KiB : time",
            "matches none on `h200`: `bytes` is `1024`, `32768`, `1048576`",
        ),
        (
            "host-memory copy kind=registered bytes=1KiB : time",
            "matches none on `h200`: `kind` is `pageable`, `pinned`; skipped: this driver cannot register memory",
        ),
        ("host-memory copy kind=pinned : time", "matches 3: give also `bytes`"),
        ("host-memory copy : time", "matches 6: give also `bytes`, `kind`"),
        ("host-memory copy copy : time", "`case` is given twice"),
        (
            "host-memory copy kind=pinned bytes=1KiB : model.speed",
            "this measurement has no `model.speed`",
        ),
        (
            "host-memory copy kind=pinned bytes=1KiB : param.kind",
            "this measurement has no `param.kind`",
        ),
        (
            "max host-memory copy kind=pinned bytes=1KiB : time",
            "matches only one: drop `max` or `min`",
        ),
        (
            "fit host-memory copy bytes=1KiB : latency",
            "a fit needs at least three measured sizes, here are 2",
        ),
        (
            "fit host-memory copy kind=pinned : slope",
            "a fit has no `slope`: there are latency, bandwidth, residual",
        ),
        (
            "machine : memory_peak",
            "of which experiment's machine? The page names none",
        ),
        (
            "machine host-memory : colour",
            "a machine has no `colour`: there are memory_peak, link_peak, nvlink_peak, gpus, l2_bytes, memory_bytes, multiprocessors",
        ),
        ("machine host-memory copy : l2_bytes", "`copy` does not select a machine"),
    ];
    for (is, expected) in cases {
        check_quantity(is, expected);
    }
}

#[test]
fn quantities_without_a_value() {
    let cases = [
        ("[a]\nexpression = \"1\"", "`a`: an expression needs a `unit`"),
        ("[a]\nunit = \"\"", "`a`: give either `is` or `expression`"),
        (
            "[a]\nexpression = \"1\"\nis = \"x\"",
            "`a`: give either `is` or `expression`",
        ),
        (
            "[a]\nexpression = \"1 / 0\"\nunit = \"\"",
            "`a`: `1 / 0` is not a finite number",
        ),
        (
            "[a]\nexpression = \"b + 1\"\nunit = \"\"",
            "`a`: there is no quantity `b` on this page",
        ),
        (
            "[a]\nexpression = \"a\"\nunit = \"\"",
            "`a`: goes in a circle: `a` needs `a`",
        ),
        (
            "[a]\nexpression = \"b\"\nunit = \"\"\n[b]\nexpression = \"c\"\nunit = \"\"\n[c]\nexpression = \"b\"\nunit = \"\"",
            "`c`: goes in a circle: `b` needs `c` needs `b`",
        ),
        (
            "[a]\nexpression = \"1 +\"\nunit = \"\"",
            "`a`: `1 +`: EofWhileParsing(\"value\")",
        ),
        (
            "[a]\nexpression = \"1\"\nunit = \"ms\"",
            "`a`: unit `ms`: write `s`; the scale is chosen when it is printed",
        ),
        (
            "[a]\nis = \"machine host-memory : l2_bytes\"\nunit = \"GB/s\"",
            "`a`: is in `bytes`, not `GB/s`",
        ),
        (
            "[a]\nequals = \"1\"",
            "`a`: unknown field `equals`, expected one of `is`, `expression`, `unit`",
        ),
        (
            "[a-b]\nexpression = \"1\"",
            "`a-b`: take lower-case letters, digits and _",
        ),
        ("[pi]\nexpression = \"1\"", "`pi` means something else already"),
        ("experiment = 1", "`experiment` must be one name, once"),
        ("[a", "line 1: unclosed table, expected `]`"),
    ];
    for (toml, expected) in cases {
        check_page(
            &format!("```quantities\n{toml}\n```\n"),
            &[&format!("page.md:1: `quantities` block: {expected}")],
        );
    }
    let block = "```quantities\n[a]\nexpression = \"1\"\nunit = \"\"\n```\n";
    check_page(
        &format!("{block}\n{block}"),
        &["page.md:7: `quantities` block: `a` is defined twice on this page"],
    );
}

/// The chart, table or prediction of the fixture's page with a change, alone on a page.
#[track_caller]
fn check_block(kind: &str, from: &str, to: &str, expected: &str) {
    let quantities =
        COPY.split("```quantities").nth(1).unwrap().split("```").next().unwrap();
    let block = COPY
        .split(&format!("```{kind}"))
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    assert!(block.contains(from), "{from}");
    let changed = block.replacen(from, to, 1);
    let chart = match kind {
        "prediction" => {
            let chart =
                COPY.split("```chart").nth(1).unwrap().split("```").next().unwrap();
            format!("\n```chart{chart}```\n")
        }
        _ => String::new(),
    };
    check_page(
        &format!("```{kind}{changed}```\n\n```quantities{quantities}```\n{chart}"),
        &[&format!("page.md:1: {expected}")],
    );
}

#[test]
fn charts_that_cannot_be_drawn() {
    let cases = [
        (
            "id = \"copies\"",
            "id = \"../copies\"",
            "`chart` block: id `../copies`: take lower-case letters, digits and hyphens",
        ),
        (
            "form = \"lines\"",
            "form = \"pie\"",
            "`chart` block: line 5: unknown variant `pie`, expected one of `lines`, `bars`, `heatmap`, `timeline`, `memory`",
        ),
        ("x = \"bytes\"", "", "`chart` block: a chart of lines needs `x`"),
        (
            "form = \"lines\"",
            "form = \"bars\"\nbar = \"kind\"",
            "`chart` block: a chart of bars has no `x`",
        ),
        (
            "x = \"bytes\"",
            "x = \"bytes\"\nbar = \"kind\"",
            "`chart` block: a chart of lines has no `bar`",
        ),
        (
            "x = \"bytes\"",
            "x = \"bytes\"\nz = 1",
            "`chart` block: line 8: unknown field `z`, expected one of `id`, `experiment`, `machine`, `title`, `description`, `form`, `where`, `x`, `x_label`, `x_scale`, `x_unit`, `y`, `y_label`, `y_scale`, `series`, `group`, `bar`, `column`, `column_label`, `row`, `row_label`, `over`, `below`, `above`, `empty`, `panel`, `lanes`, `own_axes`, `readings`, `labels`, `order`, `reference`, `model`, `mark`",
        ),
        (
            "y = \"bandwidth\"",
            "y = \"speed\"",
            "`chart` block: line 10: no metric `speed`: there are time, bandwidth, share_of_peak, spread, samples, checked, peak, bytes, model.NAME, counter.NAME, param.NAME, span.LANE.LABEL.start|end|duration, memory.SERIES.first|last|max|min",
        ),
        (
            "experiment = \"host-memory\"",
            "experiment = \"transpose\"",
            "chart \"copies\": `h200` has no measured record of `transpose`",
        ),
        (
            "case = \"copy\"",
            "case = \"move\"",
            "chart \"copies\": matches none on `h200`: `case` is `copy`",
        ),
        (
            "x = \"bytes\"",
            "x = \"kind\"",
            "chart \"copies\": x: a measurement has no number `kind`",
        ),
        (
            "series = \"kind\"",
            "",
            "chart \"copies\": 2 measurements stand at bytes = 1024; add `kind` to `where`",
        ),
        (
            "pinned = \"page-locked\"",
            "pined = \"page-locked\"",
            "chart \"copies\": labels: no measurement has the value `pined`",
        ),
        (
            "order = [\"pinned\"]",
            "order = [\"pined\"]",
            "chart \"copies\": order: no measurement has the value `pined`",
        ),
        (
            "is = \"machine : link_peak\"",
            "is = \"machine : l2_bytes\"",
            "chart \"copies\": reference \"Link peak\": is in `bytes`, the axis in `GB/s`",
        ),
        (
            "is = \"machine : link_peak\"",
            "quantity = \"speedup\"",
            "chart \"copies\": reference \"Link peak\": is in `×`, the axis in `GB/s`",
        ),
        (
            "is = \"machine : link_peak\"",
            "value = 12e9\n[[mark]]\nlabel = \"L2 cache\"\nis = \"machine : link_peak\"",
            "chart \"copies\": mark \"L2 cache\": is in `GB/s`, the axis in `bytes`",
        ),
        (
            "is = \"machine : link_peak\"",
            "quantity = \"none\"",
            "chart \"copies\": reference \"Link peak\": there is no quantity `none` on `page.md`",
        ),
        (
            "is = \"machine : link_peak\"",
            "",
            "chart \"copies\": reference \"Link peak\": give one of `is`, `value`, `quantity`",
        ),
        (
            "value = 12e9",
            "value = 0.0",
            "chart \"copies\": reference \"The chapter: 12 GB/s\": 0 has no place on the axis",
        ),
        (
            "fit = \"bandwidth\"",
            "fit = \"time\"",
            "chart \"copies\": model \"latency + bytes / bandwidth\": `fit` must be what `y` is",
        ),
        (
            "fit = \"bandwidth\"",
            "metric = \"model.sectors_per_request\"",
            "chart \"copies\": model \"latency + bytes / bandwidth\": is in ``, the axis in `GB/s`",
        ),
        (
            "fit = \"bandwidth\"",
            "",
            "chart \"copies\": model \"latency + bytes / bandwidth\": give either `metric` or `fit`",
        ),
    ];
    for (from, to, expected) in cases {
        check_block("chart", from, to, expected);
    }
}

#[test]
fn heat_maps_that_cannot_be_drawn() {
    let cases = [
        ("column = \"bytes\"", "", "`chart` block: a heat map needs `column`"),
        ("above = \"slower\"", "", "`chart` block: a heat map needs `above`"),
        (
            "above = \"slower\"",
            "above = \"slower\"\nx = \"bytes\"",
            "`chart` block: a heat map has no `x`",
        ),
        (
            "above = \"slower\"",
            "above = \"slower\"\n[[reference]]\nlabel = \"\"\nkind = \"peak\"",
            "`chart` block: a heat map has no `reference`",
        ),
        (
            "column = \"bytes\"",
            "column = \"stride\"",
            "chart \"map\": column: no measurement has this parameter",
        ),
        (
            "row = \"kind\"",
            "row = \"case\"\n#",
            "chart \"map\": at Memory copy, Size 1 KiB: 2 measurements; add `kind` to `where`",
        ),
        (
            "{ kind = \"pageable\" }",
            "{ case = \"read\" }",
            "chart \"map\": at Memory pinned, Size 1 KiB: over: matches none on `h200`: `case` is `copy`",
        ),
    ];
    for (from, to, expected) in cases {
        let ratio = match expected.contains("2 measurements") {
            true => RATIO.replace("where = { kind = \"pinned\" }", ""),
            false => RATIO.to_owned(),
        };
        let block = heatmap(&ratio);
        assert!(block.contains(from), "{from}");
        check_page(
            &block.replacen(from, to, 1),
            &[&format!("page.md:1: {expected}")],
        );
    }
    // Of the two kinds, one has one size.
    let lines = "y = \"time\"\nwhere = { kind = [\"pinned\", \"pageable\"] }";
    let fixture = Fixture::new();
    let mut lacking = record("h200", "NVIDIA H200", 1.0);
    lacking.measurements.remove(0);
    fixture.record(&lacking);
    fixture.write("book/claims.toml", "");
    let guess = "```prediction\nid = \"guess\"\nquestion = \"Q?\"\nunit = \"µs\"\n\
         answer = \"time\"\nchart = \"map\"\nexplain = \"E.\"\n```\n\
         ```quantities\n[time]\nis = \"host-memory copy kind=pinned bytes=1MiB : time\"\n```\n";
    let page = heatmap(lines) + guess;
    fixture.pages(&[("page", &page)]);
    check_problems(
        &fixture,
        &page,
        &[
            "page.md:1: chart \"map\": at Memory pageable, Size 1 KiB: there is no measurement; say why in `empty`",
            "page.md:15: prediction \"guess\": the guess cannot be drawn on `map`: a heat map has no axis for it",
        ],
    );
}

#[test]
fn tables_and_predictions_that_cannot_be_made() {
    let tables = [
        (
            "metrics = [",
            "metrics = []\nextra = [",
            "`table` block: line 5: unknown field `extra`, expected one of `experiment`, `machine`, `machines`, `where`, `rows`, `columns_by`, `metrics`, `labels`, `order`, `headings`, `caption`",
        ),
        (
            "rows = [\"kind\"]",
            "rows = []",
            "`table` block: `rows` and `metrics` must not be empty",
        ),
        (
            "rows = [\"kind\"]",
            "rows = [\"kind\"]\ncolumns_by = \"bytes\"",
            "`table` block: with `columns_by` there is one metric",
        ),
        (
            "rows = [\"kind\"]",
            "rows = [\"size\"]\n#",
            "`table` block: headings: there is no column `kind`",
        ),
        (
            "headings = { kind = ",
            "headings = { case = ",
            "`table` block: headings: there is no column `case`",
        ),
        (
            "bytes = \"1MiB\"",
            "bytes = \"2MiB\"",
            "`table` block: matches none on `h200`: `bytes` is `1024`, `32768`, `1048576`",
        ),
        (
            ", bytes = \"1MiB\"",
            "",
            "`table` block: 3 measurements are in the row \"pageable\"; add `bytes` to `where` or `rows`",
        ),
        (
            "\"share_of_peak\"",
            "\"model.speed\"",
            "`table` block: this measurement has no `model.speed`",
        ),
    ];
    for (from, to, expected) in tables {
        check_block("table", from, to, expected);
    }
    let predictions = [
        (
            "answer = \"speedup\"",
            "answer = \"none\"",
            "prediction \"pinned\": there is no quantity `none` on `page.md`",
        ),
        (
            "unit = \"×\"",
            "unit = \"%\"",
            "prediction \"pinned\": the answer is in `×`, not `%`",
        ),
        (
            "explain = ",
            "explains = ",
            "`prediction` block: line 5: unknown field `explains`, expected one of `id`, `question`, `unit`, `answer`, `chart`, `explain`",
        ),
        (
            "answer",
            "chart = \"none\"\nanswer",
            "prediction \"pinned\": this page has no chart `none`",
        ),
        (
            "answer",
            "chart = \"copies\"\nanswer",
            "prediction \"pinned\": the guess cannot be drawn on `copies`: its values are in `GB/s`, the answer in `×`",
        ),
    ];
    for (from, to, expected) in predictions {
        check_block("prediction", from, to, expected);
    }
}

#[test]
fn goals_that_cannot_be_judged() {
    let three = "goal \"Pinned memory is three times as fast\"";
    let cases = [
        (
            "[[goal]]",
            "[[aim]]",
            "`goals` block: line 1: unknown field `aim`, expected `goal`".to_owned(),
        ),
        (
            "limit = ",
            "limits = ",
            "`goals` block: line 8: unknown field `limits`, expected one of `what`, `page`, `achieved`, `at_least`, `at_most`, `unit`, `ceiling`, `limit`".to_owned(),
        ),
        (
            "at_least = 3.0",
            "at_least = 0.0",
            format!("`goals` block: {three}: `at_least` and `at_most` must be more than 0"),
        ),
        (
            "at_least = 3.0",
            "at_least = 3.0\nat_most = 4.0",
            format!("`goals` block: {three}: takes one of `at_least` and `at_most`"),
        ),
        (
            "achieved = \"speedup\"",
            "achieved = \"none\"",
            format!("`goals` block: {three}: there is no quantity `none` on `page.md`"),
        ),
        (
            "unit = \"×\"",
            "unit = \"%\"",
            format!("`goals` block: {three}: `speedup` is in `×`, not `%`"),
        ),
        (
            "page = \"copy\"",
            "page = \"none\"",
            format!("`goals` block: {three}: there is no page `none.md` in the book"),
        ),
        (
            "{{peak}}",
            "{{none}}",
            format!("`goals` block: {three}: there is no quantity `none` on `page.md`"),
        ),
        ("{{peak}}", "{{peak", format!("`goals` block: {three}: `{{{{` has no `}}}}`")),
    ];
    for (from, to, expected) in cases {
        check_block("goals", from, to, &expected);
    }
}

#[test]
fn includes_that_include_nothing() {
    check_page(
        "```rust\n{{#include code.rs}}\n{{#include code.rs:a-b}}\n{{#include code.rs:2:3}}\n\
         \\{{#include none.rs}}\n{{#rustdoc_include none.rs:a}}\n```\n\
         {{#include code.rs:gone}}\n{{#include code.rs:open}}\n{{#include code.rs:9}}\n\
         {{#embed code.rs}}\n{{#include code.rs\n",
        &[
            "page.md:6: {{#rustdoc_include none.rs:a}}: cannot read `none.rs`: No such file or directory (os error 2)",
            "page.md:8: {{#include code.rs:gone}}: `code.rs` has no `ANCHOR: gone`",
            "page.md:9: {{#include code.rs:open}}: `code.rs` has no `ANCHOR_END: open`",
            "page.md:10: {{#include code.rs:9}}: `code.rs` has 5 lines",
            "page.md:11: {{#embed code.rs}}: there is no such directive",
            "page.md:12: {{#include code.rs: has no closing braces on its line",
        ],
    );
}

#[test]
fn links_that_lead_nowhere() {
    check_page(
        "# Head\n\n[1](none.md) [2](#head) [3](#none) [4](page.md#none) [5](../../secret)\n\
         [6](https://example.org/none) [7](mailto:a@example.org) [8](code.rs) [9](code%2Ers#L1)\n\n\
         <p id=\"a\"></p><p id=\"a\"></p><img src=\"none.png\" alt=\"\">\n",
        &[
            "page.html: the id `a` stands there twice",
            "page.html: link to `#none`: `page.html` has no id `none`",
            "page.html: link to `../../secret`: it leaves the book",
            "page.html: link to `none.html`: there is no such file",
            "page.html: link to `none.png`: there is no such file",
            "page.html: link to `page.html#none`: `page.html` has no id `none`",
        ],
    );
}

#[test]
fn an_id_twice_in_the_book() {
    let fixture = Fixture::new();
    fixture.pages(&[("copy", COPY), ("again", COPY), ("scorecard", SCORECARD)]);
    check_problems(
        &fixture,
        "one page twice",
        &[
            "again.md: prediction \"pinned\": the id is taken",
            "again.md: chart \"copies\": the id is taken",
        ],
    );
}

#[test]
fn claims_that_break_a_rule() {
    let cases = [
        ("page = \"copy\"", "", "C1: has tests but no `page`"),
        (
            "page = \"copy\"",
            "page = \"none\"",
            "C1: there is no page `none.md` in the book",
        ),
        (
            "page = \"copy\"",
            "page = \"copy\"\nawaits = \"x\"",
            "C1: has tests: drop `awaits` and `outside`",
        ),
        ("id = \"C2\"", "id = \"C1\"", "C1: the id stands here twice"),
        ("id = \"W1\"", "id = \"C1\"", "C1: the id stands here twice"),
        ("id = \"C2\"", "id = \"C 2\"", "C 2: an id is letters and digits"),
        (
            "section = \"8.2\"",
            "section = \"8.1\"",
            "C1: no page has `{{scorecard 8.1}}`",
        ),
        (
            "claimed = 4.0",
            "claimed = 0.0",
            "C1: test \"pinned over pageable\": give `claimed`, which is not 0, with a `tolerance` above 0, or `more_than` alone",
        ),
        (
            "tolerance = 0.2",
            "tolerance = nan",
            "C1: test \"pinned over pageable\": give `claimed`, which is not 0, with a `tolerance` above 0, or `more_than` alone",
        ),
        (
            "quantity = \"speedup\"",
            "quantity = \"none\"",
            "C1: test \"pinned over pageable\": there is no quantity `none` on `copy.md`",
        ),
        (
            "unit = \"×\"",
            "unit = \"GB/s\"",
            "C1: test \"pinned over pageable\": `speedup` is in `×`, not `GB/s`",
        ),
        (
            "printed = 45.0",
            "printed = 89.0",
            "C3: recomputing \"both directions counted\": gives what is printed, so it is no erratum",
        ),
        (
            "erratum = \"It reads *and* writes.\"",
            "",
            "C3: recomputing \"both directions counted\": gives 89.5, not what is printed; say in `erratum` what is right",
        ),
        (
            "expression = \"2 *",
            "expression = \"x *",
            "C3: recomputing \"both directions counted\": `x * 4096^2 * 4 / 1.5e-3 / 1e9`: Undefined(\"x\")",
        ),
    ];
    for (from, to, expected) in cases {
        assert!(CLAIMS.contains(from), "{from}");
        let fixture = Fixture::new();
        fixture.write("book/claims.toml", &CLAIMS.replacen(from, to, 1));
        check_problems(&fixture, from, &[&format!("claims.toml: {expected}")]);
    }
}

#[test]
fn a_verdict_follows_from_the_numbers() {
    const TEST: &str =
        "quantity = \"speedup\"\nclaimed = 4.0\nunit = \"×\"\ntolerance = 0.2\n";
    assert!(CLAIMS.contains(TEST));
    // The measured ratio is 3.67×, the largest share 45.2 %.
    let cases = [
        ("speedup", "×", "claimed = 4.0", "reproduced"),
        ("speedup", "×", "claimed = 5.0", "same-direction"),
        ("speedup", "×", "claimed = 0.5", "refuted"),
        (
            "speedup",
            "×",
            "claimed = 0.5\nabout = \"PCIe 3.0\"",
            "depends-on-the-machine",
        ),
        ("speedup", "×", "more_than = 1.0", "reproduced"),
        ("speedup", "×", "more_than = 4.0", "same-direction"),
        ("best", "%", "claimed = 50.0", "reproduced"),
        ("best", "%", "claimed = 90.0", "same-direction"),
        ("best", "%", "more_than = 40.0", "reproduced"),
        ("best", "%", "more_than = 50.0", "refuted"),
    ];
    for (quantity, unit, claimed, class) in cases {
        let fixture = Fixture::new();
        let tolerance = match claimed.starts_with("more_than") {
            true => "",
            false => "tolerance = 0.2\n",
        };
        let test = format!(
            "quantity = \"{quantity}\"\nunit = \"{unit}\"\n{claimed}\n{tolerance}"
        );
        fixture.write("book/claims.toml", &CLAIMS.replacen(TEST, &test, 1));
        let page = expanded(&fixture, "copy");
        let class = format!("verdict-{class}");
        assert!(page.contains(&class), "{claimed}: {class} is not in {page}");
    }
    // Arithmetic alone can reproduce a claim.
    let fixture = Fixture::new();
    let right = CLAIMS
        .replace("erratum = \"It reads *and* writes.\"", "")
        .replace("45.0", "89.0");
    fixture.write("book/claims.toml", &right);
    let page = expanded(&fixture, "scorecard");
    let row = page.lines().find(|line| line.starts_with("<tr id=\"C3\">")).unwrap();
    assert!(row.contains("verdict-reproduced"), "{row}");
}

/// Failures that leave no list of problems, because nothing can go on after them.
#[test]
fn a_book_that_cannot_be_read() {
    let check = |change: &dyn Fn(&Fixture), expected: &str| {
        let fixture = Fixture::new();
        change(&fixture);
        let root = fixture.path("").display().to_string();
        let error = format!("{:#}", fixture.build().unwrap_err()).replace(&root, "");
        assert_eq!(error, expected);
    };
    check(
        &|f| f.write("results/references.json", "[]"),
        "results/references.json: field `.`: names no machine",
    );
    check(
        &|f| f.write("book/claims.toml", "[[claim]]\nid = 1\n"),
        "claims.toml: line 2: invalid type: integer `1`, expected a string",
    );
    check(
        &|f| std::fs::remove_file(f.path("book/claims.toml")).unwrap(),
        "book/claims.toml: No such file or directory (os error 2)",
    );
    check(
        &|f| f.write("results/h200/host-memory.json", "{}"),
        "the reference machine's records: results/h200/host-memory.json: field `.`: missing field `schema` at line 1 column 2",
    );
}

/// The page is refused if the *reference* lacks a measurement, whatever this machine has.
#[test]
fn the_reference_must_have_every_measurement() {
    let fixture = here();
    let mut reference = record("h200", "NVIDIA H200", 1.0);
    reference
        .measurements
        .retain(|m| m.parameters["kind"] != "pinned".into() || m.bytes() != 1 << 20);
    fixture.record(&reference);
    check_problems(
        &fixture,
        "no pinned copy of 1 MiB",
        &[
            "copy.md:3: `quantities` block: `best`: matches only one: drop `max` or `min`",
            "copy.md:3: `quantities` block: `latency`: a fit needs at least three measured sizes, here are 2",
            "copy.md:3: `quantities` block: `pinned`: matches none on `h200`: `kind` is `pageable`",
            "copy.md:3: `quantities` block: `samples`: matches none on `h200`: `kind` is `pageable`",
            "claims.toml: C1: test \"pinned over pageable\": `speedup` has no value, see the quantities of `copy.md`",
            "copy.md:24: {{speedup}}: `speedup` has no value, see the quantities of `copy.md`",
            "copy.md:24: {{pinned}}: `pinned` has no value, see the quantities of `copy.md`",
            "copy.md:24: {{latency}}: `latency` has no value, see the quantities of `copy.md`",
            "copy.md:31: prediction \"pinned\": `speedup` has no value, see the quantities of `copy.md`",
            "copy.md:39: chart \"copies\": model \"latency + bytes / bandwidth\": a fit needs at least three measured sizes, here are 2",
            "copy.md:86: `goals` block: goal \"Pinned memory is three times as fast\": `speedup` has no value, see the quantities of `copy.md`",
        ],
    );
}

#[test]
fn a_page_that_does_not_show_its_verdict() {
    let fixture = Fixture::new();
    fixture.pages(&[
        ("copy", &COPY.replace(", {{verdict C1}}", "")),
        ("scorecard", SCORECARD),
    ]);
    check_problems(
        &fixture,
        "no verdict",
        &["claims.toml: C1: `copy.md` does not show `{{verdict C1}}`"],
    );
}
