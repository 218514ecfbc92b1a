//! The exercises, in the order of the book.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use lessons::Lesson;
use referee::check::Check;

/// An exercise, as its folder describes it.
#[derive(Clone, Debug)]
pub struct Exercise {
    pub name: String,
    pub lesson: Lesson,
    /// The page that it stands on, in `book/src`; its lesson's, if it stands on none yet.
    pub page: String,
    /// The part of the book that this page is in.
    pub part: String,
    pub folder: PathBuf,
    /// The first line of its text, without the `#`.
    pub title: String,
    /// The rest of its text, in Markdown.
    pub text: String,
    pub language: Language,
    /// What a solution has to do.
    pub check: Check,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Kernel,
    Host,
}

impl Exercise {
    /// One of its files, such as `start` and `solution`.
    pub fn file(&self, stem: &str) -> PathBuf {
        self.folder.join(format!("{stem}.{}", self.extension()))
    }

    /// One of its sources: the start, the solution, or what has to fail.
    pub fn source(&self, name: &str) -> Result<String> {
        if let Some(mistake) = self.check.mistakes.get(name) {
            let source = read(&self.file(mistake.of.name()))?;
            return mistake.apply(&source).with_context(|| {
                let check = self.folder.join("check.toml");
                format!("{}: `mistakes.{name}`", check.display())
            });
        }
        read(&match name {
            "start" | "solution" => self.file(name),
            _ => self.file(&format!("wrong/{name}")),
        })
    }

    /// Whether the start has the right results, and fails for what it moves.
    pub fn starts_right(&self) -> bool {
        let reason = self.check.fails.get("start").map(String::as_str).unwrap_or_default();
        let row = reason.split_once(": ").map_or(reason, |(row, _)| row);
        self.check.demands.iter().any(|demand| demand.name == row)
    }

    /// The file that the learner edits, relative to the workbook's folder.
    pub fn mine(&self) -> PathBuf {
        Path::new("my").join(format!("{}.{}", self.name, self.extension()))
    }

    /// Extension of the learner's file, and of a start, a solution and a mistake.
    pub fn extension(&self) -> &'static str {
        match self.language {
            Language::Kernel => "cu",
            Language::Host => "rs",
        }
    }

    fn load(lesson: &Lesson, folder: PathBuf, name: String) -> Result<Exercise> {
        let check = read(&folder.join("check.toml"))?;
        let check = Check::parse(&check)
            .with_context(|| folder.join("check.toml").display().to_string())?;
        let path = folder.join("exercise.md");
        let text = read(&path)?;
        let (title, text) = text.split_once('\n').unwrap_or((&text, ""));
        let Some(title) = title.strip_prefix("# ") else {
            bail!("{}: its first line has no title (`# …`)", path.display());
        };
        let (title, text) = (title.trim().to_owned(), text.trim().to_owned());
        let (lesson, page, part) = (lesson.clone(), lesson.page(), String::new());
        let language = match folder.join("start.rs").is_file() {
            true => Language::Host,
            false => Language::Kernel,
        };
        ensure!(
            language == Language::Host || !check.shapes.is_empty(),
            "{}: there is no shape",
            folder.join("check.toml").display()
        );
        let exercise = Exercise { name, lesson, page, part, folder, title, text, language, check };
        exercise.compare_files()?;
        Ok(exercise)
    }

    /// Each file in `wrong/` has its reason in `check.toml`, and each reason its file.
    fn compare_files(&self) -> Result<()> {
        let folder = self.folder.join("wrong");
        let names = if folder.is_dir() { files(&folder)? } else { vec![] };
        let ending = format!(".{}", self.extension());
        let names = names.iter().map(|file| file.trim_end_matches(&ending));
        let files: BTreeSet<_> = names.chain(["start"]).collect();
        let reasons = self.check.fails.keys().map(String::as_str).collect();
        let different: Vec<_> = files.symmetric_difference(&reasons).collect();
        ensure!(
            different.is_empty(),
            "{}: `[fails]` and the files `start` and `wrong/*` differ in {different:?}",
            self.folder.join("check.toml").display()
        );
        Ok(())
    }
}

/// All exercises of the workbook in `root`, in the order in which they stand in the book.
pub fn all(root: &Path) -> Result<Vec<Exercise>> {
    let places = places(root)?;
    let mut found = vec![];
    for lesson in lessons::all(root)? {
        let folder = root.join(lesson.path()).join("exercises");
        if !folder.is_dir() {
            continue;
        }
        for name in files(&folder)? {
            let place = places.iter().position(|place| place.name == name);
            let mut exercise = Exercise::load(&lesson, folder.join(&name), name)?;
            if let Some(Place { page, part, .. }) = place.map(|at| &places[at]) {
                (exercise.page, exercise.part) = (page.clone(), part.clone());
            }
            found.push((place.unwrap_or(usize::MAX), exercise));
        }
    }
    found.sort_by_key(|(place, _)| *place);
    let mut names = BTreeSet::new();
    for (_, exercise) in &found {
        let name = &exercise.name;
        ensure!(names.insert(name), "two exercises are called {name}");
    }
    Ok(found.into_iter().map(|(_, exercise)| exercise).collect())
}

struct Place {
    part: String,
    page: String,
    name: String,
}

/// All places, in the order of the book.
fn places(root: &Path) -> Result<Vec<Place>> {
    let folder = root.join("book/src");
    let (mut places, mut part) = (vec![], String::new());
    for line in read(&folder.join("SUMMARY.md"))?.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            heading.clone_into(&mut part);
        }
        let link = line.split_once("](").and_then(|(_, link)| link.split_once(')'));
        let Some((page, _)) = link.filter(|(page, _)| !page.is_empty()) else {
            continue;
        };
        for line in read(&folder.join(page))?.lines() {
            let name = line.strip_prefix("{{exercise ");
            if let Some(name) = name.and_then(|name| name.strip_suffix("}}")) {
                let (page, name) = (page.to_owned(), name.to_owned());
                places.push(Place { part: part.clone(), page, name });
            }
        }
    }
    Ok(places)
}

fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.with_context(|| folder.display().to_string())?;
    let mut names = vec![];
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
