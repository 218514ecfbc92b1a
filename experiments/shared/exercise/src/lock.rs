//! Locks that programs of this user hold one after the other.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

/// Waits until no other program, and no other thread of this one, holds the lock of this file. It
/// is held while what this returns lives.
pub(crate) fn wait_for(path: &Path) -> Result<File> {
    let lock = || {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        let file = File::create(path)?;
        match file.lock() {
            // Some network drives know no locks.
            Err(e) if e.kind() != ErrorKind::Unsupported => Err(e),
            _ => Ok(file),
        }
    };
    lock().with_context(|| format!("{}: cannot be locked", path.display()))
}
