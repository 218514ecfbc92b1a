//! `goals` blocks: what was to be reached, whether it was, and what limits it. Whether a
//! goal is met is never written: it follows from a quantity of the page, for the reference
//! machines, for which goals are set, and for the reader's.
//!
//! ```toml
//! [[goal]]
//! what = "A tile transposes 8192² floats"
//! page = "transpose"
//! achieved = "tile_of_copy"
//! at_least = 97.0
//! unit = "%"
//! ceiling = "the driver's copy of the same bytes, {{copy}}"
//! limit = "the copy itself: both move every byte once"
//! ```
//!
//! A time is to be `at_most` something.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::block;
use crate::estimate::Estimate;
use crate::html::{escape, prose};
use crate::page::{Page, find};
use crate::quantity::Quantity;
use crate::records::{Alike, Both, Records};

/// A `goals` block.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    #[serde(rename = "goal")]
    goals: Vec<Goal>,
}

/// What became of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Met,
    Missed,
    /// Its runs differ too much to say.
    Undecided,
}

/// One goal. In `ceiling` and `limit`, `{{name}}` is a quantity of the page.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Goal {
    /// What was to be reached.
    what: String,
    /// Stem of the page on which it is measured and explained.
    page: String,
    /// A quantity of the page.
    achieved: String,
    /// What it is to be, in `unit`: one of these two.
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// The quantity's unit.
    unit: String,
    /// What it can at most be.
    ceiling: String,
    /// What keeps it from the ceiling, and how that is known.
    limit: String,
}

impl Block {
    /// Parses a block and checks what its types cannot state.
    pub fn parse(toml: &str) -> Result<Block, String> {
        let block: Block = block::parse(toml)?;
        for goal in &block.goals {
            goal.bound().map_err(|e| format!("goal \"{}\": {e}", goal.what))?;
        }
        Ok(block)
    }

    /// The goals as HTML. `root` leads from the page to the book's root.
    pub fn expand(
        &self,
        records: &Records,
        page: &Page,
        pages: &[Page],
        root: &str,
    ) -> Result<String, String> {
        let (mut rows, mut counts) = (String::new(), BTreeMap::new());
        let mut from = BTreeSet::new();
        for goal in &self.goals {
            let (html, verdict) = goal
                .expand(records, page, pages, root)
                .map_err(|e| format!("goal \"{}\": {e}", goal.what))?;
            rows += &html;
            *counts.entry(*verdict.first()).or_insert(0) += 1;
            from.extend(verdict.from);
        }
        let counts =
            counts.iter().map(|(outcome, n)| format!("{n} {}", outcome.word()));
        Ok(format!(
            "<p class=\"counts\">{} goals, set for the {}: {}.</p>\n\
             <div class=\"table\">\n<table class=\"goals\">\n<thead><tr>\
             <th scope=\"col\">Goal</th><th scope=\"col\" class=\"number\">Achieved</th>\
             <th scope=\"col\" class=\"number\">Required</th><th scope=\"col\">Verdict</th>\
             </tr></thead>\n{rows}</table>\n</div>\n",
            self.goals.len(),
            escape(&records.label(&from)),
            counts.collect::<Vec<_>>().join(", "),
        ))
    }
}

impl Goal {
    /// What the quantity is compared with, and whether that is the least it may be.
    fn bound(&self) -> Result<(f64, bool), &'static str> {
        let (bound, least) = match (self.at_least, self.at_most) {
            (Some(bound), None) => (bound, true),
            (None, Some(bound)) => (bound, false),
            _ => return Err("takes one of `at_least` and `at_most`"),
        };
        if !bound.is_finite() || bound <= 0.0 {
            return Err("`at_least` and `at_most` must be more than 0");
        }
        Ok((bound, least))
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
        let (Quantity { unit, value, .. }, scale) =
            page.quantities.in_unit(&self.achieved, &self.unit)?;
        let (bound, least) = self.bound()?;
        let required = bound * scale;
        let verdict =
            value.clone().map(|achieved| Outcome::of(&achieved, required, least));
        let at_most = if least { "" } else { "at most " };
        let ceiling = page.quantities.prose(&self.ceiling, records)?;
        let limit = page.quantities.prose(&self.limit, records)?;
        let explained = find(pages, &self.page).ok_or_else(|| {
            format!("there is no page `{}.md` in the book", self.page)
        })?;
        let html = format!(
            "<tbody>\n<tr><th scope=\"row\"><a href=\"{root}{}\">{}</a></th>\
             <td class=\"number\">{}</td><td class=\"number\">{at_most}{}</td><td>{}</td></tr>\n\
             <tr><td colspan=\"4\"><p class=\"ceiling\">{ceiling}</p>\
             <p class=\"limit\">{limit}</p></td></tr>\n</tbody>\n",
            explained.html(),
            prose(&self.what),
            page.quantities.value(&self.achieved, records, escape)?,
            escape(&unit.print(required)),
            verdict.sentence(records, |met, _| met.badge()),
        );
        Ok((html, verdict))
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

    fn word(self) -> &'static str {
        match self {
            Outcome::Met => "met",
            Outcome::Missed => "missed",
            Outcome::Undecided => "undecided",
        }
    }

    fn badge(self) -> String {
        let word = self.word();
        format!("<span class=\"verdict goal-{word}\">{word}</span>")
    }
}
