//! Where a record goes: the machine's folder, and what may stand there already.

use std::io::{ErrorKind, Write};

use anyhow::{Context, Result, bail};
use record::file::{Conflict, conflict};
use record::{EMULATED, KernelOrigin, Machine, Record, Results, Source, same_hardware};

use crate::machine::Monitor;
use crate::options::{NOT_RECORDED, Options};
use crate::terminal::Table;
use crate::workspace;

/// What to do about a broken record of this experiment.
const REPLACEABLE: &str = "an earlier record cannot be read (--replace replaces it)";

/// The folder of records that the options name, or the workbook's, and the label in it.
pub(crate) fn results(options: &Options) -> Result<Results> {
    let folder = options.results.clone().unwrap_or_else(workspace::results);
    Ok(Results::new(folder).labelled(options.label.as_deref())?)
}

/// A record must not silently be replaced by one of other hardware, nor a full one
/// by a quick one, nor one that was given a label by any.
pub(crate) fn check(results: &Results, record: &Record, replace: bool) -> Result<()> {
    let machine = &record.machine;
    let (name, experiment) = (&machine.name, &record.experiment);
    results.check_writable(name)?;
    let old = match results.read(name, experiment) {
        // Nobody knows whether it was measured.
        Err(e) if record.source == Source::Emulated && *name != EMULATED => {
            return Err(e).context("an earlier record cannot be read: delete it");
        }
        Err(_) if replace => return Ok(()),
        old => old.context(REPLACEABLE)?,
    };
    let old = old.filter(|old| !is_beginning(old, record));
    let Some(old) = old else { return check_source(results, record) };
    if record.source == Source::Emulated && old.source == Source::Emulated {
        return Ok(()); // it is the same wherever it is made
    }
    let path = results.path(name, experiment)?;
    let Some(conflict) = conflict(&old, record) else {
        return match &record.run.label {
            Some(label) if !replace => bail!(
                "{} is there already: take another label than {label}, or replace it with \
                 --replace",
                path.display()
            ),
            _ => Ok(()),
        };
    };
    let advice = match conflict {
        Conflict::EmulatedOverMeasured => {
            "leave out --machine, or write elsewhere with --results DIR"
        }
        _ if replace => return Ok(()),
        Conflict::OtherHardware => {
            "name this machine with --machine NAME, or replace it with --replace"
        }
        Conflict::QuickOverFull => "leave out --quick, or replace it with --replace",
        Conflict::EarlierOverLater => "set this machine's clock, or replace it with --replace",
        Conflict::OtherSource => "replace it with --replace",
    };
    bail!("{} {conflict}: {advice}", path.display())
}

/// Whether a record is what [`store_so_far`] wrote of the run that `record` is of.
fn is_beginning(old: &Record, record: &Record) -> bool {
    !old.measurements.is_empty()
        && old.run == record.run
        && record.measurements.starts_with(&old.measurements)
}

/// Writes what a run has measured so far.
pub(crate) fn store_so_far(results: &Results, record: &Record, options: &Options) -> Result<()> {
    let _lock = results.lock()?;
    check(results, record, options.replace)?;
    results.write(record)?;
    Ok(())
}

/// A run of experiments that is about to begin.
pub struct Plan<'a> {
    /// Its experiments.
    pub experiments: Vec<&'a str>,
    pub machine: Option<&'a str>,
    /// The GPU to measure.
    pub device: usize,
    /// Whether all is run on an emulated GPU.
    pub emulated: bool,
    /// Whether it is a quick run.
    pub quick: bool,
    /// Whether it may replace what is there.
    pub replace: bool,
}

/// What experiments of a run would find out one by one: that their records cannot come to where
/// `results` of this label has them.
pub fn check_run(results: &Results, plan: &Plan) -> Result<()> {
    if let Some(name) = plan.machine {
        check_machine(results, name, plan)?;
    }
    let may_conflict = plan.quick || results.label().is_some();
    let (false, false, true, [first, ..]) =
        (plan.emulated, plan.replace, may_conflict, &plan.experiments[..])
    else {
        return Ok(());
    };
    let mut machine = Monitor::new().describe("unnamed", plan.device)?;
    machine.name = match plan.machine {
        Some(name) => name.to_owned(),
        None => free_name(results, &machine, first, false)?,
    };
    let mut refused = vec![];
    for experiment in &plan.experiments {
        let old = results.read(&machine.name, experiment).context(REPLACEABLE)?;
        if let Some(mut record) = old {
            record.machine = machine.clone();
            record.source = Source::Measured;
            record.run.quick = plan.quick;
            record.measurements.clear(); // it has not begun
            refused.extend(check(results, &record, false).err());
        }
    }
    let (count, all) = (refused.len(), plan.experiments.len());
    match refused.into_iter().next() {
        Some(why) if all > 1 => Err(why.context(format!("{count} of {all} experiments"))),
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// Fails if the records of `name` are of other hardware, or measured while these are emulated.
fn check_machine(results: &Results, name: &str, plan: &Plan) -> Result<()> {
    let all = results.all(name)?;
    let all = all.iter().filter_map(|(run, of)| run.read(name, of).ok()?);
    let all: Vec<Record> = all.collect();
    if plan.emulated && all.iter().any(|old| old.source != Source::Emulated) {
        bail!("{name} holds what was measured: leave out --machine");
    }
    if plan.emulated || plan.replace || all.is_empty() {
        return Ok(());
    }
    let machine = Monitor::new().describe(name, plan.device)?;
    if !all.iter().any(|old| same_hardware(&old.machine, &machine)) {
        bail!(
            "{name} was recorded on other hardware: name this machine with another --machine \
             NAME, or replace its records with --replace"
        );
    }
    Ok(())
}

/// What was counted does not come beside what was measured.
fn check_source(results: &Results, record: &Record) -> Result<()> {
    let name = &record.machine.name;
    if record.source != Source::Emulated || name == EMULATED {
        return Ok(());
    }
    let all = results.all(name)?;
    let mut others = all.iter().filter_map(|(run, of)| run.read(name, of).ok()?);
    if others.any(|other| other.source != Source::Emulated) {
        bail!(
            "{name} holds what was measured: leave out --machine, or write elsewhere with \
             --results DIR"
        );
    }
    Ok(())
}

/// Writes what was measured, whose place is taken, as a run with a label that is free: it has
/// taken minutes, perhaps. Tells that, and why the place is taken.
fn keep(results: &Results, record: &Record, taken: anyhow::Error) -> anyhow::Error {
    let (name, experiment) = (&record.machine.name, &record.experiment);
    let there = results.read(name, experiment).ok().flatten();
    let is_of_it = there.is_some_and(|old| same_hardware(&old.machine, &record.machine));
    if record.source != Source::Measured || !is_of_it {
        return taken;
    }
    let written = (2..).find_map(|number| {
        let label = format!("{}-{number}", results.label().unwrap_or("kept"));
        let mut kept = record.clone();
        kept.run.label = Some(label.clone());
        let free = results.labelled(Some(&label)).and_then(|results| {
            let is_free = !results.path(name, experiment)?.exists();
            Ok(is_free.then(|| results.write(&kept)))
        });
        free.unwrap_or_else(|e| Some(Err(e)))
    });
    match written {
        Some(Ok(path)) => taken.context(format!(
            "another run has been here meanwhile, so this one is {}",
            path.display()
        )),
        Some(Err(e)) => taken.context(e),
        None => taken,
    }
}

/// Writes the finished record and says where it is.
pub(crate) fn store(record: &Record, options: &Options) -> Result<()> {
    let results = results(options)?;
    let mut table = Table::new(options.json);
    if record.source == Source::Profiled {
        record.measurements.iter().for_each(|m| table.counted(m));
        table.explain();
    }
    let lock = results.lock()?;
    // Another run may have been here since this one began.
    if let Err(taken) = check(&results, record, options.replace) {
        return Err(keep(&results, record, taken));
    }
    if is_known(&results, record) {
        let path = results.path(&record.machine.name, &record.experiment)?;
        table.line(&format!("recorded before, and the same: {}", path.display()));
    } else if !options.replace && would_lose_unedited(&results, record) {
        let path = results.path(&record.machine.name, &record.experiment)?;
        Table::complain(&format!(
            "{NOT_RECORDED}these sources are edited, and {} counts committed ones: commit them, \
             and run this again (--replace would have it count edited ones)",
            path.display()
        ));
    } else {
        let old = results.read(&record.machine.name, &record.experiment);
        let path = results.write(record)?;
        table.line(&format!("recorded: {}", path.display()));
        if let Ok(Some(old)) = old
            && old.source == Source::Measured
            && !is_beginning(&old, record)
        {
            table.line(&format!(
                "in place of the run of {}; with --label NAME both are kept",
                old.run.started.replace(['T', 'Z'], " ").trim_end()
            ));
        }
    }
    if record.source != Source::Emulated {
        results.set_this_machine(&record.machine.name)?;
    }
    drop(lock);
    if options.json {
        let json = record::file::to_json(record);
        match std::io::stdout().write_all(json.as_bytes()) {
            // A reader that has seen enough is no failure.
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
            written => {
                written.context("recorded, but not printed on standard output")?;
            }
        }
    }
    Ok(())
}

/// Whether there is an emulated record with the same counts. It stays, with its date: then
/// a record changes only when what was counted does, and can be committed.
fn is_known(results: &Results, record: &Record) -> bool {
    let old = results.read(&record.machine.name, &record.experiment).ok().flatten();
    let counted = |record: &Record| {
        let Record { kernel, further_kernels, measurements, skipped, .. } = record.clone();
        (kernel, further_kernels, measurements, skipped)
    };
    record.source == Source::Emulated && old.is_some_and(|old| counted(&old) == counted(record))
}

/// Whether the record is of edited sources, and in its place are counts of unedited ones: the
/// book compares those with what the hardware counted.
fn would_lose_unedited(results: &Results, record: &Record) -> bool {
    let old = results.read(&record.machine.name, &record.experiment).ok().flatten();
    let is_edited = |record: &Record| {
        let mut kernels = record.kernel.iter().chain(&record.further_kernels);
        record.run.dirty == Some(true)
            || kernels.any(|kernel| kernel.origin == KernelOrigin::CompiledAtRunTime)
    };
    record.source == Source::Emulated
        && is_edited(record)
        && old.is_some_and(|old| !is_edited(&old))
}

/// The first of `h200`, `h200-2`, `h200-3` … whose records, if any, are of this hardware,
/// whatever their labels.
/// A broken record of `experiment` itself counts as its own if it is to be replaced.
pub(crate) fn free_name(
    results: &Results,
    machine: &Machine,
    experiment: &str,
    replace: bool,
) -> Result<String> {
    let base = base_name(machine);
    for n in 1..1000 {
        let name = if n == 1 { base.clone() } else { format!("{base}-{n}") };
        let mut same = true;
        for (run, recorded) in results.all(&name)? {
            let its_own = recorded == experiment && run.label() == results.label();
            let old = match run.read(&name, &recorded) {
                Err(_) if replace && its_own => None,
                Err(e) if its_own => {
                    return Err(e).context(REPLACEABLE);
                }
                // Another experiment's, which says nothing of any hardware.
                Err(e) => {
                    Table::complain(&format!("warning: {e}"));
                    None
                }
                Ok(old) => old,
            };
            same &= old.is_none_or(|old| same_hardware(&old.machine, machine));
        }
        if same {
            return Ok(name);
        }
    }
    bail!("a thousand machines are called {base}: choose a name with --machine NAME")
}

/// A folder name out of the GPU's: `NVIDIA GeForce RTX 4090` is `rtx-4090`; with two of
/// them `rtx-4090-x2`.
fn base_name(machine: &Machine) -> String {
    let gpu = machine.measured_gpu().map(|g| g.name.to_lowercase()).unwrap_or_default();
    let words = gpu.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|w| !["", "nvidia", "geforce", "tesla"].contains(w));
    let mut name = words.collect::<Vec<_>>().join("-");
    name.truncate(48);
    if name.is_empty() {
        name = "gpu".to_owned();
    }
    match machine.gpus.len() {
        0 | 1 => name,
        n => format!("{name}-x{n}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn record() -> Record {
        let json = include_str!("../../record/tests/golden/h200/example.json");
        record::file::parse("example.json".as_ref(), json).unwrap()
    }

    fn machine(gpu: &str, count: usize) -> Machine {
        let mut machine = record().machine;
        machine.gpus[0].name = gpu.to_owned();
        machine.gpus = vec![machine.gpus.remove(0); count];
        machine
    }

    #[test]
    fn a_machine_gets_the_first_name_that_is_free_or_its_own() {
        // Whose records lie there already (machine, experiment, mine), and the name taken.
        let (here, there) = ("here", "there");
        for (records, name) in [
            (vec![], "h200"),
            (vec![("h200", here, true)], "h200"),
            (vec![("h200", here, false)], "h200-2"),
            (vec![("h200", there, false)], "h200-2"),
            (vec![("h200", here, true), ("h200", there, false)], "h200-2"),
            (vec![("h200", here, false), ("h200-2", here, true)], "h200-2"),
            (vec![("h200", here, false), ("h200-2", there, false)], "h200-3"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let results = Results::new(folder.path());
            for (machine, experiment, is_mine) in records {
                let mut record = record();
                record.machine.name = machine.to_owned();
                record.experiment = experiment.to_owned();
                if !is_mine {
                    record.machine.cpu.model = "another processor".to_owned();
                }
                results.write(&record).unwrap();
            }
            assert_eq!(free_name(&results, &record().machine, here, false).unwrap(), name);
        }
    }

    /// With a label, whose place nothing else may take.
    #[test]
    fn what_a_run_wrote_on_its_way_gives_place_to_more_of_it_and_to_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::new(folder.path()).labelled(Some("host-z")).unwrap();
        let options = Options::parse_from(["example", "--label", "host-z"]);
        let mut whole = record();
        whole.run.label = Some("host-z".to_owned());
        assert!(whole.measurements.len() > 1);
        let mut begun = whole.clone();
        begun.measurements.truncate(1);
        let there = || results.read(&whole.machine.name, &whole.experiment).unwrap();
        store_so_far(&results, &begun, &options).unwrap();
        assert_eq!(there(), Some(begun.clone()));
        let mut other = whole.clone();
        other.measurements[0].seconds[0] *= 2.0;
        for (place, other) in [(&begun, &other), (&whole, &begun)] {
            store_so_far(&results, place, &options).unwrap();
            let refused = store_so_far(&results, other, &options).unwrap_err();
            assert!(refused.to_string().contains("is there already"), "{refused}");
            assert_eq!(there().as_ref(), Some(place));
        }
    }

    #[test]
    fn machines_are_named_after_their_gpus() {
        for (gpu, count, name) in [
            ("NVIDIA H200", 1, "h200"),
            ("NVIDIA H200", 8, "h200-x8"),
            ("NVIDIA GeForce RTX 4090", 1, "rtx-4090"),
            ("Tesla T4", 1, "t4"),
            ("NVIDIA RTX 6000 Ada Generation", 2, "rtx-6000-ada-generation-x2"),
            ("☃", 1, "gpu"),
        ] {
            let got = base_name(&machine(gpu, count));
            assert_eq!(got, name);
            record::file::check_name("machine", &got).unwrap();
        }
    }
}
