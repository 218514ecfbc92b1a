//! How long it takes to read a page. That is known when all pages are expanded, so until then
//! a mark stands where the number is to be.

use std::collections::BTreeMap;

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

/// A page's text with numbers in place of the marks; the pages take so many `seconds`.
pub fn put_in(text: &str, seconds: &BTreeMap<String, usize>) -> String {
    let mut parts = text.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (names, rest) = part.split_once(MARK_END).unwrap_or((part, ""));
        let together = names.split_whitespace().filter_map(|name| seconds.get(name)).sum();
        out += &minutes(together).to_string();
        out += rest;
    }
    out
}

/// Whole minutes, at least one; from a quarter of an hour on, to the next five.
fn minutes(seconds: usize) -> usize {
    match seconds.div_ceil(60).max(1) {
        short @ ..15 => short,
        long => long.next_multiple_of(5),
    }
}

/// How many seconds it takes to read what a page shows before anything is unfolded. `text` is
/// its Markdown, with HTML in place of the directives.
pub fn read(text: &str) -> usize {
    let (mut words, mut lines, mut seconds) = (0, 0, 0);
    let (mut folded, mut code) = (0, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if code {
            lines += usize::from(folded == 0);
        } else {
            let count = |tags: [&str; 2]| tags.map(|tag| line.matches(tag).count()).iter().sum();
            let opened: usize = count(["<details", "<svg"]);
            if folded + opened == 0 {
                seconds += SECONDS_A_FIGURE * line.matches("<figure").count()
                    + SECONDS_A_PREDICTION * line.matches("class=\"prediction\"").count();
                words += self::words(line);
            }
            folded = (folded + opened).saturating_sub(count(["</details", "</svg"]));
        }
    }
    seconds + words * 60 / WORDS_A_MINUTE + lines * 60 / LINES_A_MINUTE
}

/// How many words stand beside the tags of a line.
fn words(line: &str) -> usize {
    let texts = line.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let words = texts.flat_map(str::split_whitespace);
    words.filter(|word| word.contains(char::is_alphanumeric)).count()
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
        let words = "one <b>two</b> - | ".repeat(WORDS_A_MINUTE / 2);
        let code = format!("```rust\n{}```\n", "x\n".repeat(LINES_A_MINUTE));
        assert_eq!(read(""), 0);
        assert_eq!(read(&words), 60);
        assert_eq!(read(&format!("{words}\n\n{code}")), 120);
        let folded = format!("<details><summary>{words}</summary>\n\n{code}{words}\n</details>\n");
        assert_eq!(read(&format!("{folded}{folded}{words}")), 60);
        let chart = format!("<figure class=\"chart\">\n<svg>\n{words}\n</svg></figure>");
        assert_eq!(read(&chart), SECONDS_A_FIGURE);
        let asked = "<section class=\"prediction\"><details><p>so</p></details>\n</section>\n";
        assert_eq!(
            read(&asked.repeat(2).replace("<details>", "\n<details>")),
            2 * SECONDS_A_PREDICTION
        );
    }

    #[test]
    fn minutes_are_as_exact_as_they_are_known() {
        let said = [0, 61, 14 * 60, 14 * 60 + 1, 31 * 60].map(minutes);
        assert_eq!(said, [1, 2, 14, 15, 35]);
    }

    #[test]
    fn marks_become_the_minutes_of_their_pages() {
        let seconds = [("a", 120), ("b", 150)].map(|(name, time)| (name.to_owned(), time)).into();
        let text = "a: <!--minutes a-->, both: <!--minutes a b-->.";
        assert_eq!(put_in(text, &seconds), "a: 2, both: 5.");
    }
}
