//! Every included file and anchor exists. mdBook only logs a missing file, and includes
//! nothing, silently, for a missing anchor. And an anchored part of a program starts at
//! the left margin, however deep it stands in its file, and says which file that is.

use std::path::{MAIN_SEPARATOR, Path};

use crate::html::escape;
use crate::links;
use crate::names::did_you_mean;

/// What is wrong with the includes of a page that lies in `folder`: byte offset,
/// directive, problem. `text` is searched everywhere, also in code, as mdBook does.
pub fn check(text: &str, folder: &Path) -> Vec<(usize, String, String)> {
    let mut problems = vec![];
    for (start, _) in text.match_indices("{{#") {
        if text[..start].ends_with('\\') {
            continue;
        }
        let line = text[start..].lines().next().unwrap_or_default();
        let (name, problem) = match line.find("}}") {
            None => (line.to_owned(), Err("has no closing braces on its line".to_owned())),
            Some(end) => (line[..end + 2].to_owned(), directive(&line[3..end], folder)),
        };
        if let Err(problem) = problem {
            problems.push((start, name, problem));
        }
    }
    problems
}

/// Where the files that pages include can be looked up.
#[derive(Clone, Debug)]
pub struct Repository<'a> {
    pub root: &'a Path,
    /// Its address, if the book knows one.
    pub url: Option<&'a str>,
}

impl Repository<'_> {
    /// What stands below code that a page in `folder` includes: the file's path in the
    /// repository, and a link to it where there is an address.
    fn listing(&self, folder: &Path, file: &str) -> Option<String> {
        let folder = folder.strip_prefix(self.root).ok()?;
        let path = links::inside(&folder.join(file))?.display().to_string();
        let path = escape(&path.replace(MAIN_SEPARATOR, "/"));
        let name = format!("<code>{path}</code>");
        let named = match self.url.map(|url| url.trim_end_matches('/')) {
            None => name,
            // GitHub shows the newest state where no other is named.
            Some(url) if url.matches('/').count() <= 4 => {
                format!("<a href=\"{}/blob/HEAD/{path}\">{name}</a>", escape(url))
            }
            Some(url) => format!("<a href=\"{}/{path}\">{name}</a>", escape(url)),
        };
        Some(format!("<p class=\"listing\">{named}</p>\n"))
    }
}

/// `text` with the code that it includes, each on a line of its own, taken in, anchored parts
/// moved to the left margin, and below each block of code the files that it is from.
/// Other includes are mdBook's.
pub fn take_in(text: &str, folder: &Path, repository: &Repository) -> String {
    let mut out = String::new();
    let mut fence: Option<&str> = None;
    let mut listings: Vec<String> = vec![];
    for line in text.split_inclusive('\n') {
        let whole = || fence.and_then(|_| whole(line.trim_end(), folder));
        let code = anchored(line.trim_end(), folder).or_else(whole);
        out += &code.unwrap_or_else(|| line.to_owned());
        let marker = line.trim();
        match fence {
            None => {
                let length = marker.len() - marker.trim_start_matches(['`', '~']).len();
                let opens = length >= 3 && !marker[length..].contains('`');
                fence = opens.then(|| &marker[..length]);
            }
            Some(open)
                if marker.starts_with(open) && marker.trim_matches(['`', '~']).is_empty() =>
            {
                fence = None;
                let margin = &line[..line.len() - line.trim_start().len()];
                for listing in listings.drain(..) {
                    out += &format!("{margin}{listing}\n");
                }
            }
            Some(_) => {
                let listing = included(marker)
                    .and_then(|(file, _)| repository.listing(folder, file))
                    .filter(|listing| !listings.contains(listing));
                listings.extend(listing);
            }
        }
    }
    out
}

/// What `#include` of this target is in a page that lies in `folder`.
pub fn code(target: &str, folder: &Path) -> Result<String, String> {
    directive(&format!("include {target}"), folder)?;
    let part = anchored(&format!("{{{{#include {target}}}}}"), folder);
    match part {
        Some(part) => Ok(part),
        None => {
            let all = std::fs::read_to_string(folder.join(target));
            let all = all.map_err(|e| format!("{target}: {e}"))?;
            Ok(all.split_inclusive('\n').filter(is_code).collect())
        }
    }
}

/// What stands in a file before and behind the part that `#include` of this target is.
pub fn around(target: &str, folder: &Path) -> Result<[String; 2], String> {
    directive(&format!("include {target}"), folder)?;
    let (path, name) = target.split_once(':').ok_or_else(|| format!("{target} is no part"))?;
    let all = std::fs::read_to_string(folder.join(path)).map_err(|e| format!("{path}: {e}"))?;
    let lines = || all.split_inclusive('\n');
    let before = lines().take_while(|line| anchor(line, "ANCHOR") != Some(name));
    let behind = lines().skip_while(|line| anchor(line, "ANCHOR_END") != Some(name));
    Ok([before.filter(is_code).collect(), behind.filter(is_code).collect()])
}

fn is_code(line: &&str) -> bool {
    anchor(line, "ANCHOR").or(anchor(line, "ANCHOR_END")).is_none()
}

/// The file that `line` includes, and which part of it, if it includes one and nothing else.
fn included(line: &str) -> Option<(&str, &str)> {
    let target = line.strip_prefix("{{#include ")?.strip_suffix("}}")?;
    Some(target.split_once(':').unwrap_or((target, "")))
}

/// The part that `line` includes, if it includes one by anchor and nothing else.
fn anchored(line: &str, folder: &Path) -> Option<String> {
    let (path, name) = included(line).filter(|(_, name)| !name.is_empty())?;
    let content = std::fs::read_to_string(folder.join(path)).ok()?;
    let lines: Vec<&str> = content
        .lines()
        .skip_while(|line| anchor(line, "ANCHOR") != Some(name))
        .take_while(|line| anchor(line, "ANCHOR_END") != Some(name))
        .filter(is_code)
        .collect();
    // Directives of CUDA C stand at the margin, however deep the code is.
    let is_directive = |line: &str| line.starts_with('#');
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let code = lines.iter().filter(|l| !l.trim().is_empty() && !is_directive(l));
    let margin = code.map(indent).min()?;
    let part = lines.iter().map(|line| match is_directive(line) {
        true => line,
        false => line.get(margin..).unwrap_or_default(),
    });
    Some(part.collect::<Vec<_>>().join("\n") + "\n")
}

/// The file that `line` includes, if it includes all of one and nothing else.
fn whole(line: &str, folder: &Path) -> Option<String> {
    let (path, _) = included(line).filter(|(_, name)| name.is_empty())?;
    let content = std::fs::read_to_string(folder.join(path)).ok()?;
    Some(content.lines().filter(is_code).map(|line| format!("{line}\n")).collect())
}

fn directive(text: &str, folder: &Path) -> Result<(), String> {
    let (kind, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let target = rest.split_whitespace().next().unwrap_or_default();
    match kind {
        "title" => return Ok(()),
        "include" | "rustdoc_include" | "playground" => {}
        _ => {
            let known = ["include", "playground", "rustdoc_include", "title"];
            let near = did_you_mean(kind, known.into_iter());
            return Err(format!("mdBook has no directive `#{kind}`{near}"));
        }
    }
    let (path, part) = target.split_once(':').unwrap_or((target, ""));
    let content = std::fs::read_to_string(folder.join(path))
        .map_err(|e| format!("cannot read `{path}`: {e}"))?;
    let first = part.split(':').next().unwrap_or_default();
    if first.is_empty() {
        return Ok(());
    }
    if let Ok(line) = first.parse::<usize>() {
        let lines = content.lines().count();
        return match line {
            line if line <= lines => Ok(()),
            _ => Err(format!("`{path}` has {lines} lines")),
        };
    }
    for mark in ["ANCHOR", "ANCHOR_END"] {
        if !content.lines().any(|line| anchor(line, mark) == Some(first)) {
            return Err(format!("`{path}` has no `{mark}: {first}`"));
        }
    }
    Ok(())
}

/// The anchor that a line names after `mark`, read as mdBook reads it.
fn anchor<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(mark)?;
    let name = rest.strip_prefix(':')?.trim_start();
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    Some(&name[..end.unwrap_or(name.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "fn f() {\n    // ANCHOR: a\n    if x {\n        // ANCHOR: b\n\n        y();\n    \
        }\n    // ANCHOR_END: a\n    z();\n        // ANCHOR_END: b\n}\n";

    #[test]
    fn an_anchored_part_starts_at_the_margin() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f.rs"), CODE).unwrap();
        let repository = Repository { root: Path::new("/elsewhere"), url: None };
        let page = "```rust\n{{#include f.rs:a}}\n```\n{{#include f.rs}} {{#include f.rs:a}}\n";
        assert_eq!(
            take_in(page, folder.path(), &repository),
            "```rust\nif x {\n\n    y();\n}\n```\n{{#include f.rs}} {{#include f.rs:a}}\n"
        );
    }

    /// So that its lines are counted, and its minutes.
    #[test]
    fn a_whole_file_is_taken_in_where_it_is_code() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f.rs"), "f();\n// ANCHOR: a\ng();").unwrap();
        let repository = Repository { root: Path::new("/elsewhere"), url: None };
        assert_eq!(
            take_in("{{#include f.rs}}\n```\n{{#include f.rs}}\n```\n", folder.path(), &repository),
            "{{#include f.rs}}\n```\nf();\ng();\n```\n"
        );
    }

    #[test]
    fn what_stands_around_a_part_is_the_rest_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f.rs"), CODE).unwrap();
        let around = |target| around(target, folder.path());
        let rest = ["fn f() {\n", "    z();\n}\n"].map(str::to_owned);
        assert_eq!(around("f.rs:a"), Ok(rest));
        assert_eq!(around("f.rs"), Err("f.rs is no part".to_owned()));
        assert!(around("f.rs:c").is_err());
    }

    #[test]
    fn code_says_which_files_it_is_from() {
        let repository = |url| Repository { root: Path::new("/w"), url };
        let page = "{{#include ../../f.rs}}\n\n1. x\n   ```rust\n   {{#include ../../a<b.rs:2}}\n   \
            {{#include ../../a<b.rs:1}}\n   ```\n\n````text\n```\n{{#include ../f.rs}}\n````\n";
        let below =
            |margin: &str, inside: &str| format!("{margin}<p class=\"listing\">{inside}</p>\n\n");
        for (url, first, second) in [
            (None, "<code>a&lt;b.rs</code>", "<code>book/f.rs</code>"),
            (
                Some("https://x.org/o/r/"),
                "<a href=\"https://x.org/o/r/blob/HEAD/a&lt;b.rs\"><code>a&lt;b.rs</code></a>",
                "<a href=\"https://x.org/o/r/blob/HEAD/book/f.rs\"><code>book/f.rs</code></a>",
            ),
            (
                Some("https://x.org/o/r/src/branch/main"),
                "<a href=\"https://x.org/o/r/src/branch/main/a&lt;b.rs\"><code>a&lt;b.rs</code></a>",
                "<a href=\"https://x.org/o/r/src/branch/main/book/f.rs\"><code>book/f.rs</code></a>",
            ),
        ] {
            let (upto, rest) = page.split_at(page.find("   ```\n\n").unwrap() + 7);
            assert_eq!(
                take_in(page, Path::new("/w/book/src"), &repository(url)),
                format!("{upto}{}{rest}{}", below("   ", first), below("", second))
            );
        }
    }
}
