//! `{{this-machine}}`: what the reader's machine has beside the references: verdicts that are
//! others, the largest differences, what was skipped.

use std::collections::{BTreeMap, BTreeSet};

use crate::claims::Ledger;
use crate::compare::{Case, Experiment, Outcome};
use crate::html::{escape, prose};
use crate::records::{self, Here, Machine, Records};
use crate::scorecard;

/// So many differences are listed.
const MOST: usize = 10;
/// Less is none.
const THRESHOLD: f64 = 0.05;

/// The page's content. `root` leads from the page to the book's root.
pub fn expand(ledger: &Ledger, records: &Records, root: &str) -> String {
    let Some(own) = &records.here else {
        return "<p>Nothing was measured here yet. <code>cargo workbook run</code> measures what \
                this machine can measure and builds the book again.</p>\n"
            .to_owned();
    };
    let is_reference =
        records.references().iter().any(|machine| machine.name == own.name);
    if is_reference {
        return format!(
            "<p>This machine, <code>{}</code>, is a reference machine: what the book says of it \
             is of all its runs.</p>\n",
            escape(&own.name)
        );
    }
    measured(own, records)
        + &verdicts(ledger, records, root)
        + &differences(own, records)
}

/// What it recorded, and what it could not.
fn measured(own: &Machine, records: &Records) -> String {
    let known: BTreeSet<&str> = records
        .references()
        .iter()
        .flat_map(|machine| machine.experiments())
        .collect();
    let lacks =
        |name: &&&str| !name.ends_with("-counters") && own.record(name).is_err();
    let lacking: Vec<&str> = known.iter().filter(lacks).copied().collect();
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for name in own.experiments() {
        for case in own.record(name).iter().flat_map(|record| &record.skipped) {
            *skipped.entry(&case.reason).or_default() += 1;
        }
    }
    let mut html = format!(
        "<p>{} ({}): {} experiments are recorded.</p>\n",
        escape(&own.label),
        escape(&own.whose()),
        own.experiments().count()
    );
    if !lacking.is_empty() {
        let list = lacking.join(", ");
        html += &format!("<p>Not recorded: {}.</p>\n", escape(&list));
    }
    if !skipped.is_empty() {
        html += "<p>Cases that could not be measured:</p>\n<ul>\n";
        for (reason, count) in skipped {
            html += &format!("<li>{count}: {}</li>\n", escape(reason));
        }
        html += "</ul>\n";
    }
    html
}

fn verdicts(ledger: &Ledger, records: &Records, root: &str) -> String {
    let differs = ledger.entries.iter().filter(|entry| match &entry.verdict.here {
        Here::Has(here) => *here != entry.verdict.reference,
        Here::Same | Here::Lacking => false,
    });
    let items: Vec<String> = differs
        .map(|entry| {
            format!(
                "<li>{} {}</li>\n",
                scorecard::badge(entry, records, root),
                prose(&entry.claim.says)
            )
        })
        .collect();
    match items.is_empty() {
        true => "<p>Every claim that it can try has the reference's verdict.</p>\n"
            .to_owned(),
        false => format!(
            "<h2 id=\"verdicts\">Verdicts that are others here</h2>\n<ul>\n{}</ul>\n",
            items.concat()
        ),
    }
}

/// The cases that differ most from the reference's.
fn differences(own: &Machine, records: &Records) -> String {
    let references = records.references();
    let mut cases: Vec<(&str, Case)> = vec![];
    for name in own.experiments() {
        let Ok((_, reference)) = records::recorded(&references, name, None) else {
            continue;
        };
        let Ok(here) = own.record(name) else { continue };
        let of_both = Experiment::of(name, reference, here);
        let decided = of_both.cases.into_iter().filter(|case| {
            matches!(case.outcome(THRESHOLD), Outcome::Faster | Outcome::Slower)
        });
        cases.extend(decided.map(|case| (name, case)));
    }
    if cases.is_empty() {
        return "<p>No case differs from the reference's by more than the runs do.</p>\n".to_owned();
    }
    let count = cases.len();
    let distance = |case: &Case| case.speedup.value.ln().abs();
    cases.sort_by(|(_, a), (_, b)| distance(b).total_cmp(&distance(a)));
    let mut html = format!(
        "<h2 id=\"differences\">The largest differences</h2>\n\
         <p>Of {count} cases that are faster or slower here by more than 5 %.</p>\n\
         <div class=\"table\">\n<table>\n<thead><tr><th scope=\"col\">Experiment</th>\
         <th scope=\"col\">Case</th><th scope=\"col\" class=\"number\">Reference</th>\
         <th scope=\"col\" class=\"number\">Here</th>\
         <th scope=\"col\" class=\"number\">Speed</th></tr></thead>\n<tbody>\n"
    );
    for (name, case) in cases.iter().take(MOST) {
        let (reference, here) = &case.values;
        html += &format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
            escape(name),
            escape(&case.name),
            escape(&reference.print(&case.unit)),
            escape(&here.print(&case.unit)),
            escape(&crate::unit::Unit::Ratio.print(case.speedup.value))
        );
    }
    html + "</tbody>\n</table>\n</div>\n"
}
