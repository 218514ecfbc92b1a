//! What the learner has done so far: `my/progress.json`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use record::file::{lock, write_atomically};
use referee::check::HINTS;
use serde::{Deserialize, Serialize};

/// What was done, by the names of exercises.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    pub exercises: BTreeMap<String, Done>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Done {
    pub checks: u32,
    pub hints: usize,
    pub passed: bool,
    /// Whether the solution was shown before that.
    pub shown_before: bool,
}

impl Done {
    /// Whether the solution may be seen.
    pub fn is_open(&self) -> bool {
        self.passed || self.hints >= HINTS
    }
}

impl Progress {
    /// The file, relative to the workbook's folder.
    pub fn path(root: &Path) -> PathBuf {
        root.join("my/progress.json")
    }

    /// What the file says; nothing, if there is none. The inner error is that of a file which is
    /// no such file.
    pub fn read(root: &Path) -> Result<Result<Progress, serde_json::Error>> {
        let path = Progress::path(root);
        match std::fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Ok(Progress::default())),
            Err(e) => Err(e).with_context(|| path.display().to_string()),
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)),
        }
    }

    /// Writes the file as a whole, or not at all.
    pub fn write(&self, root: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        Ok(write_atomically(&Progress::path(root), text.as_bytes())?)
    }

    /// Keeps other programs from changing the file, while what this returns lives: read it again,
    /// change it, and write it.
    pub fn lock(root: &Path) -> Result<File> {
        Ok(lock(&root.join("my/.progress.lock"))?)
    }

    pub fn of(&self, name: &str) -> Done {
        self.exercises.get(name).cloned().unwrap_or_default()
    }

    pub fn of_mut(&mut self, name: &str) -> &mut Done {
        self.exercises.entry(name.to_owned()).or_default()
    }
}
