//! A page's text, with every directive replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engine::explorer::Explorer;
use mdbook_preprocessor::book::Chapter;

use crate::block::{self, Block, Definitions, Placed};
use crate::both::Both;
use crate::claims::{Entry, Findings};
use crate::directive::{self, Directive, Found};
use crate::estimate::Estimate;
use crate::exercise::Tasks;
use crate::figure::Picture;
use crate::names::{Defaults, did_you_mean};
use crate::page::Page;
use crate::quantity::Quantities;
use crate::records::{Recorded, Records};
use crate::sources::Sources;
use crate::this_machine::{self, Account};
use crate::{
    condition, explorer, goals, html, includes, minutes, model, prediction, provenance, scorecard,
};

/// The text of a page, and where in it the directives are.
#[derive(Debug)]
pub struct Text {
    /// Its path in `src/`.
    pub path: String,
    text: String,
    directives: Vec<Found<Directive>>,
    /// What the file beside it defines.
    definitions: Definitions,
    /// It says that it is a draft.
    draft: bool,
    /// It is one of an experiment that has no record.
    unrecorded: bool,
}

/// What stands between `{{if}}` and `{{end}}`.
enum Sentence {
    /// Whether its condition holds.
    If(Both<bool>),
    /// Nobody has measured that, so it is not said.
    LeftOut,
}

/// What a draft says below its title.
const DRAFT: &str = "\n<p class=\"draft\">This page is a draft: no reference machine has \
    recorded its experiment yet.</p>\n\n";
const QUICK: &str = "\n<p class=\"draft\">The numbers here are of a quick run: fewer samples, and where \
    it measured smaller sizes, sentences are about the reference machine.</p>\n\n";
/// In place of what is not recorded yet, in a sentence until its paragraph goes, and as a block.
const PENDING: &str = "<span class=\"value\">not recorded yet</span>";
const PENDING_BLOCK: &str = "<p class=\"draft\">Not recorded yet.</p>\n";

/// Everything that a page is expanded with.
pub struct Context<'a> {
    pub records: &'a Records,
    pub findings: &'a Findings,
    pub pages: &'a [Page],
    /// What there is to say of the reader's machine, if it measured anything.
    pub account: Option<&'a Account>,
    /// What exercises ask for.
    pub tasks: &'a Tasks,
    pub sources: &'a Sources<'a>,
    /// Whether the finished book has the files of [`crate::export`].
    pub downloads: bool,
}

/// Finds the directives of a chapter, whose path in `src` is `path`, and what the file beside it
/// defines, and evaluates its quantities; also what is wrong with them. A `draft` has no problem
/// where its experiment has no record.
pub fn read(
    path: &str,
    chapter: &Chapter,
    part: Option<&str>,
    src: &Path,
    records: &Records,
    names: &Defaults,
    draft: bool,
) -> (Page, Text, Vec<String>) {
    let text = chapter.content.as_str();
    let mut problems = Problems { path, text, found: vec![] };
    let folder = src.join(path);
    for (start, name, problem) in includes::check(text, folder.parent().unwrap_or(src)) {
        problems.at(start, &name, &problem);
    }
    // Where the file is wrong, the page is left alone.
    let (mut definitions, found) = match Definitions::beside(&folder, names) {
        Ok(definitions) => (definitions, directive::find(text)),
        Err(found) => {
            found.iter().for_each(|Placed { line, what }| problems.beside(*line, what));
            Default::default()
        }
    };
    let mut page = Page {
        stem: path.trim_end_matches(".md").to_owned(),
        title: chapter.name.clone(),
        part: part.map(str::to_owned),
        quantities: Quantities::of(path, definitions.experiment.take()),
        routes: std::mem::take(&mut definitions.routes),
        along: std::mem::take(&mut definitions.along),
        ..Page::default()
    };
    let Definitions { quantities, conditions, .. } = &definitions;
    let (of_quantities, of_conditions) = (&mut page.quantities, &mut page.conditions);
    let added = quantities.iter().map(|(name, of)| (name, of, of_quantities.add(name, &of.what)));
    let others = conditions.iter().map(|(name, of)| (name, of, of_conditions.add(name, &of.what)));
    for (name, Placed { line, .. }, added) in added.chain(others) {
        if let Err(problem) = added {
            problems.beside(*line, &format!("`{name}`: {problem}"));
        }
    }
    let (mut directives, mut shown) = (vec![], BTreeSet::new());
    for Found { range, name, what } in found {
        let what = what.and_then(|what| {
            match &what {
                Directive::Block(name) => {
                    let block = definitions.find(name)?;
                    shown.insert(name.clone());
                    match &block.what {
                        Block::Chart(block) => {
                            page.charts.insert(block.id.clone(), (**block).clone());
                        }
                        Block::Goals(block) => page.goals.push(block.clone()),
                        Block::Prediction(block) => {
                            let mut others = page.predictions.iter().flat_map(|other| &other.chart);
                            if others.any(|other| block.chart.as_ref() == Some(other)) {
                                return Err("another question veils its chart".to_owned());
                            }
                            page.predictions.push(block.clone());
                        }
                        Block::Table(_)
                        | Block::Counted(_)
                        | Block::Kernel(_)
                        | Block::Explorer(_)
                        | Block::Task(_) => {}
                    }
                }
                Directive::Verdict(id) => drop(page.verdicts.insert(id.clone())),
                Directive::Scorecard(section) => {
                    page.sections.insert(section.clone());
                }
                Directive::Exercise(name) => page.exercises.push(name.clone()),
                Directive::Explorer(explorer) => shown.extend(of_explorer(explorer)),
                _ => {}
            }
            Ok(what)
        });
        match what {
            Ok(what) => directives.push(Found { range, name, what }),
            Err(problem) => problems.at(range.start, &name, &problem),
        }
    }
    for (name, Placed { line, .. }) in &definitions.blocks {
        if !shown.contains(name) {
            problems.beside(*line, &format!("{}: the page does not show it", block::head(name)));
        }
    }
    let without_value = page.quantities.evaluate(records);
    // A draft that names no experiment, or another one, has no excuse.
    let own = page.stem.rsplit('/').next().unwrap_or_default();
    let unrecorded = draft
        && page.quantities.experiment.as_deref() == Some(own)
        && records.both(own, None, |_, _| Ok(())).is_err();
    page.unrecorded = unrecorded;
    let found = if unrecorded { page.quantities.unreadable() } else { without_value };
    for (name, problem) in found {
        problems.beside(definitions.quantities[&name].line, &format!("`{name}`: {problem}"));
    }
    let found = problems.found;
    let (path, text) = (path.to_owned(), text.to_owned());
    (page, Text { path, text, directives, definitions, draft, unrecorded }, found)
}

impl Text {
    /// The text of `page` with every directive replaced, its figures, and what is wrong
    /// with it.
    pub fn expand(&self, page: &Page, context: &Context) -> (String, Vec<Picture>, Vec<String>) {
        let Text { path, text, directives, definitions, .. } = self;
        let mut problems = Problems { path, text, found: vec![] };
        let (mut out, mut pictures, mut end) = (String::new(), vec![], 0);
        let mut open: Option<Sentence> = None; // what is being said under a condition
        let mut begins = false; // it does so here
        for Found { range, name, what } in directives {
            let between = &text[end..range.start];
            if begins && between.starts_with([',', ';', ' ']) {
                problems.at(
                    range.start,
                    name,
                    "what stands under it is a sentence, and begins as one",
                );
            }
            match &open {
                Some(Sentence::LeftOut) => {}
                Some(Sentence::If(found)) if begins && condition::is_elsewhere(found) => {
                    out += &html::uncapitalised(between);
                }
                _ => out += between,
            }
            begins = matches!(what, Directive::If(_));
            if open.is_some() && between.contains("\n\n") {
                problems.at(range.start, name, "an `{{if}}` ends in its paragraph: `{{end}}`");
                open = None;
            }
            let left_out = matches!(open, Some(Sentence::LeftOut));
            match self.replace(what, page, context, &mut open, &mut pictures) {
                // HTML ends with a line break; with the directive's own that makes the
                // blank line after which Markdown goes on.
                Ok(html) if !left_out => out += &html,
                Ok(_) => {}
                Err(_) if self.unrecorded && self.needs_records(what, page) => {
                    let pending = if what.is_block() { PENDING_BLOCK } else { PENDING };
                    if let Directive::Block(name) = what
                        && let Block::Prediction(block) = &definitions.blocks[name].what
                    {
                        out += &block.unanswered();
                    }
                    out += if left_out { "" } else { pending };
                }
                Err(problem) => match what {
                    Directive::Block(name) => {
                        let line = definitions.blocks[name].line;
                        problems.beside(line, &format!("{}: {problem}", block::head(name)));
                    }
                    _ => problems.at(range.start, name, &problem),
                },
            }
            end = range.end;
        }
        out += &text[end..];
        if open.is_some() {
            problems.at(end, "`{{if}}`", "has no `{{end}}`");
        }
        if self.unrecorded {
            out = without_pending(&out);
        }
        match minutes::lead_on(&out, page, context.pages) {
            Ok(led) => out = led,
            Err(problem) => problems.at(0, "routes", &problem),
        }
        let below_the_title = out.find('\n').map_or(out.len(), |end| end + 1);
        if self.draft {
            out.insert_str(below_the_title, DRAFT);
        }
        if is_quick_here(page, context) {
            out.insert_str(below_the_title, QUICK);
        }
        (out, pictures, problems.found)
    }

    fn replace(
        &self,
        directive: &Directive,
        page: &Page,
        context: &Context,
        open: &mut Option<Sentence>,
        pictures: &mut Vec<Picture>,
    ) -> Result<String, String> {
        let Context { records, findings, pages, account, tasks, sources, downloads } = context;
        let root = "../".repeat(page.stem.matches('/').count());
        Ok(match directive {
            Directive::Quantity(name) | Directive::About(name)
                if !page.quantities.defines(name) =>
            {
                if directive::words().any(|word| word == name) {
                    return Err(format!("`{name}` is followed by a name"));
                }
                let known = page.quantities.numbers().chain(directive::words());
                let near = did_you_mean(name, known);
                return Err(format!("there is no quantity `{name}` on `{}`{near}", self.path));
            }
            Directive::Quantity(name) | Directive::About(name) => {
                let print = match directive {
                    Directive::About(_) => Estimate::about,
                    _ => Estimate::print,
                };
                match open {
                    Some(Sentence::If(found)) if condition::is_elsewhere(found) => {
                        page.quantities.value_elsewhere(name, html::inline, print)?
                    }
                    _ => page.quantities.value(name, records, html::inline, print)?,
                }
            }
            Directive::If(condition) => {
                if open.is_some() {
                    return Err("stands within another".to_owned());
                }
                let condition = page.conditions.read(condition)?;
                let found = condition.holds(&page.quantities, records);
                if found.is_err() && self.unrecorded {
                    *open = Some(Sentence::LeftOut);
                    return Ok(String::new());
                }
                let found = found?;
                let before = condition::before(&found, records);
                *open = Some(Sentence::If(found));
                before
            }
            Directive::End => match open.take().ok_or("has no `{{if}}` before it")? {
                Sentence::If(found) => condition::after(&found).to_owned(),
                Sentence::LeftOut => String::new(),
            },
            Directive::Verdict(id) => {
                let badge = scorecard::badge(findings.entry(id)?, records, &root);
                match self.provisional(findings).next() {
                    Some(first) if std::ptr::eq(first, directive) => {
                        badge + scorecard::provisional(self.provisional(findings).nth(1).is_some())
                    }
                    _ => badge,
                }
            }
            Directive::Claim(id) => scorecard::quotation(&findings.entry(id)?.claim, &root),
            Directive::Scorecard(section) => {
                scorecard::section(section, findings, records, pages, &root)?
            }
            Directive::Overview => {
                let elsewhere = page.sections.is_empty().then_some(root.as_str());
                scorecard::overview(findings, *downloads && elsewhere.is_none(), elsewhere)?
            }
            Directive::Predictions => prediction::all(pages, records, &root),
            Directive::Time(time, names) => minutes::mark(*time, names, pages)?,
            Directive::Pages(names) => minutes::links(names, pages, &root)?,
            Directive::AllMinutes => minutes::table(pages, &root),
            Directive::Exercise(name) => tasks.show(name, pages, records, sources, &root)?,
            Directive::Exercises(names) => tasks.list(names, pages, &root)?,
            Directive::ThisMachine => this_machine::html(*account, findings, records, &root)?,
            Directive::AllGoals => goals::all(pages, records)?,
            Directive::Budget => model::calculator()?,
            Directive::Errata => scorecard::errata(findings, &root)?,
            Directive::Drawing(drawing) => drawing.expand(records),
            Directive::Explorer(explorer) => {
                let [behind, task] = of_explorer(explorer)
                    .map(|name| self.definitions.blocks.get(&name).map(|placed| &placed.what));
                let measured = match behind {
                    Some(Block::Explorer(behind)) if !self.unrecorded => {
                        behind.measured(records, page)?
                    }
                    _ => vec![],
                };
                let task = match task {
                    Some(Block::Task(task)) => Some(task),
                    _ => None,
                };
                explorer::expand(explorer, task, measured, sources, &root)?
            }
            Directive::Provenance => self.provenance(page, records)?,
            Directive::Block(name) => match &self.definitions.blocks[name].what {
                Block::Chart(block) => {
                    let (html, new) = block.expand(records, page)?;
                    pictures.extend(new);
                    html
                }
                Block::Table(block) => block.expand(records, page)?,
                Block::Counted(block) => block.expand(records, page)?,
                Block::Prediction(block) => block.expand(records, page)?,
                Block::Goals(block) => block.expand(records, page, pages, &root)?,
                Block::Kernel(block) => block.expand(&name.1, &page.stem, sources, &root)?,
                Block::Explorer(_) | Block::Task(_) => {
                    return Err("an explorer is shown by its own name".to_owned());
                }
            },
        })
    }

    /// Whether a directive shows what was recorded. Quantities have to be defined, though.
    fn needs_records(&self, directive: &Directive, page: &Page) -> bool {
        match directive {
            Directive::Quantity(name) | Directive::About(name) => page.quantities.defines(name),
            Directive::Provenance => true,
            Directive::Block(name) => match &self.definitions.blocks[name].what {
                Block::Prediction(block) => {
                    block.holds.is_some()
                        || block.curve.is_some()
                        || block.quantity().is_ok_and(|(name, _)| page.quantities.defines(name))
                }
                Block::Chart(_) | Block::Table(_) | Block::Counted(_) => true,
                Block::Goals(_) | Block::Kernel(_) | Block::Explorer(_) | Block::Task(_) => false,
            },
            _ => false,
        }
    }

    /// The verdicts on the page that rest on one run.
    fn provisional<'t>(&'t self, findings: &Findings) -> impl Iterator<Item = &'t Directive> {
        let all = self.directives.iter().map(|found| &found.what);
        all.filter(|what| {
            let Directive::Verdict(id) = what else { return false };
            findings.entry(id).is_ok_and(Entry::is_provisional)
        })
    }

    /// Where the page's numbers come from: the reader's machine, the reference machine, and
    /// those that the page names besides; and which other records its quantities use.
    fn provenance(&self, page: &Page, records: &Records) -> Result<String, String> {
        let experiment = page.experiment(&None)?;
        let both = records.both(experiment, None, |_, record| Ok(record))?;
        let mut shown: Vec<_> = both.each().map(|(record, beside)| (*record, beside)).collect();
        let sources = page.quantities.sources();
        let named = sources.iter().filter_map(|(_, on)| on.clone());
        let mut names: BTreeSet<String> = named.collect();
        for block in self.definitions.blocks.values() {
            match &block.what {
                Block::Chart(block) => names.extend(block.common.machine.clone()),
                Block::Table(block) => names.extend(block.machines().cloned()),
                Block::Counted(_)
                | Block::Prediction(_)
                | Block::Goals(_)
                | Block::Kernel(_)
                | Block::Explorer(_)
                | Block::Task(_) => {}
            }
        }
        for name in names {
            let is_shown = shown.iter().any(|(record, _)| record.machine.name == name);
            if let (false, Ok(record)) = (is_shown, records.named(&name)?.record(experiment)) {
                shown.push((record, true));
            }
        }
        let others = sources.iter().filter(|(of, _)| of != experiment);
        let others = others.filter_map(|(of, on)| {
            let both = records.both(of, on.as_deref(), |_, record| Ok(record)).ok()?;
            Some((of, both.each().map(|(record, _)| *record).collect::<Vec<_>>()))
        });
        let mut used: BTreeMap<&String, Vec<&Recorded>> = BTreeMap::new();
        for (of, recorded) in others {
            used.entry(of).or_default().extend(recorded);
        }
        Ok(provenance::full(&shown, &used))
    }

    /// The blocks that the page shows before anything is unfolded, in its order.
    pub fn unfolded(&self) -> impl Iterator<Item = &Placed<Block>> {
        let is_unfolded = |at: usize| {
            let count = |tag: &str| self.text[..at].matches(tag).count();
            count("<details") == count("</details")
        };
        self.directives.iter().filter_map(move |Found { range, what, .. }| match what {
            Directive::Block(name) if is_unfolded(range.start) => {
                Some(&self.definitions.blocks[name])
            }
            _ => None,
        })
    }

    /// Its charts, drawings, exercises and predictions, as errors call them: each must be the only one
    /// of its name in the book.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let is_named = |what: &Directive| {
            use Directive::{Block, Drawing, Exercise};
            matches!(what, Block(("chart" | "prediction", _)) | Drawing(_) | Exercise(_))
        };
        let named = self.directives.iter().filter(move |found| is_named(&found.what));
        named.map(|found| found.name.as_str())
    }

    /// The quantities and conditions that nothing uses, as problems. Where no record gives a
    /// quantity a value, nobody can tell.
    pub fn unused(&self, page: &Page) -> Vec<String> {
        let Text { path, text, definitions, .. } = self;
        let mut problems = Problems { path, text, found: vec![] };
        if self.unrecorded {
            return vec![];
        }
        let Definitions { quantities, conditions, .. } = definitions;
        let (unused, others) = (page.quantities.unused(), page.conditions.unused());
        let unused = unused.iter().map(|name| (name, &quantities[name]));
        for (name, Placed { line, .. }) in
            unused.chain(others.iter().map(|name| (name, &conditions[name])))
        {
            problems.beside(*line, &format!("`{name}`: nothing uses it"));
        }
        problems.found
    }
}

/// The names of what stands behind an explorer, and of what the page asks of it.
fn of_explorer(explorer: &Explorer) -> [block::Name; 2] {
    [block::EXPLORER, block::TASK].map(|kind| (kind, explorer.name.to_owned()))
}

/// Whether the reader's machine recorded the page's experiment in a quick run.
fn is_quick_here(page: &Page, context: &Context) -> bool {
    let (Ok(experiment), Some(here)) = (page.experiment(&None), &context.records.here) else {
        return false;
    };
    here.record(experiment).is_ok_and(Recorded::is_quick)
}

/// A draft's text, without the paragraphs and tables that wait for a record, and with one line
/// for those that stand together.
fn without_pending(text: &str) -> String {
    let mut blocks: Vec<&str> = vec![];
    for block in text.split("\n\n") {
        let waits = block.contains(PENDING) || block.trim() == PENDING_BLOCK.trim();
        let block = if waits { PENDING_BLOCK.trim() } else { block };
        if !waits || blocks.last().is_none_or(|last| last.trim() != block) {
            blocks.push(block);
        }
    }
    blocks.join("\n\n")
}

/// Problems of one page, each with the line and the directive.
struct Problems<'a> {
    path: &'a str,
    text: &'a str,
    found: Vec<String>,
}

impl Problems<'_> {
    fn at(&mut self, start: usize, directive: &str, problem: &str) {
        let line = self.text[..start].matches('\n').count() + 1;
        self.found.push(format!("{}:{line}: {directive}: {problem}", self.path));
    }

    /// One of the file beside the page.
    fn beside(&mut self, line: usize, problem: &str) {
        let stem = self.path.trim_end_matches(".md");
        self.found.push(format!("{stem}.toml:{line}: {problem}"));
    }
}
