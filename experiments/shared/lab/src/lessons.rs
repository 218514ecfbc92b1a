//! What a lesson is and where it lies: a folder of `experiments/<section>/` with a
//! program in it. Whatever lists, makes, packs or tests lessons asks here.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// One lesson, as its folder and its Cargo.toml describe it.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// Crate, page and record name, which is the name of its folder.
    pub name: String,
    /// The section's folder in `experiments` and in `book/src`, such as `streams`.
    pub folder: String,
    /// Section of the chapter, such as `8.4`.
    pub section: String,
    /// GPUs that it needs at least.
    pub gpus: u32,
    /// It has no reference record yet.
    pub draft: bool,
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
    gpus: u32,
    status: Option<Status>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Draft,
}

impl Lesson {
    /// Its folder, relative to the workbook's.
    pub fn path(&self) -> PathBuf {
        Path::new("experiments").join(&self.folder).join(&self.name)
    }

    /// Its page, relative to `book/src`.
    pub fn page(&self) -> String {
        format!("{}/{}.md", self.folder, self.name)
    }

    /// What it needs, in words.
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
        let Workbook { section, gpus, status } = package.metadata.workbook;
        let (name, folder) = (name.to_owned(), folder.to_owned());
        let draft = status == Some(Status::Draft);
        Ok(Lesson { name, folder, section, gpus, draft })
    }
}

/// All lessons of the workbook in `root`, in the order of the chapter's sections.
pub fn all(root: &Path) -> Result<Vec<Lesson>> {
    let mut found = vec![];
    for (folder, name) in crates(root)? {
        let path = root.join("experiments").join(&folder).join(&name);
        if path.join("src/main.rs").is_file() {
            found.push(Lesson::read(root, &folder, &name)?);
        }
    }
    found.sort_by(|a, b| (&a.section, &a.name).cmp(&(&b.section, &b.name)));
    for pair in found.windows(2) {
        let [a, b] = pair else { continue };
        if (a.folder == b.folder) != (a.section == b.section) {
            let (a, b) = (a.path(), b.path());
            bail!(
                "{} and {}: a folder has the lessons of one section",
                a.display(),
                b.display()
            );
        }
    }
    Ok(found)
}

/// Section folder and name of every crate in `experiments`: the lessons, and what they
/// share.
pub fn crates(root: &Path) -> Result<Vec<(String, String)>> {
    let names = |folder: &Path| -> Result<Vec<String>> {
        let entries = std::fs::read_dir(folder)
            .with_context(|| folder.display().to_string())?;
        let mut names = vec![];
        for entry in entries {
            let entry = entry?;
            if entry.path().is_dir() {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        names.sort();
        Ok(names)
    };
    let top = root.join("experiments");
    let mut found = vec![];
    for folder in names(&top)? {
        for name in names(&top.join(&folder))? {
            if top.join(&folder).join(&name).join("Cargo.toml").is_file() {
                found.push((folder.clone(), name));
            }
        }
    }
    Ok(found)
}
