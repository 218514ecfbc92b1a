//! Where the finished book goes: it is built beside that place and then put there in one
//! step, and nothing is removed that is not as a build made it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use record::file::visible;
use record::hash::sha256;
use tempfile::TempDir;
use walkdir::WalkDir;

/// The file in a finished book that lists all others, with their hashes as `sha256sum` does.
const LIST: &str = ".made-by-cargo-workbook";

/// What the folder of a book that is being built begins with.
const UNFINISHED: &str = ".building-";
/// After so long, such a folder is one that a killed program left.
const STALE: Duration = Duration::from_secs(3600);

/// So often a book is put in its place, if others come first.
const ATTEMPTS: u32 = 20;

/// The folders of books that this process is building.
fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(vec![]);
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes books that are not finished: before the process ends at once.
pub fn abandon() {
    for folder in folders().drain(..) {
        let _ = std::fs::remove_dir_all(folder); // it may be finished by now
    }
}

/// A book that is being built.
pub struct Output {
    place: PathBuf,
    /// Whether the place is the workbook's own, whatever is in it.
    own: bool,
    /// Beside the place, so that the book can be moved there.
    folder: TempDir,
}

impl Output {
    /// A book that will lie at `place`. Fails if something else than a book lies there,
    /// unless it is the workbook's `own` place and
    /// no link.
    pub fn at(place: &Path, own: bool) -> Result<Output> {
        let named = || place.display().to_string();
        let own = own && !place.is_symlink();
        let place = match place.is_symlink() && place.exists() {
            true => place.canonicalize(), // the folder itself
            false => std::path::absolute(place),
        };
        let place = place.with_context(named)?;
        check(&place, own)?;
        let beside = place.parent().context("there is nothing above it");
        let beside = beside.with_context(named)?;
        std::fs::create_dir_all(beside).with_context(|| beside.display().to_string())?;
        if own {
            tidy(beside);
        }
        let folder = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(beside);
        let folder = folder.with_context(|| beside.display().to_string())?;
        folders().push(folder.path().to_owned());
        Ok(Output { own, folder, place })
    }

    pub fn building(&self) -> PathBuf {
        self.folder.path().join("book")
    }

    /// Puts the book in its place, and what lay there goes.
    pub fn publish(self) -> Result<PathBuf> {
        let new = self.building();
        let mut list = String::new();
        for file in files(&new)? {
            let hash = hash(&new.join(&file))?.unwrap_or_default();
            list += &format!("{hash}  {}\n", name(&file));
        }
        std::fs::write(new.join(LIST), list).with_context(|| new.display().to_string())?;
        let Output { place, own, folder } = self;
        for attempt in 1.. {
            check(&place, own)?;
            let old = folder.path().join(format!("old-{attempt}"));
            let moved = match std::fs::rename(&place, &old) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
                moved => moved,
            };
            let put = moved.and_then(|()| std::fs::rename(&new, &place));
            match put {
                Ok(()) => break,
                // Another build has put its book there just now.
                Err(_) if place.exists() && attempt < ATTEMPTS => continue,
                Err(_) if old.exists() && !place.exists() => {
                    std::fs::rename(&old, &place).context("the old book is lost")?;
                }
                Err(_) => {}
            }
            put.with_context(|| place.display().to_string())?;
        }
        folders().retain(|unfinished| unfinished != folder.path());
        // The old book goes with it, which should not hide that the new one is there.
        let _ = folder.close();
        Ok(place)
    }
}

/// Removes from the book's own folder what killed programs have left there.
fn tidy(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|metadata| metadata.modified());
        let age = made.ok().and_then(|made| made.elapsed().ok());
        let name = entry.file_name();
        let is_one = name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
        if is_one && age.is_some_and(|age| age > STALE) {
            let _ = std::fs::remove_dir_all(entry.path()); // the next build tries again
        }
    }
}

/// Whether every file at the place is as a build made it, or the place the workbook's own.
fn check(place: &Path, own: bool) -> Result<()> {
    if own || !place.exists() {
        return Ok(());
    }
    if !place.is_dir() {
        bail!("{} is not a folder", place.display());
    }
    let list = record::file::read_small(&place.join(LIST)).unwrap_or_default();
    let made = list.lines().filter_map(|line| line.split_once("  "));
    let made: BTreeMap<&str, &str> = made.map(|(hash, name)| (name, hash)).collect();
    for file in files(place)? {
        let is_made = match made.get(&*name(&file)) {
            Some(listed) => hash(&place.join(&file))?.as_deref() == Some(listed),
            None => file == Path::new(LIST),
        };
        if !is_made {
            bail!(
                "{} holds a file that is not as a build here made it, {}, and building there \
                 would remove it; choose a new folder",
                place.display(),
                visible(&file.display().to_string())
            );
        }
    }
    Ok(())
}

/// What the list calls a file, on every system.
fn name(file: &Path) -> String {
    file.display().to_string().replace(MAIN_SEPARATOR, "/")
}

/// The hash of what a file holds; none of a link and the like, which no build makes.
fn hash(path: &Path) -> Result<Option<String>> {
    let named = || path.display().to_string();
    if !path.symlink_metadata().with_context(named)?.is_file() {
        return Ok(None);
    }
    Ok(Some(sha256(std::fs::read(path).with_context(named)?)))
}

/// What lies below the folder and is no folder, by its path from there, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry?;
        if !entry.file_type().is_dir() {
            files.push(entry.path().strip_prefix(folder)?.to_owned());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_builds_that_end_at_once_the_last_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("html");
        let build = || {
            for _ in 0..100 {
                let output = Output::at(&place, true).unwrap();
                std::fs::create_dir(output.building()).unwrap();
                std::fs::write(output.building().join("index.html"), "whole").unwrap();
                output.publish().unwrap();
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(build))));
        assert_eq!(std::fs::read_to_string(place.join("index.html")).unwrap(), "whole");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
