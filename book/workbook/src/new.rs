//! `cargo workbook new`: the files of another experiment, from the templates beside this
//! file. What it makes compiles and runs; what it measures is for the author to change.

use std::path::Path;

use anyhow::{Context, Result, bail};
use lab::kernel::{self, COMMITTED_NVRTC, Stamp};

/// Options of `cargo workbook new`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The subject in the field's words, such as `shared-atomics`; never a section number
    name: String,
    /// Section of the chapter it belongs to, such as 8.3
    #[arg(long)]
    section: String,
}

/// Names that cargo keeps for itself, and those of this workspace's other crates.
const RESERVED: [&str; 6] =
    ["build", "deps", "examples", "incremental", "report", "workbook"];

/// Makes the files. Fails before making any if one is there already.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let name = arguments.name.as_str();
    record::file::check_name("experiment", name)?;
    if !name.starts_with(|c: char| c.is_ascii_lowercase())
        || RESERVED.contains(&name)
    {
        bail!("cargo takes no program named `{name}`; choose another name");
    }
    let number = |n: &str| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit());
    if !arguments
        .section
        .split_once('.')
        .is_some_and(|(a, b)| number(a) && number(b))
    {
        bail!("`{}` is no section number such as 8.3", arguments.section);
    }
    let fill = |template: &str| {
        template.replace("NAME", name).replace("SECTION", &arguments.section)
    };
    let source = fill(include_str!("new/kernel.cu"));
    let files = [
        (
            format!("experiments/{name}/Cargo.toml"),
            fill(include_str!("new/manifest.toml")),
        ),
        (
            format!("experiments/{name}/src/main.rs"),
            fill(include_str!("new/lesson.rs")),
        ),
        (format!("kernels/{name}.cu"), source.clone()),
        (format!("kernels/ptx/{name}.ptx"), ptx(name, &source)),
        (format!("book/src/{name}.md"), fill(include_str!("new/page.md"))),
    ];
    if let Some((taken, _)) = files.iter().find(|(path, _)| root.join(path).exists())
    {
        bail!("{taken} is there already; choose another name");
    }
    let summary = root.join("book/src/SUMMARY.md");
    let old = std::fs::read_to_string(&summary).context("book/src/SUMMARY.md")?;
    let new = with_line(&old, &arguments.section, &format!("- [{name}]({name}.md)"));
    for (path, text) in &files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    std::fs::write(&summary, new).context("book/src/SUMMARY.md")?;
    for (path, _) in &files {
        println!("made: {path}");
    }
    println!(
        "listed in: book/src/SUMMARY.md\n\nNext:\n  1. write the question and the \
         prediction in experiments/{name}/src/main.rs\n  2. write kernels/{name}.cu, then \
         cargo workbook ptx\n  3. cargo run --release -p {name}      (on a machine with a \
         GPU)\n  4. write book/src/{name}.md, then cargo workbook serve\nThe chapter \
         `Adding an experiment` of the book says more."
    );
    Ok(())
}

/// PTX for the committed file; empty without the right NVRTC, which makes the program
/// compile its kernel when it runs, and `cargo workbook ptx --check` fail.
fn ptx(name: &str, source: &str) -> String {
    match kernel::nvrtc_version() {
        Ok(version) if version == COMMITTED_NVRTC => {
            kernel::compile(name, source, kernel::compute(source))
                .map(|ptx| Stamp::on(name, source, version, &ptx))
                .unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The summary with `line` at the end of the part whose heading starts with `section`;
/// in a new part after the other sections if there is none.
fn with_line(summary: &str, section: &str, line: &str) -> String {
    let mut lines: Vec<&str> = summary.lines().collect();
    let heading = |l: &&str| {
        l.strip_prefix("# ").and_then(|l| l.split(' ').next()) == Some(section)
    };
    let new_heading = format!("# {section}");
    if let Some(start) = lines.iter().position(heading) {
        let rest = &lines[start + 1..];
        let length =
            rest.iter().position(|l| l.starts_with("# ")).unwrap_or(rest.len());
        let last = rest[..length].iter().rposition(|l| !l.trim().is_empty());
        lines.insert(start + 1 + last.map_or(0, |n| n + 1), line);
    } else {
        // After the chapter's other sections, before what the book adds to them.
        let is_heading = |l: &&str| l.starts_with("# ");
        let is_section =
            |l: &&str| is_heading(l) && l[2..].starts_with(char::is_numeric);
        let after = lines.iter().rposition(is_section).map_or(0, |n| n + 1);
        let end = lines[after..]
            .iter()
            .position(is_heading)
            .map_or(lines.len(), |n| after + n);
        for (i, text) in [new_heading.as_str(), "", line, ""].into_iter().enumerate()
        {
            lines.insert(end + i, text);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::with_line;

    #[test]
    fn a_line_goes_to_the_end_of_its_section() {
        let summary =
            "# Summary\n\n# 8.1 One\n\n- [a](a.md)\n\n# More\n\n- [z](z.md)\n";
        assert_eq!(
            with_line(summary, "8.1", "- [b](b.md)"),
            "# Summary\n\n# 8.1 One\n\n- [a](a.md)\n- [b](b.md)\n\n# More\n\n- [z](z.md)\n"
        );
        assert_eq!(
            with_line(summary, "8.2", "- [b](b.md)"),
            "# Summary\n\n# 8.1 One\n\n- [a](a.md)\n\n# 8.2\n\n- [b](b.md)\n\n# More\n\n\
             - [z](z.md)\n"
        );
    }
}
