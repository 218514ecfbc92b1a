//! `[[goals.NAME]]`: what was to be reached, whether it was, and what limits it. Whether a
//! goal is met is never written: it follows from a quantity of the page, for the reference
//! machines, for which goals are set, and for the reader's.
//!
//! ```toml
//! [[goals.kernels]]
//! what = "A tile transposes 8192² floats"
//! page = "transpose"
//! achieved = "tile_of_copy"
//! at_least = 97.0
//! unit = "%"
//! ceiling = "the driver's copy of the same bytes, {{copy}}"
//! limit = "the copy itself: both move every byte once"
//! ```
//!
//! A time is to be `at_most` something. On another machine it is a goal if it compares numbers of
//! one machine, and where the condition in `holds` is so.

use std::collections::BTreeMap;

use crate::both::{Alike, Both, Here, borrowed};
use crate::estimate::Estimate;
use crate::html::{escape, prose};
use crate::page::blocks::{Goal, Goals};
use crate::page::{Page, find};
use crate::quantity::Quantity;
use crate::records::Records;

/// What became of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It is reached, wherever in its interval the number is.
    Met,
    /// It is not, likewise.
    Missed,
    /// Its runs differ too much to say.
    Undecided,
}

/// A goal's quantity, what it is to be, and whether it is.
struct Judged<'p> {
    required: String,
    outcome: Both<Outcome>,
    quantity: &'p Quantity,
}

/// A goal on the reader's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalHere {
    pub what: String,
    /// The file, in the finished book, of the page that explains it.
    pub page: String,
    pub achieved: String,
    pub required: String,
    pub outcome: Outcome,
}

impl Goals {
    /// The goals as HTML. `root` leads from the page to the book's root.
    pub fn expand(
        &self,
        records: &Records,
        page: &Page,
        pages: &[Page],
        root: &str,
    ) -> Result<String, String> {
        let (mut rows, mut verdicts) = (String::new(), vec![]);
        for goal in &self.goals {
            let (html, verdict) = goal
                .expand(records, page, pages, root)
                .map_err(|e| format!("goal \"{}\": {e}", goal.what))?;
            rows += &html;
            verdicts.push(verdict);
        }
        Ok(format!(
            "{}<div class=\"table\">\n<table class=\"goals\">\n<thead><tr>\
             <th scope=\"col\">Goal</th><th scope=\"col\" class=\"number\">Achieved</th>\
             <th scope=\"col\" class=\"number\">Required</th><th scope=\"col\">Verdict</th>\
             </tr></thead>\n{rows}</table>\n</div>\n",
            counts(&verdicts, records),
        ))
    }

    /// Those of its goals that the reader's machine has a number for, and how many are goals on
    /// it.
    pub fn here(&self, page: &Page, pages: &[Page], records: &Records) -> (Vec<GoalHere>, usize) {
        let is_one = |goal: &&Goal| goal.is_one_here(page, records) == Ok(true);
        let goals: Vec<_> = self.goals.iter().filter(is_one).collect();
        (goals.iter().filter_map(|goal| goal.here(page, pages)).collect(), goals.len())
    }
}

/// What became of all goals of the book.
pub fn all(pages: &[Page], records: &Records) -> Result<String, String> {
    let of_page = |page: &Page| {
        let goals = page.goals.iter().flat_map(|block| &block.goals);
        let judged = goals.map(|goal| {
            let Judged { outcome, quantity, .. } = goal.judge(page)?;
            Ok((outcome, quantity.value.first().is_provisional()))
        });
        judged.collect::<Vec<_>>()
    };
    let judged: Result<Vec<_>, String> = pages.iter().flat_map(of_page).collect();
    let (verdicts, are_provisional): (Vec<_>, Vec<bool>) = judged?.into_iter().unzip();
    let counts = counts(&verdicts, records);
    Ok(match are_provisional.into_iter().filter(|is| *is).count() {
        0 => counts,
        n => counts.replace(".</p>", &format!("; {n} provisional, of one run.</p>")),
    })
}

/// How many goals there are of each outcome.
pub fn told(outcomes: impl Iterator<Item = Outcome>) -> String {
    let mut counts = BTreeMap::new();
    outcomes.for_each(|outcome| *counts.entry(outcome).or_insert(0) += 1);
    let counts = counts.iter().map(|(outcome, n)| format!("{n} {}", outcome.word()));
    counts.collect::<Vec<_>>().join(", ")
}

/// How many goals there are, for which machines they were set, and what became of them.
fn counts(verdicts: &[Both<Outcome>], records: &Records) -> String {
    let from = verdicts.iter().flat_map(|verdict| verdict.from.clone()).collect();
    format!(
        "<p class=\"counts\">{} goals, set for the {}: {}{}.</p>\n",
        verdicts.len(),
        escape(&records.label(&from)),
        told(verdicts.iter().map(|verdict| *verdict.first())),
        borrowed(verdicts.iter()),
    )
}

impl Goal {
    /// What is required, in words, and whether it is achieved; the quantity is `page`'s.
    fn judge<'p>(&self, page: &'p Page) -> Result<Judged<'p>, String> {
        let (quantity, scale) = page.quantities.in_unit(&self.achieved, &self.unit)?;
        let (bound, least) = self.bound()?;
        let required = bound * scale;
        let outcome = |achieved: Estimate| Outcome::of(&achieved, required, least);
        let at_most = if least { "" } else { "at most " };
        Ok(Judged {
            required: format!("{at_most}{}", quantity.unit.print(required)),
            outcome: quantity.value.clone().map(outcome),
            quantity,
        })
    }

    /// Whether it is one on the reader's machine, too: it compares numbers of one machine, and
    /// asks for what can be had there.
    fn is_one_here(&self, page: &Page, records: &Records) -> Result<bool, String> {
        let holds = match &self.holds {
            Some(condition) => {
                let condition = page.conditions.read(condition)?;
                *condition.holds(&page.quantities, records)?.first()
            }
            None => true,
        };
        Ok(holds && ["%", "×"].contains(&&*self.unit))
    }

    fn explained<'p>(&self, pages: &'p [Page]) -> Result<&'p Page, String> {
        find(pages, &self.page)
            .ok_or_else(|| format!("there is no page `{}.md` in the book", self.page))
    }

    /// Two rows, and whether the goal is met: a row of numbers, and one of sentences,
    /// which need the table's whole width.
    fn expand(
        &self,
        records: &Records,
        page: &Page,
        pages: &[Page],
        root: &str,
    ) -> Result<(String, Both<Outcome>), String> {
        let Judged { required, outcome, .. } = self.judge(page)?;
        self.is_one_here(page, records)?;
        let ceiling = page.quantities.prose(&self.ceiling, records)?;
        let limit = page.quantities.prose(&self.limit, records)?;
        let html = format!(
            "<tbody>\n<tr><th scope=\"row\"><a href=\"{root}{}\">{}</a></th>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n\
             <tr><td colspan=\"4\"><p class=\"ceiling\">{ceiling}</p>\
             <p class=\"limit\">{limit}</p></td></tr>\n</tbody>\n",
            self.explained(pages)?.html(),
            prose(&self.what),
            page.quantities.value(&self.achieved, records, escape, Estimate::print)?,
            escape(&required),
            records.sentence(&outcome, |met, _| met.badge()),
        );
        Ok((html, outcome))
    }

    /// What became of it on the reader's machine; none if that has no number for it.
    fn here(&self, page: &Page, pages: &[Page]) -> Option<GoalHere> {
        let Judged { required, outcome, quantity } = self.judge(page).ok()?;
        if outcome.here == Here::NotMeasured {
            return None;
        }
        Some(GoalHere {
            what: self.what.clone(),
            page: self.explained(pages).ok()?.html(),
            achieved: quantity.value.first().print(&quantity.unit),
            required,
            outcome: *outcome.first(),
        })
    }
}

impl Alike for Outcome {
    fn is_like(&self, other: &Outcome) -> bool {
        self == other
    }
}

impl Outcome {
    /// What an estimate makes of a goal: `bound` is the least it may be, or the most.
    fn of(achieved: &Estimate, bound: f64, least: bool) -> Outcome {
        let meets = |value: f64| if least { value >= bound } else { value <= bound };
        match (meets(achieved.low), meets(achieved.high)) {
            (true, true) => Outcome::Met,
            (false, false) => Outcome::Missed,
            _ => Outcome::Undecided,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Outcome::Met => "met",
            Outcome::Missed => "missed",
            Outcome::Undecided => "undecided",
        }
    }

    /// The word in a page.
    pub fn badge(self) -> String {
        let word = self.word();
        format!("<span class=\"verdict goal-{word}\">{word}</span>")
    }
}
