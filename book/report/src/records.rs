//! The records that a book is built from: those of the reference machines, which every
//! page needs, and those of this machine, which are shown first where there are any.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::rc::Rc;

use anyhow::{Context, Error, Result, bail};
use record::{Ceiling, EMULATED, Gpu, Measurement, Record, Results, Source};

use crate::both::{Alike, Both, Here};
use crate::estimate::Kind;
use crate::html;

/// One machine with everything measured on it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its folder in `results/`.
    pub name: String,
    /// Its short name for people, such as `H200` or `RTX 4090 ×2`.
    pub label: String,
    /// Its place among the reference machines; none for the reader's own.
    place: Option<usize>,
    /// Whether its records came from somebody else.
    imported: bool,
    records: BTreeMap<String, Recorded>,
}

/// What a machine recorded of an experiment: the newest run, which says what was measured, the
/// others, and which of its measurements the pages select.
#[derive(Clone, Debug)]
pub struct Recorded {
    newest: Record,
    others: Vec<Record>,
    kinds: Rc<Kinds>,
    /// Shared by all copies of it.
    selected: Rc<RefCell<BTreeSet<usize>>>,
}

impl Recorded {
    /// Of at least one run. Quick ones count only where there is no other.
    fn new(mut runs: Vec<Record>, kinds: &Rc<Kinds>) -> Option<Recorded> {
        runs.sort_by(|a, b| b.run.started.cmp(&a.run.started));
        if runs.iter().any(|record| !record.run.quick) {
            runs.retain(|record| !record.run.quick);
        }
        let mut runs = runs.into_iter();
        let newest = runs.next()?;
        let others = runs.filter(|run| run.source == newest.source).collect();
        Some(Recorded { newest, others, kinds: kinds.clone(), selected: Rc::default() })
    }

    /// The kind of this run's GPU, if it is recorded.
    pub fn kind(&self, run: &Record) -> Option<Kind> {
        self.kinds.get(&run.run.label).copied()
    }

    /// Whether it hangs on the memory, and hosts are known to have memory of different kinds.
    pub fn has_kinds(&self) -> bool {
        let mut kinds = self.kinds.values();
        let first = kinds.next();
        self.measurements.iter().any(|m| m.ceiling == Ceiling::DeviceMemory)
            && kinds.any(|kind| Some(kind) != first)
    }

    /// Whether it was timed with fewer samples and smaller sizes.
    pub fn is_quick(&self) -> bool {
        self.run.quick && self.source == Source::Measured
    }

    /// All runs, the newest first.
    pub fn runs(&self) -> impl Iterator<Item = &Record> {
        [&self.newest].into_iter().chain(&self.others)
    }

    /// What the other runs measured in the case of `m`, with the same parameters.
    pub fn others(&self, m: &Measurement) -> impl Iterator<Item = (&Record, &Measurement)> {
        self.others.iter().filter_map(move |run| {
            let same =
                |other: &&Measurement| other.case == m.case && other.parameters == m.parameters;
            Some((run, run.measurements.iter().find(same)?))
        })
    }

    /// Notes that a page selects these of its measurements.
    pub fn select(&self, chosen: &[&Measurement]) {
        let is_chosen = |m: &Measurement| chosen.iter().any(|chosen| std::ptr::eq(*chosen, m));
        let all = self.measurements.iter().enumerate();
        let chosen = all.filter(|(_, m)| is_chosen(m)).map(|(place, _)| place);
        self.selected.borrow_mut().extend(chosen);
    }
}

impl Deref for Recorded {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.newest
    }
}

/// What no page shows of an experiment's reference records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    pub experiment: String,
    pub measured: usize,
    /// Those that nothing selects, as a page would.
    pub cases: Vec<String>,
}

impl Machine {
    /// What it recorded, of all its runs or of those with this label alone (`""` for none), as if it
    /// were the only reference machine.
    pub fn load_run(results: &Results, name: &str, label: Option<&str>) -> Result<Machine> {
        whole(Machine::load(results, name, Some(0), label)?)
    }

    /// Its records, of all its runs or of those with this label alone, and what is wrong with
    /// those that cannot be read. They must be of one kind of GPU.
    fn load(
        results: &Results,
        name: &str,
        place: Option<usize>,
        only: Option<&str>,
    ) -> Result<(Machine, Vec<record::Error>)> {
        let (mut runs, mut broken) = (BTreeMap::<String, Vec<Record>>::new(), vec![]);
        let mut files = results.all(name)?;
        files.retain(|(run, _)| only.is_none_or(|only| run.label().unwrap_or_default() == only));
        for (run, experiment) in files {
            match run.read(name, &experiment) {
                // What an emulator counted is never shown as if it had been measured.
                Ok(Some(record)) if record.source != Source::Emulated => {
                    runs.entry(experiment).or_default().push(record);
                }
                Ok(_) => {}
                Err(e) => broken.push(e),
            }
        }
        let kinds = Rc::new(kinds(runs.values().flatten()));
        let runs = runs.into_iter();
        let records: BTreeMap<String, Recorded> = runs
            .filter_map(|(experiment, runs)| Some((experiment, Recorded::new(runs, &kinds)?)))
            .collect();
        let gpu = |record: &Record| record.machine.measured_gpu().map(|gpu| gpu.name.clone());
        let first = records.iter().next();
        let is_other = |record: &Record| gpu(record) != first.and_then(|(_, r)| gpu(r));
        let other = records
            .iter()
            .flat_map(|(name, of)| of.runs().map(move |run| (name, run)))
            .find(|(_, record)| is_other(record));
        if let (Some((one, first)), Some((another, other))) = (first, other) {
            bail!(
                "results/{name}: {one} was recorded on {}, {another} on {}, but a folder is \
                 one machine's: give the others a name of their own",
                gpu(first).unwrap_or_default(),
                gpu(other).unwrap_or_default()
            );
        }
        let label = first.and_then(|(_, record)| label(record));
        let label = label.unwrap_or(name.to_owned());
        let (imported, name) = (results.is_imported(name), name.to_owned());
        Ok((Machine { name, label, place, imported, records }, broken))
    }

    /// Whose the reader's own machine is, beside its label or a title that is about it: one that
    /// was imported goes by its name.
    pub fn whose(&self) -> &str {
        if self.imported { &self.name } else { "this machine" }
    }

    /// What it is called in a sentence or a legend: `this machine`, or `H100 (mine)`.
    pub fn called(&self) -> String {
        match self.imported {
            true => format!("{} ({})", self.label, self.name),
            false => self.whose().to_owned(),
        }
    }

    /// Whether its records came from somebody else, or from another computer.
    pub fn is_imported(&self) -> bool {
        self.imported
    }

    /// Whether a timed run with fewer samples and smaller sizes is among its records.
    pub fn is_quick(&self) -> bool {
        self.records.values().any(Recorded::is_quick)
    }

    /// Whether the pages were written about it.
    pub fn is_reference(&self) -> bool {
        self.place.is_some()
    }

    /// What of `both` is shown with it, if it has it.
    pub fn own<'b, T>(&self, both: &'b Both<T>) -> Option<&'b T> {
        match &both.here {
            _ if self.is_reference() => Some(&both.reference),
            Here::Measured(here) => Some(here),
            Here::SameAsReference => Some(&both.reference),
            Here::NotMeasured => None,
        }
    }

    pub fn experiments(&self) -> impl Iterator<Item = &str> {
        self.records.keys().map(String::as_str)
    }

    /// The record of `experiment`; the error says that there is none.
    pub fn record(&self, experiment: &str) -> Result<&Recorded, String> {
        self.records
            .get(experiment)
            .ok_or_else(|| format!("`{}` has no measured record of `{experiment}`", self.name))
    }
}

/// The kinds of GPU among a machine's runs, by their labels: the nanoseconds of the fastest gather
/// on one of that kind.
type Kinds = BTreeMap<Option<String>, Kind>;

/// A gather that takes longer by this factor is of another kind.
const KIND: f64 = 1.03;

fn kinds<'r>(runs: impl Iterator<Item = &'r Record>) -> Kinds {
    let mut fastest = BTreeMap::<Option<String>, f64>::new();
    for run in runs {
        let time = fastest.entry(run.run.label.clone()).or_insert(f64::INFINITY);
        *time = gathers(run).iter().copied().fold(*time, f64::min);
    }
    let mut fastest: Vec<_> = fastest.into_iter().filter(|(_, time)| time.is_finite()).collect();
    fastest.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let (mut last, mut kind) = (0.0, 0);
    let kinds = fastest.into_iter().map(|(label, time)| {
        if time > KIND * last {
            kind = (time * 1e9) as Kind;
        }
        last = time;
        (label, kind)
    });
    kinds.collect()
}

/// Times of the gather that is the same for all: after the run, or in the lesson that it is from.
fn gathers(run: &Record) -> &[f64] {
    let is_same = |m: &&Measurement| {
        run.experiment == "gather"
            && m.case == "table"
            && m.parameters.get("bytes") == Some(&(1u64 << 30).into())
            && m.parameters.get("order") == Some(&"random".into())
    };
    let same = || run.measurements.iter().find(is_same).map(|m| &m.seconds[..]);
    if run.gather_seconds.is_empty() { same().unwrap_or_default() } else { &run.gather_seconds }
}

/// The machine, if nothing is wrong with its records: without one the book has holes.
fn whole((machine, mut broken): (Machine, Vec<record::Error>)) -> Result<Machine> {
    broken.pop().map_or(Ok(machine), |e| Err(Error::from(e)))
}

/// The measured GPU's name without its makers' names and what it says from its memory's size on,
/// and how many GPUs there are.
fn label(record: &Record) -> Option<String> {
    let Gpu { name, .. } = record.machine.measured_gpu()?;
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    let name = name.strip_prefix("GeForce ").unwrap_or(name);
    let ends = |c| matches!(c, ' ' | '-');
    let is_size = |part: &str| {
        part.trim_end_matches(ends).strip_suffix("GB").is_some_and(|n| n.parse::<u32>().is_ok())
    };
    let parts = name.split_inclusive(ends).enumerate();
    let before = parts.take_while(|(place, part)| *place == 0 || !is_size(part));
    let name: String = before.map(|(_, part)| part).collect();
    Some(counted(name.trim_end_matches(ends), record.machine.gpus.len()))
}

/// `name`, and how many there are if there are several.
pub fn counted(name: &str, count: usize) -> String {
    if count > 1 { format!("{name} ×{count}") } else { name.to_owned() }
}

/// Runs after which a machine needs no more to be what an experiment's numbers are of.
const ENOUGH_RUNS: usize = 3;

/// The machines that a book shows.
#[derive(Clone, Debug)]
pub struct Records {
    /// The machines that the pages were written about, in the order in which they are asked
    /// for an experiment.
    references: Vec<Machine>,
    /// The reader's own, if it measured anything.
    pub here: Option<Machine>,
    /// What is wrong with its records that cannot be read, and so are left out.
    pub broken: Vec<String>,
    results: Results,
}

impl Records {
    pub fn load(results: &Results, references: &[String], here: Option<&str>) -> Result<Records> {
        let load = |(place, name): (usize, &String)| {
            whole(Machine::load(results, name, Some(place), None)?)
        };
        let references: Result<Vec<Machine>> = references.iter().enumerate().map(load).collect();
        let here = here.map(|name| Machine::load(results, name, None, None)).transpose();
        let (here, broken) = here.context("this machine's records")?.unzip();
        let here = here.filter(|machine: &Machine| !machine.records.is_empty());
        let broken = broken.into_iter().flatten().map(|e| e.to_string()).collect();
        let references = references.context("the reference machine's records")?;
        let results = results.clone();
        let mut records = Records { references, here, broken, results };
        records.tell_apart();
        Ok(records)
    }

    /// The folder of records.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// Those of one machine, as if there were no other.
    pub fn of_one(machine: Machine, results: &Results) -> Records {
        let (references, results) = (vec![machine], results.clone());
        Records { references, here: None, broken: vec![], results }
    }

    /// Gives a reference machine without records the label that its name stands for; those that
    /// share one go by their names, and one that shares the reader's says that it is a reference.
    fn tell_apart(&mut self) {
        let known: Vec<(String, String)> = self
            .references
            .iter()
            .chain(&self.here)
            .map(|machine| (machine.name.clone(), machine.label.clone()))
            .collect();
        // It may be among the references.
        let own = self.here.as_ref().map(|own| &own.name);
        let own = own.filter(|own| self.references.iter().all(|machine| machine.name != **own));
        for Machine { name, label, records, .. } in &mut self.references {
            let of_one = name.rsplit_once("-x").and_then(|(one, count)| {
                let (_, label) = known.iter().find(|(name, _)| name == one)?;
                Some(counted(label, count.parse().ok()?))
            });
            let shared = |(other, its): &&(String, String)| other != name && its == label;
            match known.iter().find(shared) {
                _ if records.is_empty() => *label = of_one.unwrap_or_else(|| name.clone()),
                Some((other, _)) if own == Some(other) => *label = format!("reference {label}"),
                Some(_) => *label = name.clone(),
                None => {}
            }
        }
    }

    pub fn references(&self) -> Vec<&Machine> {
        self.references.iter().collect()
    }

    /// The reference machine called `name`.
    pub fn named(&self, name: &str) -> Result<&Machine, String> {
        named(&self.references(), name)
    }

    /// What an emulated GPU counted of `experiment`: not among the machines, so that no
    /// block shows it as if it had been measured.
    pub fn emulated(&self, experiment: &str) -> Result<Recorded, String> {
        let record = self.results.read(EMULATED, experiment);
        let record = record.map_err(|e| e.to_string())?;
        let record = record.filter(|record| record.source == Source::Emulated);
        Recorded::new(record.into_iter().collect(), &Rc::default()).ok_or_else(|| {
            format!(
                "no emulated GPU has a record of it: cargo run -p {experiment} \
                 -- --emulate"
            )
        })
    }

    /// The same with the reader's own machine as the last of the references: for what no
    /// reference machine has recorded yet.
    pub fn with_own(&self) -> Records {
        let mut records = self.clone();
        let place = Some(self.references.len());
        let own = self.here.iter().map(|own| Machine { place, ..own.clone() });
        records.references.extend(own);
        records
    }

    /// Where to look for what is shown with `machine`: there, and for a reference on the
    /// others after it.
    pub fn with<'r>(&'r self, machine: &'r Machine) -> Vec<&'r Machine> {
        let is_other = |other: &&Machine| machine.is_reference() && other.name != machine.name;
        let others = self.references.iter().filter(is_other);
        [machine].into_iter().chain(others).collect()
    }

    /// What `of` finds on each side in the record of `experiment`, of the machine `on` if
    /// one is named. The references must have it; where this machine lacks it, the book
    /// shows the reference's.
    pub fn both<'r, T>(
        &'r self,
        experiment: &str,
        on: Option<&str>,
        of: impl Fn(&'r Machine, &'r Recorded) -> Result<T, String>,
    ) -> Result<Both<T>, String> {
        let (machine, record) = recorded(&self.references(), experiment, on)?;
        let here = |here| {
            let (machine, record) = recorded(&[here], experiment, on).ok()?;
            of(machine, record).ok()
        };
        Ok(self.beside(of(machine, record)?, from(machine), here))
    }

    /// `reference`, which comes `from` these reference machines, beside what is found `here`.
    pub fn beside<'r, T>(
        &'r self,
        reference: T,
        from: BTreeSet<usize>,
        here: impl Fn(&'r Machine) -> Option<T>,
    ) -> Both<T> {
        let is_own = |own: &Machine| {
            from.iter().all(|&place| self.at(place).is_some_and(|m| m.name == own.name))
        };
        let here = match &self.here {
            Some(own) if !is_own(own) => here(own).map_or(Here::NotMeasured, Here::Measured),
            _ => Here::SameAsReference,
        };
        Both { reference, from, here }
    }

    /// `both` in the middle of a sentence: this machine's first, the reference's beside it if it
    /// is another. `show` is told whether it stands beside.
    pub fn sentence<T: Alike>(&self, both: &Both<T>, show: impl Fn(&T, bool) -> String) -> String {
        let Both { reference, from, here } = both;
        let label = html::inline(&self.label(from));
        match here {
            Here::SameAsReference => show(reference, false),
            Here::NotMeasured => {
                format!("{} <span class=\"beside\">({label})</span>", show(reference, false))
            }
            // Numbers may differ only beyond the printed digits.
            Here::Measured(here)
                if here.is_like(reference) || show(here, false) == show(reference, false) =>
            {
                show(here, false)
            }
            Here::Measured(here) => format!(
                "{} <span class=\"beside\">({label}: {})</span>",
                show(here, false),
                show(reference, true)
            ),
        }
    }

    /// The cases of each experiment that no page shows, neither what was measured nor what
    /// was counted of them, of those that the first machine with a record has.
    pub fn unused(&self) -> Vec<Unused> {
        let mut experiments: BTreeMap<&str, Vec<(String, bool)>> = BTreeMap::new();
        let records = self.references.iter().flat_map(|machine| &machine.records);
        for (name, record) in records {
            let experiment = name.strip_suffix("-counters").unwrap_or(name);
            let is_first = !experiments.contains_key(experiment);
            let cases = experiments.entry(experiment).or_default();
            for (place, m) in record.measurements.iter().enumerate() {
                let words = m.parameters.iter().map(|(k, v)| format!(" {k}={v}"));
                let case = m.case.clone() + &words.collect::<String>();
                let is_used = record.selected.borrow().contains(&place);
                match cases.iter_mut().find(|(known, _)| *known == case) {
                    Some((_, used)) => *used |= is_used,
                    None if is_first => cases.push((case, is_used)),
                    None => {}
                }
            }
        }
        let unused = experiments.into_iter().map(|(experiment, cases)| Unused {
            experiment: experiment.to_owned(),
            measured: cases.len(),
            cases: cases.into_iter().filter(|(_, used)| !used).map(|(c, _)| c).collect(),
        });
        unused.filter(|unused| !unused.cases.is_empty()).collect()
    }

    /// The machine at this place: after the references stands the reader's own, which a
    /// draft takes for one ([`Records::with_own`]).
    fn at(&self, place: usize) -> Option<&Machine> {
        self.references.get(place).or(self.here.as_ref())
    }

    pub fn label(&self, places: &BTreeSet<usize>) -> String {
        let labels = places.iter().filter_map(|&place| Some(self.at(place)?.label.as_str()));
        let labels: Vec<&str> = labels.collect();
        match labels.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} and {last}", others.join(", "))
            }
            _ => labels.concat(),
        }
    }
}

/// The place of a reference machine, as where something comes from.
pub fn from(machine: &Machine) -> BTreeSet<usize> {
    machine.place.into_iter().collect()
}

fn named<'m>(machines: &[&'m Machine], name: &str) -> Result<&'m Machine, String> {
    let found = machines.iter().find(|machine| machine.name == name).copied();
    found.ok_or_else(|| {
        let names = names(machines);
        format!("`{name}` is no reference machine: results/references.json names {names}")
    })
}

fn names(machines: &[&Machine]) -> String {
    let names = machines.iter().map(|machine| format!("`{}`", machine.name));
    names.collect::<Vec<_>>().join(", ")
}

/// The first of `machines` that has three runs of `experiment`, or as many as any of them has; or
/// the one called `on`.
pub fn recorded<'m>(
    machines: &[&'m Machine],
    experiment: &str,
    on: Option<&str>,
) -> Result<(&'m Machine, &'m Recorded), String> {
    let machines = match on {
        Some(name) => &[named(machines, name)?],
        None => machines,
    };
    let found = machines.iter().filter_map(|&m| Some((m, m.record(experiment).ok()?)));
    let few = |(_, record): &(_, &Recorded)| Reverse(record.runs().take(ENOUGH_RUNS).count());
    match (found.min_by_key(few), machines) {
        (Some(found), _) => Ok(found),
        (None, [only]) => Err(only.record(experiment).err().unwrap_or_default()),
        (None, _) => {
            let names = names(machines);
            Err(format!("none of {names} has a measured record of `{experiment}`"))
        }
    }
}
