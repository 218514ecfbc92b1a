//! Checked exercises on a page: the task, and the command that checks a solution.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use record::hash::sha256;
use referee::check::{Level, Need};
use serde::Deserialize;
use walkdir::WalkDir;

use crate::editor::Exercise;
use crate::html::{escape, prose};
use crate::page::Page;
use crate::quantity::{Quantities, Quantity};
use crate::records::Records;
use crate::sources::Sources;

#[derive(Debug, Default)]
pub struct Tasks(BTreeMap<String, Task>);

/// What an exercise asks for.
#[derive(Debug)]
struct Task {
    title: String,
    /// Markdown.
    text: String,
    minutes: u32,
    level: Level,
    needs: Vec<Need>,
    /// What the record calls the start and the solution, if they are kernels.
    codes: Option<[String; 2]>,
    /// What an editor in the page has to know, if it is a kernel.
    kernel: Option<Exercise>,
}

/// As much of `check.toml` as a page shows.
#[derive(Deserialize)]
struct Check {
    minutes: u32,
    level: Level,
    #[serde(default)]
    needs: Vec<Need>,
    hints: Vec<String>,
}

impl Tasks {
    /// Those in `<root>/experiments/<section>/<lesson>/exercises/<name>/`.
    pub fn read(root: &Path) -> Result<Tasks> {
        let mut tasks = BTreeMap::new();
        let folders = WalkDir::new(root.join("experiments")).min_depth(4).max_depth(4);
        for entry in folders {
            let entry = entry?;
            let parent = entry.path().parent().and_then(Path::file_name);
            if parent.is_none_or(|parent| parent != "exercises") {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            tasks.insert(name, Task::read(entry.path())?);
        }
        Ok(Tasks(tasks))
    }

    /// What a page shows of an exercise: Markdown. With it, what was measured of the start and of
    /// our solution, if they are the ones that are there now; and a kernel's editor.
    pub fn show(
        &self,
        name: &str,
        pages: &[Page],
        records: &Records,
        sources: &Sources,
        root: &str,
    ) -> Result<String, String> {
        let task = self.0.get(name);
        let Task { title, text, minutes, level, codes, kernel, .. } =
            task.ok_or_else(|| format!("there is no experiments/*/*/exercises/{name}"))?;
        let needs = self.needs(name, pages, root)?;
        let needs = if needs.is_empty() { needs } else { format!(" Needs: {needs}.") };
        let codes = codes.as_ref();
        let measured = codes.and_then(|codes| measured(name, codes, records));
        let measured = measured.unwrap_or_default();
        let editor = kernel.as_ref().map(|kernel| kernel.expand(name, sources, root));
        let editor = editor.transpose()?.unwrap_or_default();
        let name = escape(name);
        let hints = match kernel {
            Some(_) => "The command is for your own editor; on this page you need nothing else.",
            None => "This is host code: solve it in your own editor.",
        };
        Ok(format!(
            "### {title} {{#exercise-{name}}}\n\n\
             <p class=\"exercise\" data-exercise=\"{name}\">Level: {level}. About \
             {minutes} minutes.{needs}</p>\n\n{text}\n\n\
             ```sh\ncargo workbook exercise {name} --watch\n```\n\n\
             <p>{hints} Hints: <code>--hint</code>.{measured}</p>\n\n{editor}"
        ))
    }

    /// Links to what has to come before the exercise; empty if that is nothing.
    fn needs(&self, name: &str, pages: &[Page], root: &str) -> Result<String, String> {
        let needs = self.0.get(name).into_iter().flat_map(|task| &task.needs);
        let links = needs.map(|need| {
            let is_meant = |page: &&Page| match need {
                Need::Exercise(other) => page.exercises.contains(other),
                Need::Page(stem) => page.stem == *stem,
            };
            let page = pages.iter().find(is_meant);
            let page = page.ok_or_else(|| format!("{name} needs {need}, which is not there"))?;
            Ok(match need {
                Need::Page(_) => page.link(root),
                Need::Exercise(other) => {
                    let (html, other) = (page.html(), escape(other));
                    format!("<a href=\"{root}{html}#exercise-{other}\">{other}</a>")
                }
            })
        });
        let links: Vec<_> = links.collect::<Result<_, String>>()?;
        Ok(links.join(", "))
    }

    /// How many minutes each of the exercises of these names takes.
    pub fn minutes(&self, names: &[String]) -> Vec<usize> {
        let tasks = names.iter().filter_map(|name| self.0.get(name));
        tasks.map(|task| task.minutes as usize).collect()
    }

    /// The exercises of these names, in this order, or else all that stand on a page, in the order
    /// of the book. `root` leads from this page to the book's root.
    pub fn list(&self, names: &[String], pages: &[Page], root: &str) -> Result<String, String> {
        let mut listed: Vec<(&Page, &String)> = vec![];
        for page in pages {
            listed.extend(page.exercises.iter().map(|name| (page, name)));
        }
        if !names.is_empty() {
            let find = |name: &String| {
                let found = listed.iter().find(|(_, listed)| *listed == name);
                found.copied().ok_or_else(|| format!("no page has the exercise `{name}`"))
            };
            listed = names.iter().map(find).collect::<Result<_, _>>()?;
        }
        let mut rows = String::new();
        let mut part = None;
        for (page, name) in listed {
            let task = self.0.get(name);
            let Task { title, minutes, level, kernel, .. } =
                task.ok_or_else(|| format!("there is no exercise `{name}`"))?;
            let place = if kernel.is_some() { "page" } else { "terminal" };
            if names.is_empty() && part != Some(&page.part) {
                let heading = escape(page.part.as_deref().unwrap_or_default());
                rows += &format!(
                    "<tr><th colspan=\"6\" scope=\"rowgroup\"><span>{heading}</span></th></tr>\n"
                );
                part = Some(&page.part);
            }
            let needs = self.needs(name, pages, root)?;
            let name = escape(name);
            rows += &format!(
                "<tr><td><a href=\"{root}{}#exercise-{name}\">{}</a></td>\
                 <td><code>{name}</code></td><td>{place}</td>\
                 <td class=\"exercise\" data-exercise=\"{name}\">{minutes}&nbsp;min</td>\
                 <td>{level}</td><td>{needs}</td></tr>\n",
                page.html(),
                prose(title),
            );
        }
        Ok(format!(
            "<div class=\"table\" tabindex=\"0\">\n<table>\n<thead><tr><th>exercise</th>\
             <th>name</th><th>where</th><th>time</th>\
             <th>level</th><th>needs</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        ))
    }
}

/// A sentence on the times of the start and the solution; `None` where they were not recorded.
fn measured(name: &str, codes: &[String; 2], records: &Records) -> Option<String> {
    let [start, solution] = codes;
    let query = |variant, code| format!("exercises {variant} exercise={name} code={code} : time");
    let (start, solution) = (query("start", start), query("solution", solution));
    let gain = format!("[{start}] / [{solution}] | ×");
    let all = [("start", start), ("gain", gain), ("solution", solution)];
    for known in [&all[..], &all[2..]] {
        let mut quantities = Quantities::default();
        for (name, text) in known {
            quantities.add(name, text).ok()?;
        }
        if quantities.evaluate(records).is_empty() {
            let gain = quantities.get("gain").map(|gain| gain.value.first().value);
            let said = match gain {
                Ok(1.0..) => {
                    " Timed on a GPU, the starter code takes {{start}} and the reference solution \
                     {{solution}}: it is {{gain}} as fast."
                }
                Ok(_) => {
                    " Timed on a GPU, the starter code takes {{start}} and the reference solution \
                     {{solution}}: it meets the demands, and yet takes longer there."
                }
                Err(_) => " Timed on a GPU, the reference solution takes {{solution}}.",
            };
            let Quantity { value, .. } = quantities.get("solution").ok()?;
            if value.is_lacking() {
                let there = format!("on the {}", records.label(&value.from));
                return quantities.prose_elsewhere(&said.replace("on a GPU", &there)).ok();
            }
            return quantities.prose(said, records).ok();
        }
    }
    None
}

impl Task {
    fn read(folder: &Path) -> Result<Task> {
        let read = |name| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let toml = read("check.toml")?;
        let Check { minutes, level, needs, hints } = toml::from_str(&toml)
            .with_context(|| folder.join("check.toml").display().to_string())?;
        let text = read("exercise.md")?;
        let (title, text) = text.split_once('\n').unwrap_or((&text, ""));
        let title = title.trim_start_matches('#').trim().to_owned();
        let text = text.trim().to_owned();
        let kernel = match folder.join("start.cu").is_file() {
            false => None,
            true => Some(Exercise {
                check: toml,
                start: read("start.cu")?,
                expected: read("expected.cu")?,
                solution: read("solution.cu")?,
                hints,
            }),
        };
        let code = |source: &String| format!("x{}", &sha256(source)[..12]);
        let codes = kernel.as_ref().map(|Exercise { start, solution, .. }| [start, solution]);
        let codes = codes.map(|sources| sources.map(code));
        Ok(Task { title, text, minutes, level, needs, codes, kernel })
    }
}
