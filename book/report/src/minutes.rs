//! What a page shows, and how long it takes to read it and to do its exercises. That is known when
//! all pages are expanded, so until then a mark stands where the number is to be.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use crate::html;
use crate::page::Page;

/// Where a number is to be: the mark says of what, and names the pages.
const MARK: &str = "<!--time ";
const MARK_END: &str = "-->";

const WORDS_A_MINUTE: usize = 120;
const LINES_A_MINUTE: usize = 10;
const SECONDS_A_PREDICTION: usize = 120;
const SECONDS_A_FIGURE: usize = 60;

/// What a number on a page says of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    Minutes,
    /// The minutes that their exercises take.
    Practice,
    /// The minutes that the first exercise of each takes, the one that is not folded.
    First,
    /// The hours that both take.
    Hours,
}

impl Time {
    const ALL: [(&str, Time); 4] = [
        ("minutes", Time::Minutes),
        ("practice", Time::Practice),
        ("first-exercises", Time::First),
        ("hours", Time::Hours),
    ];

    /// The one that directives begin with `word`.
    pub fn of(word: &str) -> Option<Time> {
        Time::ALL.into_iter().find(|(name, _)| *name == word).map(|(_, time)| time)
    }

    /// The mark for pages of these names, such as `streams/pipeline`, together.
    fn mark(self, stems: &[&str]) -> String {
        let word = Time::ALL.into_iter().find(|(_, time)| *time == self).map(|(word, _)| word);
        format!("{MARK}{} {}{MARK_END}", word.unwrap_or_default(), stems.join(" "))
    }

    /// The number for what pages show together.
    fn print(self, pages: &[&Shown]) -> String {
        let reading = || pages.iter().map(|page| page.minutes()).sum::<usize>();
        let exercises = || pages.iter().flat_map(|page| &page.practice).sum::<usize>();
        match self {
            Time::Minutes => reading(),
            Time::Practice => exercises(),
            Time::First => pages.iter().map(|page| page.minutes_of_first()).sum(),
            Time::Hours => (reading() + exercises()).div_ceil(60),
        }
        .to_string()
    }
}

pub fn mark(time: Time, names: &[String], pages: &[Page]) -> Result<String, String> {
    let stems: Vec<_> = route(names, pages)?.iter().map(|page| page.stem.as_str()).collect();
    Ok(time.mark(&stems))
}

/// Links to the pages of these names. `root` leads from the page to the book's root.
pub fn links(names: &[String], pages: &[Page], root: &str) -> Result<String, String> {
    let links = route(names, pages)?.into_iter().map(|page| page.link(root));
    Ok(links.collect::<Vec<_>>().join(" · "))
}

/// The pages that these names lead over: each is a page's or a route's.
pub fn route<'p>(names: &[String], pages: &'p [Page]) -> Result<Vec<&'p Page>, String> {
    let mut found = vec![];
    let mut open: Vec<(&str, BTreeSet<&str>)> =
        names.iter().rev().map(|name| (name.as_str(), BTreeSet::new())).collect();
    while let Some((name, mut within)) = open.pop() {
        if let Some(page) = pages.iter().find(|page| page.stem == name) {
            found.push(page);
            continue;
        }
        let of_this_name = pages.iter().find_map(|page| page.routes.get_key_value(name));
        let (name, steps) =
            of_this_name.ok_or_else(|| format!("there is no page and no route `{name}`"))?;
        if !within.insert(name) {
            return Err(format!("the route `{name}` leads back to itself"));
        }
        open.extend(steps.iter().rev().map(|step| (step.as_str(), within.clone())));
    }
    Ok(found)
}

/// The heading of where a page leads.
const NEXT: &str = "\n## Next\n";

/// The text of `page` with a line below *Next*, for those of the routes that lead elsewhere.
pub fn lead_on(text: &str, page: &Page, pages: &[Page]) -> Result<String, String> {
    let mut onward = vec![];
    for (name, called) in pages.iter().flat_map(|page| &page.along) {
        let route = route(slice::from_ref(name), pages)?;
        let next = route.windows(2).find(|two| two[0].stem == page.stem).map(|two| two[1]);
        onward.extend(next.map(|next| (called, next)));
    }
    if onward.is_empty() {
        return Ok(text.to_owned());
    }
    let start =
        text.find(NEXT).ok_or("is on a route of the course: it needs a section `## Next`")?;
    let start = start + NEXT.len();
    let end = text[start..].find("\n## ").map_or(text.len(), |length| start + length);
    let (before, after) = text.split_at(end);
    let is_linked = |next: &Page| {
        let file = next.stem.rsplit('/').next().unwrap_or_default();
        before[start..].contains(&format!("{file}.md"))
    };
    onward.retain(|(_, next)| !is_linked(next));
    let root = "../".repeat(page.stem.matches('/').count());
    let links = onward.iter().map(|(called, next)| format!("{called}: {}", next.link(&root)));
    let links = links.collect::<Vec<_>>().join(" · ");
    Ok(match links.is_empty() {
        true => text.to_owned(),
        false => format!("{before}\n<p class=\"onward\">{links}</p>\n{after}"),
    })
}

/// A table of the parts of the book, with their pages, but for those for contributors.
pub fn table(pages: &[Page], root: &str) -> String {
    let is_for_readers =
        |page: &&Page| page.part.is_some() && !page.stem.starts_with("contributing/");
    let all: Vec<&Page> = pages.iter().filter(is_for_readers).collect();
    let together = |pages: &[&Page]| {
        let stems: Vec<_> = pages.iter().map(|page| page.stem.as_str()).collect();
        [Time::Minutes, Time::Practice]
            .map(|time| format!("<td class=\"number\">{}</td>", time.mark(&stems)))
            .concat()
    };
    let mut rows = String::new();
    for of_part in all.chunk_by(|a, b| a.part == b.part) {
        let link =
            |page: &&Page| format!("{} {}", page.link(root), Time::Minutes.mark(&[&page.stem]));
        rows += &format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td>{}</tr>\n",
            html::escape(of_part[0].part.as_deref().unwrap_or_default()),
            of_part.iter().map(link).collect::<Vec<_>>().join(" · "),
            together(of_part),
        );
    }
    format!(
        "<table><thead><tr><th>Part</th><th>Pages, minutes</th>\
         <th class=\"number\">Reading</th><th class=\"number\">Exercises</th></tr></thead>\n\
         <tbody>\n{rows}<tr><th scope=\"row\">All parts</th><td></td>{}</tr>\n\
         </tbody></table>",
        together(&all)
    )
}

/// A page's text with numbers in place of the marks; they show what is in `shown`.
pub fn put_in(text: &str, shown: &BTreeMap<String, Shown>) -> String {
    let mut parts = text.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (mark, rest) = part.split_once(MARK_END).unwrap_or((part, ""));
        let (word, names) = mark.split_once(' ').unwrap_or((mark, ""));
        let pages: Vec<_> = names.split(' ').filter_map(|name| shown.get(name)).collect();
        out += &Time::of(word).map_or_else(String::new, |time| time.print(&pages));
        out += rest;
    }
    out
}

/// What a page shows before anything is unfolded.
#[derive(Debug, Default)]
pub struct Shown {
    /// Without code, scripts, pictures and the numbers in tables.
    pub words: usize,
    /// The minutes that each of its exercises takes.
    practice: Vec<usize>,
    lines_of_code: usize,
    predictions: usize,
    figures: usize,
}

impl Shown {
    /// What `text` shows, which is a page's Markdown, with HTML in place of the directives; its
    /// exercises take so many minutes each.
    pub fn of(text: &str, practice: Vec<usize>) -> Shown {
        let mut shown = Shown { practice, ..Shown::default() };
        let (mut depth, mut code) = (Depth::default(), false);
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                code = !code;
            } else if code {
                shown.lines_of_code += usize::from(depth.0 == 0);
            } else if depth.shows(line) {
                shown.figures += line.matches("<figure").count();
                shown.predictions += line.matches("class=\"prediction\"").count();
                shown.words += words(line);
            }
        }
        shown
    }

    /// How many minutes the first of its exercises takes, which it shows unfolded.
    pub fn minutes_of_first(&self) -> usize {
        self.practice.first().copied().unwrap_or_default()
    }

    /// How many minutes it takes to read that: whole ones, at least one. Nothing else is rounded,
    /// so that the minutes of pages add up to those of a route.
    pub fn minutes(&self) -> usize {
        self.seconds().div_ceil(60).max(1)
    }

    fn seconds(&self) -> usize {
        self.words * 60 / WORDS_A_MINUTE
            + self.lines_of_code * 60 / LINES_A_MINUTE
            + self.predictions * SECONDS_A_PREDICTION
            + self.figures * SECONDS_A_FIGURE
    }
}

/// How deep in folds, pictures and scripts the lines of a page stand.
#[derive(Default)]
pub struct Depth(usize);

impl Depth {
    /// Whether the next line stands in none of them.
    pub fn shows(&mut self, line: &str) -> bool {
        let count = |tags: [&str; 3]| tags.map(|tag| line.matches(tag).count()).iter().sum();
        let opened: usize = count(["<details", "<svg", "<script"]);
        let closed = count(["</details", "</svg", "</script"]);
        let depth = self.0 + opened;
        self.0 = depth.saturating_sub(closed);
        depth == 0
    }
}

/// How many words stand beside the tags of a line; a cell of a table that begins with a number
/// has none.
fn words(line: &str) -> usize {
    let cells = if line.starts_with('|') { line.split("|") } else { line.split("<td") };
    let mut count = 0;
    for (i, cell) in cells.enumerate() {
        // What is left of the tag that the line was split at is a tag, too.
        let cell = if i > 0 && !line.starts_with('|') { &format!("<{cell}") } else { cell };
        let (first, rest) = cell.split_once('<').unwrap_or((cell, ""));
        let texts = rest.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text));
        let words = [first].into_iter().chain(texts).flat_map(str::split_whitespace);
        let mut words = words.filter(|word| word.contains(char::is_alphanumeric)).peekable();
        let is_number =
            i > 0 && words.peek().is_some_and(|word| word.starts_with(char::is_numeric));
        count += if is_number { 0 } else { words.count() };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "<a href=\"../a/x.html\">About a/x</a> <!--time minutes a/x--> · ",
            "<td class=\"number\"><!--time minutes a/x a/y--></td>",
            "<td class=\"number\"><!--time practice a/x a/y z--></td>",
        ] {
            assert!(table.contains(part), "{part} is missing in {table}");
        }
    }

    #[test]
    fn only_what_a_page_shows_takes_time() {
        let words = "one <b>two</b> - | ".repeat(WORDS_A_MINUTE / 2);
        let code = format!("```rust\n{}```\n", "x\n".repeat(LINES_A_MINUTE));
        let read = |text: &str| Shown::of(text, vec![]).seconds();
        assert_eq!(read(""), 0);
        assert_eq!(read(&words), 60);
        assert_eq!(read(&format!("{words}\n\n{code}")), 120);
        let folded = format!("<details><summary>{words}</summary>\n\n{code}{words}\n</details>\n");
        assert_eq!(read(&format!("{folded}{folded}{words}")), 60);
        assert_eq!(read(&format!("<script>\n{words}\n</script>")), 0);
        let chart = format!("<figure class=\"chart\">\n<svg>\n{words}\n</svg></figure>");
        assert_eq!(read(&chart), SECONDS_A_FIGURE);
        let asked = "<section class=\"prediction\"><details><p>so</p></details>\n</section>\n";
        assert_eq!(
            read(&asked.repeat(2).replace("<details>", "\n<details>")),
            2 * SECONDS_A_PREDICTION
        );
        let table =
            "| one two | 3 GB/s |\n|---|---:|\n<tr><td>three</td><td class=\"x\">4 s</td></tr>";
        assert_eq!(Shown::of(table, vec![]).words, 3);
        assert_eq!(Shown::of("5 apples, 3 > 2, or <b>one", vec![]).words, 6);
    }

    #[test]
    fn marks_become_the_minutes_of_their_pages() {
        let pages = [("a", 2), ("b", 3)].map(|(name, minutes)| {
            let words = minutes * WORDS_A_MINUTE - 10;
            (name.to_owned(), Shown { words, practice: vec![30, 10], ..Shown::default() })
        });
        let text = "a: <!--time minutes a-->, both: <!--time minutes a b--> and \
            <!--time practice a b-->, <!--time first-exercises a b--> at first, \
            <!--time hours a b--> h, nothing: <!--time minutes c-->.";
        let pages = pages.into_iter().chain([("c".to_owned(), Shown::default())]).collect();
        let said = "a: 2, both: 5 and 80, 60 at first, 2 h, nothing: 1.";
        assert_eq!(put_in(text, &pages), said);
    }

    #[test]
    fn a_route_leads_over_pages_and_other_routes() {
        let routes =
            [("both", vec!["a/x", "z"]), ("all", vec!["both", "a/y"]), ("turn", vec!["turn"])];
        let routes = routes
            .map(|(name, steps)| (name.to_owned(), steps.into_iter().map(str::to_owned).collect()));
        let mut pages = ["course", "a/x", "a/y", "z"].map(|stem| page(stem, None));
        pages[0].routes = routes.into();
        let links = |name: &str| links(&[name.to_owned()], &pages, "");
        let all = links("all").unwrap();
        let at = ["a/x.html", "z.html", "a/y.html"].map(|file| all.find(file).unwrap());
        assert!(at.is_sorted() && all.matches("<a ").count() == 3, "{all}");
        assert_eq!(links("turn").unwrap_err(), "the route `turn` leads back to itself");
        assert_eq!(links("b").unwrap_err(), "there is no page and no route `b`");
    }

    #[test]
    fn a_page_leads_on_along_its_routes() {
        let mut pages = ["course", "a/x", "a/y", "z"].map(|stem| page(stem, None));
        let steps = ["a/x", "z", "a/y"].map(str::to_owned).to_vec();
        pages[0].routes = [("all".to_owned(), steps)].into();
        pages[0].along = [("all".to_owned(), "For all".to_owned())].into();
        let led = |at: usize, text: &str| lead_on(text, &pages[at], &pages);
        let text = "# X\n\n## Next\n\n[Y](y.md)\n\n## More\n\nmore\n";
        let line = "<p class=\"onward\">For all: <a href=\"../z.html\">About z</a></p>";
        let expected = text.replace("\n## More", &format!("\n{line}\n\n## More"));
        assert_eq!(led(1, text).unwrap(), expected);
        // Where the page says it, or where the route ends, nothing is added.
        assert_eq!(
            led(3, &text.replace("y.md", "a/y.md")).unwrap(),
            text.replace("y.md", "a/y.md")
        );
        assert_eq!(led(2, text).unwrap(), text);
        assert!(led(3, "# Z\n").unwrap_err().ends_with("needs a section `## Next`"));
    }
}
