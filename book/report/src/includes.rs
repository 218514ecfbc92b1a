//! Every included file and anchor exists. mdBook only logs a missing file, and includes
//! nothing, silently, for a missing anchor. And an anchored part of a program starts at
//! the left margin, however deep it stands in its file.

use std::path::Path;

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
            None => (
                line.to_owned(),
                Err("has no closing braces on its line".to_owned()),
            ),
            Some(end) => {
                (line[..end + 2].to_owned(), directive(&line[3..end], folder))
            }
        };
        if let Err(problem) = problem {
            problems.push((start, name, problem));
        }
    }
    problems
}

/// `text` with the anchored parts that it includes, each on a line of its own, taken in
/// and moved to the left margin. Other includes are mdBook's.
pub fn take_in(text: &str, folder: &Path) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        out += &anchored(line.trim_end(), folder).unwrap_or_else(|| line.to_owned());
    }
    out
}

/// The part that `line` includes, if it includes one by anchor and nothing else.
fn anchored(line: &str, folder: &Path) -> Option<String> {
    let target = line.strip_prefix("{{#include ")?.strip_suffix("}}")?;
    let (path, name) = target.split_once(':')?;
    let content = std::fs::read_to_string(folder.join(path)).ok()?;
    let lines: Vec<&str> = content
        .lines()
        .skip_while(|line| anchor(line, "ANCHOR") != Some(name))
        .take_while(|line| anchor(line, "ANCHOR_END") != Some(name))
        .filter(|l| anchor(l, "ANCHOR").or(anchor(l, "ANCHOR_END")).is_none())
        .collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let margin = lines.iter().filter(|l| !l.trim().is_empty()).map(indent).min()?;
    let part = lines.iter().map(|l| l.get(margin..).unwrap_or_default());
    Some(part.collect::<Vec<_>>().join("\n") + "\n")
}

fn directive(text: &str, folder: &Path) -> Result<(), String> {
    let (kind, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let target = rest.split_whitespace().next().unwrap_or_default();
    match kind {
        "title" => return Ok(()),
        "include" | "rustdoc_include" | "playground" => {}
        _ => return Err("there is no such directive".to_owned()),
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
    use super::take_in;

    #[test]
    fn an_anchored_part_starts_at_the_margin() {
        let folder = tempfile::tempdir().unwrap();
        let code = "fn f() {\n    // ANCHOR: a\n    if x {\n        // ANCHOR: b\n\n        y();\n    \
                    }\n    // ANCHOR_END: a\n    z();\n        // ANCHOR_END: b\n}\n";
        std::fs::write(folder.path().join("f.rs"), code).unwrap();
        let page = "```rust\n{{#include f.rs:a}}\n```\n{{#include f.rs}} {{#include f.rs:a}}\n";
        assert_eq!(
            take_in(page, folder.path()),
            "```rust\nif x {\n\n    y();\n}\n```\n{{#include f.rs}} {{#include f.rs:a}}\n"
        );
    }
}
