//! Claims as HTML: the badge in a sentence, the quotation, the overview of all, the
//! scorecard of a section, the errata.

use std::collections::BTreeMap;

use crate::both::borrowed;
use crate::claims::{
    Claim, Compared, Entry, Erratum, Findings, Recomputation, Unmeasured, Verdict,
};
use crate::export::{CSV, JSON};
use excerpt::names::capitalised;

use crate::html::{escape, prose};
use crate::page::{Page, find};
use crate::quantity::Quantity;
use crate::records::Records;
use crate::unit::Unit;

const PAGE: &str = "scorecard.html";

/// A claim's verdict in a sentence. `root` leads from the page to the book's root.
pub fn badge(entry: &Entry, records: &Records, root: &str) -> String {
    let id = &entry.claim.id;
    records.sentence(&entry.verdict, |verdict, beside| {
        let text = match beside {
            true => verdict.words().to_owned(),
            false => format!("{id} · {}", verdict.words()),
        };
        format!("<a class=\"verdict {}\" href=\"{root}{PAGE}#{id}\">{text}</a>", verdict.class())
    })
}

/// What a page says behind the first of its verdicts that rests on one run: it is provisional, and
/// so are `others` after it.
pub fn provisional(others: bool) -> &'static str {
    match others {
        true => " <span class=\"beside\">(provisional, as others below: of one run)</span>",
        false => " <span class=\"beside\">(provisional: of one run)</span>",
    }
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

/// Every claim in a small cell of its verdict's colour and mark, and what chooses which
/// verdicts are shown. With `downloads` also the files of [`crate::export`]. On a page that does
/// not list the claims, to which `elsewhere` leads from its root, all of it are links.
pub fn overview(
    findings: &Findings,
    downloads: bool,
    elsewhere: Option<&str>,
) -> Result<String, String> {
    if findings.entries.is_empty() {
        return Err("there are no claims".to_owned());
    }
    let counts = counts(findings.entries.iter());
    let page = elsewhere.map_or(String::new(), |root| format!("{root}{PAGE}"));
    let choice = |class: &str, name: &str, count: usize, checked: &str| {
        if elsewhere.is_some() {
            return format!(
                "<a class=\"verdict {class}\" href=\"{page}\">{name} \
                 <span class=\"count\">{count}</span></a>\n"
            );
        }
        format!(
            "<label class=\"verdict {class}\"><input type=\"radio\" name=\"verdicts\" \
             value=\"{class}\"{checked}>{name} <span class=\"count\">{count}</span></label>\n"
        )
    };
    let mut html = format!(
        "<div class=\"overview\">\n<fieldset>\n<legend>{} claims</legend>\n{}",
        findings.entries.len(),
        choice("all", "all", findings.entries.len(), " checked")
    );
    for (verdict, count) in counts {
        html += &choice(&verdict.class(), verdict.words(), count, "");
    }
    html += "</fieldset>\n";
    let provisional = findings.provisional().count();
    if elsewhere.is_none() && provisional > 0 {
        html += &format!(
            "<p>{} provisional: it rests on one run, which does not tell how the next would \
             differ.</p>\n",
            match provisional {
                1 => "One verdict is".to_owned(),
                n => format!("Each of {n} verdicts is"),
            }
        );
    }
    html += "<dl>\n";
    let mut sections: Vec<&str> = vec![];
    for entry in &findings.entries {
        let section = entry.claim.section.as_str();
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    for section in sections {
        html += &format!("<dt>{}</dt><dd><ul>", escape(section));
        for Entry { claim, verdict, .. } in of_section(findings, section) {
            let (class, words) = (verdict.first().class(), verdict.first().words());
            html += &format!(
                "<li><a class=\"verdict {class}\" href=\"{page}#{id}\" title=\"{id}, {words}: {}\" \
                 aria-label=\"{id}, {words}\"></a></li>",
                escape(&claim.says),
                id = claim.id
            );
        }
        html += "</ul></dd>\n";
    }
    html += "</dl>\n";
    if downloads {
        html += &format!(
            "<p class=\"downloads\">All claims with their tests: \
             <a href=\"{CSV}\" download>CSV</a> · <a href=\"{JSON}\" download>JSON</a></p>\n"
        );
    }
    Ok(html + "</div>\n")
}

fn of_section<'l>(findings: &'l Findings, section: &str) -> impl Iterator<Item = &'l Entry> {
    findings.entries.iter().filter(move |entry| entry.claim.section == section)
}

fn counts<'l>(entries: impl Iterator<Item = &'l Entry>) -> BTreeMap<Verdict, usize> {
    let mut counts = BTreeMap::new();
    for entry in entries {
        *counts.entry(*entry.verdict.first()).or_insert(0) += 1;
    }
    counts
}

pub fn section(
    section: &str,
    findings: &Findings,
    records: &Records,
    pages: &[Page],
    root: &str,
) -> Result<String, String> {
    let entries: Vec<&Entry> = of_section(findings, section).collect();
    if entries.is_empty() {
        return Err("no claim is of this section".to_owned());
    }
    let counts: Vec<_> = counts(entries.iter().copied())
        .into_iter()
        .map(|(verdict, count)| match (verdict.words(), count) {
            ("erratum", 2..) => format!("{count} errata"),
            (words, _) => format!("{count} {words}"),
        })
        .collect();
    let borrowed = borrowed(entries.iter().map(|entry| &entry.verdict));
    let rows: String = entries.iter().map(|entry| row(entry, records, pages, root)).collect();
    let quick = match records.here.as_ref().filter(|here| here.is_quick()) {
        Some(here) => format!(
            "<p class=\"counts\">Some of what was measured on {} was measured quickly, with \
             fewer samples: verdicts to try, not to quote.</p>\n",
            escape(&here.called())
        ),
        None => String::new(),
    };
    Ok(format!(
        "<p class=\"counts\">{} claims: {}{borrowed}.</p>\n{quick}<div class=\"scorecard\">\n{rows}</div>\n",
        entries.len(),
        counts.join(", ")
    ))
}

/// A claim in a line, which opens. Its id is inside: a link to it has the browser open it.
fn row(entry: &Entry, records: &Records, pages: &[Page], root: &str) -> String {
    let Entry { claim, verdict, compared, .. } = entry;
    let value = |Compared { measured, .. }: &Compared| {
        let Quantity { unit, value, .. } = measured;
        records.sentence(value, |value, _| escape(&value.print(unit)))
    };
    let mut found = String::new();
    for (test, compared) in claim.tests.iter().zip(compared) {
        let Quantity { unit, value: measured, .. } = &compared.measured;
        let how = if measured.from.is_empty() { "computed" } else { "measured" };
        let is_open = |v: &Verdict| matches!(v, Verdict::Undecided | Verdict::NotReproduced);
        let undecided = compared.verdict(test).each().any(|(v, _)| is_open(v));
        let about = test.about.as_ref().map_or(String::new(), |a| format!(" ({a})"));
        let reading = test.reading.as_ref();
        let reading = reading.map_or(String::new(), |r| format!("Read as “{r}”: "));
        found += &format!(
            "<p>{}<span class=\"value\">{}</span> {how}, {}{} claimed: {}</p>",
            prose(&reading),
            if undecided { interval(compared, records) } else { value(compared) },
            records.sentence(&compared.claimed, |value, _| escape(&test.claim(*value, unit))),
            prose(&about),
            prose(&test.what)
        );
    }
    for Unmeasured { reading, what } in &claim.unmeasured {
        let (reading, what) = (prose(reading), prose(what));
        found += &format!("<p>Read as “{reading}”, not measured here: {what}</p>");
    }
    if let Some(correct) = &claim.erratum {
        found += &format!("<p class=\"correct\">{}</p>", prose(correct));
    }
    if let Some(why) = &claim.outside {
        found += &format!("<p>{}</p>", prose(why));
    }
    if entry.is_provisional() {
        found += "<p>Provisional: of one run.</p>";
    }
    if let Some(page) = claim.page.as_ref().and_then(|name| find(pages, name)) {
        found += &format!(
            "<p>Tried on <a href=\"{root}{}\">{}</a></p>",
            page.html(),
            escape(&page.title)
        );
    }
    if !claim.recomputations.is_empty() {
        found += &folded("Recomputed", &recomputations(entry));
    }
    let japanese = format!("<p lang=\"ja\">{}</p>", escape(&claim.japanese));
    found += &folded(&capitalised(&escape(&claim.source)), &japanese);
    format!(
        "<details class=\"claim {class}\"><summary><span class=\"id\">{id}</span> \
         <span class=\"verdicts\">{verdict}</span> <span class=\"says\">{}</span> \
         <span class=\"measured\">{}</span></summary><div id=\"{id}\">{found}</div></details>\n",
        prose(&claim.says),
        compared.first().map_or(String::new(), value),
        class = verdict.first().class(),
        id = claim.id,
        verdict = records.sentence(verdict, |verdict, _| format!(
            "<span class=\"verdict {}\">{}</span>",
            verdict.class(),
            verdict.words()
        )),
    )
}

/// What is known of a number that its runs leave undecided.
fn interval(compared: &Compared, records: &Records) -> String {
    let Quantity { unit, value, .. } = &compared.measured;
    records.sentence(value, |value, beside| {
        if beside {
            return escape(&value.print(unit));
        }
        let ends = unit.print_range(value.low, value.high);
        escape(&format!("{} (95%: {ends})", unit.print(value.value)))
    })
}

fn folded(summary: &str, inside: &str) -> String {
    format!("<details class=\"source\"><summary>{summary}</summary>{inside}</details>")
}

/// Every erratum of the book: first the claims that are one, then the others.
pub fn errata(findings: &Findings, root: &str) -> Result<String, String> {
    let mut items = String::new();
    let source =
        |section: &str, source: &str| format!("Section {}, {}", escape(section), escape(source));
    for entry in &findings.entries {
        let claim = &entry.claim;
        let Some(correct) = &claim.erratum else { continue };
        let inside = format!(
            "<div><p class=\"correct\">{}</p>{}\
             <p class=\"source\">{}: <a href=\"{root}{PAGE}#{id}\">claim {id}</a></p></div>",
            prose(correct),
            recomputations(entry),
            source(&claim.section, &claim.source),
            id = claim.id
        );
        items += &erratum(&claim.id, &claim.says, &inside);
    }
    for Erratum { id, section, source: from, says, correct, evidence } in &findings.errata {
        let inside = format!(
            "<div id=\"{id}\"><p class=\"correct\">{}</p><p class=\"evidence\">{}</p>\
             <p class=\"source\">{}</p></div>",
            prose(correct),
            prose(evidence),
            source(section, from)
        );
        items += &erratum(id, says, &inside);
    }
    if items.is_empty() {
        return Err("there are no errata".to_owned());
    }
    Ok(format!("<div class=\"errata\">\n{items}</div>\n"))
}

fn erratum(id: &str, says: &str, inside: &str) -> String {
    format!(
        "<details class=\"claim\"><summary><span class=\"id\">{id}</span> \
         <span class=\"says\">{}</span></summary>{inside}</details>\n",
        prose(says)
    )
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
