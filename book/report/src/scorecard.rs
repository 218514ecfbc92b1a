//! Claims as HTML: the badge in a sentence, the quotation, the scorecard of a section,
//! the errata.

use std::collections::BTreeMap;

use crate::claims::{Claim, Compared, Entry, Ledger, Recomputation, Verdict};
use crate::html::{capitalised, escape, prose};
use crate::page::{Page, find};
use crate::quantity::Quantity;
use crate::records::Records;
use crate::unit::Unit;

/// The page on which the scorecard stands.
const PAGE: &str = "scorecard.html";

/// A claim's verdict in a sentence. `root` leads from the page to the book's root.
pub fn badge(entry: &Entry, records: &Records, root: &str) -> String {
    let id = &entry.claim.id;
    entry.verdict.sentence(records, |verdict, beside| {
        let text = match beside {
            true => verdict.words().to_owned(),
            false => format!("{id} · {}", verdict.words()),
        };
        link(*verdict, &format!("{root}{PAGE}#{id}"), &text)
    })
}

/// A claim's text with its source.
pub fn quotation(claim: &Claim, root: &str) -> String {
    format!(
        "<blockquote class=\"claim\">\n<p>{}</p>\n<p lang=\"ja\">{}</p>\n\
         <footer>{} · <a href=\"{root}{PAGE}#{id}\">{id}</a></footer>\n</blockquote>\n",
        prose(&claim.says),
        escape(&claim.japanese),
        escape(&claim.source),
        id = claim.id,
    )
}

/// The claims of one section.
pub fn section(
    section: &str,
    ledger: &Ledger,
    records: &Records,
    pages: &[Page],
    root: &str,
) -> Result<String, String> {
    let of_section = |entry: &&Entry| entry.claim.section == section;
    let entries: Vec<&Entry> = ledger.entries.iter().filter(of_section).collect();
    if entries.is_empty() {
        return Err("no claim is of this section".to_owned());
    }
    let mut counts = BTreeMap::new();
    for entry in &entries {
        *counts.entry(*entry.verdict.first()).or_insert(0) += 1;
    }
    let counts: Vec<_> =
        counts.iter().map(|(v, n)| format!("{n} {}", v.words())).collect();
    let rows: String =
        entries.iter().map(|entry| row(entry, records, pages, root)).collect();
    let quick = match records.here.as_ref().filter(|here| here.is_quick()) {
        Some(here) => format!(
            "<p class=\"counts\">Some of what was measured on {} was measured quickly, with \
             fewer samples and smaller sizes: verdicts to try, not to quote.</p>\n",
            escape(&here.whose())
        ),
        None => String::new(),
    };
    Ok(format!(
        "<p class=\"counts\">{} claims: {}.</p>\n{quick}<div class=\"table\">\n<table class=\"scorecard\">\n<thead><tr>\
         <th scope=\"col\">Claim</th><th scope=\"col\">Verdict</th>\
         <th scope=\"col\">What the source says</th>\
         <th scope=\"col\">Claimed and measured</th>\
         </tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
        entries.len(),
        counts.join(", ")
    ))
}

fn row(entry: &Entry, records: &Records, pages: &[Page], root: &str) -> String {
    let Entry { claim, verdict, .. } = entry;
    let mut says = format!(
        "<p>{}</p><details class=\"source\"><summary>{}</summary>\
         <p lang=\"ja\">{}</p></details>",
        prose(&claim.says),
        capitalised(&escape(&claim.source)),
        escape(&claim.japanese)
    );
    if let Some(correct) = &claim.erratum {
        says += &format!("<p class=\"correct\">{}</p>", prose(correct));
    }
    says += &recomputations(entry);

    let mut found = String::new();
    for (test, Compared { measured, claimed }) in
        claim.tests.iter().zip(&entry.compared)
    {
        let Quantity { unit, value, .. } = measured;
        let about = test.about.as_ref().map_or(String::new(), |a| format!(" ({a})"));
        let reading = test.reading.as_ref();
        let reading = reading.map_or(String::new(), |r| format!("Read as “{r}”: "));
        found += &format!(
            "<p>{}{}: claimed {}{}, measured <span class=\"value\">{}</span></p>",
            prose(&reading),
            prose(&test.what),
            claimed.sentence(records, |value, _| escape(&test.claim(*value, unit))),
            prose(&about),
            value.sentence(records, |value, _| escape(&value.print(unit)))
        );
    }
    if let Some(why) = &claim.outside {
        found += &format!("<p>{}</p>", prose(why));
    }
    if let Some(experiment) = &claim.awaits {
        found += &format!(
            "<p>Awaits the experiment <code>{}</code></p>",
            escape(experiment)
        );
    }

    let page = claim.page.as_ref().and_then(|name| find(pages, name));
    let verdict = verdict.sentence(records, |verdict, _| match page {
        Some(page) => {
            link(*verdict, &format!("{root}{}", page.html()), verdict.words())
        }
        None => {
            let (class, words) = (verdict.class(), verdict.words());
            format!("<span class=\"verdict {class}\">{words}</span>")
        }
    });
    format!(
        "<tr id=\"{id}\"><th scope=\"row\">{id}</th><td>{verdict}</td>\
         <td>{says}</td><td>{found}</td></tr>\n",
        id = claim.id
    )
}

/// Every erratum of the book: first the claims that are one, then the others.
pub fn errata(ledger: &Ledger, root: &str) -> Result<String, String> {
    let mut items = String::new();
    for entry in &ledger.entries {
        let claim = &entry.claim;
        let Some(correct) = &claim.erratum else { continue };
        items += &format!(
            "<li><p><a href=\"{root}{PAGE}#{id}\">{id}</a> \
             (section {}, {}): {}</p><p class=\"correct\">{}</p>{}</li>\n",
            escape(&claim.section),
            escape(&claim.source),
            prose(&claim.says),
            prose(correct),
            recomputations(entry),
            id = claim.id
        );
    }
    for erratum in &ledger.errata {
        items += &format!(
            "<li id=\"{id}\"><p>{id} (section {}, {}): {}</p>\
             <p class=\"correct\">{}</p><p class=\"evidence\">{}</p></li>\n",
            escape(&erratum.section),
            escape(&erratum.source),
            prose(&erratum.says),
            prose(&erratum.correct),
            prose(&erratum.evidence),
            id = erratum.id
        );
    }
    if items.is_empty() {
        return Err("there are no errata".to_owned());
    }
    Ok(format!("<ul class=\"errata\">\n{items}</ul>\n"))
}

fn recomputations(entry: &Entry) -> String {
    let number = |value: f64, unit: &str| {
        let space = if unit.is_empty() || unit == "×" { "" } else { " " };
        escape(&format!("{}{space}{unit}", Unit::Number.print(value)))
    };
    let line = |(r, value): (&Recomputation, &f64)| {
        let printed = r.printed.map_or(String::new(), |printed| {
            format!("; the source prints {}", number(printed, &r.unit))
        });
        format!(
            "<p class=\"recomputed\">{}: <code>{}</code> = {}{printed}</p>",
            prose(&r.what),
            escape(&r.expression),
            number(*value, &r.unit)
        )
    };
    entry.claim.recomputations.iter().zip(&entry.recomputed).map(line).collect()
}

fn link(verdict: Verdict, to: &str, text: &str) -> String {
    format!("<a class=\"verdict {}\" href=\"{to}\">{text}</a>", verdict.class())
}
