//! One page: its quantities, and its text with every directive replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::claims::Ledger;
use crate::directive::{self, Directive, Found};
use crate::figure::Picture;
use crate::quantity::{Definitions, Quantity};
use crate::records::Records;
use crate::{html, includes, provenance, scorecard};

/// One page of the book.
#[derive(Debug)]
pub struct Page {
    /// Its path in `src/` without `.md`.
    pub stem: String,
    /// The quantities that have a value.
    pub quantities: BTreeMap<String, Quantity>,
    definitions: Definitions,
    /// It says that it is a draft.
    draft: bool,
    /// It is one of an experiment that has no record.
    unrecorded: bool,
    text: String,
    directives: Vec<Found<Directive>>,
}

/// What a draft says below its title.
const DRAFT: &str = "\n<p class=\"draft\">This page is a draft: no reference machine has \
    recorded its experiment yet.</p>\n\n";
/// In place of what is not recorded yet, in a sentence and as a block.
const PENDING: &str = "<span class=\"value\">not recorded yet</span>";
const PENDING_BLOCK: &str = "<p class=\"draft\">Not recorded yet.</p>\n";

/// Everything that a page is expanded with.
pub struct Context<'a> {
    /// The records of all machines.
    pub records: &'a Records,
    /// The judged claims.
    pub ledger: &'a Ledger,
    /// Every page of the book.
    pub pages: &'a [Page],
}

impl Page {
    /// Finds the directives of `text` and evaluates its quantities. `path` is the page's
    /// path in `src`. A `draft` has no problem where its experiment has no record.
    pub fn read(
        path: &str,
        text: &str,
        src: &Path,
        records: &Records,
        draft: bool,
    ) -> (Page, Vec<String>) {
        let mut problems = Problems { path, text, found: vec![] };
        let folder = src.join(path);
        for (start, name, problem) in
            includes::check(text, folder.parent().unwrap_or(src))
        {
            problems.at(start, &name, &problem);
        }
        let (mut definitions, mut directives) = (Definitions::default(), vec![]);
        let mut first = None; // the first block of quantities
        for Found { range, name, what } in directive::find(text) {
            let what = what.and_then(|what| {
                if let Directive::Quantities(toml) = &what {
                    first.get_or_insert(range.start);
                    definitions.add(toml)?;
                }
                Ok(what)
            });
            match what {
                Ok(what) => directives.push(Found { range, name, what }),
                Err(problem) => problems.at(range.start, &name, &problem),
            }
        }
        let stem = path.trim_end_matches(".md");
        let experiment = stem.rsplit('/').next().unwrap_or(stem);
        let unrecorded =
            draft && records.both(experiment, None, |_, _| Ok(())).is_err();
        let (quantities, without_value) = definitions.evaluate(records);
        for problem in without_value.iter().filter(|_| !unrecorded) {
            problems.at(first.unwrap_or(0), "`quantities` block", problem);
        }
        let page = Page {
            stem: stem.to_owned(),
            quantities,
            definitions,
            draft,
            unrecorded,
            text: text.to_owned(),
            directives,
        };
        (page, problems.found)
    }

    /// The page with every directive replaced, its figures, and what is wrong with it.
    pub fn expand(&self, context: &Context) -> (String, Vec<Picture>, Vec<String>) {
        let path = format!("{}.md", self.stem);
        let mut problems = Problems { path: &path, text: &self.text, found: vec![] };
        let (mut out, mut pictures, mut end) = (String::new(), vec![], 0);
        for Found { range, name, what } in &self.directives {
            out += &self.text[end..range.start];
            match self.replace(what, context, &mut pictures) {
                // HTML ends with a line break; with the directive's own that makes the
                // blank line after which Markdown goes on.
                Ok(html) => out += &html,
                Err(_) if self.unrecorded && self.needs_records(what) => {
                    out += if what.is_block() { PENDING_BLOCK } else { PENDING };
                }
                Err(problem) => problems.at(range.start, name, &problem),
            }
            end = range.end;
        }
        out += &self.text[end..];
        if self.draft {
            let below_the_title = out.find('\n').map_or(out.len(), |end| end + 1);
            out.insert_str(below_the_title, DRAFT);
        }
        (out, pictures, problems.found)
    }

    /// Whether a directive shows what was recorded. A quantity has to be defined, though.
    fn needs_records(&self, directive: &Directive) -> bool {
        match directive {
            Directive::Quantity(name) => self.definitions.define(name),
            Directive::Provenance
            | Directive::Chart(_)
            | Directive::Table(_)
            | Directive::Counted(_)
            | Directive::Prediction(_) => true,
            _ => false,
        }
    }

    fn replace(
        &self,
        directive: &Directive,
        context: &Context,
        pictures: &mut Vec<Picture>,
    ) -> Result<String, String> {
        let Context { records, ledger, pages } = context;
        let root = "../".repeat(self.stem.matches('/').count());
        Ok(match directive {
            Directive::Quantities(_) => String::new(),
            Directive::Quantity(name) => self.value(name, records, html::inline)?,
            Directive::Verdict(id) => {
                scorecard::badge(ledger.entry(id)?, records, &root)
            }
            Directive::Claim(id) => {
                scorecard::quotation(&ledger.entry(id)?.claim, &root)
            }
            Directive::Scorecard(section) => {
                scorecard::section(section, ledger, records, pages, &root)?
            }
            Directive::Errata => scorecard::errata(ledger, &root)?,
            Directive::Provenance => self.provenance(records)?,
            Directive::Chart(block) => {
                let (html, new) = block.expand(records, self)?;
                pictures.extend(new);
                html
            }
            Directive::Table(block) => block.expand(records)?,
            Directive::Counted(block) => block.expand(records)?,
            Directive::Prediction(block) => block.expand(records, self)?,
            Directive::Goals(block) => block.expand(records, self, pages, &root)?,
        })
    }

    /// The quantity called `name` in a sentence; `safe` makes text safe there.
    pub fn value(
        &self,
        name: &str,
        records: &Records,
        safe: fn(&str) -> String,
    ) -> Result<String, String> {
        let Quantity { unit, value } = self.quantity(name)?;
        let value = value.sentence(records, |value, _| safe(&unit.print(*value)));
        Ok(format!("<span class=\"value\">{value}</span>"))
    }

    /// A sentence out of a block, as HTML: [`html::prose`], and `{{name}}` is a quantity.
    pub fn prose(&self, text: &str, records: &Records) -> Result<String, String> {
        let mut parts = text.split("{{");
        let mut out = html::prose(parts.next().unwrap_or_default());
        for part in parts {
            let (name, rest) = part.split_once("}}").ok_or("`{{` has no `}}`")?;
            out += &self.value(name.trim(), records, html::escape)?;
            out += &html::prose(rest);
        }
        Ok(out)
    }

    /// The quantity called `name`.
    pub fn quantity(&self, name: &str) -> Result<&Quantity, String> {
        self.quantities.get(name).ok_or_else(|| {
            let stem = &self.stem;
            match self.definitions.define(name) {
                true => format!(
                    "`{name}` has no value, see the quantities of `{stem}.md`"
                ),
                false => format!("there is no quantity `{name}` on `{stem}.md`"),
            }
        })
    }

    /// Where the page's numbers come from: the reader's machine, the reference machine, and
    /// those that the page names besides.
    fn provenance(&self, records: &Records) -> Result<String, String> {
        let experiment = self.definitions.experiment.as_ref();
        let experiment = experiment
            .ok_or("name the page's `experiment` in its `quantities` block")?;
        let both = records.both(experiment, None, |_, record| Ok(record))?;
        let mut shown: Vec<_> =
            both.each().map(|(record, beside)| (*record, beside)).collect();
        for name in self.machines() {
            let is_shown =
                shown.iter().any(|(record, _)| record.machine.name == name);
            if let (false, Ok(record)) =
                (is_shown, records.named(&name)?.record(experiment))
            {
                shown.push((record, true));
            }
        }
        let lists = shown.into_iter();
        Ok(lists.map(|(record, beside)| provenance::full(record, beside)).collect())
    }

    /// The reference machines that the page names.
    fn machines(&self) -> BTreeSet<String> {
        let mut names = self.definitions.machines();
        for found in &self.directives {
            match &found.what {
                Directive::Chart(block) => names.extend(block.machine.clone()),
                Directive::Table(block) => names.extend(block.machines().cloned()),
                _ => {}
            }
        }
        names
    }

    /// The chart called `id`.
    pub fn chart(&self, id: &str) -> Result<&crate::figure::Block, String> {
        let chart = self.directives.iter().find_map(|found| match &found.what {
            Directive::Chart(block) if block.id == id => Some(block),
            _ => None,
        });
        chart
            .map(AsRef::as_ref)
            .ok_or_else(|| format!("this page has no chart `{id}`"))
    }

    /// The page's file in the finished book.
    pub fn html(&self) -> String {
        let readme =
            self.stem.strip_suffix("README").map(|folder| format!("{folder}index"));
        format!("{}.html", readme.as_ref().unwrap_or(&self.stem))
    }

    /// Whether it shows the verdict of claim `id`.
    pub fn shows_verdict(&self, id: &str) -> bool {
        self.has(|directive| matches!(directive, Directive::Verdict(shown) if shown == id))
    }

    /// Whether it lists the claims of `section`.
    pub fn lists_section(&self, section: &str) -> bool {
        self.has(|directive| {
            matches!(directive, Directive::Scorecard(listed) if listed == section)
        })
    }

    fn has(&self, is: impl Fn(&Directive) -> bool) -> bool {
        self.directives.iter().any(|found| is(&found.what))
    }

    /// Its charts and predictions, as errors call them: each must be the only one of its
    /// name in the book.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let named = self.directives.iter().filter(|found| found.what.id().is_some());
        named.map(|found| found.name.as_str())
    }
}

/// The page called `name`, in whichever section it lies.
pub fn find<'p>(pages: &'p [Page], name: &str) -> Option<&'p Page> {
    pages.iter().find(|page| page.stem.rsplit('/').next() == Some(name))
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
}
