//! The print edition: mdBook's page of all pages, with a title page, the contents, and the
//! parts of the book.

use anyhow::{Context, Result, bail};
use mdbook_preprocessor::book::{Book, BookItem};

use crate::html::escape;

/// What mdBook writes between two chapters.
const BREAK: &str = "<div style=\"break-before: page; page-break-before: always;\"></div>";

/// The parts and chapters of a book.
#[derive(Clone, Debug, Default)]
pub struct Contents(Vec<(Option<String>, String)>);

impl Contents {
    /// Those of `book`: each chapter with the title of the part that it begins.
    pub fn of(book: &Book) -> Contents {
        let (mut chapters, mut part) = (vec![], None);
        for item in book.iter() {
            match item {
                BookItem::PartTitle(title) => part = Some(title.clone()),
                BookItem::Chapter(chapter) if !chapter.is_draft_chapter() => {
                    chapters.push((part.take(), chapter.name.clone()));
                }
                _ => {}
            }
        }
        Contents(chapters)
    }

    /// `html`, mdBook's page for printing, as an edition.
    pub fn edition(&self, html: &str, title: &str, about: &str) -> Result<String> {
        let (head, rest) = html.split_once("<main>").context("there is no <main>")?;
        let (main, foot) = rest.split_once("</main>").context("<main> has no end")?;
        let chapters: Vec<&str> = main.split(BREAK).collect();
        if chapters.len() != self.0.len() {
            bail!("{} chapters are {} there", self.0.len(), chapters.len());
        }
        let (mut list, mut body) = (String::new(), String::new());
        for ((part, name), chapter) in self.0.iter().zip(chapters) {
            let id = chapter.split_once("<h1 id=\"").and_then(|(_, rest)| rest.split_once('"'));
            let (id, _) = id.with_context(|| format!("`{name}` has no title"))?;
            let part = part.as_ref().map(|part| escape(part));
            if let Some(part) = &part {
                list += &format!("<li class=\"part\">{part}</li>\n");
            }
            list += &format!("<li><a href=\"#{id}\">{}</a></li>\n", escape(name));
            body += BREAK;
            body += &part.map_or(String::new(), |part| format!("<p class=\"part\">{part}</p>\n"));
            body += chapter;
        }
        Ok(format!(
            "{head}<main>\n<section class=\"title-page\"><p class=\"title\">{}</p><p>{}</p>\
             </section>\n<nav class=\"contents\" aria-label=\"Contents\">\
             <p class=\"title\">Contents</p>\n<ul>\n{list}</ul></nav>\n{body}</main>{foot}",
            escape(title),
            escape(about)
        ))
    }
}
