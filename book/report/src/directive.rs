//! Finds the directives of a page.
//!
//! Inline directives stand between double braces, blocks are fenced code whose whole
//! info string names one. Nothing inside other code is a directive, and neither is
//! `\{{…}}`.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::{counted, figure, goals, prediction, table};

/// Something that is replaced.
#[derive(Debug)]
pub enum Directive {
    /// `{{name}}`: a quantity of the page.
    Quantity(String),
    /// `{{provenance}}`: where the page's numbers come from.
    Provenance,
    /// `{{verdict ID}}`: a claim's badge.
    Verdict(String),
    /// `{{claim ID}}`: a claim's text.
    Claim(String),
    /// `{{scorecard SECTION}}`: the claims of a section.
    Scorecard(String),
    /// `{{errata}}`: every erratum.
    Errata,
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
const BLOCKS: [&str; 6] =
    ["quantities", "chart", "table", "counted", "prediction", "goals"];

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
        !matches!(self, Directive::Quantity(_) | Directive::Verdict(_))
    }

    /// Its id, if it has one.
    pub fn id(&self) -> Option<&str> {
        match self {
            Directive::Chart(block) => Some(&block.id),
            Directive::Prediction(block) => Some(&block.id),
            _ => None,
        }
    }

    fn inline(braced: &str) -> Result<Directive, String> {
        let text =
            braced.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
        let text = text.ok_or("has no closing braces on its line")?;
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match *words.as_slice() {
            ["provenance"] => Directive::Provenance,
            ["errata"] => Directive::Errata,
            ["verdict", id] => Directive::Verdict(id.to_owned()),
            ["claim", id] => Directive::Claim(id.to_owned()),
            ["scorecard", section] => Directive::Scorecard(section.to_owned()),
            [name] => Directive::Quantity(name.to_owned()),
            _ => return Err("there is no such directive".to_owned()),
        })
    }

    fn block(kind: &str, toml: String) -> Result<Directive, String> {
        Ok(match kind {
            "chart" => Directive::Chart(Box::new(figure::Block::parse(&toml)?)),
            "table" => Directive::Table(table::Block::parse(&toml)?),
            "counted" => Directive::Counted(counted::Block::parse(&toml)?),
            "prediction" => Directive::Prediction(prediction::Block::parse(&toml)?),
            "goals" => Directive::Goals(goals::Block::parse(&toml)?),
            _ => Directive::Quantities(toml),
        })
    }
}

/// The directives of `text` in their order, and what is wrong with those that are none.
pub fn find(text: &str) -> Vec<Found<Result<Directive, String>>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM;
    let (mut found, mut code) = (vec![], vec![]);
    let mut block: Option<(String, String)> = None; // kind, TOML
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Code(_) => code.push(range),
            Event::Start(Tag::CodeBlock(kind)) => {
                code.push(range);
                block = match kind {
                    CodeBlockKind::Fenced(info) if BLOCKS.contains(&&*info) => {
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
                if let Some((kind, toml)) = block.take() {
                    let margin =
                        range.start == 0 || text[..range.start].ends_with('\n');
                    let what = match margin {
                        true => Directive::block(&kind, toml),
                        false => Err("must stand at the left margin".to_owned()),
                    };
                    let id = what.as_ref().ok().and_then(Directive::id);
                    let name = match id {
                        Some(id) => format!("{kind} \"{id}\""),
                        None => format!("`{kind}` block"),
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

/// Where `{{…}}` stands outside code. What mdBook expands itself, `{{#…}}`, is left out.
fn braces(text: &str, code: &[Range<usize>]) -> Vec<Range<usize>> {
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
