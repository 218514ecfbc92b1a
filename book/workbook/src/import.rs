//! `cargo workbook import`: takes over records that a GPU machine made.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use record::Results;
use record::file::conflict;

/// Options of `cargo workbook import`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Folder of records: `<folder>/<machine>/<experiment>.json`
    folder: PathBuf,
    /// Replace records made on other hardware, or full ones by quick ones
    #[arg(long)]
    replace: bool,
}

/// Checks every record in the folder, then writes them all; nothing if one is refused.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    if !arguments.folder.is_dir() {
        bail!("{} is not a folder", arguments.folder.display());
    }
    let from = Results::new(&arguments.folder);
    let into = Results::new(root.join("results"));
    let mut records = vec![];
    for machine in from.machines()? {
        for experiment in from.experiments(&machine)? {
            let Some(new) = from.read(&machine, &experiment)? else { continue };
            if !arguments.replace
                && let Some(old) = into.read(&machine, &experiment)?
                && let Some(conflict) = conflict(&old, &new.machine, new.run.quick)
            {
                let path = into.path(&machine, &experiment)?;
                bail!("{} {conflict}; replace it with --replace", path.display());
            }
            records.push(new);
        }
    }
    if records.is_empty() {
        bail!("{} holds no records", arguments.folder.display());
    }
    for record in &records {
        let path = into.write(record)?;
        println!("imported: {}", path.strip_prefix(root).unwrap_or(&path).display());
    }
    Ok(())
}
