//! The fixture book, built: what its pages become, and what is refused.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod fixture;

use std::path::PathBuf;

use fixture::{CLAIMS, COPY, Fixture, PEERS, SCORECARD, peers, record};
use mdbook_preprocessor::PreprocessorContext;
use mdbook_preprocessor::book::{Book, Chapter};
use mdbook_preprocessor::config::Config;
use proptest::prelude::*;
use record::Record;

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

#[track_caller]
fn check_parts(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part}\nis not in\n{page}");
    }
}

/// A page of this text, and the file beside it.
fn page(toml: &str, text: &str) -> String {
    format!("+++\n{toml}\n+++\n{text}\n")
}

/// A chart of the fixture's record, alone on a page and called as its form.
fn chart(form: &str, lines: &str) -> String {
    let head = format!("[chart.{form}]\nexperiment = \"host-memory\"\ntitle = \"T.\"");
    let toml = format!("{head}\ndescription = \"D.\"\nform = \"{form}\"\n{lines}");
    page(&toml, &format!("{{{{chart {form}}}}}"))
}

/// What a figure, built before, tells when pointed at.
fn hovers(fixture: &Fixture, figure: &str) -> Vec<String> {
    let svg = fixture.read(&format!("book/html/figures/{figure}.svg"));
    let titles = svg.split("<title>").skip(1);
    let titles = titles.map(|rest| rest.split("</title>").next().unwrap());
    titles.map(str::to_owned).collect()
}

/// Compares with the committed file; `UPDATE_GOLDEN=1 cargo test` writes it.
#[track_caller]
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, stored, "if this is meant, run UPDATE_GOLDEN=1 cargo test -p report");
}

/// The figure `old` of a chart that is gone.
const OLD: &str = "<svg aria-labelledby=\"chart-old-wide-title\">";

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
    fixture.here(&record);
    fixture
}

/// The record of the reference machine, in a run of its own and so many times as fast.
fn run(label: &str, speed: f64) -> Record {
    let mut record = record("h200", "NVIDIA H200", speed);
    record.run.label = Some(label.to_owned());
    record
}

#[test]
fn a_number_is_of_all_runs() {
    let fixture = Fixture::new(); // whose own run has no label
    fixture.record(&run("slower", 0.98));
    fixture.record(&run("faster", 1.02));
    let page = expanded(&fixture, "copy");
    // Each run is faster or slower, but no ratio in it.
    check_parts(&page, &["is <span class=\"value\">3.67×</span> as fast", "3 runs"]);
    let half_width = 4.303 / 3f64.sqrt() * 0.02; // Student's, of 0.98, 1 and 1.02
    assert!((0.0495..0.05).contains(&half_width));
    check_parts(&page, &["28.5 GB/s ± 5.0%</td>"]);
    // Where runs are far apart, there is no one number.
    fixture.record(&run("faster", 1.25));
    let page = expanded(&fixture, "copy");
    check_parts(&page, &["<span class=\"value\">27.9 to 35.6 GB/s</span> after"]);
    check_parts(&page, &["median of 3 runs, "]);
}

#[test]
fn gpus_whose_memory_differs_are_told_apart() {
    let fixture = Fixture::new();
    let on = |label: Option<&str>, speed: f64, gather: &[f64]| {
        let mut record = record("h200", "NVIDIA H200", speed);
        record.run.label = label.map(str::to_owned);
        record.gather_seconds = gather.to_vec();
        record.measurements.iter_mut().for_each(|m| m.ceiling = record::Ceiling::DeviceMemory);
        fixture.record(&record);
        record
    };
    on(None, 1.0, &[1.87e-3]);
    on(Some("a"), 1.01, &[1.95e-3, 1.86e-3]);
    let mut gather = on(Some("other"), 1.1, &[]);
    check_parts(&expanded(&fixture, "copy"), &["28.5 to 31.4 GB/s</span> after"]);
    // The lesson on gathers has the same, for runs from before there was one after each.
    gather.experiment = "gather".to_owned();
    gather.measurements.truncate(1);
    let same = &mut gather.measurements[0];
    same.case = "table".to_owned();
    same.parameters = [("bytes", (1u64 << 30).into()), ("order", "random".into())]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
    same.seconds = vec![1.7e-3; 5];
    fixture.record(&gather);
    let kinds = ["28.7 or 31.4 GB/s</span> after", "memory that gathers in 1.70 ms"];
    check_parts(&expanded(&fixture, "copy"), &kinds);
    on(Some("old"), 1.0, &[]);
    let page = expanded(&fixture, "copy");
    check_parts(&page, &["28.5 to 31.4 GB/s</span> after", ", kind of memory not recorded"]);
}

/// A fixture with further runs, in which copies of pinned memory take these shares of their time.
fn where_pinned_takes(runs: [(&str, f64); 2]) -> Fixture {
    let fixture = Fixture::new();
    for (label, share) in runs {
        let mut record = run(label, 1.0);
        for pinned in &mut record.measurements[3..] {
            pinned.seconds.iter_mut().for_each(|seconds| *seconds *= share);
        }
        fixture.record(&record);
    }
    fixture
}

#[test]
fn a_verdict_that_the_runs_do_not_decide_is_none() {
    let fixture = where_pinned_takes([("a", 1.1), ("b", 0.8)]);
    check_parts(&expanded(&fixture, "copy"), &["C1 · undecided"]);
    let page = expanded(&fixture, "copy");
    check_parts(&page, &["2 goals, set for the H200: 2 undecided", "goal-undecided"]);
}

/// Neither end of the interval reproduces the claim, and yet it has all that would.
#[test]
fn an_interval_around_the_claim_decides_nothing() {
    let fixture = where_pinned_takes([("a", 0.94), ("b", 0.59)]);
    // Ratios of 3.67, 3.90 and 6.22 are known to be between 2.2 and 9.1.
    let claim = "claimed = 4.0\nunit = \"×\"\ntolerance = 0.2";
    let narrow = "claimed = 5.0\nunit = \"×\"\ntolerance = 0.1";
    fixture.write("book/claims.toml", &changed(CLAIMS, claim, narrow));
    check_parts(&expanded(&fixture, "copy"), &["C1 · undecided"]);
    let known = "3.91× (95%: 2.18 to 9.15×)</span> measured, 5.00× claimed";
    check_parts(&expanded(&fixture, "scorecard"), &[known]);
}

#[test]
fn quick_runs_count_where_there_is_no_other() {
    let fixture = Fixture::new();
    let alone = expanded(&fixture, "copy");
    let mut quick = run("quick", 7.0);
    quick.run.quick = true;
    fixture.record(&quick);
    assert_eq!(expanded(&fixture, "copy"), alone);
}

/// A page with one sentence under a condition.
fn with_condition(condition: &str) -> String {
    COPY.replace(
        "Pinned memory is {{speedup}}",
        &format!("{{{{if {condition}}}}}Quick: {{{{pinned}}}}.{{{{end}}}} Pinned memory is {{{{speedup}}}}"),
    )
}

#[test]
fn a_sentence_holds_in_every_run_or_is_not_said() {
    let write = |fixture: &Fixture, condition| {
        fixture.write("book/src/copy.md", &with_condition(condition));
    };
    let fixture = Fixture::new();
    write(&fixture, "3 < speedup < 4 and pinned >= 8 * latency");
    let value = "Quick: <span class=\"value\">28.5 GB/s</span>. Pinned memory is";
    check_parts(&expanded(&fixture, "copy"), &[value]);
    fixture.record(&run("slow", 0.5));
    write(&fixture, "pinned > 20e9");
    let problem =
        "`pinned > 20e9` is not so on the H200, in the run `slow`: `pinned` is 1.43e10 to 2.85e10";
    assert!(fixture.problems()[0].ends_with(problem), "{:?}", fixture.problems());
    for (condition, problem) in [
        ("pinned", "`pinned` compares nothing, and is no condition's name"),
        ("pinned > 1}}{{end}}{{end", "has no `{{if}}` before it"),
        ("pinned > 1}}{{if pinned > 1", "stands within another"),
        ("pinned > [large kind=pinned : time]", "give `[large kind=pinned : time]` a name"),
        ("pinned > nothing", "there is no quantity `nothing`"),
        ("pinned > 1}}, as{{end}}{{if pinned > 1", "a sentence, and begins as one"),
    ] {
        write(&fixture, condition);
        let problems = fixture.problems().join("\n");
        assert!(problems.contains(problem), "{condition}: {problems}");
    }
    let open = with_condition("pinned > 1").replace("{{end}}", "\n\n");
    fixture.write("book/src/copy.md", &open);
    let problems = fixture.problems().join("\n");
    assert!(problems.contains("an `{{if}}` ends in its paragraph"), "{problems}");
}

#[test]
fn a_sentence_that_is_not_so_here_is_about_the_reference() {
    let fixture = here();
    fixture.write("book/src/copy.md", &with_condition("speedup > 2"));
    let sentence = "<span class=\"elsewhere\">On the H200, not here: quick: \
        <span class=\"value\">28.5 GB/s (here: 3.88 GB/s)</span>.</span> Pinned memory is";
    check_parts(&expanded(&fixture, "copy"), &[sentence]);
}

#[test]
fn this_machines_page_says_what_is_otherwise_there() {
    let page = |fixture: &Fixture| {
        fixture.write("book/src/peers.md", "# This machine\n\n{{this-machine}}\n");
        expanded(fixture, "peers")
    };
    check_parts(
        &page(&Fixture::new()),
        &["Nothing was measured here yet, so these are the H200's."],
    );
    check_parts(
        &page(&here()),
        &[
            "RTX 4090 ×2 (this machine): NVIDIA GeForce RTX 4090, ",
            ". 1 experiment is recorded, started 20",
            "<p>It could try 1 of 4 claims, and one has another verdict here.",
            "<li>host-memory: this driver cannot register memory</li>",
            "C1 · not reproduced</a> <span class=\"beside\">(H200: ",
            "<li>pinned over pageable: claimed 4.00×, measured 1.00× here and 3.67× on the H200</li>",
            "<p class=\"counts\">1 missed. They were set",
            "<a href=\"copy.html\">Pinned memory is three times as fast</a>: <span class=\"value\">1.00×",
            "<span class=\"value\">0.136×</span> as fast: <a href=\"copy.html\">host-memory</a>, copy \
             bytes=1 MiB pinned: 3.88 GB/s <span class=\"beside\">(H200: 28.5 GB/s)</span></li>",
        ],
    );
    let fixture = Fixture::new();
    fixture.here(&record("laptop", "NVIDIA H200", 1.0));
    let parts = ["has the reference's verdict", "No case differs from the reference&#39;s"];
    check_parts(&page(&fixture), &parts);
    fixture.set_this_machine("h200");
    check_parts(&page(&fixture), &["is a reference machine"]);
}

/// A page with a time, a rate and a table of times, and the reader's record of copies of twice
/// the bytes, under the same names.
fn of_other_work(quick: bool) -> String {
    let time = "Took {{took}}, {{pinned}}.\n\n{{if took < 5e-5}}It takes {{took}}.{{end}}\n\n\
                Pinned memory is {{speedup}} as fast";
    let page = changed(COPY, "Pinned memory is {{speedup}} as fast", time);
    let took = "took = \"large kind=pinned : time\"\nspeedup =";
    let fixture = Fixture::new();
    fixture.write("book/src/copy.md", &changed(&page, "speedup =", took));
    let mut own = record("mine", "NVIDIA GeForce RTX 4090", 0.5);
    own.measurements.iter_mut().for_each(|m| m.bytes_read *= 2);
    own.run.quick = quick;
    fixture.here(&own);
    expanded(&fixture, "copy")
}

#[test]
fn times_of_other_work_do_not_stand_beside_each_other() {
    let page = of_other_work(false);
    let beside =
        "Took <span class=\"value\">73.5 µs</span>, <span class=\"value\">28.5 GB/s</span>.";
    let elsewhere = "not here: it takes <span class=\"value\">36.8 µs</span>.";
    check_parts(&page, &[beside, elsewhere, ">other size</td>"]);
    assert!(!page.contains("quick run"), "{page}");
}

#[test]
fn times_of_other_work_are_not_drawn_on_one_axis() {
    let of_lines = "x = { of = \"bytes\", scale = \"log2\" }\nseries = \"kind\"\n";
    let of_bars = "bar = \"kind\"\ngroup = \"bytes\"\n";
    for (form, more) in [("lines", of_lines), ("bars", of_bars)] {
        let drawn = |metric, times| {
            let toml = format!("{more}y = {{ of = \"{metric}\" }}\nwhere = {{ case = \"copy\" }}");
            let fixture = Fixture::new();
            fixture.write("book/src/peers.md", &chart(form, &toml));
            let mut own = record("mine", "NVIDIA GeForce RTX 4090", 0.5);
            own.measurements.iter_mut().for_each(|m| m.bytes_read *= times);
            fixture.here(&own);
            expanded(&fixture, "peers")
        };
        let apart = format!("<figure class=\"chart beside\" id=\"figure-{form}-reference\"");
        let note = "The H200's arrays are of another size: its times stand apart.";
        let rates = "<summary>Both machines' as rates</summary>";
        check_parts(&drawn("time", 2), &[&apart, note, rates]);
        for together in [drawn("time", 1), drawn("bandwidth", 2)] {
            assert!(!together.contains("chart beside"), "{together}");
        }
    }
}

#[test]
fn the_only_line_beside_a_model_is_called_measured() {
    let axes = "where = { case = \"copy\", kind = \"pinned\" }\ny = { of = \"time\" }\n\
                x = { of = \"bytes\", scale = \"log2\" }";
    for (models, is_labelled) in [("", false), ("\nmodels = [{ label = \"F\", fit = true }]", true)]
    {
        let fixture = Fixture::page(&chart("lines", &format!("{axes}{models}")));
        fixture.build().unwrap();
        let svg = fixture.read("book/src/figures/h200/lines.svg");
        assert_eq!(svg.contains(">measured</text>"), is_labelled, "{svg}");
    }
}

#[test]
fn a_quick_run_of_another_size_leaves_sentences_to_the_reference() {
    let page = of_other_work(true);
    let theirs = "Took <span class=\"value\">36.8 µs <span class=\"beside\">(H200)</span></span>";
    check_parts(&page, &["The numbers here are of a quick run", theirs]);
}

#[test]
fn one_gpu_does_not_speak_for_several() {
    let fixture = Fixture::of_several();
    fixture.here(&peers("alone", "NVIDIA GeForce RTX 4090", 1));
    let alone = expanded(&fixture, "peers");
    fixture.here(&peers("two", "NVIDIA GeForce RTX 4090", 2));
    let two = expanded(&fixture, "peers");
    let lacking = |page: &str| {
        let labels = page.split("class=\"beside\">(").skip(1);
        labels.filter(|rest| !rest.split(')').next().unwrap().contains(':')).count()
    };
    assert!(lacking(&alone) > lacking(&two), "{alone}");
}

#[test]
fn a_charts_title_is_another_machines_too_where_it_holds() {
    let title = "Pinned memory is faster at every size";
    for (condition, caption) in [
        (
            "speedup > 2",
            format!("Bandwidth over size on this machine. On the H200: p{}", &title[1..]),
        ),
        ("speedup > 0.5", format!("{title} (this machine)")),
    ] {
        let fixture = here();
        let holds = format!("holds = \"{condition}\"\ntitle = \"{title}");
        fixture.write("book/src/copy.md", &changed(COPY, &format!("title = \"{title}"), &holds));
        let page = expanded(&fixture, "copy");
        let caption = format!("<figcaption><strong>{caption}</strong>");
        check_parts(&page, &[&caption]);
    }
    let fixture = Fixture::new();
    let holds = format!("holds = \"speedup > 9\"\ntitle = \"{title}");
    let page = changed(COPY, &format!("title = \"{title}"), &holds);
    fixture.write("book/src/copy.md", &page);
    let problem = "[chart.copies]: `speedup > 9` is not so on the H200: `speedup` is 3.67";
    assert!(fixture.problems()[0].ends_with(problem), "{:?}", fixture.problems());
}

#[test]
fn every_directive_on_several_reference_machines() {
    golden("peers.md", &expanded(&Fixture::of_several(), "peers"));
    golden("peers-here.md", &expanded(&here_of_two(), "peers"));
}

/// The book of several GPUs, last recorded on a machine of two others.
fn here_of_two() -> Fixture {
    let fixture = Fixture::of_several();
    fixture.here(&peers("laptop", "NVIDIA GeForce RTX 4090", 2));
    fixture
}

#[test]
fn a_table_of_well_known_numbers_says_so_once() {
    let mut exact = record("h200", "NVIDIA H200", 1.0);
    for m in &mut exact.measurements {
        let seconds = m.seconds[0];
        m.seconds.fill(seconds);
    }
    let fixture = Fixture::new();
    fixture.record(&exact);
    let page = expanded(&fixture, "copy");
    let captions = ["Copies of 1 MiB.", "Bandwidth by size."];
    let said = captions
        .map(|caption| format!("{caption} Within its runs every number is known to ± 0.5%."));
    check_parts(&page, &said.each_ref().map(String::as_str));
    assert_eq!(page.matches('±').count(), 2, "{page}");
}

#[test]
fn figures_lie_with_the_machine_that_was_measured() {
    let fixture = here_of_two();
    let built = fixture.build().unwrap();
    // In the finished book with their values, of this machine's figure and the reference's.
    let page = fixture.read("book/html/peers.html");
    for machine in ["h200-x4", "laptop"] {
        check_parts(&page, &[&format!("<a href=\"figures/{machine}/peers.csv\"")]);
        let values = fixture.read(&format!("book/html/figures/{machine}/peers.csv"));
        assert!(values.lines().count() > 1, "{values}");
    }
    // The sources have no picture of a machine that is no reference, nor does one stay there.
    let svg = fixture.read("book/html/figures/laptop/peers.svg");
    assert!(svg.starts_with("<svg"), "{svg}");
    assert!(!fixture.path("book/src/figures/laptop").exists());
    let folder = fixture.path("book/src/figures");
    let is_wide =
        |path: &&PathBuf| path.starts_with(&folder) && !path.to_string_lossy().contains("narrow");
    let wide: Vec<_> = built.stored.iter().filter(is_wide).cloned().collect();
    let expected = ["h200/copies", "h200-x2/peers-of-two", "h200-x4/peers"];
    assert_eq!(wide, expected.map(|stem| folder.join(format!("{stem}.svg"))));
    // What no chart makes is stale on every reference machine, and all of this one.
    let stale = ["h200-x8/old.svg", "laptop/old.svg"].map(|file| folder.join(file));
    fixture.write("book/src/figures/h200-x8/old.svg", OLD);
    fixture.write("book/src/figures/laptop/old.svg", OLD);
    let built = fixture.build().unwrap();
    assert_eq!(built.removed, stale);
    assert!(built.stored.is_empty());
}

#[test]
fn a_drawing_stands_on_one_page_and_others_link_to_it() {
    let drawing = "# Drawn\n\n{{drawing machine}}\n\n{{drawing topology}}\n";
    let fixture = here_of_two();
    let pages = |other| {
        fixture.pages(&[
            ("copy", COPY),
            ("peers", PEERS),
            ("scorecard", SCORECARD),
            ("drawn", drawing),
            ("other", other),
        ]);
    };
    pages("[The machine](drawn.md#drawing-machine)\n");
    fixture.build().unwrap();
    let html = fixture.read("book/html/drawn.html");
    let whose = "Numbers: RTX 4090 ×2 (this machine).</figcaption>";
    check_parts(
        &html,
        &[
            "<figure class=\"drawing\" id=\"drawing-machine\">\n<svg class=\"wide\"",
            "<title id=\"drawing-machine-narrow-title\">",
            ">4,800 GB/s</text>",
            whose,
        ],
    );
    pages("{{drawing machine}}\n\n[It](drawn.md#drawing-machine)\n");
    let problem = "other.md: {{drawing machine}}: is on `drawn.md` already: link to it there";
    check_problems(&fixture, "on two pages", &[problem]);
    // A machine of one GPU has no topology; the first reference that has is shown.
    fixture.here(&record("small", "NVIDIA GeForce RTX 4060", 0.5));
    pages("[The machine](drawn.md#drawing-topology)\n");
    fixture.build().unwrap();
    let html = fixture.read("book/html/drawn.html");
    let [_, one, several] = html.split("<figcaption>").collect::<Vec<_>>()[..] else {
        panic!("{html}")
    };
    assert!(one.contains("Numbers: RTX 4060 (this machine).</"), "{one}");
    assert!(several.contains("Numbers: H200 ×4.</"), "{several}");
}

/// A reader whose machine is a reference machine sees its numbers, and those of the others
/// under their labels.
#[test]
fn this_machine_may_be_a_reference_machine() {
    let fixture = Fixture::of_several();
    let alone = expanded(&fixture, "copy");
    fixture.set_this_machine("h200");
    assert_eq!(expanded(&fixture, "copy"), alone);
    let page = expanded(&fixture, "peers");
    let parts = [
        "GPUs <span class=\"value\">114 GB/s <span class=\"beside\">(H200 ×4)</span></span>",
        "to the\nhost <span class=\"value\">28.5 GB/s</span>",
        "so <span class=\"value\">4.00× <span class=\"beside\">(H200 and H200 ×4)</span>",
    ];
    check_parts(&page, &parts);
    fixture.set_this_machine("h200-x2");
    let page = expanded(&fixture, "peers");
    let parts = [
        "<span class=\"value\">57.0 GB/s <span class=\"beside\">(H200 ×4: 114 GB/s)</span></span>",
        "with <span class=\"value\">2</span> <span class=\"value\">57.0 GB/s</span>",
    ];
    check_parts(&page, &parts);
    // In a list of machines it stands once, in its place.
    assert_eq!(page.matches("<th scope=\"col\" class=\"number\">H200 ×2</th>").count(), 1);
    assert!(!page.contains("(this machine)"), "{page}");
    assert_eq!(fixture.build().unwrap().removed, Vec::<PathBuf>::new());
}

#[test]
fn an_experiments_numbers_are_those_of_the_first_machine_with_enough_runs() {
    let fixture = Fixture::of_several();
    let four = "GPUs <span class=\"value\">114 GB/s</span>";
    check_parts(&expanded(&fixture, "peers"), &[four]);
    let two = "GPUs <span class=\"value\">57.0 GB/s</span>";
    let runs = [("h200-x2", two), ("h200-x4", four), ("h200-x2", two), ("h200-x4", four)];
    for (nth, (machine, shown)) in runs.into_iter().enumerate() {
        let mut record = peers(machine, "NVIDIA H200", if machine == "h200-x4" { 4 } else { 2 });
        record.run.label = Some(format!("run-{nth}"));
        fixture.record(&record);
        check_parts(&expanded(&fixture, "peers"), &[shown]);
    }
}

#[test]
fn reference_machines_that_cannot_be_shown() {
    let cases = r#"
        bytes=1MiB on h200-x2 => bytes=1MiB on h200-x8 => `peer_of_two`: `h200-x8` has no measured record of `peer-copy`
        bytes=1MiB on h200-x2 => bytes=1MiB on h100 => `peer_of_two`: `h100` is no reference machine: results/references.json names `h200`, `h200-x4`, `h200-x2`, `h200-x8`
        bytes=1MiB on h200-x2 => bytes=1MiB on => `peer_of_two`: `on` needs a machine's name
        \npeer = "peer-copy => \npeer = "peer-reads => `peer`: none of `h200`, `h200-x4`, `h200-x2`, `h200-x8` has a measured record of `peer-reads`
        machine = "h200-x2"\ntitle => machine = "h200-x8"\ntitle => [chart.peers-of-two]: `h200-x8` has no measured record of `peer-copy`
        machine = "h200-x2"\nwhere => machine = "h100"\nwhere => [table.two]: `h100` is no reference machine: results/references.json names `h200`, `h200-x4`, `h200-x2`, `h200-x8`
        machine = "h200-x2"\nwhere => machine = "h200-x2"\nmachines = ["h200-x4"]\nwhere => [table.two]: take `machine` or `machines`
        ["h200-x2", "h200-x4", "h200-x8"] => ["h200-x2", "h100"] => [table.by-columns]: `h100` is no reference machine: results/references.json names `h200`, `h200-x4`, `h200-x2`, `h200-x8`
        ["h200-x2", "h200-x4", "h200-x8"] => ["h200-x8"] => [table.by-columns]: no machine has a measured record of `peer-copy`
        ["h200-x2", "h200-x4", "h200-x8"] => [] => [table.by-columns]: say in `machines` which are compared
        columns_by = "machine" =>  => [table.by-columns]: with `machines`, `machine` is `columns_by`
        rows = ["bytes"] => rows = ["size"] => [table.by-columns]: rows: a measurement has no `size`
    "#;
    for [from, to, expected] in &table(cases) {
        let fixture = Fixture::of_several();
        fixture.write("book/src/peers.md", &changed(PEERS, from, to));
        let problems = fixture.problems();
        let is_there = |problem: &String| problem.ends_with(expected);
        assert!(problems.iter().any(is_there), "{expected}\nis not in {problems:#?}");
    }
}

#[test]
fn what_this_machine_lacks_is_shown_from_the_reference() {
    let fixture = here();
    let mut record = record("laptop", "NVIDIA GeForce RTX 4090", 0.5);
    record.measurements.truncate(1);
    fixture.record(&record);
    let page = expanded(&fixture, "copy");
    let parts = [
        "is <span class=\"value\">3.67× <span class=\"beside\">(H200)</span></span> as fast",
        "<a class=\"verdict verdict-reproduced\" href=\"scorecard.html#C1\">C1 · reproduced</a> <span class=\"beside\">(H200)</span>",
        "data-answer-text=\"3.67×\"",
        "<figure class=\"chart\" id=\"figure-copies\" data-machine=\"laptop\">",
        // The reference's row has no number here.
        "<tr><th scope=\"row\">1 MiB</th><td class=\"number\">–</td>",
    ];
    check_parts(&page, &parts);
}

/// Once on a page, at the first verdict, and once above all of them; not where a second run tells
/// how runs differ.
#[test]
fn a_verdict_from_one_run_is_provisional() {
    let fixture = here();
    let toml = fixture.read("book/src/copy.md") + "\nAgain: {{verdict C1}}\n\n{{scorecard}}\n";
    fixture.write("book/src/copy.md", &toml);
    let says = |what: &str, on: &str| expanded(&fixture, on).matches(what).count();
    let (page, row) = ("(provisional, as others below: of one run)", "Provisional: of one run.");
    let all = "One verdict is provisional: it rests on one run";
    let found = || [says(page, "copy"), says("provisional", "copy"), says(row, "scorecard")];
    assert_eq!((found(), says(all, "copy")), ([1, 1, 1], 0));
    let overview = fixture.read("book/src/scorecard.md") + "\n{{scorecard}}\n";
    fixture.write("book/src/scorecard.md", &overview);
    assert_eq!(says(all, "scorecard"), 1);
    let mut again = record("laptop", "NVIDIA GeForce RTX 4090", 0.51);
    again.run.label = Some("again".to_owned());
    fixture.record(&again);
    assert_eq!((found(), says(all, "scorecard")), ([0, 0, 0], 0));
}

/// Not all that is asked of a reference machine can be asked of another one.
#[test]
fn goals_of_another_machine_are_about_it() {
    for (holds, is_one) in [("speedup > 0", true), ("speedup > 2", false)] {
        let fixture = here();
        let toml = format!("at_least = 3.0\nholds = \"{holds}\"");
        let page = changed(COPY, "at_least = 3.0", &toml) + "\n{{goals}}\n\n{{this-machine}}\n";
        fixture.write("book/src/copy.md", &page);
        let page = expanded(&fixture, "copy");
        assert_eq!(page.matches("2 goals, set for the H200: ").count(), 2, "{page}");
        assert_eq!(page.matches("; 2 provisional, of one run.</p>").count(), 1, "{page}");
        let goals = page.split("id=\"goals\"").nth(1).unwrap_or_default();
        assert_eq!(goals.contains("three times as fast"), is_one, "{goals}");
        // Gigabytes per second were set for another link.
        assert!(!goals.contains("at 40 GB/s"), "{goals}");
    }
}

/// A case that is as much slower as its path's peak is lower needs no line of its own.
#[test]
fn differences_are_told_by_their_kind() {
    let fixture = Fixture::new();
    let mut record = record("laptop", "NVIDIA GeForce RTX 4090", 0.5);
    record.machine.gpus[0].pcie.as_mut().unwrap().generation = 4;
    let slower = record.measurements.last_mut().unwrap();
    slower.seconds.iter_mut().for_each(|seconds| *seconds *= 2.0);
    fixture.here(&record);
    fixture.write("book/src/copy.md", &(COPY.to_owned() + "\n{{this-machine}}\n"));
    let page = expanded(&fixture, "copy");
    check_parts(
        &page,
        &[
            "6 cases are faster or slower here than on the H200, by more than 5%. 5 of them follow the link to the host, \
             whose peak is 0.500× the H200&#39;s.",
            "<span class=\"value\">0.250×</span> as fast: <a href=\"copy.html\">host-memory</a>, copy",
            "It has one run.",
        ],
    );
    assert_eq!(page.matches(" as fast: <a").count(), 1, "{page}");
}

#[test]
fn the_search_does_not_print_what_a_prediction_veils() {
    let fixture = Fixture::new();
    let options = fixture.read("book/book.toml").replace("enable = false", "enable = true");
    fixture.write("book/book.toml", &options);
    let page = changed(COPY, "explain =", "chart = \"copies\"\nexplain =");
    let page = changed(&page, "{{chart copies}}\n", "{{chart copies}}\n\nIt is *twice* as fast.\n");
    fixture.write("book/src/copy.md", &page);
    fixture.build().unwrap();
    let files = fixture.files("book/html");
    let mut index = files.iter().filter(|(path, _)| path.to_string_lossy().contains("searchindex"));
    let index = String::from_utf8_lossy(index.next().expect("an index").1);
    let html = fixture.read("book/html/copy.html");
    for (text, is_found) in [
        ("How many times as fast as pageable memory", true),
        ("The driver need not copy", false),
        ("Pinned memory is faster at every size", false),
        ("Bandwidth by size", false), // of a table below that chart
        ("It is twice as fast.", false),
    ] {
        let html = html.replace("<em>twice</em>", "twice");
        assert!(html.contains(text), "{text}");
        assert_eq!(index.contains(text), is_found, "{text}");
    }
}

/// Both machines on one pair of axes: the other's values marked on bars or dashed as curves,
/// both peaks, and once more as shares of each one's own.
#[test]
fn two_machines_share_the_axes_of_a_chart() {
    let fixture = Fixture::new();
    fixture.here(&record("laptop", "NVIDIA GeForce RTX 4090", 0.5));
    fixture.build().unwrap();
    let html = fixture.read("book/html/copy.html");
    let (_, figure) = html.split_once("id=\"figure-copies\"").unwrap();
    let (figure, _) = figure.split_once("</figure>").unwrap();
    let (values, shares) = figure.split_once("<details>").unwrap();
    for part in [">this machine</text>", ">H200</text>", "<title>H200: "] {
        assert!(values.contains(part), "{part} is not in {values}");
    }
    for part in [">Share of “Link peak”</text>", ">Link peak: 100%</text>", "% of “Link peak”<"]
    {
        assert!(shares.contains(part), "{part} is not in {shares}");
    }
    assert!(!html.contains("figure-copies-reference"), "drawn a second time");
}

#[test]
fn what_is_faster_than_it_can_be_is_marked() {
    let fixture = Fixture::new();
    fixture.here(&record("laptop", "NVIDIA GeForce RTX 4090", 10.0));
    let page = expanded(&fixture, "copy");
    check_parts(&page, &[" ▲</td>", " ▲: above the theoretical peak"]);
    assert!(!expanded(&Fixture::new(), "copy").contains('▲'));
}

#[test]
fn a_machine_without_measurements_is_not_shown() {
    let reference = expanded(&Fixture::new(), "copy");
    let fixture = Fixture::new();
    fixture.set_this_machine("laptop");
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
    fixture.here(&record("lab", "NVIDIA H200", 2.0));
    let page = expanded(&fixture, "copy");
    check_parts(&page, &["<span class=\"beside\">(reference H200: 28.5 GB/s)</span>"]);
}

/// Every text of a record that a stranger could have written.
#[test]
fn nothing_in_a_record_is_markup() {
    const HOSTILE: &str = "</title><script>alert(1)</script>{{#include book.toml}} *b* [a](b)";
    let fixture = Fixture::new();
    fixture.write("book/src/book.toml", "SECRET");
    let mut record = record("laptop", HOSTILE, 1.0);
    let hostile = || HOSTILE.to_owned();
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
    record.machine.gpus[0].memory_bus_bits /= 2; // so that both are shown
    fixture.here(&record);
    // As this machine, and as the label that stands beside.
    check_harmless(&fixture);
    fixture.write("results/references.json", "[\"laptop\"]");
    fixture.write("book/claims.toml", "");
    fixture.pages(&[(
        "copy",
        &page("[quantities]\npeak = \"machine host-memory : memory_peak\"", "{{peak}}"),
    )]);
    fixture.set_this_machine("h200");
    check_harmless(&fixture);
}

#[track_caller]
fn check_harmless(fixture: &Fixture) {
    fixture.build().unwrap();
    let main = |page: &str| {
        let (_, main) = page.split_once("<main>")?;
        Some(main.split_once("</main>")?.0.to_owned())
    };
    let shown = main(&fixture.read("book/html/copy.html")).unwrap();
    assert!(shown.contains("&lt;script&gt;"), "the text itself is shown: {shown}");
    let mut checked = 0;
    for file in walkdir::WalkDir::new(fixture.path("book")) {
        let file = file.unwrap().into_path();
        let text = match file.extension().and_then(|e| e.to_str()) {
            Some("html") => main(&std::fs::read_to_string(&file).unwrap()),
            Some("svg") if file.to_string_lossy().contains("figures") => {
                Some(std::fs::read_to_string(&file).unwrap())
            }
            _ => None,
        };
        let Some(text) = text else { continue };
        checked += 1;
        for markup in ["<script", "SECRET", "<em>b</em>", "href=\"b\""] {
            assert!(!text.contains(markup), "{markup} in {}", file.display());
        }
    }
    assert!(checked > 3, "only {checked} files");
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
        fixture.here(&record);
        for page in ["copy", "peers"] {
            let text = expanded(&fixture, page);
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            let number = words.find(|word| ["NaN", "inf"].contains(word));
            prop_assert_eq!(number, None);
        }
    }
}

fn measurement() -> impl Strategy<Value = record::Measurement> {
    let seconds = prop_oneof![Just(1e-12), Just(1e7), 1e-9..1e3f64];
    (
        prop::sample::select(vec!["copy", "other"]),
        prop::sample::select(vec!["pageable", "pinned", "{{x}}", ""]),
        prop::sample::select(vec![0, 1, 1024, 32768, 1 << 20, 1 << 60]),
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
    let figures = first.path("book/src/figures");
    let expected = ["h200/copies-narrow", "h200/copies"];
    let expected = expected.map(|stem| figures.join(format!("{stem}.svg")));
    assert_eq!(a.stored, [&expected[..], &[first.path("book/shown.json")]].concat());
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
    fixture.write("book/src/figures/h200/old.svg", OLD);
    fixture.write("book/src/figures/elsewhere/old.svg", "of a machine that is not built");
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
    let bars = |lines: &str| {
        let y = "y = { of = \"time\", label = \"Time\" }";
        chart("bars", &format!("{y}\nbar = \"kind\"\n{lines}"))
    };
    check_page(
        &bars(""),
        &["page.toml:1: [chart.bars]: \"pageable\" matches 3: give also `bytes`"],
    );
    check_page(
        &bars("where = { bytes = 1024 }\ngroup = \"none\""),
        &["page.toml:1: [chart.bars]: there is nothing to draw"],
    );

    let lines = "group = \"bytes\"\norder = [\"pinned\"]\n\
                 where = { bytes = [\"1MiB\", \"1KiB\"] }\nlabels = { \"1KiB\" = \"small\" }";
    let fixture = Fixture::page(&bars(lines));
    fixture.build().unwrap();
    let svg = fixture.read("book/src/figures/h200/bars.svg");
    let hovers = hovers(&fixture, "h200/bars");
    let names: Vec<&str> = hovers.iter().map(|h| h.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["pinned:", "pageable:", "pinned:", "pageable:"], "{svg}");
    check_parts(&svg, &[">small<", ">1 MiB<"]);

    // Two bars of one name are still two.
    let lines = "where = { bytes = \"1MiB\" }\nlabels = { pinned = \"one\", pageable = \"one\" }";
    let fixture = Fixture::page(&bars(lines));
    fixture.build().unwrap();
    let hovers = self::hovers(&fixture, "h200/bars");
    assert!(hovers.len() == 2 && hovers[0] != hovers[1], "{hovers:?}");
}

/// A heat map with these lines added.
fn heatmap(lines: &str) -> String {
    let column = "column = { of = \"bytes\", label = \"Size\" }";
    let row = "row = { of = \"kind\", label = \"Memory\" }";
    chart("heatmap", &format!("{column}\n{row}\n{lines}"))
}

const RATIO: &str = "y = { of = \"time\", label = \"Time\" }\n\
    where = { kind = \"pinned\" }\n\
    over = { where = { kind = \"pageable\" }, below = \"faster\", above = \"slower\" }";

#[test]
fn heat_maps_show_a_number_or_how_it_compares() {
    let fixture = Fixture::page(&heatmap(RATIO));
    fixture.build().unwrap();
    assert_eq!(
        hovers(&fixture, "h200/heatmap"),
        [
            "Memory pinned, Size 1 KiB: 0.977× (4.03 µs over 4.13 µs)",
            "Memory pinned, Size 32 KiB: 0.621× (5.02 µs over 8.10 µs)",
            "Memory pinned, Size 1 MiB: 0.272× (36.8 µs over 135 µs)",
        ]
    );
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
        let readings =
            [(0.0, 0), (1e-6, 1 << 20), (2e-6, 1 << 20), (3e-6, 1 << 20), (end, 1 << 19)];
        let reading = |&(seconds, bytes): &(f64, u64)| record::MemoryReading { seconds, bytes };
        m.memory.insert("pool_used".to_owned(), readings.iter().map(reading).collect());
        m.memory.insert("driver_used".to_owned(), vec![reading(&(0.0, 5 << 20))]);
    }
    record
}

/// A chart of the course of copies of 1 MiB.
fn course(form: &str, lines: &str) -> String {
    chart(form, &format!("where = {{ bytes = \"1MiB\" }}\n{lines}"))
}

const KINDS: &str = "panels = [\n\
    { label = \"Pageable memory\", where = { kind = \"pageable\" } },\n\
    { label = \"Pinned memory\", where = { kind = \"pinned\" } },\n]\n";

/// A book of this page, and the record with courses.
fn of_courses(page: &str) -> Fixture {
    let fixture = Fixture::page(page);
    fixture.record(&with_courses("h200"));
    fixture
}

#[test]
fn timelines_show_what_ran_when() {
    let labels = "labels = { wait = \"waiting\", stream_2 = \"second stream\" }\nnote = \"time\"\n";
    let lanes = "lanes = [\"stream_2\", \"host\"]\n";
    let page = course("timeline", &format!("{labels}{lanes}{KINDS}"));
    let of_pinned = [
        "second stream, other 1: 27.6 µs, from 9.19 µs to 36.8 µs",
        "host, launch it: 4.00 µs, from 0.00 ns to 4.00 µs",
        "host, wait: 32.8 µs, from 4.00 µs to 36.8 µs",
    ];
    let fixture = of_courses(&page);
    let mut here = with_courses("laptop");
    here.measurements.iter_mut().take(3).for_each(|m| m.spans.clear());
    fixture.here(&here);
    fixture.build().unwrap();
    let [reference, here] =
        ["h200", "laptop"].map(|of| hovers(&fixture, &format!("{of}/timeline")));
    assert_eq!(reference.len(), 6, "{reference:?}");
    assert_eq!(reference[3..], of_pinned);
    assert_eq!(here, of_pinned, "what this machine lacks is left out");
    // Without panels and lanes: the only measurement, all that is there.
    let page = course("timeline", "").replace("\"1MiB\" }", "\"1MiB\", kind = \"pinned\" }");
    let fixture = of_courses(&page);
    fixture.build().unwrap();
    let all = hovers(&fixture, "h200/timeline");
    assert_eq!(all.len(), 4, "{all:?}");
}

#[test]
fn memory_is_shown_over_time() {
    let lines = "y_label = \"Memory\"\nlabels = { pool_used = \"the pool\" }\n\
                 readings = [\"pool_used\"]\n";
    let cap = "references = [{ kind = \"peak\", label = \"Cap\", is = \"2097152 | bytes\" }]\n";
    let page = course("memory", &format!("{lines}{KINDS}{cap}"));
    let fixture = of_courses(&page);
    fixture.build().unwrap();
    let hovers = hovers(&fixture, "h200/memory");
    // Of each panel, the readings where something changes.
    assert_eq!(hovers.len(), 8, "{hovers:?}");
    assert_eq!(hovers[1], "the pool at 1.00 µs: 1 MiB");
    assert_eq!(hovers[2], "the pool at 3.00 µs: 1 MiB");
}

#[test]
fn courses_that_cannot_be_drawn() {
    let cases = r#"
        timeline => y_label = "Time" => unknown field `y_label`, expected one of `panels`, `lanes`, `x_label`, `note`; did you mean `x_label`?
        memory =>  => missing field `y_label`
        memory => y_label = "Memory"\nlanes = [] => unknown field `lanes`, expected one of `panels`, `readings`, `y_label`, `references`
        timeline =>  => matches 2: give also `kind`
        timeline => NONE => panel "Pinned memory": matches none on `h200`: `kind` is `pageable`, `pinned`
        timeline => SMALL => panel "Pinned memory": the measurement has no timeline
        memory => y_label = "Memory"\nSMALL => panel "Pinned memory": the measurement has no memory over time
        timeline => lanes = ["host", "hots"]\nKINDS => lanes: no span lies in `hots`
        memory => y_label = "Memory"\nreadings = ["pool"]\nKINDS => readings: there are none of `pool`
        timeline => labels = { launch = "call", weit = "wait" }\nKINDS => labels: nothing that is drawn is called `weit`
    "#;
    let small = KINDS.replace("kind = \"pinned\"", "kind = \"pinned\", bytes = 1024");
    for [form, lines, expected] in &table(cases) {
        let lines = lines
            .replace("NONE", &KINDS.replace("\"pinned\"", "\"none\""))
            .replace("SMALL", &small)
            .replace("KINDS", KINDS);
        let page = course(form, &lines);
        check_problem(&of_courses(&page), &format!("[chart.{form}]: "), expected);
    }
    // A seventh colour would be the first again.
    let mut many = with_courses("h200");
    let spans = &mut many.measurements[5].spans;
    let other = spans[3].clone();
    spans.extend(
        ["b 1", "c 1", "d 1", "e 1"]
            .map(|label| record::Span { label: label.to_owned(), ..other.clone() }),
    );
    let page = course("timeline", KINDS);
    let fixture = Fixture::page(&page);
    fixture.record(&many);
    let expected = "page.toml:1: [chart.timeline]: more than 6 kinds of work: launch, wait, copy, other, b, c, d, e; draw fewer `lanes`, or give labels that begin with the same word";
    check_problems(&fixture, &page, &[expected]);
}

#[test]
fn times_and_readings_are_quantities() {
    let of = "host-memory copy kind=pinned bytes=1MiB";
    let cases = "
        span.stream 1.copy 1.start => 6.00 µs
        span.stream 1.copy 1.end => 18.4 µs
        span.host.wait.duration => 32.8 µs
        memory.pool_used.max => 1 MiB
        memory.pool_used.min => 0 B
        memory.pool_used.first => 0 B
        memory.pool_used.last => 512 KiB";
    for [metric, expected] in &table(cases) {
        let toml = format!("[quantities]\na = \"{of} : {metric}\"");
        let fixture = of_courses(&page(&toml, "It is {{a}}."));
        fixture.build().unwrap();
        let html = fixture.read("book/html/page.html").replace('\u{a0}', " ");
        assert!(html.contains(expected), "{metric}: {html}");
    }
    let cases = "
        span.host.start => `span.host.start` is not span.LANE.LABEL.start|end|duration
        memory.pool_used => `memory.pool_used` is not memory.SERIES.first|last|max|min
        span.host.wait.end => this measurement has no `span.host.wait.end`
        memory.pool.max => this measurement has no `memory.pool.max`";
    for [metric, problem] in &table(cases) {
        check_quantity(&format!("{of} : {metric}"), problem);
    }
}

#[test]
fn the_finished_book_can_go_elsewhere() {
    let fixture = Fixture::new();
    let output = fixture.path("elsewhere");
    let options = report::Options { output: Some(output.clone()), ..fixture.options() };
    assert_eq!(report::build(&options).unwrap().html, output);
    assert!(output.join("copy.html").exists() && !fixture.path("book/html").exists());
}

#[test]
fn a_page_in_a_folder_finds_the_scorecard() {
    let fixture = Fixture::new();
    let blocks = ["chart copies", "chart.copies", "prediction pinned", "prediction.pinned"];
    let deep = blocks.into_iter().fold(COPY.to_owned(), |page, block| {
        let name = block.find([' ', '.']).unwrap() + 1;
        page.replace(block, &format!("{}deep", &block[..name]))
    });
    fixture.pages(&[("copy", COPY), ("part/deep", &deep), ("scorecard", SCORECARD)]);
    fixture.build().unwrap(); // dead links would be refused
    let page = fixture.read("book/html/part/deep.html");
    assert!(page.contains("href=\"../scorecard.html#C1\""));
}

/// A reader who typed bytes or nanoseconds need not convert to compare.
#[test]
fn an_answer_is_in_the_unit_of_its_box() {
    for (quantity, answer, said) in [
        ("3 * 4000 | bytes", "bytes", "12,000 bytes"),
        ("3 * 4096 | bytes", "KiB", "12 KiB"),
        ("1.0123e-6 | s", "ns", "1,012 ns"),
        ("pinned | GB/s", "MB/s", "28,519 MB/s"),
        ("512 | ", "", "512"),
        ("0.5 | %", "%", "50.0%"),
    ] {
        let fixture = Fixture::new();
        let page = changed(COPY, "\npeak =", &format!("\nasked = \"{quantity}\"\npeak ="));
        let page = changed(&page, "\"speedup | ×\"", &format!("\"asked | {answer}\""));
        fixture.pages(&[("copy", &page), ("scorecard", SCORECARD)]);
        let page = expanded(&fixture, "copy");
        let (_, prediction) = page.split_once("class=\"prediction\"").unwrap();
        let (tag, rest) = prediction.split_once('>').unwrap();
        check_parts(tag, &[&format!("data-answer-text=\"{said}\"")]);
        assert_eq!(tag.contains("data-computed"), !quantity.contains("pinned"), "{quantity}");
        check_parts(rest, &[&format!(": <span class=\"value\">{said}</span>. ")]);
    }
}

/// What `[prediction.pinned]` says for a reader who draws the curve of pinned memory.
const CURVE: &str = "curve = { where = { kind = \"pinned\" }, given = [\"1MiB\"], \
    asked = [32768, \"1KiB\"], place = \"a copy of {}\", unit = \"GB/s\" }\nchart = \"copies\"";

#[test]
fn a_curve_is_drawn_at_some_places_of_its_chart() {
    let page = changed(COPY, "answer = \"speedup | ×\"", CURVE);
    let fixture = Fixture::new();
    fixture.pages(&[("copy", &page), ("scorecard", SCORECARD)]);
    let words = "Measured: <span class=\"value\">0.254 GB/s</span> at a copy of 1 KiB, \
        <span class=\"value\">6.52 GB/s</span> at a copy of 32 KiB. ";
    check_parts(
        &expanded(&fixture, "copy"),
        &[
            "data-answer-text=\"0.254, 6.52 GB/s\" data-unit=\"GB/s\"",
            "data-at=\"[[1024.0,&quot;a copy of 1 KiB&quot;],[32768.0,&quot;a copy of 32 KiB",
            "data-figure=\"figure-copies\" data-given=",
            "<div class=\"sketch\">\n<svg/>\n<svg/>\n</div>",
            words,
        ],
    );
    // The picture has axes and what is given, and nothing of what is asked.
    fixture.build().unwrap();
    let html = fixture.read("book/html/copy.html");
    let (_, sketch) = html.split_once("class=\"sketch\"").unwrap();
    let (sketch, _) = sketch.split_once("<form").unwrap();
    check_parts(
        sketch,
        &[
            "data-value-axis=\"y\"",
            "data-cross-scale=\"log2\"",
            "Link peak",
            "<desc id=\"chart-pinned-sketch-wide-desc\">Empty axes. Given: 28.5 GB/s at a copy \
             of 1 MiB.</desc>",
            "<title>1 MiB: 28.5 GB/s (one run, median of 8; 95% interval: ",
        ],
    );
    assert_eq!(sketch.matches("<circle").count(), 2 * 2, "one place on two pictures: {sketch}");
    assert!(!sketch.contains("6.52") && !sketch.contains("page-locked"), "{sketch}");
    // This machine's where it has all of it, or else the reference's.
    let mut own = record("laptop", "NVIDIA GeForce RTX 4090", 0.5);
    fixture.here(&own);
    check_parts(&expanded(&fixture, "copy"), &["data-answer-text=\"0.127, 3.26 GB/s\""]);
    own.measurements.retain(|m| m.bytes() != 1 << 15);
    fixture.here(&own);
    check_parts(&expanded(&fixture, "copy"), &[words]);
}

#[test]
fn the_finished_book_has_what_mdbook_leaves_out() {
    let fixture = Fixture::new();
    let overview = "{{scorecard}}\n\n{{predictions}}\n\n{{scorecard 8.2}}";
    fixture.pages(&[
        ("copy", &format!("{COPY}\nThe copy engine works.\n")),
        ("scorecard", &changed(SCORECARD, "{{scorecard 8.2}}", overview)),
        ("glossary", "# Glossary\n\ncopy engine\n: A unit. It copies.\n"),
    ]);
    fixture.build().unwrap();
    let read = |name: &str| fixture.read(&format!("book/html/{name}"));
    check_parts(
        &read("scorecard.html"),
        &[
            "<a href=\"claims.csv\" download",
            "<a class=\"verdict verdict-reproduced\" href=\"#C1\" title=\"C1, reproduced: Pinned",
            "value=\"verdict-erratum\">erratum <span class=\"count\">1</span>",
            "<a href=\"copy.html#prediction-pinned\">",
        ],
    );
    let claims: serde_json::Value = serde_json::from_str(&read("claims.json")).unwrap();
    assert_eq!(claims[0]["tests"][0]["claimed"], 4.0);
    let csv = read("claims.csv");
    let csv: Vec<&str> = csv.lines().collect();
    assert_eq!(csv.len(), 5);
    assert!(csv[1].starts_with("C1,8.2,reproduced,,copy,\"chapter, line 106\""));
    // Every claim has as many fields as the head, or the file would not have been written.
    let term = "<a class=\"term\" href=\"glossary.html#copy-engine\" data-definition=\"A unit.\">";
    check_parts(&read("copy.html"), &[term, "<svg class=\"wide\"", "viewBox"]);
    check_parts(
        &read("print.html"),
        &["<p class=\"title\">Contents</p>", "<li><a href=\"#copies\">copy</a></li>"],
    );
}

// What is refused. Each case lists every problem, so none may hide another.

/// The lines of a table, whose columns `=>` divides.
fn table<const N: usize>(lines: &str) -> Vec<[String; N]> {
    let cells = |line: &str| {
        let cells = line.trim().split(" => ").map(|cell| cell.replace("\\n", "\n"));
        cells.collect::<Vec<_>>().try_into().expect(line)
    };
    lines.trim().lines().map(cells).collect()
}

/// `text` with the first `from`, which must be there, made `to`.
#[track_caller]
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[track_caller]
fn check_problems(fixture: &Fixture, what: &str, expected: &[&str]) {
    let root = fixture.path("").display().to_string();
    let problems: Vec<String> = fixture.problems().iter().map(|p| p.replace(&root, "")).collect();
    assert_eq!(problems, expected, "{what}");
}

/// A book of one page, `page.md`, with no claims.
#[track_caller]
fn check_page(text: &str, expected: &[&str]) {
    let fixture = Fixture::page(text);
    fixture.write(
        "book/src/code.rs",
        "fn main() {}\n// ANCHOR: open\n// ANCHOR: a-b\nlet a;\n// ANCHOR_END: a-b\n",
    );
    check_problems(&fixture, text, expected);
}

/// One problem, whose line does not matter, in the file beside `page.md`. `of` begins what is wrong
/// with a block that can be read.
#[track_caller]
fn check_problem(fixture: &Fixture, of: &str, expected: &str) {
    let problems = fixture.problems();
    let [problem] = &problems[..] else { panic!("{problems:#?}, not {expected}") };
    let said = problem.strip_prefix("page.toml:").and_then(|rest| rest.split_once(": "));
    let said = said.map(|(_, said)| said.strip_prefix(of).unwrap_or(said));
    assert_eq!(said, Some(expected), "{problem}");
}

#[track_caller]
fn check_quantity(is: &str, expected: &str) {
    let text = page(&format!("[quantities]\nvalue = \"{is}\""), "");
    check_page(&text, &[&format!("page.toml:2: `value`: {expected}")]);
}

#[test]
fn directives_that_are_none() {
    let cases = "
        {{nothing}} b => {{nothing}}: there is no quantity `nothing` on `page.md`
        {{provenence}} => {{provenence}}: there is no quantity `provenence` on `page.md`; did you mean `provenance`?
        {{chart}} => {{chart}}: `chart` is followed by a name
        {{chart a b}} => {{chart a b}}: `chart` is followed by one name
        {{chart a}} => {{chart a}}: the file beside the page has no `[chart.a]`
        {{charts a}} => {{charts a}}: no directive begins with `charts`; did you mean `chart`?
        {{render a chart}} => {{render a chart}}: no directive begins with `render`
        {{drawing secters}} => {{drawing secters}}: there is no such drawing; did you mean `sectors`?
        a {{drawing sectors}} => {{drawing sectors}}: must stand alone on its line
        {{open\\n}} => {{open: has no closing braces on its line
        {{verdict C9}} => {{verdict C9}}: there is no claim `C9`
        {{claim C9}} => {{claim C9}}: there is no claim `C9`
        so {{errata}} => {{errata}}: must stand alone on its line
        {{errata}} => {{errata}}: there are no errata
        {{scorecard 8.9}} => {{scorecard 8.9}}: no claim is of this section
        {{provenance}} => {{provenance}}: name the `experiment` in the file beside the page";
    for [text, expected] in &table(cases) {
        check_page(&format!("a\n\n{text}"), &[&format!("page.md:3: {expected}")]);
    }
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
    let cases = r#"
        [host-memory copy] | => `host-memory copy` has no ` : metric`
        : time => `: time` names no experiment
        host-memory copy : speed => no metric `speed`: there are time, bandwidth, arithmetic, share_of_peak, samples, checked, bytes, model.NAME, counter.NAME, param.NAME, span.LANE.LABEL.start|end|duration, memory.SERIES.first|last|max|min
        copies copy : time => `h200` has no measured record of `copies`
        host-memory move : time => matches none on `h200`: `case` is `copy`
        host-memory copy size=1 : time => matches none on `h200`: there is no parameter `size`
        host-memory copy bytes=2KiB : time => matches none on `h200`: `bytes` is `1024`, `32768`, `1048576`
        host-memory copy kind=registered bytes=1KiB : time => matches none on `h200`: `kind` is `pageable`, `pinned`; skipped: this driver cannot register memory
        host-memory copy kind=pinned : time => matches 3: give also `bytes`
        host-memory copy : time => matches 6: give also `bytes`, `kind`
        host-memory copy size=- : time => matches 6: give also `bytes`, `kind`
        host-memory copy kind=- : time => matches none on `h200`: `kind` is `pageable`, `pinned`
        host-memory copy copy : time => `case` is given twice
        host-memory copy kind=pinned bytes=1KiB : model.speed => this measurement has no `model.speed`
        host-memory copy kind=pinned bytes=1KiB : param.kind => this measurement has no `param.kind`
        max host-memory copy kind=pinned bytes=1KiB : time => matches only one: drop `max` or `min`
        fit host-memory copy bytes=1KiB : latency => a fit needs at least three measured sizes, here are 2
        fit host-memory copy kind=pinned : slope => a fit has no `slope`: there are latency, bandwidth, residual
        machine : memory_peak => of which experiment's machine? The page names none
        machine host-memory : colour => a machine has no `colour`: there are memory_peak, link_peak, nvlink_peak, pcie_generation, nvlink_version, gpus, l2_bytes, memory_bytes, multiprocessors, threads
        machine host-memory copy : l2_bytes => `copy` does not select a machine
    "#;
    for [is, expected] in &table(cases) {
        check_quantity(is, expected);
    }
}

#[test]
fn quantities_without_a_value() {
    let cases = r#"
        a = "1" => `a`: an expression needs a unit: `… | GB/s`
        a = "1 / 0 |" => `a`: `1 / 0` is not a finite number
        a = "b + 1 |" => `a`: there is no quantity `b` on this page
        a = "a |" => `a`: goes in a circle: `a` needs `a`
        a = "b |"\nb = "c |"\nc = "b |" => `c`: goes in a circle: `b` needs `c` needs `b`
        a = "1 + |" => `a`: `1 +` lacks a number
        a = "1 | ms" => `a`: unit `ms`: write `s`; the scale is chosen when it is printed
        a = "machine host-memory : l2_bytes | GB/s" => `a`: is in `bytes`, not `GB/s`
        copies = "[host-memory copy kind=pinned]"\na = "copies kind=pinned : time" => `a`: `kind` is given twice
        copies = "[host-memory copy]"\na = "copies + 1 |" => `a`: there is no quantity `copies` on this page
        a.b = "1" => invalid type: map, expected a string
        a-b = "1 |" => `a-b`: take lower-case letters, digits and _
        errata = "1 |" => `errata`: means something else already
        fit = "[host-memory copy]" => `fit`: means something else already
        a = 1 => invalid type: integer `1`, expected a string
        [a => unclosed table, expected `]`
        a = "1 |"\na = "1 |" => duplicate key
    "#;
    for [toml, expected] in &table(cases) {
        check_problem(&Fixture::page(&page(&format!("[quantities]\n{toml}"), "")), "", expected);
    }
}

#[test]
fn what_the_file_beside_a_page_cannot_define() {
    let cases = r#"
        experiment = 1 => page.toml:1: invalid type: integer `1`, expected a string
        \n\n[quantity]\na = "1 |" => page.toml:3: unknown field `quantity`, expected one of `experiment`, `quantities`, `conditions`, `routes`, `along`, `chart`, `table`, `counted`, `prediction`, `goals`, `kernel`, `explorer`, `task`; did you mean `quantities`?
        chart = 1 => page.toml:1: invalid type: integer `1`, expected a map
        [table.A]\nrows = ["a"]\nmetrics = ["time"]\ncaption = "C" => page.toml:1: [table.A]: a name has lower-case letters, digits and hyphens
        [conditions]\na = "b" => page.toml:2: `a`: `b` compares nothing, and is no condition's name
    "#;
    for [toml, expected] in &table(cases) {
        check_page(&page(toml, ""), &[expected]);
    }
}

#[test]
fn quantities_that_nothing_uses() {
    let of = "[host-memory copy bytes=1MiB]";
    let toml = format!(
        "[quantities]\na = \"{of}\"\nb = \"a kind=pinned : time\"\nc = \"{of}\"\n\
         d = \"1 |\"\ne = \"2 * d |\"\n[conditions]\nf = \"b < d\"\ng = \"b < 2\""
    );
    check_page(
        &page(&toml, "# Head\n\n{{b}}, {{if g}}so{{end}}"),
        &[
            "page.toml:4: `c`: nothing uses it",
            "page.toml:6: `e`: nothing uses it",
            "page.toml:8: `f`: nothing uses it",
        ],
    );
    let table = "[table.b]\nrows = [\"kind\"]\nmetrics = [\"time\"]\ncaption = \"C.\"";
    check_page(&page(table, ""), &["page.toml:1: [table.b]: the page does not show it"]);
}

#[test]
fn measurements_on_no_page_are_told() {
    let fixture = Fixture::new();
    assert_eq!(fixture.build().unwrap().unused, []);
    let toml = "[quantities]\na = \"max host-memory copy bytes=1MiB : time\"";
    let unused = Fixture::page(&page(toml, "{{a}}")).build().unwrap().unused.remove(0);
    assert_eq!((unused.experiment.as_str(), unused.measured), ("host-memory", 6));
    assert_eq!(
        unused.cases,
        [
            "copy bytes=1024 kind=pageable",
            "copy bytes=32768 kind=pageable",
            "copy bytes=1024 kind=pinned",
            "copy bytes=32768 kind=pinned",
        ]
    );
}

/// The part that begins so of the file beside the fixture's page.
fn part(head: &str) -> &'static str {
    let (file, _) = COPY.split_once("\n+++").unwrap();
    file.split("\n\n").find(|part| part.starts_with(head)).unwrap()
}

/// The chart, table or prediction of the fixture's page with a change, alone on a page.
#[track_caller]
fn check_block(kind: &str, from: &str, to: &str, expected: &str) {
    let block = match kind {
        "goals" => part("[[goals"),
        kind => part(&format!("[{kind}")),
    };
    let (_, id) = block.lines().next().unwrap().rsplit_once('.').unwrap();
    let id = id.trim_end_matches(']');
    let (quantities, changed) = (part("[quantities"), changed(block, from, to));
    let toml = format!("experiment = \"host-memory\"\n{quantities}\n{changed}");
    let fixture = Fixture::page(&page(&toml, &format!("{{{{{kind} {id}}}}}")));
    check_problem(&fixture, &format!("[{kind}.{id}]: "), expected);
}

#[test]
fn charts_that_cannot_be_drawn() {
    let cases = r#"
        form = "lines" => form = "pie" => unknown variant `pie`, expected one of `lines`, `bars`, `heatmap`, `timeline`, `memory`
        x = { => # { => missing field `x`
        title => titel => missing field `title`
        series = => serie = => unknown field `serie`, expected one of `x`, `y`, `series`, `order`, `references`, `models`, `marks`; did you mean `series`?
        series = => hold = "h200"\nseries = => unknown field `hold`, expected one of `x`, `y`, `series`, `order`, `references`, `models`, `marks`
        of = "bandwidth" => of = "speed" => no metric `speed`: there are time, bandwidth, arithmetic, share_of_peak, samples, checked, bytes, model.NAME, counter.NAME, param.NAME, span.LANE.LABEL.start|end|duration, memory.SERIES.first|last|max|min
        title = => experiment = "transpose"\ntitle = => `h200` has no measured record of `transpose`
        case = "copy" => case = "move" => matches none on `h200`: `case` is `copy`
        case = "copy" => case = ["copy", "move"] => where: `move` matches none on `h200`: `case` is `copy`
        of = "bytes" => of = "kind" => x: a measurement has no number `kind`
        series = "kind" =>  => bytes = 1024 matches 2: give also `kind`
        pinned = "page-locked" => pined = "page-locked" => labels: no measurement has the value `pined`
        order = ["pinned"] => order = ["pined"] => order: no measurement has the value `pined`
        "machine : link_peak" => "machine : l2_bytes" => reference "Link peak": is in `bytes`, the axis in `GB/s`
        "machine : link_peak" => "speedup" => reference "Link peak": is in `×`, the axis in `GB/s`
        models = => marks = [{ label = "L2 cache", is = "machine : link_peak" }]\nmodels = => mark "L2 cache": is in `GB/s`, the axis in `bytes`
        "machine : link_peak" => "none" => reference "Link peak": there is no quantity `none` on `page.md`
        12e9 | GB/s => 12e9 => reference "The chapter: 12 GB/s": an expression needs a unit: `… | GB/s`
        12e9 | GB/s => 0 | GB/s => reference "The chapter: 12 GB/s": 0 has no place on the axis
        of = "bandwidth" => of = "samples" => model "latency + bytes / bandwidth": a fit gives time or bandwidth
        fit = true => metric = "model.sectors_per_request" => model "latency + bytes / bandwidth": is in ``, the axis in `GB/s`
        fit = true,  =>  => model "latency + bytes / bandwidth": give either `metric` or `fit`
    "#;
    for [from, to, expected] in &table(cases) {
        check_block("chart", from, to, expected);
    }
}

#[test]
fn heat_maps_that_cannot_be_drawn() {
    let cases = r#"
        column = => # => missing field `column`
        , above = "slower" =>  => missing field `above`
        row = => rows = => unknown field `rows`, expected one of `column`, `row`, `y`, `order`, `over`; did you mean `row`?
        of = "bytes" => of = "stride" => column: no measurement has this parameter
        over = => # => missing field `over`
        of = "kind" => of = "case" => at Memory copy, Size 1 KiB: matches 2: give also `kind`
        { kind = "pageable" } => { case = "read" } => at Memory pinned, Size 1 KiB: over: matches none on `h200`: `case` is `copy`
    "#;
    for [from, to, expected] in &table(cases) {
        let ratio = match expected.contains("matches 2") {
            true => RATIO.replace("where = { kind = \"pinned\" }", ""),
            false => RATIO.to_owned(),
        };
        let page = changed(&heatmap(&ratio), from, to);
        check_problem(&Fixture::page(&page), "[chart.heatmap]: ", expected);
    }
    // Of the two kinds, one has one size.
    let page = heatmap(&changed(RATIO, "kind = \"pinned\" }", "case = \"copy\" }"));
    let fixture = Fixture::page(&page);
    let mut lacking = record("h200", "NVIDIA H200", 1.0);
    lacking.measurements.remove(0);
    fixture.record(&lacking);
    let expected = "at Memory pageable, Size 1 KiB: there is no measurement";
    check_problem(&fixture, "[chart.heatmap]: ", expected);
}

#[test]
fn tables_and_predictions_that_cannot_be_made() {
    let tables = r#"
        metrics = [ => metrics = []\nextra = [ => unknown field `extra`, expected one of `experiment`, `machine`, `machines`, `where`, `rows`, `columns_by`, `metrics`, `labels`, `order`, `headings`, `caption`
        rows = ["kind"] => rows = [] => `rows` and `metrics` must not be empty
        rows = ["kind"] => rows = ["kind"]\ncolumns_by = "bytes" => with `columns_by` there is one metric
        rows = ["kind"] => rows = ["size"]\n# => headings: there is no column `kind`
        headings = { kind =  => headings = { case =  => headings: there is no column `case`
        case = "copy" => case = ["copy", "move"] => where: `move` matches none on `h200`: `case` is `copy`
        bytes = "1MiB" => bytes = "2MiB" => matches none on `h200`: `bytes` is `1024`, `32768`, `1048576`
        , bytes = "1MiB" =>  => the row "pageable" matches 3: give also `bytes`
        "share_of_peak" => "model.speed" => this measurement has no `model.speed`
    "#;
    for [from, to, expected] in &table(tables) {
        check_block("table", from, to, expected);
    }
    let predictions = r#"
        "speedup | ×" => "none | ×" => there is no quantity `none` on `page.md`
        "speedup | ×" => "speedup" => `answer` is QUANTITY | UNIT
        | × => | % => the answer is in `×`, not `%`
        explain =  => explains =  => unknown field `explains`, expected one of `question`, `answer`, `curve`, `choices`, `in_order`, `holds`, `wrong`, `chart`, `explain`; did you mean `explain`?
        answer => chart = "none"\nanswer => this page has no chart `none`
        explain =  => choices = ["a", "b"]\nexplain =  => `answer` is none of `choices`: a, b
        explain =  => choices = ["a", "b"]\nin_order = true\nexplain =  => `answer` is no order of `choices`: a, b
        explain =  => choices = ["a, b"]\nin_order = true\nexplain =  => `choices` that are put in order have no comma
        explain =  => in_order = true\nexplain =  => `in_order` is of `choices`
        explain =  => wrong = { four = "No." }\nexplain =  => `wrong`: nobody can answer `four` and be wrong
        explain =  => holds = "speedup > 1"\nexplain =  => `holds` is of `choices`; a number is its own proof
        explain =  => curve = { asked = [1], unit = "×" }\nexplain =  => a `curve` is the answer: give no other
        answer = "speedup | ×" => curve = { asked = [1], unit = "×" } => a `curve` is one of a `chart`
        answer = "speedup | ×" => chart = "none"\ncurve = { asked = [1], unit = "×" } => this page has no chart `none`
        answer = "speedup | ×" => chart = "none"\ncurve = { asked = [], unit = "×" } => `curve`: nothing is `asked`
        as fast as => {{speedup}} => `question` takes no quantities: say them in the text above
    "#;
    for [from, to, expected] in &table(predictions) {
        check_block("prediction", from, to, expected);
    }
    let curves = r#"
        "GB/s" => "ms" => curve: it is in `GB/s`, not `ms`
        1KiB => 2KiB => curve: nothing was measured at 2KiB
        "1MiB" => "large" => curve: `large` is no place on the x axis
        kind = "pinned" =>  => bytes = 1024 matches 2: give also `kind`
        kind = "pinned" => kind = "none" => matches none on `h200`: `kind` is `pageable`, `pinned`
    "#;
    for [from, to, expected] in &table(curves) {
        let curve = changed(CURVE, from, to);
        let drawn = changed(part("[prediction"), "answer = \"speedup | ×\"", &curve);
        let blocks = [part("[quantities"), part("[chart"), &drawn].join("\n");
        let shown = "{{chart copies}}\n\n{{prediction pinned}}";
        let page = page(&format!("experiment = \"host-memory\"\n{blocks}"), shown);
        check_problem(&Fixture::page(&page), "[prediction.pinned]: ", expected);
    }
    let asked = changed(part("[prediction"), "answer =", "chart = \"copies\"\nanswer =");
    let again = changed(&asked, "[prediction.pinned]", "[prediction.again]");
    let blocks = [part("[quantities"), part("[chart"), &asked, &again].join("\n");
    let shown = "{{chart copies}}\n\n{{prediction pinned}}\n\n{{prediction again}}";
    let page = page(&format!("experiment = \"host-memory\"\n{blocks}"), shown);
    let said = "page.md:5: {{prediction again}}: another question veils its chart";
    check_problems(&Fixture::page(&page), &page, &[said]);
}

#[test]
fn goals_that_cannot_be_judged() {
    let cases = r#"
        limit =  => limits =  => unknown field `limits`, expected one of `what`, `page`, `achieved`, `at_least`, `at_most`, `unit`, `holds`, `ceiling`, `limit`; did you mean `limit`?
        at_least = 3.0 => at_least = 0.0 => goal "Pinned memory is three times as fast": `at_least` and `at_most` must be more than 0
        at_least = 3.0 => at_least = 3.0\nat_most = 4.0 => goal "Pinned memory is three times as fast": takes one of `at_least` and `at_most`
        achieved = "speedup" => achieved = "none" => goal "Pinned memory is three times as fast": there is no quantity `none` on `page.md`
        unit = "×" => unit = "%" => goal "Pinned memory is three times as fast": `speedup` is in `×`, not `%`
        at_least = 3.0 => at_least = 3.0\nholds = "speedup > 9" => goal "Pinned memory is three times as fast": `speedup > 9` is not so on the H200: `speedup` is 3.67
        page = "copy" => page = "none" => goal "Pinned memory is three times as fast": there is no page `none.md` in the book
        {{peak}} => {{none}} => goal "Pinned memory is three times as fast": there is no quantity `none` on `page.md`
        {{peak}} => {{peak => goal "Pinned memory is three times as fast": `{{` has no `}}`
    "#;
    for [from, to, expected] in &table(cases) {
        check_block("goals", from, to, expected);
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
            "page.md:11: {{#embed code.rs}}: mdBook has no directive `#embed`",
            "page.md:12: {{#include code.rs: has no closing braces on its line",
        ],
    );
}

#[test]
fn links_that_lead_nowhere() {
    check_page(
        "# Head\n\n[1](none.md) [2](#head) [3](#none) [4](page.md#none) [5](../../secret)\n\
         [6](https://example.org/none) [7](mailto:a@example.org) [8](code.rs) [9](code.rs#L1)\n\n\
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
            "again.md: {{prediction pinned}}: is on `copy.md` already: link to it there",
            "again.md: {{chart copies}}: is on `copy.md` already: link to it there",
        ],
    );
}

#[test]
fn claims_that_break_a_rule() {
    let cases = r#"
        page = "copy" =>  => C1: has tests but no `page`
        page = "copy" => page = "none" => C1: there is no page `none.md` in the book
        page = "copy" => page = "copy"\noutside = "x" => C1: has tests: drop `outside`
        id = "C2" => id = "C1" => C1: the id stands here twice
        id = "W1" => id = "C1" => C1: the id stands here twice
        id = "C2" => id = "C 2" => C 2: an id is letters and digits
        section = "8.2" => section = "8.1" => C1: no page has `{{scorecard 8.1}}`
        japanese = "1 KB | 0.01 ms | 0.001 ms" => japanese = " " => C2: `japanese` is empty or has hidden characters
        japanese = "1 KB | 0.01 ms | 0.001 ms" => japanese = "1 KB\u200b" => C2: `japanese` is empty or has hidden characters
        claimed = 4.0 => claimed = 0.0 => C1: test "pinned over pageable": give `claimed`, which is not 0, or `claimed_by`, with a `tolerance` above 0, or `more_than` alone; `saved` goes with `claimed` in %
        tolerance = 0.2 => tolerance = nan => C1: test "pinned over pageable": give `claimed`, which is not 0, or `claimed_by`, with a `tolerance` above 0, or `more_than` alone; `saved` goes with `claimed` in %
        claimed = 4.0 => claimed = 4.0\nclaimed_by = "speedup" => C1: test "pinned over pageable": give `claimed`, which is not 0, or `claimed_by`, with a `tolerance` above 0, or `more_than` alone; `saved` goes with `claimed` in %
        claimed = 4.0 => claimed_by = "none" => C1: test "pinned over pageable": there is no quantity `none` on `copy.md`
        claimed = 4.0 => claimed_by = "pinned" => C1: test "pinned over pageable": `pinned` is in `GB/s`, not `×`
        quantity = "speedup" => quantity = "none" => C1: test "pinned over pageable": there is no quantity `none` on `copy.md`
        unit = "×" => unit = "GB/s" => C1: test "pinned over pageable": `speedup` is in `×`, not `GB/s`
        printed = 45.0 => printed = 89.0 => C3: recomputing "both directions counted": gives what is printed, so it is no erratum
        erratum = "It reads *and* writes." =>  => C3: recomputing "both directions counted": gives 89.5, not what is printed; say in `erratum` what is right
        expression = "2 * => expression = "x * => C3: recomputing "both directions counted": there is no `x` to be computed with
    "#;
    for [from, to, expected] in &table(cases) {
        let fixture = Fixture::new();
        fixture.write("book/claims.toml", &changed(CLAIMS, from, to));
        check_problems(&fixture, from, &[&format!("claims.toml: {expected}")]);
    }
}

#[test]
fn a_verdict_follows_from_the_numbers() {
    const TEST: &str = "quantity = \"speedup\"\nclaimed = 4.0\nunit = \"×\"\ntolerance = 0.2\n";
    // The measured ratio is 3.67×, the largest share 45.2%, pinned memory has 28.5 GB/s.
    let cases = r#"
        speedup => × => claimed = 4.0 => reproduced
        speedup => × => claimed = 5.0 => same-direction
        speedup => × => claimed = 0.5 => refuted
        speedup => × => claimed = 0.5\nabout = "PCIe 3.0" => refuted
        pinned => GB/s => claimed = 12.0 => refuted
        pinned => GB/s => claimed = 12.0\nabout = "PCIe 3.0" => depends-on-the-machine
        pinned => GB/s => claimed = 270.0\nabout = "NVLink" => depends-on-the-machine
        pinned => GB/s => claimed = 300.0\nabout = "NVLink" => refuted
        pinned => GB/s => claimed = 2.5\nabout = "PCIe 1.0" => refuted
        speedup => × => more_than = 1.0 => reproduced
        speedup => × => more_than = 4.0 => same-direction
        best => % => claimed = 50.0 => reproduced
        best => % => claimed = 80.0 => same-direction
        best => % => claimed = 99.0 => refuted
        best => % => claimed = 52.0\nsaved = true => reproduced
        best => % => claimed = 60.0\nsaved = true => same-direction
        best => % => claimed = 80.0\nsaved = true => refuted
        best => % => claimed = 20.0 => refuted
        best => % => more_than = 40.0 => reproduced
        best => % => more_than = 50.0 => refuted
    "#;
    for [quantity, unit, claimed, class] in &table(cases) {
        let fixture = Fixture::new();
        let tolerance = if claimed.starts_with("more_than") { "" } else { "tolerance = 0.2\n" };
        let test = format!("quantity = \"{quantity}\"\nunit = \"{unit}\"\n{claimed}\n{tolerance}");
        fixture.write("book/claims.toml", &changed(CLAIMS, TEST, &test));
        let page = expanded(&fixture, "copy");
        let class = format!("verdict-{class}");
        assert!(page.contains(&class), "{claimed}: {class} is not in {page}");
    }
    // Several readings: what all of them say counts for each.
    let readings = r#"
        1.0 => 1.0 => 1.0 => reproduced
        1.0 => 4.0 => 1.0 => depends-on-the-reading
        4.0 => 4.0 => 1.0 => same-direction
        1.0 => 4.0 => 4.0 => depends-on-the-reading
    "#;
    for [one, other, all, class] in &table(readings) {
        let fixture = Fixture::new();
        let test = |what: &str, bound: &str| {
            format!("{what}quantity = \"speedup\"\nmore_than = {bound}\nunit = \"×\"\n")
        };
        let next = "[[claim.test]]\nwhat = \"again\"\n";
        let tests = [
            test("reading = \"as *fast*\"\n", one),
            test("reading = \"as slow\"\n", other),
            test("", all),
        ];
        fixture.write("book/claims.toml", &changed(CLAIMS, TEST, &tests.join(next)));
        let page = expanded(&fixture, "scorecard");
        let row = page.lines().find(|line| line.contains("<div id=\"C1\">")).unwrap();
        let class = format!("verdict-{class}\"");
        check_parts(row, &[&class, "<p>Read as “as *fast*”: <span class=\"value\">"]);
    }
    // One that nothing tries leaves it open.
    let fixture = Fixture::new();
    let unmeasured = "[[claim.unmeasured]]\nreading = \"as slow\"\nwhat = \"a *snail*\"\n";
    let read = format!("reading = \"as fast\"\n{TEST}{unmeasured}");
    fixture.write("book/claims.toml", &changed(CLAIMS, TEST, &read));
    let page = expanded(&fixture, "scorecard");
    let found = "<p>Read as “as slow”, not measured here: a *snail*</p>";
    check_parts(&page, &["verdict-undecided", found]);
    // Arithmetic alone can reproduce a claim.
    let fixture = Fixture::new();
    let right = CLAIMS.replace("erratum = \"It reads *and* writes.\"", "").replace("45.0", "89.0");
    fixture.write("book/claims.toml", &right);
    let page = expanded(&fixture, "scorecard");
    let row = page.lines().find(|line| line.contains("<div id=\"C3\">")).unwrap();
    assert!(row.contains("verdict-reproduced"), "{row}");
}

/// Exact numbers of two machines can differ further behind than is printed.
#[test]
fn numbers_that_read_the_same_are_printed_once() {
    const ROW: &str = "row([machine : pcie_generation], 4, 15.001e9, 5, 15.002e9) | GB/s";
    let fixture = Fixture::new();
    let page = changed(COPY, "samples = ", &format!("near = \"{ROW}\"\nsamples = "));
    fixture.pages(&[("copy", &changed(&page, "copy `twice`.", "copy: {{near}}."))]);
    let mut record = record("laptop", "NVIDIA GeForce RTX 3080", 0.5);
    record.machine.gpus[0].pcie.as_mut().unwrap().generation = 4;
    fixture.here(&record);
    let page = expanded(&fixture, "copy");
    check_parts(&page, &["copy: <span class=\"value\">15.0 GB/s</span>."]);
}

/// A reader's PCIe 4.0 card, slower than the reference's 5.0, is held against the source's
/// row for PCIe 4.0: in the verdict, in the chart and after the prediction.
#[test]
fn a_claim_for_each_kind_of_machine() {
    const ROW: &str = "row([machine : pcie_generation], 3, 6e9, 4, 15e9, 5, 30e9) | GB/s";
    let of = |generation: u32| {
        let fixture = Fixture::new();
        let page = changed(COPY, "samples = ", &format!("chapter = \"{ROW}\"\nsamples = "));
        let page = changed(&page, "is = \"12e9 | GB/s\"", "is = \"chapter\"");
        let page = changed(&page, "copy `twice`.", "copy: {{chapter}}.");
        fixture.pages(&[("copy", &page), ("scorecard", SCORECARD)]);
        let rule = "quantity = \"speedup\"\nclaimed = 4.0\nunit = \"×\"";
        let by = "quantity = \"pinned\"\nclaimed_by = \"chapter\"\nunit = \"GB/s\"";
        fixture.write("book/claims.toml", &changed(CLAIMS, rule, by));
        let mut record = record("laptop", "NVIDIA GeForce RTX 3080", 0.5);
        record.machine.gpus[0].pcie.as_mut().unwrap().generation = generation;
        fixture.here(&record);
        fixture
    };

    let fixture = of(4);
    check_parts(
        &expanded(&fixture, "scorecard"),
        &[
            "<span class=\"value\">14.3 GB/s <span class=\"beside\">(H200: 28.5 GB/s)</span></span> \
             measured, 15.0 GB/s <span class=\"beside\">(H200: 30.0 GB/s)</span> claimed",
        ],
    );
    check_parts(
        &expanded(&fixture, "copy"),
        &[
            "href=\"scorecard.html#C1\">C1 · reproduced</a> <span class=\"beside\">(provisional: of one run)</span>.",
            "copy: <span class=\"value\">15.0 GB/s <span class=\"beside\">(H200: 30.0 GB/s)",
        ],
    );
    fixture.build().unwrap();
    let label = "The chapter: 12 GB/s";
    let line = |machine: &str| {
        let svg = fixture.read(&format!("book/html/figures/{machine}/copies.svg"));
        svg.lines().find(|line| line.contains(label)).unwrap().to_owned()
    };
    assert_ne!(line("h200"), line("laptop"));

    // Of PCIe 6.0 the source says nothing.
    check_parts(&expanded(&of(3), "copy"), &["C1 · refuted</a> <span class=\"beside\">(H200:"]);
    check_parts(
        &expanded(&of(6), "scorecard"),
        &["measured, 30.0 GB/s <span class=\"beside\">(H200)</span> claimed"],
    );
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
            "copy.toml:8: `best`: matches only one: drop `max` or `min`",
            "copy.toml:7: `latency`: a fit needs at least three measured sizes, here are 2",
            "copy.toml:5: `pinned`: matches none on `h200`: `kind` is `pageable`",
            "copy.toml:10: `samples`: matches none on `h200`: `kind` is `pageable`",
            "claims.toml: C1: test \"pinned over pageable\": `speedup` has no value, see the quantities of `copy.md`",
            "copy.md:5: {{speedup}}: `speedup` has no value, see the quantities of `copy.md`",
            "copy.md:5: {{pinned}}: `pinned` has no value, see the quantities of `copy.md`",
            "copy.md:5: {{latency}}: `latency` has no value, see the quantities of `copy.md`",
            "copy.md:6: {{best}}: `best` has no value, see the quantities of `copy.md`",
            "copy.md:6: {{samples}}: `samples` has no value, see the quantities of `copy.md`",
            "copy.toml:12: [prediction.pinned]: `speedup` has no value, see the quantities of `copy.md`",
            "copy.toml:17: [chart.copies]: model \"latency + bytes / bandwidth\": a fit needs at least three measured sizes, here are 2",
            "copy.toml:47: [goals.pinned]: goal \"Pinned memory is three times as fast\": `speedup` has no value, see the quantities of `copy.md`",
        ],
    );
}

#[test]
fn a_page_that_does_not_show_its_verdict() {
    let fixture = Fixture::new();
    fixture.pages(&[("copy", &changed(COPY, ", {{verdict C1}}", "")), ("scorecard", SCORECARD)]);
    check_problems(
        &fixture,
        "no verdict",
        &["claims.toml: C1: `copy.md` does not show `{{verdict C1}}`"],
    );
}

// Counts of the emulated GPU.

const COUNTED: &str = r#"+++
[counted.sectors]
experiment = "host-memory"
caption = "Sectors."
where = { case = "copy" }
emulated = { bytes = "1KiB" }
profiled = { bytes = "32KiB" }
measured = { bytes = "1MiB" }
rows = ["kind"]
counts = ["loads", "shared_stores"]
order = ["pinned"]
labels = { pinned = "page-locked" }
headings = { kind = "Memory" }
+++
{{counted sectors}}
"#;

/// A record of what was counted: `sectors` in each of 100 loads.
fn counters(machine: &str, source: record::Source, sectors: u64) -> record::Record {
    let mut record = record(machine, "NVIDIA H200", 1.0);
    record.source = source;
    if source == record::Source::Profiled {
        record.experiment += "-counters";
    }
    for m in &mut record.measurements {
        m.seconds.clear();
        m.counters.insert("global_load_requests".to_owned(), 100);
        m.counters.insert("global_load_sectors".to_owned(), 100 * sectors);
    }
    record
}

/// A book of this page, and what was counted of the fixture's record.
fn counted(block: &str) -> Fixture {
    let fixture = Fixture::page(block);
    fixture.record(&counters("h200", record::Source::Profiled, 4));
    fixture.record(&counters(record::EMULATED, record::Source::Emulated, 8));
    fixture
}

#[test]
fn each_column_of_counts_says_whose_it_is() {
    let fixture = counted(COUNTED);
    fixture.build().unwrap();
    let html = fixture.read("book/html/page.html");
    let table = html.split("<table>").nth(1).unwrap();
    let (head, body) = table.split_once("<tbody>").unwrap();
    let heads = [
        "rowspan=\"2\">Memory<",
        "colspan=\"2\">Emulated GPU counts<",
        "colspan=\"2\">H200 counts<",
        "colspan=\"1\">H200 measures<",
    ];
    check_parts(head, &heads);
    let rows: Vec<Vec<&str>> = body
        .split("<tr>")
        .skip(1)
        .map(|row| {
            let cells = row.split('>').filter_map(|part| part.split_once("</t"));
            cells.map(|(cell, _)| cell).collect()
        })
        .collect();
    let [first, second] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(first[..5], ["page-locked", "8.00", "–", "4.00", "–"]);
    assert_eq!(second[..5], ["pageable", "8.00", "–", "4.00", "–"]);
    assert!(first[5].ends_with("GB/s"), "{first:?}");
}

#[test]
fn what_was_not_counted_is_an_error() {
    let cases = r#"
        counts = ["loads", "shared_stores"] => counts = [] => `rows` and `counts` must not be empty
        headings = { kind => headings = { size => headings: there is no column `size`
        profiled = { bytes = "32KiB" }\n =>  => "H200 counts": a row matches 3: give also `bytes`
        emulated = { bytes = "1KiB" }\n =>  => "Emulated GPU counts": a row matches 3: give also `bytes`
    "#;
    for [from, to, expected] in &table(cases) {
        let block = changed(COUNTED, from, to);
        check_problem(&counted(&block), "[counted.sectors]: ", expected);
    }
    // A measured record in the emulated one's place is not taken for one.
    let fixture = counted(COUNTED);
    fixture.record(&record(record::EMULATED, "NVIDIA H200", 1.0));
    let [problem] = fixture.problems().try_into().unwrap();
    assert!(problem.contains("no emulated GPU has a record of it"), "{problem}");
}

#[test]
fn a_kernel_that_only_a_gpu_can_run_says_so_where_its_editor_would_be() {
    let page = |more: &str| {
        let toml = format!("[kernel.a]\nsource = \"../code.cu:part\"\n{more}");
        Fixture::page(&format!("+++\n{toml}\n+++\n# Title\n\n{{{{kernel a}}}}\n"))
    };
    let elsewhere = "elsewhere = { lacks = \"wgmma\", run = \"gather\" }\n";
    let fixture = page(elsewhere);
    fixture.write("book/code.cu", "// ANCHOR: part\n__global__ void a();\n// ANCHOR_END: part\n");
    let built = fixture.build().unwrap();
    let html = std::fs::read_to_string(built.html.join("page.html")).unwrap();
    assert!(html.contains("has no <code>wgmma</code>: change <code>code.cu</code>"), "{html}");
    assert!(html.contains("type <code>cargo run -p gather</code>"));
    assert!(!html.contains("class=\"editor\""));
    for (more, problem) in [
        ("grid = \"1\"", "it needs `grid` and `block`, or `elsewhere`"),
        (&format!("{elsewhere}block = \"1\""), "with `elsewhere`, nothing is launched here"),
    ] {
        let problems = page(more).problems().join("\n");
        assert!(problems.contains(&format!("[kernel.a]: {problem}")), "{problems}");
    }
}

#[test]
fn a_kernel_to_try_is_text_in_an_empty_element() {
    let toml = "[kernel.a]\nsource = \"code.cu\"\ngrid = \"1\"\nblock = \"32\"\narg = [\"<i>\"]";
    let text = "+++\n".to_owned() + toml + "\n+++\n# Title\n\n{{kernel a}}\n";
    let fixture = Fixture::page(&text);
    let problems = ["page.toml:1: [kernel.a]: cannot read `code.cu`: "];
    assert!(fixture.problems().iter().any(|problem| problem.starts_with(problems[0])));

    fixture.write("book/src/code.cu", "// ANCHOR: x\n\"</div><b>'{{#include ../../x}}\n\n");
    fixture.write("book/src/workshop.js", "");
    let pages = |fixture: &Fixture| {
        let built = fixture.build().unwrap();
        std::fs::read_to_string(built.html.join("page.html")).unwrap()
    };
    let page = pages(&fixture);
    let (_, editor) = page.split_once("<div class=\"editor\"").unwrap();
    let (editor, _) = editor.split_once("></div>").unwrap();
    assert!(editor.contains("data-workshop=\"workshop.js?e3b0c442\""), "{editor}");
    assert!(editor.contains("&lt;/div&gt;&lt;b&gt;"), "{editor}");
    assert!(!editor.contains("ANCHOR") && !editor.contains("data-compiler"), "{editor}");

    fixture.write("book/src/compiler/about.json", "{ \"version\": \"1.2\", \"bytes\": 3 }");
    let found = "data-compiler=\"compiler/\" data-version=\"1.2\" data-bytes=\"3\"";
    assert!(pages(&fixture).contains(found));
    fixture.write("book/src/compiler/about.json", "{}");
    let broken = fixture.problems().join("\n");
    assert!(broken.contains("compiler/about.json: missing field"), "{broken}");
}
