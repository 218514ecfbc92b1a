//! Finds the directives of a page. They stand between double braces. Nothing inside code is a
//! directive, and neither is `\{{…}}`.

use std::ops::Range;

use engine::explorer::{self, Explorer};
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::block::{Definitions, KINDS, Name};
use crate::drawing::{self, Drawing};
use crate::minutes::Time;
use crate::names::did_you_mean;

/// Something that is replaced.
#[derive(Debug)]
pub enum Directive {
    /// `{{name}}`: a quantity of the page.
    Quantity(String),
    /// `{{about name}}`: the same in round numbers.
    About(String),
    /// `{{if CONDITION}}`: what follows, up to `{{end}}`, is said under a condition.
    If(String),
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
    /// `{{minutes PAGE …}}`, `{{practice PAGE …}}` and the like: how long they take.
    Time(Time, Vec<String>),
    /// `{{pages PAGE …}}`: links to them.
    Pages(Vec<String>),
    /// `{{minutes}}`: how long each page, each part and all parts take.
    AllMinutes,
    /// `{{exercise NAME}}`: what a checked exercise asks for.
    Exercise(String),
    /// `{{exercises}}`: all of them; or these, `{{exercises NAME …}}`.
    Exercises(Vec<String>),
    /// `{{goals}}`: how many goals of the book are met.
    AllGoals,
    /// `{{this-machine}}`: the reader's machine beside the references.
    ThisMachine,
    /// `{{budget}}`: the calculator of models' memory.
    Budget,
    /// `{{errata}}`: every erratum.
    Errata,
    Drawing(&'static Drawing),
    /// `{{explorer NAME}}`: knobs, and the picture of what they do.
    Explorer(&'static Explorer),
    /// `{{chart NAME}}` and the like: what the file beside the page defines under this name.
    Block(Name),
}

/// The words that directives begin with, but for [`KINDS`].
pub const WORDS: [&str; 20] = [
    "about",
    "budget",
    "claim",
    "drawing",
    "end",
    "errata",
    "exercise",
    "exercises",
    "explorer",
    "first-exercises",
    "hours",
    "if",
    "minutes",
    "pages",
    "practice",
    "predictions",
    "provenance",
    "scorecard",
    "this-machine",
    "verdict",
];

#[derive(Debug)]
pub struct Found<T> {
    pub range: Range<usize>,
    /// What errors call it.
    pub name: String,
    pub what: T,
}

impl Directive {
    /// Whether it becomes a block of HTML, and not a part of a sentence.
    pub fn is_block(&self) -> bool {
        !matches!(
            self,
            Directive::Quantity(_)
                | Directive::About(_)
                | Directive::Verdict(_)
                | Directive::Time(..)
                | Directive::Pages(_)
                | Directive::If(_)
                | Directive::End
        )
    }

    fn parse(braced: &str) -> Result<Directive, String> {
        let text = braced.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
        let text = text.ok_or("has no closing braces on its line")?;
        if let Some(condition) = text.trim_start().strip_prefix("if ") {
            return Ok(Directive::If(condition.to_owned()));
        }
        let parts: Vec<&str> = text.split_whitespace().collect();
        Ok(match *parts.as_slice() {
            ["provenance"] => Directive::Provenance,
            ["end"] => Directive::End,
            ["this-machine"] => Directive::ThisMachine,
            ["scorecard"] => Directive::Overview,
            ["predictions"] => Directive::Predictions,
            ["exercises", ref names @ ..] => Directive::Exercises(owned(names)),
            ["budget"] => Directive::Budget,
            ["goals"] => Directive::AllGoals,
            ["errata"] => Directive::Errata,
            ["verdict", id] => Directive::Verdict(id.to_owned()),
            ["about", name] => Directive::About(name.to_owned()),
            ["claim", id] => Directive::Claim(id.to_owned()),
            ["scorecard", section] => Directive::Scorecard(section.to_owned()),
            ["minutes"] => Directive::AllMinutes,
            ["exercise", name] => Directive::Exercise(name.to_owned()),
            ["explorer", name] => Directive::Explorer(explorer::find(name)?),
            ["drawing", name] => Directive::Drawing(drawing::find(name)?),
            ["pages", ref names @ ..] if !names.is_empty() => Directive::Pages(owned(names)),
            [name] => Directive::Quantity(name.to_owned()),
            [word, ref rest @ ..] => match (Time::of(word), Definitions::kind(word), rest) {
                (Some(time), _, pages) => Directive::Time(time, owned(pages)),
                (None, Some(kind), [id]) => Directive::Block((kind, (*id).to_owned())),
                (None, Some(_), _) => return Err(format!("`{word}` is followed by one name")),
                (None, None, _) => {
                    let near = did_you_mean(word, words());
                    return Err(format!("no directive begins with `{word}`{near}"));
                }
            },
            [] => return Err("names no directive".to_owned()),
        })
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// All words that directives begin with.
pub fn words<'w>() -> impl Iterator<Item = &'w str> {
    WORDS.into_iter().chain(KINDS)
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
    let mut code = vec![];
    for (event, range) in Parser::new_ext(text, markdown()).into_offset_iter() {
        if let Event::Code(_) | Event::Start(Tag::CodeBlock(_)) = event {
            code.push(range);
        }
    }
    let mut found = vec![];
    for range in braces(text, &code) {
        let name = text[range.clone()].to_owned();
        let what = match Directive::parse(&name) {
            Ok(directive) if directive.is_block() && !alone(text, &range) => {
                Err("must stand alone on its line".to_owned())
            }
            what => what,
        };
        found.push(Found { range, name, what });
    }
    found
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
