//! Temporary folders.

use anyhow::{Context, Result};
use tempfile::TempDir;

/// A folder that goes with this value.
pub(crate) fn folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("workbook-").tempdir();
    folder.with_context(|| {
        let place = std::env::temp_dir();
        format!(
            "no temporary folder can be made in {}; set TMPDIR to a folder that you may write in",
            place.display()
        )
    })
}
