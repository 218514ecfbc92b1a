//! `cargo workbook exercise`: checks what a learner wrote, on the emulated GPU.
//!
//! | file | what is in it |
//! |---|---|
//! | this one | what is asked for, and the learner's files |
//! | `keys.rs` | single keys, while a file is watched |
//! | `list.rs` | how far the learner is |
//! | `measure.rs` | how fast it is on a real GPU |
//! | `show.rs` | what a check found, in the terminal |

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use exercise::progress::Done;
use exercise::{Exercise, Judge, Progress, catalogue, source};
use keys::{Key, Keys};
use lab::compiler;
use record::file::visible_lines;
use record::names::did_you_mean;
use referee::check::HINTS;

use crate::terminal::{complain, misused, say};

mod keys;
mod list;
mod measure;
mod show;

/// Options of `cargo workbook exercise`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The exercise; without it, how far you are. `list` lists all
    name: Option<String>,
    /// Check whenever the file is saved, and go on to the next exercise; without a name, from the
    /// first that is not solved
    #[arg(long, conflicts_with_all = ["hint", "solution", "reset"])]
    watch: bool,
    /// Show the task once more
    #[arg(long, requires = "name", conflicts_with_all = ["watch", "hint", "solution", "measure", "reset"])]
    task: bool,
    /// Show the next hint, after those shown before
    #[arg(long, conflicts_with_all = ["solution", "reset"], requires = "name")]
    hint: bool,
    /// Show the solution, once the exercise is solved or the last hint shown
    #[arg(long, conflicts_with = "reset", requires = "name")]
    solution: bool,
    /// Once it is solved: time it on the GPU, beside our solution and a copy of as many bytes
    #[arg(long, conflicts_with_all = ["hint", "solution", "reset", "watch"], requires = "name")]
    measure: bool,
    /// Begin anew; your file stays beside the new one, under another name
    #[arg(long, requires = "name")]
    reset: bool,
    /// nvrtc or clang [default: NVRTC, or clang where there is none]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    compiler: Option<compiler::Choice>,
    /// For authors: whether start, mistakes and solution do what check.toml says; of all
    /// exercises, without a name
    #[arg(long, hide = true, conflicts_with_all = ["watch", "hint", "solution", "reset", "json"])]
    verify: bool,
    /// So many times each, with the same answer every time
    #[arg(long, hide = true, requires = "verify", default_value_t = 1)]
    times: u32,
    /// With `list` or without a name: as JSON, for instructors
    #[arg(long, conflicts_with_all = ["watch", "hint", "solution", "reset"])]
    json: bool,
}

impl Arguments {
    /// Whether an option is for one exercise.
    fn is_of_one(&self) -> bool {
        let Arguments { watch, task, hint, solution, measure, reset, .. } = *self;
        watch || task || hint || solution || measure || reset
    }
}

/// How often a watched file is looked at.
const INTERVAL: Duration = Duration::from_millis(150);

/// Exit code of a check that found something to do.
const UNSOLVED: u8 = 1;

/// Does what is asked for.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<ExitCode> {
    compiler::choose(arguments.compiler);
    let all = catalogue::all(root)?;
    if arguments.verify {
        return verify(root, &all, arguments);
    }
    let progress = progress(root)?;
    let name = match arguments.name.as_deref() {
        None | Some("list") if arguments.json => {
            say!("{}", list::json(&all, &progress)?);
            return Ok(ExitCode::SUCCESS);
        }
        None if arguments.watch => match list::next(&all, &progress, None) {
            Some((_, exercise)) => &exercise.name,
            None => bail!("all {} are solved; to watch one of them, name it", all.len()),
        },
        None => {
            list::parts(&all, &progress);
            return Ok(ExitCode::SUCCESS);
        }
        Some("list") if arguments.is_of_one() => {
            misused!("`list` is of all exercises: name the one that the other option is for")
        }
        Some("list") => {
            list::all(&all, &progress);
            return Ok(ExitCode::SUCCESS);
        }
        Some(name) => name,
    };
    if arguments.json {
        misused!("--json is for `list`, not for the exercise {name}");
    }
    let exercise = find(&all, name)?;
    let mut learner = Learner { root, all: &all, exercise, progress };
    if arguments.task {
        show::task(exercise);
        say!("\nIts page: {}", where_shown(root, &exercise.page));
    } else if arguments.reset {
        learner.reset()?;
    } else if arguments.hint {
        let done = learner.hint()?;
        show::after_hint(exercise, &done);
    } else if arguments.solution {
        learner.solution()?;
    } else if arguments.watch {
        return learner.watch();
    } else {
        learner.begin()?;
        let judge = Judge::new(exercise, root)?;
        if !learner.check(&judge)? {
            show::next(&learner.progress.of(&exercise.name));
            return Ok(ExitCode::from(UNSOLVED));
        }
        show::after(&all, &learner.progress, exercise);
        if arguments.measure {
            measure::measure(exercise, &learner.file(), &learner.path())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What `list --json` prints: the exercises of the workbook in `root`, with what was done of each.
pub(crate) fn export(root: &Path) -> Result<String> {
    list::json(&catalogue::all(root)?, &progress(root)?)
}

/// What was done so far. A file that cannot be understood is set aside: no check fails for it.
fn progress(root: &Path) -> Result<Progress> {
    let path = Progress::path(root);
    match Progress::read(root)? {
        Ok(progress) => Ok(progress),
        Err(why) => {
            let kept = set_aside(&path)?;
            complain!(
                "my/progress.json cannot be understood ({why}). It is my/{kept} now, and \
                 nothing counts as solved until it is checked again; your solutions are \
                 untouched"
            );
            Ok(Progress::default())
        }
    }
}

/// Gives a file another name, which no file has, and tells it: `transpose.1.cu`.
fn set_aside(path: &Path) -> Result<String> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let kept = (1..)
        .map(|number| path.with_extension(format!("{number}.{ending}")))
        .find(|kept| !kept.exists())
        .context("there is always a further number")?;
    std::fs::rename(path, &kept).with_context(|| path.display().to_string())?;
    Ok(kept.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// Checks the checks.
fn verify(root: &Path, all: &[Exercise], arguments: &Arguments) -> Result<ExitCode> {
    let chosen: Vec<_> = match arguments.name.as_deref() {
        Some(name) => vec![find(all, name)?],
        None => all.iter().collect(),
    };
    let mut code = ExitCode::SUCCESS;
    for exercise in chosen {
        let problems = exercise::verify::verify(exercise, root, arguments.times)
            .with_context(|| exercise.name.clone())?;
        say!("{}: {}", exercise.name, if problems.is_empty() { "as declared" } else { "no" });
        for problem in problems {
            say!("    {}", visible_lines(&problem));
            code = ExitCode::from(UNSOLVED);
        }
    }
    Ok(code)
}

/// Where a page of the book is to be read: its source is full of what the build fills in.
fn where_shown(root: &Path, page: &str) -> String {
    let page = Path::new(page).with_extension("html").display().to_string().replace('\\', "/");
    let built = format!("book/html/{page}");
    match root.join(&built).is_file() {
        true => format!("{built}, or {page} of `cargo workbook serve`"),
        false => format!("{page}, once `cargo workbook serve` shows the book"),
    }
}

fn find<'e>(all: &'e [Exercise], name: &str) -> Result<&'e Exercise> {
    let number = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(found) = number.and_then(|place| all.get(place)) {
        return Ok(found);
    }
    if let Some(found) = all.iter().find(|exercise| exercise.name == name) {
        return Ok(found);
    }
    if name.parse::<u64>().is_ok() {
        misused!("there is no exercise {name}: they have the numbers 1 to {}", all.len());
    }
    let page = format!("/{name}.md");
    let of_page = all.iter().filter(|exercise| exercise.page.ends_with(&page));
    let of_page: Vec<_> = of_page.map(|exercise| exercise.name.as_str()).collect();
    if !of_page.is_empty() {
        misused!("`{name}` is a page; its exercises are: {}", of_page.join(", "));
    }
    let names = all.iter().map(|exercise| exercise.name.as_str());
    let meant = did_you_mean(name, names);
    let end = if meant.is_empty() { "." } else { &meant };
    misused!("there is no exercise `{name}`{end} All: cargo workbook exercise list")
}

struct Learner<'e> {
    root: &'e Path,
    all: &'e [Exercise],
    exercise: &'e Exercise,
    progress: Progress,
}

impl<'e> Learner<'e> {
    fn path(&self) -> PathBuf {
        self.root.join(self.exercise.mine())
    }

    /// The learner's file as messages call it, everywhere the same.
    fn file(&self) -> String {
        self.exercise.mine().display().to_string().replace('\\', "/")
    }

    /// The start is copied, and the task told, unless that is done.
    fn begin(&self) -> Result<()> {
        let path = self.path();
        if path.exists() {
            return Ok(());
        }
        show::task(self.exercise);
        let folder = path.parent().context("it is in `my`")?;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        self.copy_start()?;
        say!("\n{} is yours to edit. This is how it is now:\n", self.file());
        Ok(())
    }

    fn copy_start(&self) -> Result<()> {
        let path = self.path();
        let start = self.exercise.file("start");
        std::fs::copy(&start, &path).with_context(|| start.display().to_string())?;
        Ok(())
    }

    fn reset(&self) -> Result<()> {
        let path = self.path();
        let is_start =
            || Ok::<_, anyhow::Error>(source::read(&path)? == Ok(self.exercise.source("start")?));
        if path.exists() && is_start()? {
            say!("{} is as it was at the start", self.file());
        } else if path.exists() {
            let kept = set_aside(&path)?;
            say!("what you had is in my/{kept} now");
            self.copy_start()?;
            say!("{} is the start again", self.file());
        } else {
            self.begin()?;
        }
        Ok(())
    }

    /// Changes what is done of the exercise in the file as it is now: another terminal may have
    /// solved others since this one has read it.
    fn change(&mut self, change: impl FnOnce(&mut Done)) -> Result<Done> {
        let _alone = Progress::lock(self.root)?;
        self.progress = progress(self.root)?;
        let done = self.progress.of_mut(&self.exercise.name);
        change(done);
        let done = done.clone();
        self.progress.write(self.root)?;
        Ok(done)
    }

    fn hint(&mut self) -> Result<Done> {
        let done = self.change(|done| done.hints = (done.hints + 1).min(HINTS))?;
        show::hints(self.exercise, done.hints);
        Ok(done)
    }

    fn solution(&mut self) -> Result<()> {
        let done = self.progress.of(&self.exercise.name);
        let name = &self.exercise.name;
        if !done.is_open() {
            bail!(
                "the solution opens when you have solved the exercise, or seen its {HINTS} \
                 hints; you have seen {}. Next: cargo workbook exercise {name} --hint",
                done.hints
            );
        }
        say!("{}", self.exercise.source("solution")?.trim_end());
        self.change(|done| done.shown_before |= !done.passed)?;
        Ok(())
    }

    /// Checks once: whether all is as demanded.
    fn check(&mut self, judge: &Judge<'_>) -> Result<bool> {
        let file = self.file();
        let outcome = judge.check(&file, &self.path())?;
        let solved = outcome.is_solved();
        self.change(|done| {
            done.checks += 1;
            done.passed |= solved;
        })?;
        show::outcome(&file, &outcome);
        list::progress(self.all, &self.progress, &self.exercise.part);
        Ok(solved)
    }

    /// Checks at once, and whenever the file has changed; and so the next exercise.
    fn watch(&mut self) -> Result<ExitCode> {
        let mut keys = Keys::read();
        loop {
            self.begin()?;
            let judge = Judge::new(self.exercise, self.root)?;
            let Some(next) = self.watch_one(&judge, &mut keys)? else {
                return Ok(ExitCode::SUCCESS);
            };
            self.exercise = next;
            say!("{}\n", show::rule());
            if self.path().exists() {
                show::task(next); // else it is told when the start is copied
            }
        }
    }

    /// Watches one file. Returns the exercise to go on with, if there is one.
    fn watch_one(&mut self, judge: &Judge<'_>, keys: &mut Keys) -> Result<Option<&'e Exercise>> {
        let (mut seen, mut is_gone) = (None, false);
        loop {
            let now = std::fs::metadata(self.path()).and_then(|m| m.modified()).ok();
            // Editors replace a file that they save: it may be gone for a moment.
            if now.is_none() && !is_gone {
                std::thread::sleep(INTERVAL);
                is_gone = !self.path().exists();
                if is_gone {
                    let name = &self.exercise.name;
                    say!(
                        "{} is gone. Its start again: cargo workbook exercise {name} --reset",
                        self.file()
                    );
                }
                continue;
            }
            if now.is_some() && now != seen {
                is_gone = false;
                if seen.is_some() {
                    say!("\n{}", show::rule());
                }
                seen = now;
                show::checking(&self.file());
                let solved = self.check(judge)?;
                if solved && !keys.are_there() {
                    return Ok(None);
                }
                self.tell_keys(solved);
            }
            let Some(key) = keys.wait(INTERVAL) else { continue };
            say!();
            match key {
                Key::Quit => return Ok(None),
                Key::Next => match list::next(self.all, &self.progress, Some(self.exercise)) {
                    Some((_, next)) => return Ok(Some(next)),
                    None => say!("All {} are solved.", self.all.len()),
                },
                Key::Hint => _ = self.hint()?,
                Key::Solution => self.solution().unwrap_or_else(|closed| say!("{closed}")),
                Key::List => list::all(self.all, &self.progress),
                Key::Reset => self.reset()?,
            }
            self.tell_keys(self.progress.of(&self.exercise.name).passed);
        }
    }

    fn tell_keys(&self, solved: bool) {
        let next = list::next(self.all, &self.progress, Some(self.exercise));
        let done = self.progress.of(&self.exercise.name);
        show::keys(&self.file(), solved, &done, next.map(|(_, next)| next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shown_where_the_book_was_built() {
        let root = crate::temporary::folder().unwrap();
        let shown = || where_shown(root.path(), "first-steps/blocks.md");
        assert_eq!(shown(), "first-steps/blocks.html, once `cargo workbook serve` shows the book");
        let folder = root.path().join("book/html/first-steps");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("blocks.html"), "").unwrap();
        let built = "book/html/first-steps/blocks.html, or first-steps/blocks.html of";
        assert!(shown().starts_with(built), "{}", shown());
    }
}
