//! Finds the directives of a page and replaces them.
//!
//! Inline directives stand between double braces, blocks are fenced code whose whole
//! info string is `quantities`, `chart`, `table` or `prediction`. Nothing inside other
//! code is a directive, and neither is `\{{…}}`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde::de::DeserializeOwned;

use crate::claims::Ledger;
use crate::figure::Picture;
use crate::quantity::{Definitions, Quantity};
use crate::records::Records;
use crate::unit::Unit;
use crate::{figure, html, includes, prediction, provenance, scorecard, table};

/// One page of the book.
#[derive(Debug)]
pub struct Page {
    /// Its path in `src/` without `.md`.
    pub stem: String,
    /// The quantities that have a value.
    pub quantities: BTreeMap<String, Quantity>,
    experiment: Option<String>,
    text: String,
    directives: Vec<Directive>,
}

#[derive(Debug)]
struct Directive {
    /// Where it stands in the text.
    range: Range<usize>,
    /// What errors call it.
    name: String,
    what: What,
}

#[derive(Debug)]
enum What {
    Quantity(String),
    Provenance,
    Verdict(String),
    Claim(String),
    Scorecard(String),
    Errata,
    Quantities,
    Chart(Box<figure::Block>),
    Table(table::Block),
    Prediction(prediction::Block),
}

/// Everything that a page is expanded with.
pub struct Context<'a> {
    /// The records of both machines.
    pub records: &'a Records,
    /// The judged claims.
    pub ledger: &'a Ledger,
    /// Every page of the book.
    pub pages: &'a [Page],
}

impl Page {
    /// Finds the directives of `text` and evaluates its quantities. `path` is the page's
    /// path in `src`.
    pub fn read(
        path: &str,
        text: &str,
        src: &Path,
        records: &Records,
    ) -> (Page, Vec<String>) {
        let mut problems = Problems { path, text, found: vec![] };
        let folder = src.join(path);
        let folder = folder.parent().unwrap_or(src);
        for (start, name, problem) in includes::check(text, folder) {
            problems.at(start, &name, &problem);
        }

        let (code, blocks) = code(text);
        let (mut definitions, mut directives) = (Definitions::default(), vec![]);
        for Fenced { kind, range, toml } in blocks {
            let name = format!("`{kind}` block");
            if !text[..range.start].is_empty()
                && !text[..range.start].ends_with('\n')
            {
                problems.at(range.start, &name, "must stand at the left margin");
            }
            let what = match kind.as_str() {
                "chart" => {
                    figure::Block::parse(&toml).map(|b| What::Chart(Box::new(b)))
                }
                "table" => table::Block::parse(&toml).map(What::Table),
                "prediction" => {
                    prediction::Block::parse(&toml).map(What::Prediction)
                }
                _ => {
                    for problem in definitions.add(&toml).err().into_iter().flatten()
                    {
                        problems.at(range.start, &name, &problem);
                    }
                    Ok(What::Quantities)
                }
            };
            match what {
                Ok(what) => {
                    let name =
                        what.id().map_or(name, |id| format!("{kind} \"{id}\""));
                    directives.push(Directive { range, name, what });
                }
                Err(problem) => problems.at(range.start, &name, &problem),
            }
        }
        for range in inline(text, &code) {
            let name = text[range.clone()].to_owned();
            match What::inline(&name) {
                Ok(what) => {
                    if what.is_block() && !alone(text, &range) {
                        problems.at(
                            range.start,
                            &name,
                            "must stand alone on its line",
                        );
                    }
                    directives.push(Directive { range, name, what });
                }
                Err(problem) => problems.at(range.start, &name, &problem),
            }
        }
        directives.sort_by_key(|directive| directive.range.start);

        let (quantities, wrong) = definitions.evaluate(records);
        let first = directives.iter().find(|d| matches!(d.what, What::Quantities));
        for problem in wrong {
            problems.at(
                first.map_or(0, |d| d.range.start),
                "`quantities` block",
                &problem,
            );
        }
        let page = Page {
            stem: path.trim_end_matches(".md").to_owned(),
            quantities,
            experiment: definitions.experiment,
            text: text.to_owned(),
            directives,
        };
        (page, problems.found)
    }

    /// The page with every directive replaced, and its figures.
    pub fn expand(&self, context: &Context) -> (String, Vec<Picture>, Vec<String>) {
        let path = format!("{}.md", self.stem);
        let mut problems = Problems { path: &path, text: &self.text, found: vec![] };
        let (mut out, mut pictures, mut end) = (String::new(), vec![], 0);
        for Directive { range, name, what } in &self.directives {
            out += &self.text[end..range.start];
            match self.replace(what, context, &mut pictures) {
                // A blank line ends the HTML; then Markdown goes on.
                Ok(html) if what.is_block() => out += &format!("{html}\n"),
                Ok(html) => out += &html,
                Err(problem) => problems.at(range.start, name, &problem),
            }
            end = range.end;
        }
        out += &self.text[end..];
        (out, pictures, problems.found)
    }

    fn replace(
        &self,
        what: &What,
        context: &Context,
        pictures: &mut Vec<Picture>,
    ) -> Result<String, String> {
        let Context { records, ledger, pages } = context;
        let root = "../".repeat(self.stem.matches('/').count());
        Ok(match what {
            What::Quantities => String::new(),
            What::Quantity(name) => {
                let Quantity { unit, value } = self.quantities.get(name).ok_or(
                    "neither a directive nor a quantity that has a value on this page",
                )?;
                let value = value
                    .sentence(records, |value, _| html::inline(&unit.print(*value)));
                format!("<span class=\"value\">{value}</span>")
            }
            What::Verdict(id) => scorecard::badge(ledger.entry(id)?, records, &root),
            What::Claim(id) => scorecard::quotation(&ledger.entry(id)?.claim, &root),
            What::Scorecard(section) => {
                scorecard::section(section, ledger, records, pages, &root)?
            }
            What::Errata => scorecard::errata(ledger, &root)?,
            What::Provenance => {
                let experiment = self.experiment.as_ref().ok_or(
                    "name the page's `experiment` in its `quantities` block",
                )?;
                let both = records.both(|machine| machine.record(experiment))?;
                both.each()
                    .map(|(record, beside)| provenance::full(record, beside))
                    .collect()
            }
            What::Chart(block) => {
                let (html, new) = block.expand(records, &self.quantities)?;
                pictures.extend(new);
                html
            }
            What::Table(block) => block.expand(records)?,
            What::Prediction(block) => {
                block.expand(records, &self.quantities, &self.chart_units()?)?
            }
        })
    }

    fn chart_units(&self) -> Result<BTreeMap<&str, Unit>, String> {
        let charts = self.directives.iter().filter_map(|d| match &d.what {
            What::Chart(block) => Some(block),
            _ => None,
        });
        charts.map(|chart| Ok((chart.id.as_str(), chart.unit()?))).collect()
    }

    /// The page's file in the finished book.
    pub fn html(&self) -> String {
        let readme =
            self.stem.strip_suffix("README").map(|folder| format!("{folder}index"));
        format!("{}.html", readme.as_ref().unwrap_or(&self.stem))
    }

    /// Whether it shows the verdict of claim `id`.
    pub fn shows_verdict(&self, id: &str) -> bool {
        self.directives
            .iter()
            .any(|d| matches!(&d.what, What::Verdict(shown) if shown == id))
    }

    /// Whether it lists the claims of `section`.
    pub fn lists_section(&self, section: &str) -> bool {
        let listed = |what: &What| matches!(what, What::Scorecard(listed) if listed == section);
        self.directives.iter().any(|d| listed(&d.what))
    }

    /// The ids of its charts and predictions; each must be unique in the book.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.directives
            .iter()
            .filter(|d| d.what.id().is_some())
            .map(|d| d.name.as_str())
    }
}

impl What {
    fn inline(braced: &str) -> Result<What, String> {
        let text = braced
            .strip_prefix("{{")
            .and_then(|text| text.strip_suffix("}}"))
            .ok_or("has no closing braces on its line")?;
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match words.as_slice() {
            ["provenance"] => What::Provenance,
            ["errata"] => What::Errata,
            ["verdict", id] => What::Verdict((*id).to_owned()),
            ["claim", id] => What::Claim((*id).to_owned()),
            ["scorecard", section] => What::Scorecard((*section).to_owned()),
            [name] => What::Quantity((*name).to_owned()),
            _ => return Err("no such directive".to_owned()),
        })
    }

    fn is_block(&self) -> bool {
        !matches!(self, What::Quantity(_) | What::Verdict(_))
    }

    fn id(&self) -> Option<&str> {
        match self {
            What::Chart(block) => Some(&block.id),
            What::Prediction(block) => Some(&block.id),
            _ => None,
        }
    }
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

/// A fenced block that is a directive.
struct Fenced {
    kind: String,
    range: Range<usize>,
    toml: String,
}

/// Where the code of a page is, and which of it are directives.
fn code(text: &str) -> (Vec<Range<usize>>, Vec<Fenced>) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM;
    let (mut code, mut blocks, mut open) = (vec![], vec![], None::<Fenced>);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Code(_) => code.push(range),
            Event::Start(Tag::CodeBlock(kind)) => {
                code.push(range.clone());
                if let CodeBlockKind::Fenced(info) = kind
                    && ["quantities", "chart", "table", "prediction"]
                        .contains(&&*info)
                {
                    open = Some(Fenced {
                        kind: info.to_string(),
                        range,
                        toml: String::new(),
                    });
                }
            }
            Event::Text(line) => {
                if let Some(fenced) = &mut open {
                    fenced.toml += &line;
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    (code, blocks)
}

/// Where `{{…}}` stands outside code. What mdBook expands itself, `{{#…}}`, is left out.
fn inline(text: &str, code: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = vec![];
    for (start, _) in text.match_indices("{{") {
        let escaped = text[..start].ends_with('\\');
        let in_code = code.iter().any(|range| range.contains(&start));
        if escaped || in_code || text[start..].starts_with("{{#") {
            continue;
        }
        let line = text[start..].lines().next().unwrap_or_default();
        let length = line.find("}}").map_or(line.len(), |end| end + 2);
        found.push(start..start + length);
    }
    found
}

/// Whether nothing else stands on the line.
fn alone(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].rsplit('\n').next().unwrap_or_default();
    let after = text[range.end..].lines().next().unwrap_or_default();
    before.is_empty() && after.trim().is_empty()
}

/// Reads TOML; the error is one line that says on which line of `toml` it is.
pub fn parse<T: DeserializeOwned>(toml: &str) -> Result<T, String> {
    toml::from_str(toml).map_err(|e| {
        let message = e.message().replace('\n', "; ");
        match e.span() {
            Some(span) => {
                let line = toml[..span.start].matches('\n').count() + 1;
                format!("line {line}: {message}")
            }
            None => message,
        }
    })
}

/// Checks an id, which is also a file's name and part of an address.
pub fn check_id(id: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.is_empty() || !id.chars().all(plain) {
        return Err(format!(
            "id `{id}`: take lower-case letters, digits and hyphens"
        ));
    }
    Ok(())
}
