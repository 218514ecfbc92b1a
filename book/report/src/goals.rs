//! `goals` blocks: what was to be reached, whether it was, and what limits it. Whether a
//! goal is met is never written: it follows from a quantity of the page. Goals are set for
//! the reference machines; another machine's numbers are shown and not judged.
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

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::block;
use crate::html::{escape, prose};
use crate::page::{Page, find};
use crate::quantity::Quantity;
use crate::records::{Both, Here, Records};

/// A `goals` block.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    #[serde(rename = "goal")]
    goals: Vec<Goal>,
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
        let (mut rows, mut met) = (String::new(), 0);
        let mut from = BTreeSet::new();
        for goal in &self.goals {
            let (html, verdict) = goal
                .expand(records, page, pages, root)
                .map_err(|e| format!("goal \"{}\": {e}", goal.what))?;
            rows += &html;
            met += usize::from(verdict.reference);
            from.extend(verdict.from);
        }
        Ok(format!(
            "<p class=\"counts\">{} goals for the {}: {met} met, {} missed.</p>\n\
             <div class=\"table\">\n<table class=\"goals\">\n<thead><tr>\
             <th scope=\"col\">Goal</th><th scope=\"col\" class=\"number\">Achieved</th>\
             <th scope=\"col\" class=\"number\">Required</th><th scope=\"col\">Verdict</th>\
             </tr></thead>\n{rows}</table>\n</div>\n",
            self.goals.len(),
            escape(&records.label(&from)),
            self.goals.len() - met,
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
    ) -> Result<(String, Both<bool>), String> {
        let (Quantity { unit, value }, scale) =
            page.quantities.in_unit(&self.achieved, &self.unit)?;
        let (bound, least) = self.bound()?;
        let required = bound * scale;
        let met = match least {
            true => value.reference >= required,
            false => value.reference <= required,
        };
        let at_most = if least { "" } else { "at most " };
        let here = match value.here {
            Here::Same => Here::Same,
            Here::Lacking | Here::Has(_) => Here::Lacking, // not judged
        };
        let verdict = Both { reference: met, from: value.from.clone(), here };
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
            verdict.sentence(records, |met, _| badge(*met).to_owned()),
        );
        Ok((html, verdict))
    }
}

fn badge(met: bool) -> &'static str {
    match met {
        true => "<span class=\"verdict goal-met\">met</span>",
        false => "<span class=\"verdict goal-missed\">missed</span>",
    }
}
