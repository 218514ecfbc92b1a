//! The page language's reference, `contributing/page-language.md`, against the code.

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::chart::{GuideKind, Scale};
use crate::metric::Metric;
use crate::page::blocks::{Curve, Goal, Prediction};
use crate::plot::{Common, GuideLine, Values, bars, course, heatmap, lines};
use crate::query::Query;
use crate::{block, claims, counted, explorer, figure, table};

/// The names that the error lists, because none of them was given.
fn listed<T>(found: Result<T, String>, before: &str) -> Vec<String> {
    let error = found.err().expect("an error").replace(" or ", ", ");
    let (_, names) = error.split_once(before).expect("a list of names");
    let names = names.trim_start_matches("one of ").split(", ");
    names.map(|name| name.replace('`', "")).collect()
}

fn read<T: DeserializeOwned>(value: Value) -> Vec<String> {
    let found: Result<T, _> = value.try_into();
    listed(found.map_err(|e| e.message().to_owned()), "expected ")
}

fn keys<T: DeserializeOwned>() -> Vec<String> {
    read::<T>(Value::Table(Table::from_iter([("?".to_owned(), Value::Integer(0))])))
}

fn variants<T: DeserializeOwned>() -> Vec<String> {
    read::<T>(Value::String("?".to_owned()))
}

#[test]
fn the_reference_names_all_there_is_and_nothing_else() {
    let query = |text| Query::parse(text, None, |_| None);
    let chart = "title = ''\ndescription = ''\nform = ''";
    let forms = listed(block::parse::<figure::ChartBlock>(chart), "expected ");
    let of_a_map = [keys::<heatmap::Side>(), keys::<heatmap::Over>()].concat();
    let sections = [
        ("Metrics", listed(Metric::parse(""), "there are "), vec![]),
        ("Fits", listed(query("fit a : b"), "there are "), vec![]),
        ("Machines", listed(query("machine a : b"), "there are "), vec![]),
        ("Budgets", listed(query("budget llama-2-7b : b"), "there are "), vec![]),
        ("Every chart", keys::<Common>(), forms),
        ("Lines", keys::<lines::Block>(), vec![]),
        ("Bars", keys::<bars::Block>(), vec![]),
        ("Heat maps", keys::<heatmap::Block>(), of_a_map),
        ("Timelines", keys::<course::Timeline>(), vec![]),
        ("Memory over time", keys::<course::Memory>(), vec![]),
        ("The axis of values", keys::<Values>(), vec![]),
        ("The axis below lines", keys::<lines::Along>(), vec![]),
        ("Scales", variants::<Scale>(), vec![]),
        ("References", keys::<GuideLine>(), variants::<GuideKind>()),
        ("Models", keys::<lines::Model>(), vec![]),
        ("Marks", keys::<lines::MarkLine>(), vec![]),
        ("Panels", keys::<course::Panel>(), vec![]),
        ("Explorers", keys::<explorer::Curves>(), vec![]),
        ("What a page asks of an explorer", keys::<explorer::Task>(), vec![]),
        ("Tables", keys::<table::Block>(), vec![]),
        ("Counts of the emulated GPU", keys::<counted::Block>(), variants::<counted::Count>()),
        ("Predictions", keys::<Prediction>(), vec![]),
        ("Curves", keys::<Curve>(), vec![]),
        ("Goals", keys::<Goal>(), vec![]),
        ("Claims", keys::<claims::Claim>(), vec![]),
        ("Tests of a claim", keys::<claims::Test>(), vec![]),
        ("Unmeasured readings of a claim", keys::<claims::Unmeasured>(), vec![]),
        ("Recomputations of a claim", keys::<claims::Recomputation>(), vec![]),
        ("Errata of no claim", keys::<claims::Erratum>(), vec![]),
    ];
    let page = include_str!("../../src/contributing/page-language.md");
    let mut documented = page.split("\n#").filter_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let entries = text.lines().filter_map(|line| line.strip_prefix("- `"));
        let names = entries.filter_map(|entry| Some(entry.split_once('`')?.0));
        let names: Vec<&str> = names.filter(|name| !name.starts_with("{{")).collect();
        let heading = heading.trim_start_matches('#').trim();
        (!names.is_empty()).then_some((heading, names))
    });
    for (heading, keys, others) in &sections {
        let (found, mut documented) = documented.next().expect(heading);
        let mut names: Vec<&str> = keys.iter().chain(others).map(|n| &**n).collect();
        names.sort_unstable();
        documented.sort_unstable();
        assert_eq!((found, documented), (*heading, names));
    }
    assert_eq!(documented.next(), None);
}
