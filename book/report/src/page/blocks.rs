//! What a page holds itself to and asks its reader, as the file beside it says; the HTML is for
//! [`crate::goals`] and [`crate::prediction`].

use std::collections::BTreeMap;

use record::Parameter;
use serde::Deserialize;

use crate::select::Filter;

/// All goals of one name, which stand together.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Goals {
    pub(crate) goals: Vec<Goal>,
}

/// One goal. In `ceiling` and `limit`, `{{name}}` is a quantity of the page.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Goal {
    /// What was to be reached.
    pub(crate) what: String,
    /// Stem of the page on which it is measured and explained.
    pub(crate) page: String,
    /// A quantity of the page.
    pub(crate) achieved: String,
    /// What it is to be, in `unit`: one of these two.
    pub(crate) at_least: Option<f64>,
    pub(crate) at_most: Option<f64>,
    /// The quantity's unit.
    pub(crate) unit: String,
    /// What has to be so for it to be a goal on another machine.
    pub(crate) holds: Option<String>,
    /// What it can at most be.
    pub(crate) ceiling: String,
    /// What keeps it from the ceiling, and how that is known.
    pub(crate) limit: String,
}

impl Goals {
    /// Checks what its types cannot state.
    pub fn check(&self) -> Result<(), String> {
        for goal in &self.goals {
            goal.bound().map_err(|e| format!("goal \"{}\": {e}", goal.what))?;
        }
        Ok(())
    }
}

impl Goal {
    /// What the quantity is compared with, and whether that is the least it may be.
    pub(crate) fn bound(&self) -> Result<(f64, bool), &'static str> {
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
}

/// What stands between choices that are put in order.
const ORDER: &str = ", ";

fn sorted<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut texts: Vec<_> = texts.collect();
    texts.sort_unstable();
    texts
}

/// What `[prediction.NAME]` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Unique in the book.
    #[serde(skip)]
    pub(crate) id: String,
    pub(crate) question: String,
    /// `QUANTITY | UNIT`: the unit is that in which the reader answers. Or one of `choices`.
    #[serde(default)]
    pub(crate) answer: String,
    /// What the reader draws, where the answer is a curve.
    pub(crate) curve: Option<Curve>,
    /// What the reader chooses from, where the answer is no number.
    #[serde(default)]
    pub(crate) choices: Vec<String>,
    /// The reader puts all choices in order: `answer` lists them so, with commas between them.
    #[serde(default)]
    pub(crate) in_order: bool,
    /// What has to be so for that choice, or that order, to be right.
    pub(crate) holds: Option<String>,
    /// What is said to some wrong answers.
    #[serde(default)]
    pub(crate) wrong: BTreeMap<String, String>,
    /// What would give the answer away: veiled until then. The guess is drawn on it if its
    /// values are in the answer's unit.
    pub(crate) chart: Option<String>,
    pub(crate) explain: String,
}

impl Prediction {
    /// Tells the block its name, and checks what its types cannot state.
    pub fn complete(&mut self, id: &str) -> Result<(), String> {
        self.id = id.to_owned();
        if self.question.contains("{{") {
            return Err("`question` takes no quantities: say them in the text above".to_owned());
        }
        let is_choice = |answer: &String| match self.in_order {
            true => sorted(answer.split(ORDER)) == sorted(self.choices.iter().map(String::as_str)),
            false => self.choices.contains(answer),
        };
        if let Some(curve) = &self.curve {
            if !self.answer.is_empty() || !self.choices.is_empty() || !self.wrong.is_empty() {
                return Err("a `curve` is the answer: give no other".to_owned());
            }
            return match (&self.chart, curve.asked.is_empty()) {
                (None, _) => Err("a `curve` is one of a `chart`".to_owned()),
                (_, true) => Err("`curve`: nothing is `asked`".to_owned()),
                (Some(_), false) => Ok(()),
            };
        }
        if self.in_order && self.choices.iter().any(|choice| choice.contains(ORDER)) {
            return Err("`choices` that are put in order have no comma".to_owned());
        }
        if !self.choices.is_empty() && !is_choice(&self.answer) {
            let (none, choices) = (["none", "no order"], self.choices.join(ORDER));
            let none = none[usize::from(self.in_order)];
            return Err(format!("`answer` is {none} of `choices`: {choices}"));
        }
        if self.choices.is_empty() && self.in_order {
            return Err("`in_order` is of `choices`".to_owned());
        }
        if self.choices.is_empty() && self.holds.is_some() {
            return Err("`holds` is of `choices`; a number is its own proof".to_owned());
        }
        let known = |answer: &&String| match self.choices.is_empty() {
            true => answer.parse::<f64>().is_ok(),
            false => is_choice(answer) && **answer != self.answer,
        };
        match self.wrong.keys().find(|answer| !known(answer)) {
            Some(answer) => Err(format!("`wrong`: nobody can answer `{answer}` and be wrong")),
            None => Ok(()),
        }
    }

    /// The quantity that answers it, and the unit in which the reader does.
    pub fn quantity(&self) -> Result<(&str, &str), String> {
        let answer = self.answer.split_once('|').ok_or("`answer` is QUANTITY | UNIT")?;
        Ok((answer.0.trim(), answer.1.trim()))
    }
}

/// What `curve` of a prediction says: a measured curve of its chart that the reader draws.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Which of the chart's measurements it goes through.
    #[serde(default, rename = "where")]
    pub(crate) filter: Filter,
    /// The places on the x axis whose values the reader is told.
    #[serde(default)]
    pub(crate) given: Vec<Parameter>,
    /// Those where the reader draws.
    pub(crate) asked: Vec<Parameter>,
    /// What such a place is called, `{}` being where it is; without, that alone.
    pub(crate) place: Option<String>,
    /// In which the reader answers.
    pub(crate) unit: String,
}
