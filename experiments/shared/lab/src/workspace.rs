//! Where the results lie, and which revision of the sources this is.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The workbook's top folder, found upwards from the current one; `None` outside of it
/// (a packed binary on a GPU machine).
pub fn root() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .find(|dir| dir.join("book/book.toml").is_file())
        .map(Path::to_owned)
}

/// The folder of records: `results` of the workbook, or of the current folder.
pub fn results() -> PathBuf {
    root().unwrap_or_default().join("results")
}

/// Git revision of the sources and whether they were changed since. A packed binary is
/// told by its runner (`WORKBOOK_REVISION`, `WORKBOOK_DIRTY`), a checkout asks git.
/// What an experiment or a redraw writes does not make sources dirty.
pub fn revision() -> (Option<String>, Option<bool>) {
    if let Ok(revision) = std::env::var("WORKBOOK_REVISION") {
        let dirty = std::env::var("WORKBOOK_DIRTY").ok().map(|d| d != "0");
        return (Some(revision), dirty);
    }
    let Some(root) = root() else { return (None, None) };
    let git = |arguments: &[&str]| {
        let out = Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(arguments)
            .output()
            .ok()?;
        out.status
            .success()
            .then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    let revision = git(&["rev-parse", "--short=12", "HEAD"]);
    let status = git(&[
        "status",
        "--porcelain",
        "--",
        ".",
        ":!results",
        ":!book/src/figures",
    ]);
    (revision, status.map(|s| !s.is_empty()))
}
