//! Every link of the finished book leads somewhere: each `href` and `src` to a file of
//! the book, each fragment to an id in it. Addresses of other sites are not asked.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{BufferQueue, StartTag, Tag, TagToken, Token};
use html5ever::tokenizer::{TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use rayon::prelude::*;
use walkdir::WalkDir;

/// What of a page other pages and this one can be wrong about.
#[derive(Default, PartialEq)]
struct Document {
    ids: BTreeSet<String>,
    repeated: BTreeSet<String>,
    links: BTreeSet<String>,
}

/// What is wrong with the links and ids of the book in `root`: `page: problem`.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut files = BTreeSet::new();
    for entry in WalkDir::new(root) {
        let path = entry?.into_path();
        if !path.is_dir() {
            files.insert(path.strip_prefix(root)?.to_owned());
        }
    }
    // The print page is every page in one, and has no links of its own.
    let is_page = |file: &&PathBuf| {
        file.extension().is_some_and(|e| e == "html") && file.as_path() != Path::new("print.html")
    };
    let document = |file: &PathBuf| {
        let path = root.join(file);
        let html = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok((file.clone(), read(&html)))
    };
    let documents = files.par_iter().filter(is_page).map(document);
    let documents = documents.collect::<Result<BTreeMap<_, _>>>()?;
    let mut problems = vec![];
    for (file, document) in &documents {
        let name = file.display();
        // The page for lost addresses is served from any folder, and `index.html` repeats the
        // first page: neither has links of its own.
        let repeats = || documents.values().filter(|other| *other == document).count() > 1;
        match file.to_str() {
            Some("404.html") => continue,
            Some("index.html") if repeats() => continue,
            _ => {}
        }
        for id in &document.repeated {
            problems.push(format!("{name}: the id `{id}` stands there twice"));
        }
        for link in &document.links {
            if let Err(problem) = follow(file, link, &files, &documents) {
                problems.push(format!("{name}: link to `{link}`: {problem}"));
            }
        }
    }
    Ok(problems)
}

fn follow(
    from: &Path,
    link: &str,
    files: &BTreeSet<PathBuf>,
    documents: &BTreeMap<PathBuf, Document>,
) -> Result<(), String> {
    let scheme = link.split(['/', '?', '#']).next().is_some_and(|head| head.contains(':'));
    if scheme || link.starts_with("//") {
        return Ok(());
    }
    let (address, fragment) = link.split_once('#').unwrap_or((link, ""));
    let mut target = match address.split('?').next().unwrap_or_default() {
        "" => from.to_owned(),
        address => {
            let joined = from.parent().unwrap_or(Path::new("")).join(address);
            inside(&joined).ok_or("it leaves the book")?
        }
    };
    if !files.contains(&target) {
        target = target.join("index.html");
    }
    if !files.contains(&target) {
        return Err("there is no such file".to_owned());
    }
    match documents.get(&target) {
        Some(document) if !fragment.is_empty() && !document.ids.contains(fragment) => {
            Err(format!("`{}` has no id `{fragment}`", target.display()))
        }
        _ => Ok(()),
    }
}

/// The path without `.` and `..`; `None` if it leaves the folder it is relative to.
pub fn inside(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir if clean.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return None;
            }
        }
    }
    Some(clean)
}

/// What a finished page says.
fn read(html: &str) -> Document {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    // The sink never asks for a script to be run, so one call reads everything.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.document.into_inner()
}

#[derive(Default)]
struct Sink {
    document: RefCell<Document>,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let TagToken(Tag { kind: StartTag, name, attrs, .. }) = token else {
            return TokenSinkResult::Continue;
        };
        let mut document = self.document.borrow_mut();
        for attribute in attrs {
            let value = attribute.value.to_string();
            match &*attribute.name.local {
                "id" if document.ids.contains(&value) => {
                    document.repeated.insert(value);
                }
                "id" => {
                    document.ids.insert(value);
                }
                "href" | "src" if &*name != "base" => {
                    document.links.insert(value);
                }
                _ => {}
            }
        }
        // What follows is text, whatever it looks like.
        match &*name {
            "script" => TokenSinkResult::RawData(ScriptData),
            "style" | "noscript" | "iframe" => TokenSinkResult::RawData(Rawtext),
            "title" | "textarea" => TokenSinkResult::RawData(Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}
