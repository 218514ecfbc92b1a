//! Pictures and answers on their way around mdBook: they are taken out of the pages before it
//! reads them, so that its search neither indexes every number of every chart nor prints what a
//! prediction veils, and put back when the book is finished. Text that stays is [covered](veil).

use std::ops::Range;

use mdbook_preprocessor::book::Book;

use crate::veil;

/// Where one was.
const MARK: &str = "<!--picture ";
const MARK_END: &str = "-->";

/// The pictures and answers of a book, in the order of their marks.
#[derive(Clone, Debug, Default)]
pub struct Pictures(Vec<String>);

impl Pictures {
    /// Takes them out of all pages, and leaves marks.
    pub fn take_out(book: &mut Book) -> Pictures {
        let mut pictures = Pictures::default();
        book.for_each_chapter_mut(|chapter| {
            chapter.content = veil::cover(&pictures.take(&chapter.content));
        });
        pictures
    }

    fn take(&mut self, text: &str) -> String {
        let (mut out, mut end) = (String::new(), 0);
        for picture in find(text) {
            out += &text[end..picture.start];
            out += &format!("{MARK}{}{MARK_END}\n", self.0.len());
            end = picture.end;
            self.0.push(text[picture].to_owned());
        }
        out + &text[end..]
    }

    /// A finished page with what is its own.
    pub fn put_back(&self, html: &str) -> String {
        let html = veil::uncover(html);
        let mut parts = html.split(MARK);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let marked = part.split_once(MARK_END).and_then(|(number, rest)| {
                Some((self.0.get(number.parse::<usize>().ok()?)?, rest))
            });
            match marked {
                Some((picture, rest)) => {
                    out += picture.trim_end();
                    out += rest;
                }
                None => out = out + MARK + part,
            }
        }
        out
    }
}

/// Where they are, each at the beginning of a line: the pictures, with the class of their width;
/// the answers to predictions; and the captions of the charts that these veil.
fn find(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = vec![];
    let mut take = |start: usize, end: &str| {
        let begins_a_line = start == 0 || text[..start].ends_with('\n');
        if let (true, Some(length)) = (begins_a_line, text[start..].find(end)) {
            found.push(start..start + length + end.len());
        }
    };
    let answer = ("<details class=\"answer\">", "</details>\n");
    for (begin, end) in [("<svg class=\"", "</svg>\n"), answer] {
        text.match_indices(begin).for_each(|(start, _)| take(start, end));
    }
    for (start, _) in text.match_indices("<figcaption>") {
        let figure = text[..start].rsplit("<figure ").next().unwrap_or_default();
        if veil::is_veiled(text, figure) {
            take(start, "</figcaption>\n");
        }
    }
    found.sort_by_key(|range| range.start);
    found
}
