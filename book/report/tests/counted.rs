//! `counted` blocks: what an emulated GPU counted beside what the reference machine did.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

mod fixture;

use fixture::{Fixture, record};
use record::{EMULATED, Record, Source};

const BLOCK: &str = r#"```counted
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
```
"#;

/// A record of what was counted: `sectors` in each of 100 loads.
fn counters(machine: &str, source: Source, sectors: u64) -> Record {
    let mut record = record(machine, "NVIDIA H200", 1.0);
    record.source = source;
    if source == Source::Profiled {
        record.experiment += "-counters";
    }
    for m in &mut record.measurements {
        m.seconds.clear();
        m.counters.insert("global_load_requests".to_owned(), 100);
        m.counters.insert("global_load_sectors".to_owned(), 100 * sectors);
    }
    record
}

fn fixture(block: &str) -> Fixture {
    let fixture = Fixture::page(block);
    fixture.record(&counters("h200", Source::Profiled, 4));
    fixture.record(&counters(EMULATED, Source::Emulated, 8));
    fixture
}

#[test]
fn each_column_says_whose_it_is() {
    let fixture = fixture(BLOCK);
    fixture.build().unwrap();
    let html = fixture.read("book/book/page.html");
    let table = html.split("<table>").nth(1).unwrap();
    let (head, body) = table.split_once("<tbody>").unwrap();
    for head_cell in [
        "rowspan=\"2\">Memory<",
        "colspan=\"2\">Emulated GPU counts<",
        "colspan=\"2\">H200 counts<",
        "colspan=\"1\">H200 measures<",
    ] {
        assert!(head.contains(head_cell), "{head_cell}: {head}");
    }
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
    let check = |block: &str, expected: &str| {
        let problems = fixture(block).problems();
        assert_eq!(problems, [format!("page.md:1: `counted` block: {expected}")]);
    };
    check(
        &BLOCK.replace("counts = [\"loads\", \"shared_stores\"]", "counts = []"),
        "`rows` and `counts` must not be empty",
    );
    check(
        &BLOCK.replace("headings = { kind", "headings = { size"),
        "headings: there is no column `size`",
    );
    check(
        &BLOCK.replace("profiled = { bytes = \"32KiB\" }\n", ""),
        "\"H200 counts\" has several measurements in a row: give also `bytes`",
    );
    check(
        &BLOCK.replace("emulated = { bytes = \"1KiB\" }\n", ""),
        "\"Emulated GPU counts\" has several measurements in a row: give also `bytes`",
    );
    // A measured record in the emulated one's place is not taken for one.
    let fixture = fixture(BLOCK);
    fixture.record(&record(EMULATED, "NVIDIA H200", 1.0));
    let [problem] = fixture.problems().try_into().unwrap();
    assert!(problem.contains("no emulated GPU has a record of it"), "{problem}");
}
