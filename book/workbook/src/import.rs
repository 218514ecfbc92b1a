//! `cargo workbook import`: takes over records that a GPU machine made.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Error, Result, bail};
use lab::layout::{width, wrap};
use lab::options;
use record::file::{Conflict, conflict};
use record::{EMULATED, Machine, Record, Results, Source, same_hardware};
use report::names::grouped;

use crate::archive;
use crate::terminal::{complain, misused, say};

/// Options of `cargo workbook import`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Archive that a pack's `./run` made, or a folder: `<folder>/<machine>/<experiment>.json`,
    /// and `<folder>/<machine>/<label>/<experiment>.json`
    #[arg(value_name = "ARCHIVE|FOLDER")]
    from: PathBuf,
    /// Call the only machine in it by another name
    #[arg(long = "as", value_name = "NAME", value_parser = options::machine_name)]
    name: Option<String>,
    /// Give the runs in it that have no label this one
    #[arg(long, value_name = "NAME", value_parser = options::label_name)]
    label: Option<String>,
    /// Replace records made on other hardware, full ones by quick ones and later ones by
    /// earlier; and change what a reference machine measured, which the book is about
    #[arg(long)]
    replace: bool,
}

/// Nobody has more, and each becomes a folder.
const MOST_MACHINES: usize = 16;

/// Takes over every record that it may, and says of each other one why not.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { from, name, label, replace } = arguments;
    let shown = from.display().to_string();
    let unpacked = from.is_file().then(|| archive::unpack(from)).transpose()?;
    let folder = unpacked.as_ref().map_or(from.as_path(), |folder| folder.path());
    if !folder.is_dir() {
        misused!("there is no {shown}");
    }
    let (from, into) = (Results::new(folder), Results::new(root.join("results")));
    let mut machines = from.machines()?;
    // Other folders are no machines; what cannot be read is told below.
    machines.retain(|machine| from.all(machine).map_or(true, |records| !records.is_empty()));
    if let (Some(_), [_, _, ..]) = (name, &machines[..]) {
        misused!("{shown} holds several machines, so --as cannot name one");
    }
    if machines.len() > MOST_MACHINES {
        bail!("{shown} holds more than {MOST_MACHINES} machines");
    }
    if lies_in(from.folder(), into.folder()) {
        misused!("{shown} lies where this checkout keeps its own records");
    }
    if folder.join("results/references.json").is_file() {
        misused!("{shown} is a checkout of the workbook: import the folder results in it");
    }
    if unpacked.is_none() && is_machine(folder) {
        misused!("{shown} is the folder of one machine: import the folder that holds it");
    }
    let mut references = into.references()?;
    references.push(EMULATED.to_owned()); // the book shows what it counted, too
    let (mut imported, mut refused) = (0, vec![]);
    // Nobody knows the folder that an archive was unpacked to.
    let mut refuse = |experiment: &str, why: Error| {
        let why = format!("{why:#}").replace(&folder.display().to_string(), &shown);
        refused.push((experiment.to_owned(), why));
    };
    let mut others = vec![];
    let lock = into.lock()?;
    for machine in machines {
        let name = name.as_ref().unwrap_or(&machine);
        let is_reference = references.contains(name);
        if !is_reference {
            others.push(name.clone());
        }
        let mut coming = vec![];
        for (run, experiment) in from.all(&machine)? {
            let label = run.label().or(label.as_deref());
            match take(&run, (&machine, &experiment), (name, label), &coming) {
                Ok(record) => coming.push(record),
                Err(why) => refuse(&experiment, why),
            }
        }
        let mut place = Place::new(&into, name, &coming, is_reference, *replace)?;
        for (file, record) in coming {
            let experiment = record.experiment.clone();
            match place.give(record).context(file) {
                Ok(path) => {
                    let path = path.strip_prefix(root).unwrap_or(&path);
                    say!("imported: {}", path.display());
                    imported += 1;
                }
                Err(why) => refuse(&experiment, why),
            }
        }
    }
    drop(lock);
    tell(&refused);
    match (imported, refused.len()) {
        (0, 0) => {
            let folder = if unpacked.is_some() { "results/" } else { "" };
            bail!("{shown} holds no records: they lie there as {folder}MACHINE/EXPERIMENT.json")
        }
        (_, 0) => {
            let shown = report::Options::of(&root.join("book"))?.this_machine;
            for name in &others {
                let machine = match shown.as_ref() == Some(name) {
                    true => String::new(),
                    false => format!(" --machine {name}"),
                };
                say!("To read the book about it: cargo workbook serve{machine}");
                say!("Beside a reference machine: cargo workbook compare {} {name}", references[0]);
            }
            Ok(ExitCode::SUCCESS)
        }
        (_, refused) => bail!("{refused} of {} records were refused", imported + refused),
    }
}

/// So many records are named of those that are refused for one reason, if there are more than
/// one more.
const MOST_NAMED: usize = 2;

/// Says which records are refused, each with its experiment, and why. A whole archive is often
/// refused for one reason, which fifty lines would hide.
fn tell(refused: &[(String, String)]) {
    let by_reason = refused.iter().map(|(experiment, why)| {
        // Its own file, and the one that it would replace, are called after it.
        let reason = why.split_once(".json: ").map_or(why.as_str(), |(_, reason)| reason);
        (reason.replace(&format!("{experiment}.json"), ""), why)
    });
    for (reason, all) in grouped(by_reason) {
        let named = if all.len() > MOST_NAMED + 1 { MOST_NAMED } else { all.len() };
        for why in &all[..named] {
            complain!("refused: {why}");
        }
        if named < all.len() {
            complain!("refused, for the same reason: {} more", all.len() - named);
        }
        if reason.ends_with("does not match the folder's name") {
            let remedy = "A record lies in a folder that is called as its machine was, or, if it \
                          has a label, in one called by that inside it: give the folder this \
                          name again; `--as NAME` takes the machine over under another.";
            complain!("{}", wrap(remedy, width(), 0));
        }
    }
}

/// Whether a folder holds the records of the machine that it is called after.
fn is_machine(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let (Some(holder), Some(name)) = (folder.parent(), folder.file_name()) else {
        return false;
    };
    let (records, name) = (Results::new(holder), name.to_string_lossy());
    let runs = records.all(&name).unwrap_or_default();
    runs.iter()
        .any(|(run, experiment)| run.read(&name, experiment).is_ok_and(|record| record.is_some()))
}

/// Whether a folder is the other one or lies in it.
fn lies_in(folder: &Path, other: &Path) -> bool {
    let (folder, other) = (folder.canonicalize(), other.canonicalize());
    matches!((folder, other), (Ok(folder), Ok(other)) if folder.starts_with(&other))
}

/// A record that comes, and the file that it comes from.
type Coming = (String, Record);

/// A record under the name and label that it is to have, if it may come at all, whatever is
/// where it goes. The error names its file.
fn take(
    run: &Results,
    (machine, experiment): (&str, &str),
    (name, label): (&str, Option<&str>),
    coming: &[Coming],
) -> Result<Coming> {
    let file = run.path(machine, experiment)?.display().to_string();
    let record = run.read(machine, experiment)?;
    let mut record = record.with_context(|| format!("{file}: it is gone"))?;
    record.machine.name = name.to_owned();
    record.run.label = label.map(str::to_owned);
    let is_there = |(_, other): &&Coming| {
        other.experiment == experiment && other.run.label == record.run.label
    };
    if let Some((other, _)) = coming.iter().find(is_there) {
        bail!("{file}: {other} is to have the same label");
    }
    if record.is_dated_ahead() {
        let started = record.run.started;
        bail!("{file}: it was started on {started}, which has not come yet");
    }
    if record.measurements.is_empty() && record.skipped.is_empty() {
        bail!("{file}: it has no measurements");
    }
    Ok((file, record))
}

/// The folder of one machine that records come into.
struct Place<'a> {
    into: &'a Results,
    name: &'a str,
    is_reference: bool,
    replace: bool,
    /// Of the records that stay, with their experiments: the hardware must be the same.
    staying: Vec<(String, Machine)>,
}

impl<'a> Place<'a> {
    /// The folder called `name`, for what is `coming`.
    fn new(
        into: &'a Results,
        name: &'a str,
        coming: &[Coming],
        is_reference: bool,
        replace: bool,
    ) -> Result<Place<'a>> {
        let mut staying = vec![];
        for (run, experiment) in into.all(name)? {
            let comes = coming.iter().any(|(_, record)| {
                record.experiment == experiment && record.run.label.as_deref() == run.label()
            });
            // A reference machine stays the one that the book is about.
            let stays = is_reference || !(replace && comes);
            // What cannot be read has no hardware either.
            if let Ok(Some(old)) = run.read(name, &experiment)
                && stays
            {
                staying.push((experiment, old.machine));
            }
        }
        Ok(Place { into, name, is_reference, replace, staying })
    }

    /// Takes over one record.
    fn give(&mut self, record: Record) -> Result<PathBuf> {
        self.judge(&record)?;
        let path = self.into.write(&record)?;
        if !self.is_reference {
            self.into.set_imported(self.name)?;
        }
        self.staying.push((record.experiment, record.machine));
        Ok(path)
    }

    /// Whether the record may come into the folder.
    fn judge(&self, new: &Record) -> Result<()> {
        let Place { into, name, is_reference, replace, staying } = self;
        if *is_reference && !replace {
            bail!(
                "{name} is a machine that the book is about: name yours with --as NAME, or \
                 change that one with --replace"
            );
        }
        let into = into.labelled(new.run.label.as_deref())?;
        let old = match into.read(name, &new.experiment) {
            Err(_) if *replace && new.source != Source::Emulated => None,
            old => old.context("--replace replaces what cannot be read")?,
        };
        let is_there = old.as_ref().is_some_and(|old| old != new);
        let conflict = old.and_then(|old| conflict(&old, new));
        let path = |experiment| Ok::<_, Error>(into.path(name, experiment)?.display().to_string());
        if let Some(conflict @ Conflict::EmulatedOverMeasured) = conflict {
            bail!("{} {conflict}", path(&new.experiment)?);
        }
        let other = staying.iter().find(|(_, old)| !same_hardware(old, &new.machine));
        if let Some((experiment, _)) = other {
            bail!(
                "{} {}, and a folder is one machine's: name yours with --as NAME{}",
                path(experiment)?,
                Conflict::OtherHardware,
                if *replace { "" } else { ", or replace that one with --replace" }
            );
        }
        let problem = match (&new.run.label, conflict) {
            _ if *replace => None,
            (_, Some(conflict)) => Some(conflict.to_string()),
            (Some(_), None) if is_there => Some("is there already".to_owned()),
            (_, None) => None,
        };
        match problem {
            Some(problem) => {
                bail!("{} {problem}; replace it with --replace", path(&new.experiment)?)
            }
            None => Ok(()),
        }
    }
}
