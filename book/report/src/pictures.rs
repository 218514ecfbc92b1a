//! Pictures on their way around mdBook: they are taken out of the pages before it reads
//! them, so that its search does not index every number of every chart, and put back when
//! the book is finished.

use std::ops::Range;

use mdbook_preprocessor::book::Book;

/// Where a picture was.
const MARK: &str = "<!--picture ";
const MARK_END: &str = "-->";

/// The pictures of a book, in the order of their marks.
#[derive(Clone, Debug, Default)]
pub struct Pictures(Vec<String>);

impl Pictures {
    /// Takes the pictures out of all pages, and leaves marks.
    pub fn take_out(book: &mut Book) -> Pictures {
        let mut pictures = Pictures::default();
        book.for_each_chapter_mut(|chapter| {
            chapter.content = pictures.take(&chapter.content);
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

    /// A finished page with its pictures.
    pub fn put_back(&self, html: &str) -> String {
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

/// Where the pictures are: at the beginning of a line, each with the class of its width.
fn find(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = vec![];
    for (start, _) in text.match_indices("<svg class=\"") {
        let begins_a_line = start == 0 || text[..start].ends_with('\n');
        if let (true, Some(length)) = (begins_a_line, text[start..].find("</svg>\n")) {
            found.push(start..start + length + "</svg>\n".len());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_its_own_pictures_back() {
        let svg = "<svg class=\"wide\">\n<circle r=\"1\"/>\n</svg>\n";
        let page = format!("# P\n\n<figure>\n{svg}</figure>\n\n`<svg class=\"` </svg>\n");
        let mut pictures = Pictures::default();
        pictures.take("\n<svg class=\"narrow\">\n</svg>\n");
        let taken = pictures.take(&page);
        assert!(!taken.contains("<circle"), "{taken}");
        assert_eq!(pictures.put_back(&taken), page);
        // What nobody took out is left alone.
        let strange = "<!--picture 7--> <!--picture x--> <!--picture 1";
        assert_eq!(pictures.put_back(strange), strange);
    }
}
