//! The first use of a glossary's word on a page becomes a link to its entry, with the
//! entry's first sentence for a tooltip.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::directive;
use crate::html::escape;

pub const PAGE: &str = "glossary.md";
/// Pages that leave words alone: the glossary, and what is for authors.
const LEFT_ALONE: [&str; 2] = [PAGE, "contributing/"];
/// What a comment on that page begins with that lists words which are everyday words too.
const EVERYDAY: &str = "<!-- Not linked:";

/// The words of the book.
#[derive(Clone, Debug, Default)]
pub struct Glossary {
    entries: Vec<Entry>,
    /// Each word in small letters, its plurals too, with its entry.
    forms: BTreeMap<Vec<String>, usize>,
    /// So many words the longest form has.
    longest: usize,
}

/// What the glossary says of a word.
#[derive(Clone, Debug)]
struct Entry {
    id: String,
    definition: String,
}

/// A piece of prose: where it stands, and its words.
type Words<'a> = Vec<(Range<usize>, &'a str)>;

impl Glossary {
    /// Reads the glossary's page.
    pub fn read(text: &str) -> Glossary {
        let mut glossary = Glossary::default();
        let everyday = text.split_once(EVERYDAY).and_then(|(_, rest)| rest.split_once('.'));
        let everyday: BTreeSet<String> = everyday
            .map_or("", |(list, _)| list)
            .split(',')
            .map(|word| word.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let (mut title, mut body) = (None::<String>, None::<String>);
        for event in Parser::new_ext(text, directive::markdown()) {
            match event {
                Event::Start(Tag::DefinitionListTitle) => title = Some(String::new()),
                Event::Start(Tag::DefinitionListDefinition) => body = Some(String::new()),
                Event::End(TagEnd::DefinitionListDefinition) => {
                    if let (Some(title), Some(body)) = (title.take(), body.take()) {
                        glossary.add(&title, &body, &everyday);
                    }
                }
                Event::Text(part) | Event::Code(part) => {
                    if let Some(text) = body.as_mut().or(title.as_mut()) {
                        *text += &part;
                    }
                }
                Event::SoftBreak => {
                    if let Some(text) = body.as_mut() {
                        text.push(' ');
                    }
                }
                _ => {}
            }
        }
        glossary
    }

    /// Adds an entry for one or several words, with a comma between.
    fn add(&mut self, title: &str, body: &str, everyday: &BTreeSet<String>) {
        let id = id(title);
        self.entries.push(Entry { id, definition: first_sentence(body) });
        for word in title.split(", ").filter(|word| !everyday.contains(*word)) {
            for form in forms(word) {
                self.longest = self.longest.max(form.len());
                self.forms.insert(form, self.entries.len() - 1);
            }
        }
    }

    /// `text`, a page's in Markdown, with links. `path` is the page's in `src`.
    pub fn link(&self, text: &str, path: &str) -> String {
        if LEFT_ALONE.iter().any(|page| path.starts_with(page)) {
            return text.to_owned();
        }
        let root = "../".repeat(path.matches('/').count());
        let mut seen = BTreeSet::new();
        let (mut out, mut end) = (String::new(), 0);
        for prose in prose(text) {
            let mut at = 0;
            while at < prose.len() {
                let Some((entry, count)) = self.find(&prose[at..]) else {
                    at += 1;
                    continue;
                };
                let range = prose[at].0.start..prose[at + count - 1].0.end;
                at += count;
                if seen.insert(entry) {
                    let Entry { id, definition } = &self.entries[entry];
                    out += &text[end..range.start];
                    out += &format!(
                        "<a class=\"term\" href=\"{root}glossary.html#{id}\" \
                         data-definition=\"{}\">{}</a>",
                        escape(definition),
                        &text[range.clone()]
                    );
                    end = range.end;
                }
            }
        }
        out + &text[end..]
    }

    /// The entry of the longest word of the glossary that `words` begin with, and how many
    /// words that takes.
    fn find(&self, words: &[(Range<usize>, &str)]) -> Option<(usize, usize)> {
        (1..=self.longest.min(words.len())).rev().find_map(|count| {
            let form: Vec<String> =
                words[..count].iter().map(|(_, word)| word.to_lowercase()).collect();
            Some((*self.forms.get(&form)?, count))
        })
    }
}

/// A word of the glossary in small letters, in the singular and in the plural. Words of
/// several words end in the one that has a plural, or have `of` after it.
fn forms(word: &str) -> Vec<Vec<String>> {
    let words: Vec<String> = word.split(' ').map(str::to_lowercase).collect();
    let of = words.iter().position(|word| word == "of");
    let noun = of.unwrap_or(words.len()).saturating_sub(1);
    let mut plural = words.clone();
    plural[noun] = match words[noun].as_str() {
        noun if noun.ends_with('y') && !noun.ends_with("ay") => {
            format!("{}ies", &noun[..noun.len() - 1])
        }
        noun if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => {
            format!("{noun}es")
        }
        noun => format!("{noun}s"),
    };
    vec![words, plural]
}

/// The id that mdBook gives an entry.
fn id(title: &str) -> String {
    let id = title.chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || "_-".contains(c) => Some(c.to_ascii_lowercase()),
        c => c.is_whitespace().then_some('-'),
    });
    id.collect()
}

fn first_sentence(text: &str) -> String {
    let end = text.match_indices(". ").map(|(at, _)| at + 1);
    // Not after `e.g.` and the like, and not where a number has a point.
    let end = end.filter(|&end| text[end..].trim_start().starts_with(char::is_uppercase));
    text[..end.min().unwrap_or(text.len())].trim().to_owned()
}

/// The prose of a page, as stretches of words between which nothing but spaces, line breaks
/// and the like stand. Not: headings, code, links, tables and HTML.
fn prose(text: &str) -> Vec<Words<'_>> {
    let (mut found, mut stretch): (Vec<Words>, Words) = (vec![], vec![]);
    let (mut outside, mut link) = (0, false);
    let events = Parser::new_ext(text, directive::markdown()).into_offset_iter();
    for (event, range) in events {
        let is_other = |tag: &TagEnd| {
            matches!(
                tag,
                TagEnd::Heading(_)
                    | TagEnd::CodeBlock
                    | TagEnd::HtmlBlock
                    | TagEnd::Link
                    | TagEnd::Image
                    | TagEnd::Table
                    | TagEnd::DefinitionListTitle
            )
        };
        match &event {
            // What is written otherwise than it reads is no word of the glossary.
            Event::Text(part) if outside == 0 && !link && text[range.clone()] == **part => {
                stretch.extend(words(&text[range.clone()], range.start));
                continue;
            }
            Event::SoftBreak => continue,
            Event::Start(tag) if is_other(&tag.to_end()) => outside += 1,
            Event::End(tag) if is_other(tag) => outside -= 1,
            Event::InlineHtml(html) if html.starts_with("<a ") => link = true,
            Event::InlineHtml(html) if html.starts_with("</a>") => link = false,
            _ => {}
        }
        found.push(std::mem::take(&mut stretch));
    }
    found.push(stretch);
    // Where a sentence or a clause ends, no word of several words goes on.
    found.iter().flat_map(|words| split(text, words)).collect()
}

/// The words of `part`, which stands at `start`. Hyphens and dots inside belong to them.
fn words(part: &str, start: usize) -> impl Iterator<Item = (Range<usize>, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || "-_./'’".contains(c);
    part.split(move |c| !is_word(c)).filter_map(move |word| {
        let at = word.as_ptr() as usize - part.as_ptr() as usize;
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
        let at = start + at + word.find(inner)?;
        (!inner.is_empty()).then(|| (at..at + inner.len(), inner))
    })
}

/// `words` of `text`, divided where more than spaces stand between two.
fn split<'a>(text: &str, words: &Words<'a>) -> Vec<Words<'a>> {
    let mut parts: Vec<Words> = vec![];
    for word in words {
        let follows = parts
            .last()
            .and_then(|part| part.last())
            .is_some_and(|(last, _)| text[last.end..word.0.start].chars().all(char::is_whitespace));
        match parts.last_mut() {
            Some(part) if follows => part.push(word.clone()),
            _ => parts.push(vec![word.clone()]),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# Glossary\n\n<!-- Not linked: page,\ncold. All else is. -->\n\nstream\n: A \
        queue of *GPU* work, as in `v1.0`. It runs in order.\n\ndefault stream\n: That of \
        none.\n\ncold, warm\n: Of a cache.\n\npage\n: A piece.\n\nlatency\n: Time, e.g. \
        of a <hop>.\n\narray of structures\n: A layout.\n";

    fn linked(text: &str, path: &str) -> String {
        let text = Glossary::read(GLOSSARY).link(text, path);
        let mut out = String::new();
        for (n, part) in text.split("<a class=\"term\" href=\"").enumerate() {
            let part = match n {
                0 => part.to_owned(),
                _ => {
                    let (address, rest) = part.split_once('"').unwrap();
                    let (_, rest) = rest.split_once('>').unwrap();
                    format!("[{address}|{}", rest.replacen("</a>", "]", 1))
                }
            };
            out += &part;
        }
        out
    }

    #[test]
    fn the_first_use_of_a_word_is_a_link() {
        for (text, want) in [
            ("A stream, a stream.", "A [glossary.html#stream|stream], a stream."),
            ("Streams wait.", "[glossary.html#stream|Streams] wait."),
            (
                "The default\nstream, two streams.",
                "The [glossary.html#default-stream|default\nstream], two \
                 [glossary.html#stream|streams].",
            ),
            ("*latencies*", "*[glossary.html#latency|latencies]*"),
            ("Arrays of structures", "[glossary.html#array-of-structures|Arrays of structures]"),
            ("When warm.", "When [glossary.html#cold-warm|warm]."),
            ("by default. Stream", "by default. [glossary.html#stream|Stream]"),
        ] {
            assert_eq!(linked(text, "p.md"), want);
        }
        assert_eq!(linked("A stream.", "a/p.md"), "A [../glossary.html#stream|stream].");
    }

    #[test]
    fn what_is_no_prose_is_left_alone() {
        for text in [
            "# A stream",
            "`stream`",
            "    stream",
            "```\nstream\n```",
            "[a stream](x.md)",
            "<p>stream</p>",
            "a <a href=\"x\">stream</a>",
            "| stream |\n|--|\n| stream |",
            "streaming, non-stream, stream-ordered",
            "A page is cold.",
        ] {
            assert_eq!(linked(text, "p.md"), text);
        }
        assert_eq!(linked("stream", "glossary.md"), "stream");
        assert_eq!(linked("stream", "contributing/style.md"), "stream");
    }

    #[test]
    fn the_tooltip_is_the_first_sentence() {
        let glossary = Glossary::read(GLOSSARY);
        let said: Vec<&str> =
            glossary.entries.iter().map(|entry| entry.definition.as_str()).collect();
        assert_eq!(said[0], "A queue of GPU work, as in v1.0.");
        assert!(glossary.link("latency", "p.md").contains("\"Time, e.g. of a"));
    }
}
