//! What a lesson is and where it lies: a folder of `experiments/<section>/` with a
//! program in it. Whatever lists, makes, packs or tests lessons asks here.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use walkdir::WalkDir;

/// One lesson, as its folder and its Cargo.toml describe it.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// Crate and record name, which is the name of its folder.
    pub name: String,
    /// The lesson on whose page it is shown: itself, or another of its section.
    pub shown_by: String,
    /// The section's folder in `experiments` and in `book/src`, such as `streams`.
    pub folder: String,
    /// Section of the chapter, such as `8.4`, or part of the book before it, `0`, or after
    /// it, `9`.
    pub section: String,
    /// GPUs that it needs at least.
    pub gpus: u32,
    /// It has no reference record yet.
    pub draft: bool,
    /// It teaches words, and its page shows no measured number: no reference machine has to
    /// record it.
    pub primer: bool,
}

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    workbook: Workbook,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Workbook {
    section: String,
    gpus: NonZeroU32,
    status: Option<Status>,
    /// Another lesson of the section, which has this one on its page.
    page: Option<String>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Draft,
    Primer,
}

impl Lesson {
    /// Its folder, relative to the workbook's.
    pub fn path(&self) -> PathBuf {
        Path::new("experiments").join(&self.folder).join(&self.name)
    }

    /// The title of its page; its name if there is none.
    pub fn title(&self, root: &Path) -> String {
        let page = std::fs::read_to_string(root.join("book/src").join(self.page()));
        let page = page.unwrap_or_default();
        let title = page.lines().find_map(|line| line.strip_prefix("# "));
        title.unwrap_or(&self.name).to_owned()
    }

    /// Its page, relative to `book/src`. Several lessons may share one.
    pub fn page(&self) -> String {
        format!("{}/{}.md", self.folder, self.shown_by)
    }

    /// Names of the files in `kernels/` that its sources embed.
    pub fn kernels(&self, root: &Path) -> Result<BTreeSet<String>> {
        let mut kernels = BTreeSet::new();
        for file in WalkDir::new(root.join(self.path()).join("src")) {
            let file = file?;
            if file.file_type().is_file() {
                let source = std::fs::read_to_string(file.path())
                    .with_context(|| file.path().display().to_string())?;
                for (start, end) in [("/kernels/", ".cu\""), ("unsafe \"", "\"")] {
                    let starts = source.split(start).skip(1);
                    let names = starts.filter_map(|rest| rest.split_once(end));
                    let is_name = |name: &&str| !name.contains(['/', '"', '\n']);
                    let names = names.map(|(name, _)| name).filter(is_name);
                    kernels.extend(names.map(str::to_owned));
                }
            }
        }
        Ok(kernels)
    }

    pub fn needs(&self) -> String {
        let s = if self.gpus == 1 { "" } else { "s" };
        format!("{} GPU{s}", self.gpus)
    }

    fn read(root: &Path, folder: &str, name: &str) -> Result<Lesson> {
        let path = Path::new("experiments").join(folder).join(name);
        let path = path.join("Cargo.toml");
        let read = || -> Result<Package> {
            let text = std::fs::read_to_string(root.join(&path))?;
            Ok(toml::from_str::<Manifest>(&text)?.package)
        };
        let package = read().with_context(|| path.display().to_string())?;
        if package.name != name {
            bail!("{}: the package is not called `{name}`", path.display());
        }
        let Workbook { section, gpus, status, page } = package.metadata.workbook;
        let is_number = |part: &str| part.parse::<u8>().is_ok();
        if !section.split('.').all(is_number) {
            bail!("{}: `{section}` is no section, such as 8.3", path.display());
        }
        let (name, folder) = (name.to_owned(), folder.to_owned());
        let is = |expected| status == Some(expected);
        let (draft, primer) = (is(Status::Draft), is(Status::Primer));
        let (shown_by, gpus) = (page.unwrap_or_else(|| name.clone()), gpus.get());
        Ok(Lesson { name, shown_by, folder, section, gpus, draft, primer })
    }
}

/// The folder of what lessons share, which may be a program, too.
const SHARED: &str = "shared";

/// All lessons of the workbook in `root`, in the order of the chapter's sections.
pub fn all(root: &Path) -> Result<Vec<Lesson>> {
    let mut found = vec![];
    for (folder, name) in crates(root)? {
        let path = root.join("experiments").join(&folder).join(&name);
        if folder != SHARED && path.join("src/main.rs").is_file() {
            found.push(Lesson::read(root, &folder, &name)?);
        }
    }
    found.sort_by(|a, b| (&a.section, &a.name).cmp(&(&b.section, &b.name)));
    for pair in found.windows(2) {
        let [a, b] = pair else { continue };
        if (a.folder == b.folder) != (a.section == b.section) {
            let (a, b) = (a.path(), b.path());
            bail!("{} and {}: a folder has the lessons of one section", a.display(), b.display());
        }
    }
    for lesson in &found {
        let has_page = |other: &Lesson| {
            (&other.folder, &other.name) == (&lesson.folder, &lesson.shown_by)
                && other.name == other.shown_by
        };
        if !found.iter().any(has_page) {
            let (path, page) = (lesson.path(), &lesson.shown_by);
            bail!(
                "{}: `{page}` is no lesson of its section with a page of its own",
                path.display()
            );
        }
    }
    Ok(found)
}

/// Whether a part of the summary is that of `section`: its heading is `8.3 Access patterns`,
/// or `Part 0: First steps`.
pub fn heads(heading: &str, section: &str) -> bool {
    let number = heading.strip_prefix("Part ").unwrap_or(heading);
    number.strip_prefix(section).is_some_and(|rest| rest.starts_with([' ', ':']))
}

/// Names of the kernel files that drafts embed.
pub fn kernels_of_drafts(root: &Path) -> Result<BTreeSet<String>> {
    let mut kernels = BTreeSet::new();
    for lesson in all(root)?.iter().filter(|lesson| lesson.draft) {
        kernels.extend(lesson.kernels(root)?);
    }
    Ok(kernels)
}

/// Section folder and name of every crate in `experiments`: the lessons, and what they
/// share.
pub fn crates(root: &Path) -> Result<Vec<(String, String)>> {
    let mut found = vec![];
    let folders = WalkDir::new(root.join("experiments")).min_depth(2).max_depth(2);
    for folder in folders.sort_by_file_name() {
        let folder = folder?;
        if folder.path().join("Cargo.toml").is_file() {
            let section = folder.path().parent().unwrap_or(root);
            found.push((name(section), name(folder.path())));
        }
    }
    Ok(found)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::all;

    #[test]
    fn a_lesson_may_be_on_the_page_of_another_of_its_section() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, page: &str| {
            let (_, name) = path.split_once('/').unwrap();
            let folder = root.path().join("experiments").join(path);
            fs::create_dir_all(folder.join("src")).unwrap();
            fs::write(folder.join("src/main.rs"), "").unwrap();
            let section = if path.starts_with("streams/") { "8.4" } else { "8.5" };
            let manifest = format!(
                "[package]\nname = \"{name}\"\n[package.metadata.workbook]\n\
                 section = \"{section}\"\ngpus = 1\n{page}"
            );
            fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        };
        write("streams/kernels", "");
        write("streams/products", "page = \"kernels\"");
        write("several-gpus/copy", "");
        let pages = || -> anyhow::Result<Vec<String>> {
            Ok(all(root.path())?.iter().map(|lesson| lesson.page()).collect())
        };
        let expected = ["streams/kernels.md", "streams/kernels.md", "several-gpus/copy.md"];
        assert_eq!(pages().unwrap(), expected);
        for page in ["nothing", "copy", "products"] {
            write("streams/third", &format!("page = \"{page}\""));
            let refused = pages().unwrap_err().to_string();
            assert!(refused.contains(&format!("`{page}` is no lesson")), "{refused}");
        }
    }
}
