//! Every link of the finished book leads somewhere: each `href` and `src` to a file of
//! the book, each fragment to an id in it. Addresses of other sites are not asked.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use html5ever::tokenizer::states::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult};

use crate::html;

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
    walk(root, Path::new(""), &mut files)?;
    let mut documents = BTreeMap::new();
    // The print page is every page in one, and has no links of its own.
    let is_page = |file: &&PathBuf| {
        file.extension().is_some_and(|e| e == "html") && file.as_path() != Path::new("print.html")
    };
    for file in files.iter().filter(is_page) {
        let path = root.join(file);
        let html = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        documents.insert(file.clone(), read(&html));
    }
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
    let address = decoded(address.split('?').next().unwrap_or_default());
    let mut target = match address.as_str() {
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
    let fragment = decoded(fragment);
    match documents.get(&target) {
        Some(document) if !fragment.is_empty() && !document.ids.contains(&fragment) => {
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

/// `text` with `%20` and the like decoded.
fn decoded(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.filter(|_| first == b'%').map(|hex| u8::from_str_radix(hex, 16)) {
            Some(Ok(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn walk(root: &Path, folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    let path = root.join(folder);
    for entry in std::fs::read_dir(&path).with_context(|| path.display().to_string())? {
        let entry = entry?;
        let relative = folder.join(entry.file_name());
        if entry.path().is_dir() {
            walk(root, &relative, files)?;
        } else {
            files.insert(relative);
        }
    }
    Ok(())
}

fn read(html: &str) -> Document {
    html::read(html, Sink::default()).document.into_inner()
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
