//! The whole book for machines unlike the references: their records are the reference's, with
//! other times. What the pages say of numbers is a condition, which has to be tried there, and
//! what is not so there must not be said of them.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "support/checkout.rs"]
mod checkout;

use std::collections::BTreeMap;
use std::fs;

use checkout::{Checkout, copy_records, stretch};
use serde_json::json;
use walkdir::WalkDir;

/// The runs of the reference machine whose records the others are made from: the counters, all
/// experiments by one revision, the exercises, and what has got cases since.
const RUNS: [&str; 4] =
    ["results/h200", "results/h200/host-r", "results/h200/host-l", "results/h200/host-u"];

/// The reference's records as of a machine with half the memory bandwidth and a link of PCI
/// Express 4.0 in place of 5.0. `more` says how many times as long a case takes besides; it gets the
/// number of the case.
fn simulate(checkout: &Checkout, more: impl Fn(u64) -> f64) {
    let mut number = 0;
    copy_records(checkout, &RUNS, "results/simulated", |record| {
        record["machine"]["name"] = json!("simulated");
        let gpu = &mut record["machine"]["gpus"][0];
        gpu["name"] = json!("NVIDIA Simulated");
        gpu["memory_bus_bits"] = json!(gpu["memory_bus_bits"].as_u64().unwrap() / 2);
        for generation in ["generation", "max_generation"] {
            gpu["pcie"][generation] = json!(4);
        }
        stretch(record, |case| {
            number += 1;
            let is_bound = case["ceiling"] != "none";
            if is_bound { 2.0 * more(number) } else { more(number) }
        });
    });
}

/// The pages of the book for that machine: path and HTML.
fn book(checkout: &Checkout) -> BTreeMap<String, String> {
    checkout.run("build --machine simulated").succeeds();
    let html = checkout.path("book/html");
    let files = WalkDir::new(&html).into_iter().map(Result::unwrap);
    let pages = files.filter(|f| f.path().extension().is_some_and(|e| e == "html"));
    let page = |file: walkdir::DirEntry| {
        let name = file.path().strip_prefix(&html).unwrap().display().to_string();
        (name, fs::read_to_string(file.path()).unwrap())
    };
    pages.map(page).collect()
}

/// How many sentences of the book are said of the references alone.
fn elsewhere(pages: &BTreeMap<String, String>) -> usize {
    let page = |html: &String| html.matches("class=\"elsewhere\"").count();
    pages.iter().filter(|(name, _)| *name != "print.html").map(|(_, h)| page(h)).sum()
}

#[test]
fn a_machine_of_half_the_bandwidth_gets_a_book_about_itself() {
    let checkout = Checkout::new();
    simulate(&checkout, |_| 1.0);
    let pages = book(&checkout);
    // It has measured what the pages on one GPU ask for, so each condition is tried on it, and
    // no number of theirs is the reference's alone.
    let of_one_gpu = pages.iter().filter(|(name, _)| {
        let folder = name.split('/').next().unwrap_or_default();
        let one = ["access-patterns", "host-memory", "memory-pools", "streams", "transfers"];
        one.contains(&folder)
    });
    let mut compared = 0;
    for (name, html) in of_one_gpu {
        for lacking in ["<span class=\"beside\">(H200)</span>", "class=\"elsewhere\">On the H200: "]
        {
            let at = html.find(lacking).map(|at| &html[at..(at + 300).min(html.len())]);
            assert_eq!(at, None, "{name} takes a number from the H200");
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
    // The chapter's row for its link judges it.
    let scorecard = &pages["scorecard.html"];
    let row = scorecard.split("id=\"C01\"").nth(1).unwrap();
    let row = row.split("</div>").next().unwrap().replace('\u{a0}', " ");
    assert!(row.contains("measured, 25.0 GB/s"), "{row}");
    // The page on it counts what the others say.
    let account = &pages["this-machine.html"];
    for part in ["Simulated (this machine)", "id=\"goals\"", "id=\"differences\""] {
        assert!(account.contains(part), "no {part} in {account}");
    }
    let pcie = &pages["transfers/transfer-latency.html"];
    assert!(pcie.contains("The link is PCI Express, generation"), "{pcie}");
    assert!(elsewhere(&pages) > 0);
    for (name, html) in &pages {
        for said in html.split("class=\"elsewhere\">").skip(1) {
            let sentence = said.split_once(": ").map_or("", |(_, sentence)| sentence);
            let mut letters = sentence.chars();
            let is_big = letters.next().is_some_and(char::is_uppercase);
            let begins = is_big && letters.next().is_some_and(char::is_lowercase);
            assert!(!begins, "{name}: a capital after a colon: {sentence:.60}");
        }
    }
}

/// No case keeps its proportion to another: what is said of many pages is broken, and the book
/// is built all the same.
#[test]
fn a_machine_on_which_nothing_is_as_expected_gets_a_book() {
    let checkout = Checkout::new();
    simulate(&checkout, |number| [0.1, 10.0, 1.0, 0.3, 3.0, 30.0, 0.03][number as usize % 7]);
    let broken = elsewhere(&book(&checkout));
    assert!(broken > 30, "{broken} sentences of the book are said of the H200 alone");
}
