//! The source's claims, their verdicts and the rules they must keep. A verdict is never
//! written: it follows from a claim's tests and the quantities of its page.

use std::collections::{BTreeMap, BTreeSet};

use record::expression::{Expression, Operand};
use record::file::visible;
use serde::{Deserialize, Serialize};

use crate::both::{Alike, Both};
use crate::estimate::Estimate;
use crate::page::{Page, find};
use crate::quantity::Quantity;
use crate::unit::Unit;

/// `claims.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// Statements that are put to a test, or will be.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Mistakes that belong to no claim.
    #[serde(default, rename = "erratum")]
    pub errata: Vec<Erratum>,
}

/// One statement of a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Unique, such as `C11`.
    pub id: String,
    pub section: String,
    /// Which source, which lines.
    pub source: String,
    pub says: String,
    /// The source's own words, without its markup.
    pub japanese: String,
    /// Stem of the page on which it is tried.
    pub page: Option<String>,
    /// Why nothing in this book tries it.
    pub outside: Option<String>,
    /// What is right, if the statement is wrong as it stands.
    pub erratum: Option<String>,
    #[serde(default, rename = "test")]
    pub tests: Vec<Test>,
    /// Readings of it that nothing here tries: with one, no other decides.
    #[serde(default)]
    pub unmeasured: Vec<Unmeasured>,
    /// Arithmetic that anyone can repeat.
    #[serde(default, rename = "recompute")]
    pub recomputations: Vec<Recomputation>,
}

/// What is claimed, and the quantity that answers it. A source that gives a number has
/// `claimed` and `tolerance`, or `claimed_by` if the number depends on the machine; one
/// that only says "faster" or "less" has `more_than`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    pub what: String,
    /// How the statement is read here, if it can be read in several ways.
    pub reading: Option<String>,
    /// A quantity of the claim's page.
    pub quantity: String,
    /// The number that the source claims, in `unit`.
    pub claimed: Option<f64>,
    /// The quantity of the claim's page that gives it.
    pub claimed_by: Option<String>,
    /// What the source claims the quantity to exceed, in `unit`.
    pub more_than: Option<f64>,
    pub unit: String,
    /// How far measured may be from claimed, as a share of claimed.
    pub tolerance: Option<f64>,
    /// Both are shares that are saved, so what they leave is compared: 80% is not nearly
    /// 90%.
    #[serde(default)]
    pub saved: bool,
    /// The hardware that the source speaks of, if its number is of that hardware only.
    pub about: Option<String>,
}

/// A reading that nothing here tries.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Unmeasured {
    /// How the statement is read.
    pub reading: String,
    /// What would have to be measured, or who has measured it.
    pub what: String,
}

/// Arithmetic done again when the book is built.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recomputation {
    pub what: String,
    /// The arithmetic, in `unit`.
    pub expression: String,
    /// Unit of the result, printed as it stands.
    pub unit: String,
    pub printed: Option<f64>,
}

/// A mistake that belongs to no claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erratum {
    /// Unique, such as `W15`.
    pub id: String,
    pub section: String,
    /// Which source, which lines.
    pub source: String,
    pub says: String,
    pub correct: String,
    /// A web address, or how it was checked.
    pub evidence: String,
}

/// What became of a claim; the later, the worse for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Measured within the tolerance, or more than the bound.
    Reproduced,
    /// Not so, but on the same side.
    SameDirection,
    /// A number of other hardware.
    DependsOnTheMachine,
    /// The readings of it have different verdicts.
    DependsOnTheReading,
    /// Its runs differ too much to say.
    Undecided,
    /// They differ too much to say what it is instead, but in none it is as claimed.
    NotReproduced,
    /// Measured, and not so.
    Refuted,
    /// Wrong as it stands.
    Erratum,
    NotYetMeasured,
    /// Nothing here will test it.
    Outside,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::SameDirection => "same direction",
            Verdict::DependsOnTheMachine => "depends on the machine",
            Verdict::Undecided => "undecided",
            Verdict::NotReproduced => "not reproduced",
            Verdict::DependsOnTheReading => "depends on the reading",
            Verdict::Refuted => "refuted",
            Verdict::Erratum => "erratum",
            Verdict::NotYetMeasured => "not yet measured",
            Verdict::Outside => "outside this workbook",
        }
    }

    /// That of a statement which one reading makes this, and another `other`.
    fn read_both_ways(self, other: Verdict) -> Verdict {
        let one_is = |verdict| self == verdict || other == verdict;
        if one_is(Verdict::Undecided) {
            Verdict::Undecided
        } else if self == other {
            self
        } else if one_is(Verdict::NotReproduced)
            && !one_is(Verdict::Reproduced)
            && !one_is(Verdict::DependsOnTheReading)
        {
            Verdict::NotReproduced
        } else {
            Verdict::DependsOnTheReading
        }
    }

    /// Its class in style sheets.
    pub fn class(self) -> String {
        match self {
            Verdict::Outside => "verdict-outside".to_owned(),
            other => format!("verdict-{}", other.words().replace(' ', "-")),
        }
    }
}

impl Alike for Verdict {
    fn is_like(&self, other: &Verdict) -> bool {
        self == other
    }
}

impl Test {
    /// What the source claims, in words.
    pub fn claim(&self, claimed: f64, unit: &Unit) -> String {
        let words = if self.more_than.is_some() { "more than " } else { "" };
        format!("{words}{}", unit.print(claimed))
    }

    /// The number in the claim, as the quantity is kept.
    fn value(&self, unit: &Unit, page: &Page) -> Result<Both<f64>, String> {
        if let Some(name) = &self.claimed_by {
            let (quantity, _) = page.quantities.in_unit(name, unit.symbol())?;
            return Ok(quantity.value.clone().map(|claimed| claimed.value));
        }
        let value = self.claimed.or(self.more_than).unwrap_or(f64::NAN);
        let scale = unit.scale_of(&self.unit).unwrap_or(f64::NAN);
        Ok(Both::anywhere(value * scale))
    }

    /// Whether it says one thing, in numbers that can be compared.
    fn is_sound(&self) -> bool {
        let tolerant = self.tolerance.is_some_and(|t| t.is_normal() && t > 0.0);
        match (self.claimed, &self.claimed_by, self.more_than) {
            (Some(claimed), None, None) => {
                claimed.is_normal() && tolerant && (!self.saved || self.unit == "%")
            }
            (None, Some(_), None) => tolerant && !self.saved,
            (None, None, Some(bound)) => {
                bound.is_finite() && self.tolerance.is_none() && !self.saved
            }
            _ => false,
        }
    }

    /// What a measured value makes of what is claimed.
    fn verdict(&self, measured: &Estimate, claimed: f64, unit: &Unit) -> Verdict {
        // An interval may contain every value that would reproduce the claim, though neither end does.
        let inside = claimed.max(measured.low).min(measured.high);
        let verdict = self.verdict_on(measured.value, claimed, unit);
        let others = [measured.low, inside, measured.high];
        let others = others.map(|x| self.verdict_on(x, claimed, unit));
        if others.iter().all(|other| *other == verdict) {
            verdict
        } else if others.contains(&Verdict::Reproduced) {
            Verdict::Undecided
        } else {
            Verdict::NotReproduced
        }
    }

    /// The same if it were known exactly.
    fn verdict_on(&self, measured: f64, claimed: f64, unit: &Unit) -> Verdict {
        let (measured, claimed) = match self.saved {
            true => (1.0 - measured, 1.0 - claimed),
            false => (measured, claimed),
        };
        let same_side = match unit {
            Unit::Ratio => (measured - 1.0) * (claimed - 1.0) > 0.0,
            // A share above a bound says nothing of values below it: none is on its side.
            // One that is not even half as large, or more than twice, has only its sign in common.
            Unit::Share => self.more_than.is_none() && (0.5..=2.0).contains(&(measured / claimed)),
            _ => false,
        };
        let as_claimed = match self.tolerance {
            Some(tolerance) => (measured / claimed - 1.0).abs() <= tolerance,
            None => measured > claimed,
        };
        // Other hardware explains another number, but no other side and no other order
        // of magnitude.
        let may_differ =
            !matches!(unit, Unit::Ratio) && (0.1..=10.0).contains(&(measured / claimed));
        if as_claimed {
            Verdict::Reproduced
        } else if same_side {
            Verdict::SameDirection
        } else if self.about.is_some() && may_differ {
            Verdict::DependsOnTheMachine
        } else {
            Verdict::Refuted
        }
    }
}

impl Recomputation {
    /// The result. It must be what the source prints, unless that is an erratum; then it
    /// must not be.
    fn checked(&self, is_erratum: bool) -> Result<f64, String> {
        let value = Expression::parse(&self.expression)?.value(|operand| {
            let (Operand::Name(what) | Operand::Query(what)) = operand;
            Err(format!("there is no `{what}` to be computed with"))
        })?;
        match (self.agrees(value), is_erratum) {
            (Some(true), true) => Err("gives what is printed, so it is no erratum".into()),
            (Some(false), false) => Err(format!(
                "gives {}, not what is printed; say in `erratum` what is right",
                Unit::Number.print(value)
            )),
            _ => Ok(value),
        }
    }

    /// Whether the source prints this value, to 1%; `None` if it prints none.
    fn agrees(&self, value: f64) -> Option<bool> {
        self.printed.map(|printed| (value / printed - 1.0).abs() <= 0.01)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The claims in their order.
    pub entries: Vec<Entry>,
    /// The errata that belong to no claim.
    pub errata: Vec<Erratum>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub claim: Claim,
    pub verdict: Both<Verdict>,
    pub compared: Vec<Compared>,
    /// Each recomputation's result.
    pub recomputed: Vec<f64>,
}

/// A test's quantity, and what the source claims of it.
#[derive(Clone, Debug)]
pub struct Compared {
    pub measured: Quantity,
    pub claimed: Both<f64>,
}

impl Compared {
    /// What `test` makes of it.
    pub(crate) fn verdict(&self, test: &Test) -> Both<Verdict> {
        let Compared { measured: Quantity { unit, value, .. }, claimed } = self;
        let (measured, claimed) = (value.clone(), claimed.clone());
        measured.zip_with(claimed, |measured, claimed| test.verdict(&measured, claimed, unit))
    }
}

impl Entry {
    /// Whether the verdict that is shown first rests on a number of one run.
    pub fn is_provisional(&self) -> bool {
        let is_own = self.verdict.own().is_some();
        self.claim.erratum.is_none()
            && self.compared.iter().any(|Compared { measured: Quantity { value, .. }, .. }| {
                let of = if is_own { value.first() } else { &value.reference };
                of.is_provisional()
            })
    }
}

impl Findings {
    pub fn provisional(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_provisional())
    }

    pub fn entry(&self, id: &str) -> Result<&Entry, String> {
        let found = self.entries.iter().find(|entry| entry.claim.id == id);
        found.ok_or_else(|| format!("there is no claim `{id}`"))
    }
}

impl Claims {
    /// Judges every claim by the quantities of its page. The problems are `id: problem`.
    pub fn judge(self, pages: &[Page]) -> (Findings, Vec<String>) {
        let mut problems = vec![];
        let mut seen = BTreeSet::new();
        let ids = self.claims.iter().map(|c| &c.id);
        for id in ids.chain(self.errata.iter().map(|e| &e.id)) {
            if !id.chars().all(|c| c.is_ascii_alphanumeric()) || id.is_empty() {
                problems.push(format!("{id}: an id is letters and digits"));
            }
            if !seen.insert(id.clone()) {
                problems.push(format!("{id}: the id stands here twice"));
            }
        }
        let mut entries = vec![];
        for claim in self.claims {
            let mut problem = |what: String| problems.push(format!("{}: {what}", claim.id));
            for rule in claim.broken_rules(pages) {
                problem(rule);
            }
            let mut recomputed = vec![];
            for recomputation in &claim.recomputations {
                match recomputation.checked(claim.erratum.is_some()) {
                    Ok(value) => recomputed.push(value),
                    Err(e) => problem(format!("recomputing \"{}\": {e}", recomputation.what)),
                }
            }
            let page = claim.page.as_ref().and_then(|stem| find(pages, stem));
            let pending = page.is_some_and(|page| page.unrecorded);
            let mut compared = vec![];
            for test in claim.tests.iter().filter(|_| !pending) {
                let Some(page) = page else { continue }; // its lack is reported
                let quantity = page.quantities.in_unit(&test.quantity, &test.unit);
                let found = quantity.and_then(|(measured, _)| {
                    let claimed = test.value(&measured.unit, page)?;
                    Ok(Compared { measured: measured.clone(), claimed })
                });
                match found {
                    Ok(found) => compared.push(found),
                    Err(e) => problem(format!("test \"{}\": {e}", test.what)),
                }
            }
            let verdict = claim.verdict(&compared, &recomputed);
            entries.push(Entry { claim, verdict, compared, recomputed });
        }
        (Findings { entries, errata: self.errata }, problems)
    }
}

impl Claim {
    fn broken_rules(&self, pages: &[Page]) -> Vec<String> {
        let mut broken = vec![];
        let tested = !self.tests.is_empty();
        match &self.page {
            None if tested => broken.push("has tests but no `page`".to_owned()),
            None => {}
            Some(stem) => match find(pages, stem) {
                None => {
                    broken.push(format!("there is no page `{stem}.md` in the book"));
                }
                Some(page) if tested && !page.verdicts.contains(&self.id) => {
                    let verdict = format!("{{{{verdict {}}}}}", self.id);
                    broken.push(format!("`{stem}.md` does not show `{verdict}`"));
                }
                Some(_) => {}
            },
        }
        if tested && self.outside.is_some() {
            broken.push("has tests: drop `outside`".to_owned());
        }
        if self.japanese.trim().is_empty() || self.japanese != visible(&self.japanese) {
            broken.push("`japanese` is empty or has hidden characters".to_owned());
        }
        if !pages.iter().any(|page| page.sections.contains(&self.section)) {
            broken.push(format!("no page has `{{{{scorecard {}}}}}`", self.section));
        }
        let read = self.tests.iter().any(|test| test.reading.is_some());
        if !self.unmeasured.is_empty() && !read {
            broken.push("has `unmeasured` readings, but no test has one".to_owned());
        }
        for test in &self.tests {
            if !test.is_sound() {
                broken.push(format!(
                    "test \"{}\": give `claimed`, which is not 0, or `claimed_by`, with \
                     a `tolerance` above 0, or `more_than` alone; `saved` goes with \
                     `claimed` in %",
                    test.what
                ));
            }
        }
        broken
    }

    fn verdict(&self, compared: &[Compared], recomputed: &[f64]) -> Both<Verdict> {
        if self.erratum.is_some() {
            return Both::anywhere(Verdict::Erratum);
        }
        // Those of a page that waits for its record are not compared.
        if !compared.is_empty() {
            // The worst verdict of each reading's tests, and of those that have none.
            let (mut of_all, mut readings) = (None, BTreeMap::new());
            for (test, compared) in self.tests.iter().zip(compared) {
                let worst = match &test.reading {
                    None => &mut of_all,
                    Some(reading) => readings.entry(reading).or_insert(None),
                };
                let verdict = compared.verdict(test);
                *worst = Some(match worst.take() {
                    None => verdict,
                    Some(worst) => verdict.zip_with(worst, Verdict::max),
                });
            }
            for Unmeasured { reading, .. } in &self.unmeasured {
                readings.insert(reading, Some(Both::anywhere(Verdict::Undecided)));
            }
            let readings = readings.into_values().flatten();
            let read = readings.reduce(|a, b| a.zip_with(b, Verdict::read_both_ways));
            let both = of_all.into_iter().chain(read);
            let worst = both.reduce(|a, b| a.zip_with(b, Verdict::max));
            // No verdict at all means that the build fails with the reason.
            return worst.unwrap_or(Both::anywhere(Verdict::Refuted));
        }
        let mut arithmetic = self.recomputations.iter().zip(recomputed);
        Both::anywhere(if self.outside.is_some() {
            Verdict::Outside
        } else if self.tests.is_empty() && arithmetic.any(|(r, v)| r.agrees(*v) == Some(true)) {
            Verdict::Reproduced
        } else {
            Verdict::NotYetMeasured
        })
    }
}
