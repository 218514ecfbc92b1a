//! Finds the directives of a page.
//!
//! Inline directives stand between double braces. Blocks are fenced code whose info string
//! is a kind of block, with an id after it if it is a chart or a prediction. Nothing inside other code is a directive, and neither is
//! `\{{…}}`.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::condition::Condition;
use crate::drawing::{self, Drawing};
use crate::{counted, figure, goals, prediction, table};

/// Something that is replaced.
#[derive(Debug)]
pub enum Directive {
    /// `{{name}}`: a quantity of the page.
    Quantity(String),
    /// `{{if CONDITION}}`: what follows, up to `{{end}}`, is said under a condition.
    If(Condition),
    /// `{{end}}`.
    End,
    /// `{{provenance}}`: where the page's numbers come from.
    Provenance,
    /// `{{verdict ID}}`: a claim's badge.
    Verdict(String),
    /// `{{claim ID}}`: a claim's text.
    Claim(String),
    /// `{{scorecard SECTION}}`: the claims of a section.
    Scorecard(String),
    /// `{{scorecard}}`: every claim at a glance.
    Overview,
    /// `{{predictions}}`: what the reader has predicted.
    Predictions,
    /// `{{minutes PAGE …}}`: how long it takes to read them.
    Minutes(Vec<String>),
    /// `{{minutes}}`: how long each page, each part and all parts take.
    AllMinutes,
    /// `{{exercise NAME}}`: what a checked exercise asks for.
    Exercise(String),
    /// `{{exercises}}`: all of them.
    Exercises,
    /// `{{this-machine}}`: the reader's machine beside the references.
    ThisMachine,
    /// `{{budget}}`: the calculator of models' memory.
    Budget,
    /// `{{errata}}`: every erratum.
    Errata,
    /// `{{drawing NAME}}`.
    Drawing(&'static Drawing),
    /// A `quantities` block: the TOML.
    Quantities(String),
    /// A `chart` block.
    Chart(Box<figure::Block>),
    /// A `table` block.
    Table(table::Block),
    /// A `counted` block.
    Counted(counted::Block),
    /// A `prediction` block.
    Prediction(prediction::Block),
    /// A `goals` block.
    Goals(goals::Block),
}

/// The blocks that are directives.
const BLOCKS: [&str; 6] = ["quantities", "chart", "table", "counted", "prediction", "goals"];

/// A directive in a text.
#[derive(Debug)]
pub struct Found<T> {
    /// Where it stands.
    pub range: Range<usize>,
    /// What errors call it.
    pub name: String,
    /// What it is.
    pub what: T,
}

impl Directive {
    /// Whether it becomes a block of HTML, and not a part of a sentence.
    pub fn is_block(&self) -> bool {
        !matches!(
            self,
            Directive::Quantity(_)
                | Directive::Verdict(_)
                | Directive::Minutes(_)
                | Directive::If(_)
                | Directive::End
        )
    }

    fn inline(braced: &str) -> Result<Directive, String> {
        let text = braced.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
        let text = text.ok_or("has no closing braces on its line")?;
        if let Some(condition) = text.trim_start().strip_prefix("if ") {
            return Ok(Directive::If(Condition::parse(condition)?));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match *words.as_slice() {
            ["provenance"] => Directive::Provenance,
            ["end"] => Directive::End,
            ["this-machine"] => Directive::ThisMachine,
            ["scorecard"] => Directive::Overview,
            ["predictions"] => Directive::Predictions,
            ["exercises"] => Directive::Exercises,
            ["budget"] => Directive::Budget,
            ["errata"] => Directive::Errata,
            ["verdict", id] => Directive::Verdict(id.to_owned()),
            ["claim", id] => Directive::Claim(id.to_owned()),
            ["scorecard", section] => Directive::Scorecard(section.to_owned()),
            ["minutes"] => Directive::AllMinutes,
            ["minutes", first, ref others @ ..] => Directive::Minutes(
                [&[first], others].concat().into_iter().map(str::to_owned).collect(),
            ),
            ["exercise", name] => Directive::Exercise(name.to_owned()),
            ["drawing", name] => Directive::Drawing(drawing::find(name)?),
            [name] => Directive::Quantity(name.to_owned()),
            _ => return Err("there is no such directive".to_owned()),
        })
    }

    fn block(kind: &str, id: &str, toml: String) -> Result<Directive, String> {
        match kind {
            "chart" | "prediction" => check_id(id)?,
            _ if id.is_empty() => {}
            _ => return Err(format!("what is `{id}` after `{kind}`?")),
        }
        Ok(match kind {
            "chart" => Directive::Chart(Box::new(figure::Block::parse(id, &toml)?)),
            "table" => Directive::Table(table::Block::parse(&toml)?),
            "counted" => Directive::Counted(counted::Block::parse(&toml)?),
            "prediction" => Directive::Prediction(prediction::Block::parse(id, &toml)?),
            "goals" => Directive::Goals(goals::Block::parse(&toml)?),
            _ => Directive::Quantities(toml),
        })
    }
}

/// What mdBook takes for Markdown.
pub fn markdown() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM
}

/// The directives of `text` in their order, and what is wrong with those that are none.
pub fn find(text: &str) -> Vec<Found<Result<Directive, String>>> {
    let (mut found, mut code) = (vec![], vec![]);
    let mut block: Option<(String, String)> = None; // info string, TOML
    for (event, range) in Parser::new_ext(text, markdown()).into_offset_iter() {
        match event {
            Event::Code(_) => code.push(range),
            Event::Start(Tag::CodeBlock(kind)) => {
                code.push(range);
                block = match kind {
                    CodeBlockKind::Fenced(info) if BLOCKS.contains(&words(&info).0) => {
                        Some((info.to_string(), String::new()))
                    }
                    _ => None,
                };
            }
            Event::Text(line) => {
                if let Some((_, toml)) = &mut block {
                    toml.push_str(&line);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((info, toml)) = block.take() {
                    let (kind, id) = words(&info);
                    let margin = range.start == 0 || text[..range.start].ends_with('\n');
                    let what = match margin {
                        true => Directive::block(kind, id, toml),
                        false => Err("must stand at the left margin".to_owned()),
                    };
                    let name = match id {
                        "" => format!("`{kind}` block"),
                        id => format!("{kind} \"{id}\""),
                    };
                    found.push(Found { range, name, what });
                }
            }
            _ => {}
        }
    }
    for range in braces(text, &code) {
        let name = text[range.clone()].to_owned();
        let what = match Directive::inline(&name) {
            Ok(directive) if directive.is_block() && !alone(text, &range) => {
                Err("must stand alone on its line".to_owned())
            }
            what => what,
        };
        found.push(Found { range, name, what });
    }
    found.sort_by_key(|found| found.range.start);
    found
}

/// The kind of block that an info string names, and what follows.
fn words(info: &str) -> (&str, &str) {
    let (kind, rest) = info.split_once(' ').unwrap_or((info, ""));
    (kind, rest.trim())
}

/// An id is also a file's name and part of an address.
fn check_id(id: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match !id.is_empty() && id.chars().all(plain) {
        true => Ok(()),
        false => Err("needs an id: lower-case letters, digits and hyphens".to_owned()),
    }
}

/// Where `{{…}}` stands outside code. What mdBook expands itself, `{{#…}}`, is left out.
fn braces(text: &str, code: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = vec![];
    for (start, _) in text.match_indices("{{") {
        let within = found.last().is_some_and(|last: &Range<usize>| last.contains(&start));
        let escaped = within || text[..start].ends_with('\\');
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
