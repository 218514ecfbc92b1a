//! The account of the reader's machine as HTML.

use super::{Account, Difference, Differences, OtherVerdict, checked};
use crate::claims::Findings;
use crate::goals::GoalHere;
use crate::html::{escape, prose};
use crate::records::Records;
use crate::scorecard;

/// The account as HTML. `root` leads from the page to the book's root.
pub fn html(
    account: Option<&Account>,
    findings: &Findings,
    records: &Records,
    root: &str,
) -> Result<String, String> {
    let Some(account) = account else {
        let label = records.references().first().map_or("", |machine| &machine.label);
        let checked = checked(records.results()).unwrap_or_default();
        return Ok(format!(
            "<p>Nothing was measured here yet, so these are the {}'s. With an NVIDIA GPU, \
             <code>cargo workbook run</code> measures, and without one <code>cargo workbook \
             import</code> takes over what another machine has measured; then the book is built \
             again.</p>\n<p>{checked}</p>\n",
            escape(label)
        ));
    };
    let mut html = format!("<p>{}</p>\n", escape(&account.of_records()));
    for said in [account.of_single_runs(), account.of_quick_runs()].into_iter().flatten() {
        html += &format!("<p>{said}</p>\n");
    }
    let lacking = account.lacking.iter().map(|lacking| escape(&lacking.sentence()));
    html += &list("<p>Experiments that are not recorded:</p>", lacking);
    let skipped = account.skipped.iter().map(|skipped| escape(&skipped.sentence()));
    html += &list("<p>Cases that could not be measured:</p>", skipped);
    let above = account
        .above_peak
        .iter()
        .map(|(case, share)| format!("{}: {} of the peak", escape(case), escape(share)));
    html += &list("<p>Above the theoretical peak, so wrong, not fast:</p>", above);
    html += &match account.is_reference {
        true => "<p>It is a reference machine: what the book says of it is of all its \
                 runs.</p>\n"
            .to_owned(),
        false => {
            verdicts_html(account, findings, records, root)?
                + &differences_html(&account.differences, root)
        }
    };
    html += &goals_html(account, root);
    let next = account
        .next
        .iter()
        .map(|(command, what)| format!("<code>{}</code>: {}", escape(command), prose(what)));
    Ok(html + &list("<h2 id=\"next\">Next</h2>", next))
}

/// A list under its heading; nothing if it is empty.
fn list(heading: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    if items.is_empty() { String::new() } else { format!("{heading}\n<ul>\n{items}</ul>\n") }
}

fn verdicts_html(
    account: &Account,
    findings: &Findings,
    records: &Records,
    root: &str,
) -> Result<String, String> {
    let mut items = vec![];
    for OtherVerdict { id, says, because, .. } in &account.verdicts {
        let badge = scorecard::badge(findings.entry(id)?, records, root);
        let because = because.iter().map(|why| prose(why));
        items.push(format!("{badge} {}{}", prose(says), list("", because)));
    }
    let heading = "<h2 id=\"verdicts\">Verdicts</h2>";
    let said = format!("{heading}\n<p>{}</p>\n", account.of_verdicts());
    Ok(said + &list("", items.into_iter()))
}

fn differences_html(differences: &Differences, root: &str) -> String {
    let item = |difference: &Difference| {
        let Difference { experiment, page, case, label, reference, here, speed } = difference;
        let name = escape(experiment);
        let name = page
            .as_ref()
            .map_or(name.clone(), |page| format!("<a href=\"{root}{page}\">{name}</a>"));
        let [speed, case, here] = [speed, case, here].map(|text| escape(text));
        format!(
            "<span class=\"value\">{speed}</span> as fast: {name}, {case}: {here} \
             <span class=\"beside\">({}: {})</span>",
            escape(label),
            escape(reference),
        )
    };
    let heading = "<h2 id=\"differences\">Differences</h2>";
    let said = format!("{heading}\n<p>{}</p>\n", escape(&differences.sentence()));
    said + &list("", differences.largest.iter().map(item))
}

fn goals_html(account: &Account, root: &str) -> String {
    let item = |GoalHere { what, page, achieved, required, outcome }: &GoalHere| {
        format!(
            "{} <a href=\"{root}{page}\">{}</a>: <span class=\"value\">{}</span>, required {}",
            outcome.badge(),
            prose(what),
            escape(achieved),
            escape(required).replace(' ', "\u{a0}"),
        )
    };
    let counts = account.of_goals();
    let heading = format!("<h2 id=\"goals\">Goals</h2>\n<p class=\"counts\">{counts}</p>");
    list(&heading, account.goals.iter().map(item))
}
