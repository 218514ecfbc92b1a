//! `cargo workbook new`: the files of another experiment, from the templates beside this
//! file. What it makes is a draft that runs as it is; what it measures is for the author to
//! change.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::counters::SUFFIX;
use record::Results;

use crate::terminal::{WrongUsage, misused, say};

/// Options of `cargo workbook new`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The subject in the field's words, such as `shared-atomics`; never a section number
    name: String,
    /// Section of the chapter it belongs to, such as 8.3; or 0, the first steps; 1, blocks that cooperate; or 9, models
    #[arg(long)]
    section: String,
}

/// Names that cargo and the compiler keep for themselves, file names that Windows does, and those
/// of pages that mdBook makes.
const RESERVED: [&str; 20] = [
    "alloc",
    "aux",
    "build",
    "com1",
    "con",
    "core",
    "deps",
    "examples",
    "incremental",
    "index",
    "lpt1",
    "nul",
    "print",
    "prn",
    "proc-macro",
    "readme",
    "searchindex",
    "std",
    "test",
    "toc",
];
const SUMMARY: &str = "book/src/SUMMARY.md";

/// Makes all files, or none if anything is in the way.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let Arguments { name, section } = arguments;
    let folder = folder(root, section)?;
    check_name(root, name)?;
    let fill = |template: &str| {
        let template = template.replace("NAME", name).replace("FOLDER", &folder);
        template.replace("SECTION", section)
    };
    let lesson = format!("experiments/{folder}/{name}");
    let page = format!("{folder}/{name}");
    let files = [
        (format!("{lesson}/Cargo.toml"), fill(include_str!("new/manifest.toml"))),
        (format!("{lesson}/src/main.rs"), fill(include_str!("new/lesson.rs"))),
        (format!("kernels/{name}.cu"), fill(include_str!("new/kernel.cu"))),
        (format!("kernels/ptx/{name}.ptx"), fill(include_str!("new/kernel.ptx"))),
        (format!("book/src/{page}.md"), fill(include_str!("new/page.md"))),
        (format!("book/src/{page}.toml"), fill(include_str!("new/page.toml"))),
    ];
    let mut paths = [&lesson].into_iter().chain(files.iter().map(|(path, _)| path));
    if let Some(taken) = paths.find(|path| root.join(path).exists()) {
        misused!("{taken} is there already; choose another name");
    }
    let summary = std::fs::read_to_string(root.join(SUMMARY)).context(SUMMARY)?;
    let summary = with_line(&summary, section, &format!("- [{name}]({page}.md)"))?;
    let mut made = vec![];
    for (path, text) in &files {
        if let Err(e) = make(&root.join(path), text, &mut made) {
            unmake(&made);
            return Err(e).context(format!("{path} cannot be made, so nothing was"));
        }
    }
    if let Err(e) = std::fs::write(root.join(SUMMARY), summary) {
        unmake(&made);
        return Err(e).context(format!("{SUMMARY} cannot be changed, so nothing was"));
    }
    for (path, _) in &files {
        say!("made: {path}");
    }
    say!(
        "listed in: {SUMMARY}\n\nIt is a draft, and runs as it is:\n  \
         cargo run -p {name}\n  cargo workbook serve\nNext: the question and \
         the prediction, in {lesson}/src/main.rs. The chapter `Adding an experiment` of \
         the book says more."
    );
    Ok(())
}

/// The folder of a section that has experiments already.
fn folder(root: &Path, section: &str) -> Result<String> {
    let lessons = lessons::all(root)?;
    if let Some(lesson) = lessons.iter().find(|lesson| lesson.section == section) {
        return Ok(lesson.folder.clone());
    }
    let sections = lessons.iter().map(|l| format!("{} ({})", l.section, l.folder));
    let sections: BTreeSet<_> = sections.collect();
    let sections = sections.into_iter().collect::<Vec<_>>().join(", ");
    misused!("there is no section `{section}`; there are {sections}")
}

/// Refuses a name that something has which would be mistaken for the experiment.
fn check_name(root: &Path, name: &str) -> Result<()> {
    record::file::check_name("experiment", name).map_err(|e| WrongUsage(e.to_string()))?;
    let lower = |c: char| c.is_ascii_lowercase();
    let taken = RESERVED.contains(&name) || report::query::KINDS.contains(&name);
    if !name.starts_with(lower) || name.ends_with(SUFFIX) || taken {
        misused!("`{name}` is kept for something else; choose another name");
    }
    if let Some((folder, _)) = lessons::crates(root)?.into_iter().find(|(_, taken)| taken == name) {
        misused!("experiments/{folder}/{name} is there already; choose another name");
    }
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
    // The compiler calls both `a-b` and `a_b` the crate `a_b`.
    let package = format!("name = \"{name}\"");
    if lock.lines().any(|line| line.replace('_', "-") == package) {
        misused!("`{name}` is a package that the workspace uses; choose another name");
    }
    let pages = std::fs::read_to_string(root.join(SUMMARY)).context(SUMMARY)?;
    for end in [format!("({name}.md)"), format!("/{name}.md)")] {
        if pages.contains(&end) {
            misused!("the book has a page {name}.md already: delete it, or choose another name");
        }
    }
    let results = Results::new(root.join("results"));
    for machine in results.machines()? {
        for run in results.runs(&machine)? {
            let path = run.path(&machine, name)?;
            if path.exists() {
                let path = path.strip_prefix(root).unwrap_or(&path).display();
                misused!("{path} is there already; choose another name");
            }
        }
    }
    Ok(())
}

/// Makes a new file, in a new folder if there is none, and notes both in `made`.
fn make(path: &Path, text: &str, made: &mut Vec<PathBuf>) -> Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    let missing: Vec<_> = folder.ancestors().take_while(|dir| !dir.exists()).collect();
    for dir in missing.into_iter().rev() {
        std::fs::create_dir(dir)?;
        made.push(dir.to_owned());
    }
    let mut file = std::fs::File::create_new(path)?;
    made.push(path.to_owned());
    Ok(file.write_all(text.as_bytes())?)
}

/// Takes back what was made; a folder only if nothing else is in it.
fn unmake(made: &[PathBuf]) {
    for path in made.iter().rev() {
        // What cannot be removed now was made by somebody else since.
        let _ = if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
    }
}

/// The summary with `line` at the end of the part whose heading starts with `section`.
fn with_line(summary: &str, section: &str, line: &str) -> Result<String> {
    let mut lines: Vec<&str> = summary.lines().collect();
    let is_heading =
        |line: &&str| line.strip_prefix("# ").is_some_and(|l| lessons::heads(l, section));
    let start = lines.iter().position(is_heading);
    let start = start.with_context(|| format!("{SUMMARY} has no `# {section} …`"))? + 1;
    let rest = &lines[start..];
    let end = rest.iter().position(|l| l.starts_with("# ")).unwrap_or(rest.len());
    let last = rest[..end].iter().rposition(|line| !line.trim().is_empty());
    lines.insert(start + last.map_or(0, |last| last + 1), line);
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::with_line;

    #[test]
    fn a_line_goes_to_the_end_of_its_section() {
        let summary = "# Summary\n\n# 8.1 One\n\n- [a](a.md)\n\n# More\n\n- [z](z.md)\n";
        assert_eq!(
            with_line(summary, "8.1", "- [b](b.md)").unwrap(),
            "# Summary\n\n# 8.1 One\n\n- [a](a.md)\n- [b](b.md)\n\n# More\n\n- [z](z.md)\n"
        );
        assert!(with_line(summary, "8.2", "- [b](b.md)").is_err());
        let summary = summary.replace("8.1 One", "Part 0: First steps");
        let with = with_line(&summary, "0", "- [b](b.md)").unwrap();
        assert!(with.contains("- [a](a.md)\n- [b](b.md)\n"), "{with}");
    }
}
