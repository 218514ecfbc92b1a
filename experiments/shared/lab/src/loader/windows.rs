//! Windows: the loader knows a library that it has loaded by the name of its file.

use std::fs;
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Gives the file a second name (a hard link), in a folder of its own beside it: who does not
/// ask for this library must not find it by that name.
pub(crate) fn lend_name(file: &Path, name: &str) -> Result<()> {
    let folder = file.with_extension("");
    fs::create_dir_all(&folder)?;
    let link = folder.join(name);
    let stamp = |path: &Path| -> Result<_> {
        let metadata = fs::metadata(path)?;
        Ok((metadata.len(), metadata.modified()?))
    };
    if stamp(&link).ok() != stamp(file).ok() {
        let _ = fs::remove_file(&link); // that of an earlier build, if there was one
        match fs::hard_link(file, &link) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {} // another program was first
            linked => linked?,
        }
    }
    super::keep_open(&std::path::absolute(link)?)
}
