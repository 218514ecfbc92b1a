//! How long it takes to read a page. That is known when the page is finished, so until then
//! a mark stands where the number is to be.

use std::cell::RefCell;
use std::path::Path;

use anyhow::{Context, Result};
use html5ever::tokenizer::{
    CharacterTokens, EndTag, StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult,
};

use crate::html;
use crate::page::Page;

/// Where a number is to be: the mark names the pages.
const MARK: &str = "<!--minutes ";
const MARK_END: &str = "-->";

const WORDS_A_MINUTE: usize = 200;
const LINES_A_MINUTE: usize = 20;
const SECONDS_A_PREDICTION: usize = 60;
const SECONDS_A_FIGURE: usize = 30;

/// The mark for the minutes that the pages of these names, such as `streams/pipeline`, take
/// together.
pub fn mark(names: &[String], pages: &[Page]) -> Result<String, String> {
    for name in names {
        if !pages.iter().any(|page| page.stem == *name) {
            return Err(format!("there is no page `{name}`"));
        }
    }
    Ok(format!("{MARK}{}{MARK_END}", names.join(" ")))
}

/// A table of the parts of the book, with their pages, but for those for contributors.
pub fn table(pages: &[Page], root: &str) -> String {
    let is_for_readers =
        |page: &&Page| page.part.is_some() && !page.stem.starts_with("contributing/");
    let all: Vec<&Page> = pages.iter().filter(is_for_readers).collect();
    let together = |pages: &[&Page]| {
        let stems: Vec<_> = pages.iter().map(|page| page.stem.as_str()).collect();
        format!("{MARK}{}{MARK_END}", stems.join(" "))
    };
    let mut rows = String::new();
    for of_part in all.chunk_by(|a, b| a.part == b.part) {
        let link = |page: &&Page| {
            let (file, title) = (page.html(), html::escape(&page.title));
            format!("<a href=\"{root}{file}\">{title}</a> {}", together(&[page]))
        };
        rows += &format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"number\">{}</td></tr>\n",
            html::escape(of_part[0].part.as_deref().unwrap_or_default()),
            of_part.iter().map(link).collect::<Vec<_>>().join(" · "),
            together(of_part),
        );
    }
    format!(
        "<table><thead><tr><th>Part</th><th>Pages</th><th class=\"number\">Minutes</th></tr>\
         </thead>\n<tbody>\n{rows}<tr><th scope=\"row\">All parts</th><td></td>\
         <td class=\"number\">{}</td></tr>\n</tbody></table>",
        together(&all)
    )
}

/// `html` with numbers in place of the marks; the finished book is in `folder`.
pub fn put_in(html: &str, folder: &Path) -> Result<String> {
    let mut parts = html.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (names, rest) = part.split_once(MARK_END).unwrap_or((part, ""));
        let mut seconds = 0;
        for name in names.split_whitespace() {
            let path = folder.join(format!("{name}.html"));
            let page = std::fs::read_to_string(&path);
            seconds += read(&page.with_context(|| path.display().to_string())?);
        }
        out += &minutes(seconds).to_string();
        out += rest;
    }
    Ok(out)
}

/// Whole minutes, at least one; from a quarter of an hour on, to the next five.
fn minutes(seconds: usize) -> usize {
    match seconds.div_ceil(60).max(1) {
        short @ ..15 => short,
        long => long.next_multiple_of(5),
    }
}

/// How many seconds it takes to read what a finished page shows before anything is unfolded.
fn read(html: &str) -> usize {
    let sink = html::read(html, Sink::default());
    let Shown { words, lines, figures, predictions, .. } = sink.shown.into_inner();
    words * 60 / WORDS_A_MINUTE
        + lines * 60 / LINES_A_MINUTE
        + predictions * SECONDS_A_PREDICTION
        + figures * SECONDS_A_FIGURE
}

/// What a page shows, and how deep inside of which elements the tokenizer is.
#[derive(Default)]
struct Shown {
    words: usize,
    lines: usize,
    figures: usize,
    predictions: usize,
    main: usize,
    folded: usize,
    code: usize,
}

#[derive(Default)]
struct Sink {
    shown: RefCell<Shown>,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut shown = self.shown.borrow_mut();
        match token {
            TagToken(Tag { kind, name, attrs, .. }) => {
                let within = match &*name {
                    "main" => Some(&mut shown.main),
                    "details" | "svg" => Some(&mut shown.folded),
                    "pre" => Some(&mut shown.code),
                    _ => None,
                };
                match (within, kind) {
                    (Some(depth), StartTag) => *depth += 1,
                    (Some(depth), EndTag) => *depth = depth.saturating_sub(1),
                    (None, _) => {}
                }
                if kind == StartTag && shown.main > 0 && shown.folded == 0 {
                    let is_prediction = attrs.iter().any(|attribute| {
                        &*attribute.name.local == "class"
                            && attribute.value.split(' ').any(|c| c == "prediction")
                    });
                    shown.predictions += usize::from(is_prediction);
                    shown.figures += usize::from(&*name == "figure");
                }
            }
            CharacterTokens(text) if shown.main > 0 && shown.folded == 0 => match shown.code {
                0 => shown.words += text.split_whitespace().count(),
                _ => shown.lines += text.matches('\n').count(),
            },
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of this part.
    fn page(stem: &str, part: Option<&str>) -> Page {
        Page {
            stem: stem.to_owned(),
            title: format!("About {stem}"),
            part: part.map(str::to_owned),
            ..Page::default()
        }
    }

    #[test]
    fn the_table_has_every_part_that_is_for_readers() {
        let pages = [
            page("introduction", None),
            page("a/x", Some("A & B")),
            page("a/y", Some("A & B")),
            page("z", Some("C")),
            page("contributing/style", Some("Contributing")),
        ];
        let table = table(&pages, "../");
        let rows: Vec<_> = table.matches("<tr>").collect();
        assert_eq!(rows.len(), 1 + 2 + 1, "{table}");
        for part in [
            "A &amp; B</th>",
            "<a href=\"../a/x.html\">About a/x</a> <!--minutes a/x--> · ",
            "<td class=\"number\"><!--minutes a/x a/y--></td>",
            "<td class=\"number\"><!--minutes a/x a/y z--></td>",
        ] {
            assert!(table.contains(part), "{part} is missing in {table}");
        }
    }

    #[test]
    fn only_what_a_page_shows_takes_time() {
        let words = "one two ".repeat(WORDS_A_MINUTE / 2);
        let code = format!("<pre><code>{}</code></pre>", "x\n".repeat(LINES_A_MINUTE));
        let page = |main: &str| format!("<nav>{words}</nav><main>{main}</main>{words}");
        assert_eq!(read(&page("")), 0);
        assert_eq!(read(&page(&words)), 60);
        assert_eq!(read(&page(&format!("<p>{words}</p>{code}"))), 120);
        let folded = format!("<details>{words}<details>{code}</details></details>");
        assert_eq!(read(&page(&folded)), 0);
        let chart = format!("<figure class=\"chart\"><svg>{words}</svg></figure>");
        assert_eq!(read(&page(&chart)), SECONDS_A_FIGURE);
        let asked = "<div class=\"a prediction\"></div>";
        assert_eq!(read(&page(&asked.repeat(2))), 2 * SECONDS_A_PREDICTION);
    }

    #[test]
    fn minutes_are_as_exact_as_they_are_known() {
        let said = [0, 61, 14 * 60, 14 * 60 + 1, 31 * 60].map(minutes);
        assert_eq!(said, [1, 2, 14, 15, 35]);
    }

    #[test]
    fn marks_become_the_minutes_of_their_pages() {
        let folder = tempfile::tempdir().unwrap();
        for (name, words) in [("a", 400), ("b", 600)] {
            let page = format!("<main>{}</main>", "word ".repeat(words));
            std::fs::write(folder.path().join(format!("{name}.html")), page).unwrap();
        }
        let html = "a: <!--minutes a-->, both: <!--minutes a b-->.";
        let got = put_in(html, folder.path()).unwrap();
        assert_eq!(got, "a: 2, both: 5.");
        assert!(put_in("<!--minutes c-->", folder.path()).is_err());
    }
}
