//! Checked exercises on a page: the task, and the command that checks a solution.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use walkdir::WalkDir;

use crate::html::escape;

/// The tasks of all exercises, by their names.
#[derive(Debug, Default)]
pub struct Tasks(BTreeMap<String, Task>);

/// What an exercise asks for.
#[derive(Debug)]
struct Task {
    title: String,
    /// Markdown.
    text: String,
    minutes: u32,
}

/// As much of `check.toml` as a page shows.
#[derive(Deserialize)]
struct Check {
    minutes: u32,
}

impl Tasks {
    /// Those in `<root>/experiments/<section>/<lesson>/exercises/<name>/`.
    pub fn read(root: &Path) -> Result<Tasks> {
        let mut tasks = BTreeMap::new();
        let folders = WalkDir::new(root.join("experiments"));
        for entry in folders.min_depth(4).max_depth(4).into_iter().flatten() {
            let parent = entry.path().parent().and_then(Path::file_name);
            if parent.is_none_or(|parent| parent != "exercises") {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            tasks.insert(name, Task::read(entry.path())?);
        }
        Ok(Tasks(tasks))
    }

    /// What a page shows of an exercise: Markdown.
    pub fn show(&self, name: &str) -> Result<String, String> {
        let task = self.0.get(name);
        let Task { title, text, minutes } = task.ok_or_else(|| {
            format!("there is no experiments/*/*/exercises/{name}")
        })?;
        let name = escape(name);
        Ok(format!(
            "### {title} {{#exercise-{name}}}\n\n{text}\n\n\
             ```sh\ncargo workbook exercise {name} --watch\n```\n\n\
             <p class=\"exercise\" data-exercise=\"{name}\">About {minutes} minutes. \
             Hints: <code>--hint</code>.</p>\n"
        ))
    }
}

impl Task {
    fn read(folder: &Path) -> Result<Task> {
        let read = |name| {
            let path = folder.join(name);
            std::fs::read_to_string(&path)
                .with_context(|| path.display().to_string())
        };
        let check: Check = toml::from_str(&read("check.toml")?)
            .with_context(|| folder.join("check.toml").display().to_string())?;
        let text = read("exercise.md")?;
        let (title, text) = text.split_once('\n').unwrap_or((&text, ""));
        let title = title.trim_start_matches('#').trim().to_owned();
        Ok(Task { title, text: text.trim().to_owned(), minutes: check.minutes })
    }
}
