//! One page, as its blocks and the claims see it.

pub mod blocks;

use std::collections::{BTreeMap, BTreeSet};

use crate::condition::Conditions;
use crate::figure::ChartBlock;
use crate::html::escape;
use crate::quantity::Quantities;
use blocks::{Goals, Prediction};

#[derive(Debug, Default)]
pub struct Page {
    /// Its path in `src/` without `.md`.
    pub stem: String,
    /// Its title in the table of contents.
    pub title: String,
    pub part: Option<String>,
    pub quantities: Quantities,
    pub conditions: Conditions,
    pub charts: BTreeMap<String, ChartBlock>,
    /// The claims whose verdict it shows.
    pub verdicts: BTreeSet<String>,
    /// The sections whose claims it lists.
    pub sections: BTreeSet<String>,
    /// What it holds against what it is to be.
    pub goals: Vec<Goals>,
    pub exercises: Vec<String>,
    /// What it asks its reader.
    pub predictions: Vec<Prediction>,
    /// The routes that it defines: each leads over pages and other routes.
    pub routes: BTreeMap<String, Vec<String>>,
    /// Those along which pages lead on, and what they call each.
    pub along: BTreeMap<String, String>,
    /// It is a draft whose experiment has no record yet.
    pub unrecorded: bool,
}

impl Page {
    /// The experiment that a block names, or else the page's.
    pub fn experiment<'p>(&'p self, given: &'p Option<String>) -> Result<&'p str, String> {
        let experiment = given.as_ref().or(self.quantities.experiment.as_ref());
        experiment
            .map(String::as_str)
            .ok_or_else(|| "name the `experiment` in the file beside the page".to_owned())
    }

    pub fn chart(&self, id: &str) -> Result<&ChartBlock, String> {
        self.charts.get(id).ok_or_else(|| format!("this page has no chart `{id}`"))
    }

    /// A link to it. `root` leads to the book's root.
    pub fn link(&self, root: &str) -> String {
        format!("<a href=\"{root}{}\">{}</a>", self.html(), escape(&self.title))
    }

    /// The page's file in the finished book.
    pub fn html(&self) -> String {
        let readme = self.stem.strip_suffix("README").map(|folder| format!("{folder}index"));
        format!("{}.html", readme.as_ref().unwrap_or(&self.stem))
    }
}

/// The page called `name`, in whichever section it lies.
pub fn find<'p>(pages: &'p [Page], name: &str) -> Option<&'p Page> {
    pages.iter().find(|page| page.stem.rsplit('/').next() == Some(name))
}
