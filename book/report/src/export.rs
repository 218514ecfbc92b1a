//! All claims with their tests as data, for those who want to count for themselves.

use serde::Serialize;
use serde_json::Value;

use crate::claims::{Compared, Entry, Findings, Test, Unmeasured};

/// The file with a line for each test of each claim.
pub const CSV: &str = "claims.csv";
/// The file with all that is known of each claim.
pub const JSON: &str = "claims.json";

const HEADS: [&str; 20] = [
    "id",
    "section",
    "verdict",
    "verdict_here",
    "page",
    "source",
    "says",
    "what",
    "reading",
    "unit",
    "relation",
    "claimed",
    "tolerance",
    "measured",
    "measured_low",
    "measured_high",
    "claimed_here",
    "measured_here",
    "measured_here_low",
    "measured_here_high",
];

#[derive(Serialize)]
struct Claim<'l> {
    id: &'l str,
    section: &'l str,
    source: &'l str,
    says: &'l str,
    japanese: &'l str,
    page: Option<&'l str>,
    verdict: &'static str,
    verdict_here: Option<&'static str>,
    erratum: Option<&'l str>,
    tests: Vec<Line<'l>>,
    unmeasured: &'l [Unmeasured],
    recomputations: Vec<Recomputation<'l>>,
}

#[derive(Serialize)]
struct Recomputation<'l> {
    what: &'l str,
    expression: &'l str,
    result: f64,
    unit: &'l str,
    printed: Option<f64>,
}

/// A test, with its numbers in the claim's unit; those without `here` are the reference
/// machine's.
#[derive(Default, Serialize)]
struct Line<'l> {
    what: &'l str,
    reading: Option<&'l str>,
    unit: &'l str,
    relation: &'static str,
    claimed: Option<f64>,
    tolerance: Option<f64>,
    measured: Option<f64>,
    measured_low: Option<f64>,
    measured_high: Option<f64>,
    claimed_here: Option<f64>,
    measured_here: Option<f64>,
    measured_here_low: Option<f64>,
    measured_here_high: Option<f64>,
}

/// The files of [`CSV`] and [`JSON`], by their names.
pub fn files(findings: &Findings) -> anyhow::Result<Vec<(&'static str, String)>> {
    let claims: Vec<Claim> = findings.entries.iter().map(claim).collect();
    let mut lines = csv::Writer::from_writer(vec![]);
    lines.write_record(HEADS)?;
    for claim in &claims {
        let untested = [Line::default()];
        let tests = if claim.tests.is_empty() { &untested[..] } else { &claim.tests };
        let of_claim = serde_json::to_value(claim)?;
        for test in tests {
            let of_test = serde_json::to_value(test)?;
            lines.write_record(HEADS.map(|head| {
                let found = of_test.get(head).or(of_claim.get(head)).unwrap_or(&Value::Null);
                let text = found.as_str().map(str::to_owned);
                let text = text.or(found.as_f64().map(|number| number.to_string()));
                text.unwrap_or_default()
            }))?;
        }
    }
    let lines = String::from_utf8(lines.into_inner()?)?;
    Ok(vec![(CSV, lines), (JSON, serde_json::to_string_pretty(&claims)? + "\n")])
}

fn claim(entry: &Entry) -> Claim<'_> {
    let Entry { claim, verdict, compared, recomputed } = entry;
    let recomputations = claim.recomputations.iter().zip(recomputed);
    Claim {
        id: &claim.id,
        section: &claim.section,
        source: &claim.source,
        says: &claim.says,
        japanese: &claim.japanese,
        page: claim.page.as_deref(),
        verdict: verdict.reference.words(),
        verdict_here: verdict.own().map(|verdict| verdict.words()),
        erratum: claim.erratum.as_deref(),
        tests: claim.tests.iter().zip(compared).map(|(t, c)| line(t, c)).collect(),
        unmeasured: &claim.unmeasured,
        recomputations: recomputations
            .map(|(recomputation, &result)| Recomputation {
                what: &recomputation.what,
                expression: &recomputation.expression,
                result,
                unit: &recomputation.unit,
                printed: recomputation.printed,
            })
            .collect(),
    }
}

fn line<'l>(test: &'l Test, compared: &Compared) -> Line<'l> {
    let Compared { measured, claimed } = compared;
    let scale = measured.unit.scale_of(&test.unit).unwrap_or(f64::NAN);
    let own = measured.value.own();
    let reference = &measured.value.reference;
    Line {
        what: &test.what,
        reading: test.reading.as_deref(),
        unit: &test.unit,
        relation: if test.more_than.is_some() { "more than" } else { "about" },
        claimed: Some(claimed.reference / scale),
        tolerance: test.tolerance,
        measured: Some(reference.value / scale),
        measured_low: Some(reference.low / scale),
        measured_high: Some(reference.high / scale),
        claimed_here: claimed.own().map(|claimed| claimed / scale),
        measured_here: own.map(|own| own.value / scale),
        measured_here_low: own.map(|own| own.low / scale),
        measured_here_high: own.map(|own| own.high / scale),
    }
}
