//! The archive of records that `./run` of a pack makes, from which only records are taken,
//! and no more than a machine can have.

use std::fs::File;
use std::io::{Read, copy};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use record::file::{MAX_FILE_BYTES, check_name};
use tar::Archive;
use tempfile::TempDir;

use crate::temporary;

/// How large an archive may be when unpacked, and how many files it may have.
const MAX_BYTES: u64 = 256 << 20;
const MAX_FILES: usize = 10_000;

/// The records in the archive, in a folder that goes with this value. They are not checked,
/// but for their size and their place: `results/<machine>/<experiment>.json`, or below
/// a label.
pub(crate) fn unpack(path: &Path) -> Result<TempDir> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| name.clone())?;
    let folder = temporary::folder()?;
    // A byte more, so that what is larger is cut off inside an entry or a header.
    let mut archive = Archive::new(GzDecoder::new(file).take(MAX_BYTES + 1));
    let entries = archive.entries().with_context(|| name.clone())?;
    for (number, entry) in entries.enumerate() {
        let what = "it is no archive of records, or it was cut off, or is larger than 256 MiB";
        let entry = entry.context(what).with_context(|| name.clone())?;
        if number >= MAX_FILES {
            bail!("{name}: it has more than {MAX_FILES} files");
        }
        let is_file = entry.header().entry_type().is_file();
        let Some(place) = entry.path().ok().as_deref().and_then(place) else {
            continue;
        };
        if !is_file {
            continue;
        }
        if entry.size() > MAX_FILE_BYTES {
            bail!("{name}: {} is larger than any record", place.display());
        }
        let to = folder.path().join(place);
        std::fs::create_dir_all(to.parent().context("it lies in a folder")?)?;
        let mut bytes = entry.take(MAX_FILE_BYTES);
        copy(&mut bytes, &mut File::create(&to)?).context(what).with_context(|| name.clone())?;
    }
    Ok(folder)
}

/// Where a record lies below the folder of records; none for anything else.
fn place(path: &Path) -> Option<PathBuf> {
    let path = path.strip_prefix(".").unwrap_or(path);
    let words: Vec<&str> = path.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let (machine, label, file) = match words[..] {
        ["results", machine, file] => (machine, None, file),
        ["results", machine, label, file] => (machine, Some(label), file),
        _ => return None,
    };
    let experiment = file.strip_suffix(".json")?;
    check_name("machine", machine).ok()?;
    check_name("label", label.unwrap_or("none")).ok()?;
    check_name("experiment", experiment).ok()?;
    Some(Path::new(machine).join(label.unwrap_or_default()).join(file))
}
