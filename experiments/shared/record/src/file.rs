//! Reading and writing records.
//!
//! Results files travel between strangers, so a file is bounded before it is read and
//! checked before it is used; every refusal names the file and the field. Writing is
//! all or nothing: a killed run leaves the old record as it was.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::machine::same_hardware;
use crate::schema::{
    EMULATED_GPU, Measurement, MemoryReading, OLDEST_SCHEMA, Record, SCHEMA, Source,
};

/// A record larger than this is refused unread.
pub const MAX_FILE_BYTES: u64 = 16 << 20;
const SCHEMAS: RangeInclusive<u32> = OLDEST_SCHEMA..=SCHEMA;
const MAX_MEASUREMENTS: usize = 10_000;
const MAX_SAMPLES: usize = 100_000;
const MAX_SPANS: usize = 2_000;
const MAX_SERIES: usize = 16;
const MAX_READINGS: usize = 10_000;
const MAX_GPUS: usize = 64;
const MAX_TEXT_BYTES: usize = 4096;
const MAX_NAME_BYTES: usize = 64;
/// A file in the folder of a machine whose records came from somebody else.
const IMPORTED: &str = "imported";
/// A file beside the folders of machines, with the name of this checkout's.
const THIS_MACHINE: &str = "this-machine";
/// Times and amounts that a machine can have: with them, nothing that is computed from a
/// record is too large for a number.
const SECONDS: RangeInclusive<f64> = 1e-12..=1e7;
const MAX_BYTES: u64 = 1 << 60;
const MAX_MODEL: f64 = 1e18;

/// Why a record could not be read or written. What a file says is shown so that it cannot
/// steer a terminal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused.
    #[error("{}: {}", shown(path), visible(&cause.to_string()))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file is larger than any record can be.
    #[error("{}: {bytes} bytes is more than the {MAX_FILE_BYTES} a record may have", shown(path))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The file's size.
        bytes: u64,
    },
    /// The file is not a record.
    #[error("{}: field `{}`: {}", shown(path), visible(field), visible(problem))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where in it, such as `measurements[3].seconds[0]`.
        field: String,
        /// What is wrong there.
        problem: String,
    },
    /// A name that could leave the results folder, or that no file system likes.
    #[error(
        "`{}` is not a usable {what} name: take 1 to {MAX_NAME_BYTES} lower-case letters, digits and hyphens, with a letter or digit first",
        visible(name)
    )]
    Name {
        /// What the name is for.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that means something else in a results folder, or to Windows.
    #[error("`{name}` cannot be the name of a {what}: it means something else")]
    Taken {
        /// What the name is for.
        what: &'static str,
        /// The name.
        name: String,
    },
}

/// The field that breaks a rule, and how.
type Broken = (String, String);

impl Error {
    /// What the system said of `path`.
    fn io(path: &Path) -> impl Fn(std::io::Error) -> Error {
        move |cause| Error::Io { path: path.to_owned(), cause }
    }

    /// What is wrong in the file at `path`.
    fn invalid(path: &Path) -> impl Fn(Broken) -> Error {
        move |(field, problem)| {
            let path = path.to_owned();
            Error::Invalid { path, field, problem }
        }
    }
}

/// A folder of records, `<folder>/<machine>/<experiment>.json`, and what is read and written
/// in it: runs without a label, or those with one, `<folder>/<machine>/<label>/<experiment>.json`.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
    label: Option<String>,
}

impl Results {
    /// The results in `folder`, which need not exist yet: the runs without a label.
    pub fn new(folder: impl Into<PathBuf>) -> Results {
        Results { folder: folder.into(), label: None }
    }

    /// The runs in the same folder that have this label, or none.
    pub fn labelled(&self, label: Option<&str>) -> Result<Results, Error> {
        if let Some(label) = label {
            check_name("label", label)?;
        }
        Ok(Results { folder: self.folder.clone(), label: label.map(str::to_owned) })
    }

    /// Every run of `machine`: that without a label first, then by label.
    pub fn runs(&self, machine: &str) -> Result<Vec<Results>, Error> {
        check_name("machine", machine)?;
        let folder = self.folder.join(machine);
        let mut runs = vec![self.labelled(None)?];
        for label in names(&folder, |path| path.is_dir().then(|| path.file_name()).flatten())? {
            runs.push(self.labelled(Some(&label))?);
        }
        Ok(runs)
    }

    /// Every record of `machine`: the run that it belongs to, and its experiment.
    pub fn all(&self, machine: &str) -> Result<Vec<(Results, String)>, Error> {
        let mut all = vec![];
        for run in self.runs(machine)? {
            let experiments = run.experiments(machine)?;
            all.extend(experiments.into_iter().map(|name| (run.clone(), name)));
        }
        Ok(all)
    }

    /// The label of the runs.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the record of `experiment` on `machine` lies or would lie.
    pub fn path(&self, machine: &str, experiment: &str) -> Result<PathBuf, Error> {
        check_name("machine", machine)?;
        check_name("experiment", experiment)?;
        Ok(self.run_folder(machine).join(format!("{experiment}.json")))
    }

    fn run_folder(&self, machine: &str) -> PathBuf {
        let folder = self.folder.join(machine);
        match &self.label {
            Some(label) => folder.join(label),
            None => folder,
        }
    }

    /// The record of `experiment` on `machine`; `None` if there is no such file.
    pub fn read(&self, machine: &str, experiment: &str) -> Result<Option<Record>, Error> {
        let path = self.path(machine, experiment)?;
        if !path.try_exists().map_err(Error::io(&path))? {
            return Ok(None);
        }
        let record = read(&path)?;
        for (field, name, expected, place) in [
            ("experiment", &record.experiment, experiment, "file"),
            ("machine.name", &record.machine.name, machine, "folder"),
        ] {
            let problem = format!("`{name}` does not match the {place}'s name");
            rule(name == expected, field, problem).map_err(Error::invalid(&path))?;
        }
        let label = record.run.label.as_deref().unwrap_or("none");
        let problem = format!("`{label}` does not match the folder's name");
        rule(record.run.label == self.label, "run.label", problem)
            .map_err(Error::invalid(&path))?;
        Ok(Some(record))
    }

    /// Writes `record` to its place, its label's, replacing what was there in one step. Returns
    /// the path. Fails, and leaves everything as it was, if the record breaks a rule.
    pub fn write(&self, record: &Record) -> Result<PathBuf, Error> {
        let run = self.labelled(record.run.label.as_deref())?;
        let path = run.path(&record.machine.name, &record.experiment)?;
        check(record).map_err(Error::invalid(&path))?;
        let json = to_json(record);
        let bytes = json.len() as u64;
        if bytes > MAX_FILE_BYTES {
            return Err(Error::TooLarge { path, bytes });
        }
        write_atomically(&path, json.as_bytes())?;
        Ok(path)
    }

    /// Makes sure, without changing any record, that one of `machine` can be written:
    /// better before an hour of measuring than after it.
    pub fn check_writable(&self, machine: &str) -> Result<(), Error> {
        check_name("machine", machine)?;
        let folder = self.run_folder(machine);
        // Where the first missing folder would be made, so that a run which fails
        // leaves no empty folder: that would be a machine without records.
        let exists = |path: &&Path| path.symlink_metadata().is_ok();
        let nearest = folder.ancestors().find(exists).unwrap_or(Path::new("."));
        tempfile::Builder::new()
            .prefix(".record-")
            .tempfile_in(nearest)
            .map(drop)
            // Without the path of that file, which nobody asked for.
            .map_err(|e| Error::Io { path: folder.clone(), cause: e.kind().into() })
    }

    /// Names of the machines that have a folder here, sorted.
    pub fn machines(&self) -> Result<Vec<String>, Error> {
        names(&self.folder, |path| path.is_dir().then(|| path.file_name()).flatten())
    }

    /// Names of the experiments that these runs recorded on `machine`, sorted.
    pub fn experiments(&self, machine: &str) -> Result<Vec<String>, Error> {
        check_name("machine", machine)?;
        names(&self.run_folder(machine), |path| {
            (path.extension()? == "json").then(|| path.file_stem()).flatten()
        })
    }

    /// The reference machines, which the book was written about, in its order: the list of
    /// names in `references.json`. An experiment's numbers are those of the first that
    /// recorded it.
    pub fn references(&self) -> Result<Vec<String>, Error> {
        let path = self.folder.join("references.json");
        let text = read_small(&path).map_err(Error::io(&path))?;
        let invalid = |problem| Error::invalid(&path)((".".to_owned(), problem));
        let names: Vec<String> = serde_json::from_str(&text).map_err(|e| invalid(e.to_string()))?;
        if names.is_empty() {
            return Err(invalid("names no machine".to_owned()));
        }
        for name in &names {
            check_name("machine", name).map_err(|e| invalid(e.to_string()))?;
        }
        Ok(names)
    }

    /// The machine that recorded last in this checkout, if any did.
    pub fn this_machine(&self) -> Result<Option<String>, Error> {
        let path = self.this_machine_path();
        let name = match read_small(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(Error::io(&path))?.trim().to_owned(),
        };
        let usable = check_name("machine", &name).map_err(std::io::Error::other);
        usable.map_err(Error::io(&path))?;
        Ok(Some(name))
    }

    /// Remembers `machine` as the one that recorded last in this checkout.
    pub fn set_this_machine(&self, machine: &str) -> Result<(), Error> {
        check_name("machine", machine)?;
        write_atomically(&self.this_machine_path(), format!("{machine}\n").as_bytes())
    }

    /// Whether records of `machine` came from somebody else.
    pub fn is_imported(&self, machine: &str) -> bool {
        self.imported_path(machine).is_file()
    }

    /// The machines of which records came from somebody else, sorted.
    pub fn imported(&self) -> Result<Vec<String>, Error> {
        let mut machines = self.machines()?;
        machines.retain(|machine| self.is_imported(machine));
        Ok(machines)
    }

    /// Remembers that records of `machine` came from somebody else.
    pub fn set_imported(&self, machine: &str) -> Result<(), Error> {
        check_name("machine", machine)?;
        write_atomically(&self.imported_path(machine), b"by `cargo workbook import`\n")
    }

    /// Keeps other programs from changing records, while what this returns lives: look again at
    /// what is there, and write.
    pub fn lock(&self) -> Result<File, Error> {
        lock(&self.folder.join(".record-lock"))
    }

    fn imported_path(&self, machine: &str) -> PathBuf {
        self.folder.join(machine).join(IMPORTED)
    }

    fn this_machine_path(&self) -> PathBuf {
        self.folder.join(THIS_MACHINE)
    }
}

/// Why a new record must not silently take an old one's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The old one was measured, the new one is emulated.
    #[error("was measured, and a record of the emulated GPU never takes its place")]
    EmulatedOverMeasured,
    /// One was measured and the other counted under a profiler.
    #[error("was made otherwise: one is timed, the other is counted")]
    OtherSource,
    /// The two were made on different hardware.
    #[error("was recorded on other hardware")]
    OtherHardware,
    /// The old one is a full run, the new one a quick one.
    #[error("holds a full run, which a quick one does not replace")]
    QuickOverFull,
    /// The new one was made before the old one.
    #[error("holds a later run, which an earlier one does not replace")]
    EarlierOverLater,
}

/// Whether `new` may not take the place of `old`.
pub fn conflict(old: &Record, new: &Record) -> Option<Conflict> {
    let emulated = |record: &Record| record.source == Source::Emulated;
    if emulated(new) && !emulated(old) {
        Some(Conflict::EmulatedOverMeasured)
    } else if !same_hardware(&old.machine, &new.machine) {
        Some(Conflict::OtherHardware)
    } else if old.source != new.source {
        Some(Conflict::OtherSource)
    } else if new.run.quick && !old.run.quick {
        Some(Conflict::QuickOverFull)
    } else if started(new) < started(old) {
        Some(Conflict::EarlierOverLater)
    } else {
        None
    }
}

impl Record {
    /// Whether its run was started more than a day from now: its machine's clock was wrong.
    pub fn is_dated_ahead(&self) -> bool {
        let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
        started(self).is_some_and(|started| started > tomorrow)
    }
}

/// When the run was started, if its date is one.
fn started(record: &Record) -> Option<SystemTime> {
    humantime::parse_rfc3339(&record.run.started).ok()
}

/// The text of a small file of ours: a regular one of at most 1 MiB.
pub fn read_small(path: &Path) -> std::io::Result<String> {
    let large = || std::io::Error::other("it has more than 1 MiB");
    read_regular(path, 1 << 20)?.map_err(|_| large())
}

/// The text of a regular file, or how many bytes it has if these are more than `most`.
/// Anything else has no size, and may never end.
fn read_regular(path: &Path, most: u64) -> std::io::Result<Result<String, u64>> {
    // Before it is opened, for a pipe waits for a writer.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    if metadata.len() > most {
        return Ok(Err(metadata.len()));
    }
    let mut text = String::new();
    // It may be growing.
    let read = File::open(path)?.take(most + 1).read_to_string(&mut text)? as u64;
    Ok(if read > most { Err(read) } else { Ok(text) })
}

/// Reads and checks one record.
pub fn read(path: &Path) -> Result<Record, Error> {
    match read_regular(path, MAX_FILE_BYTES).map_err(Error::io(path))? {
        Ok(text) => parse(path, &text),
        Err(bytes) => Err(Error::TooLarge { path: path.to_owned(), bytes }),
    }
}

/// Parses and checks the text of one record; `path` is only named in errors.
pub fn parse(path: &Path, json: &str) -> Result<Record, Error> {
    let invalid = Error::invalid(path);
    if json.trim().is_empty() {
        return Err(invalid((".".to_owned(), "the file is empty".to_owned())));
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let record: Record = serde_path_to_error::deserialize(&mut deserializer).map_err(|e| {
        // A file of another schema has other fields.
        let schema = serde_json::from_str(json).ok().map(|Schema { schema }| schema);
        match schema.filter(|schema| !SCHEMAS.contains(schema)) {
            Some(schema) => invalid(("schema".to_owned(), other_schema(schema))),
            None => invalid((e.path().to_string(), e.inner().to_string())),
        }
    })?;
    deserializer.end().map_err(|e| invalid((".".to_owned(), e.to_string())))?;
    check(&record).map_err(invalid)?;
    Ok(record)
}

/// The record as JSON: indented, but one line for each measurement, so that a changed
/// measurement is a changed line in a diff.
pub fn to_json(record: &Record) -> String {
    let one_line = |values: Vec<serde_json::Result<String>>| -> String {
        let lines: Vec<String> =
            values.into_iter().map(|v| v.expect("plain data serialises")).collect();
        if lines.is_empty() {
            "[]".to_owned()
        } else {
            format!("[\n    {}\n  ]", lines.join(",\n    "))
        }
    };
    let measurements = one_line(record.measurements.iter().map(serde_json::to_string).collect());
    let skipped = one_line(record.skipped.iter().map(serde_json::to_string).collect());
    let head = Record { measurements: vec![], skipped: vec![], ..record.clone() };
    let head = serde_json::to_string_pretty(&head).expect("plain data serialises");
    // The two arrays are the last fields, so the text ends with exactly this.
    let end = "\"measurements\": [],\n  \"skipped\": []\n}";
    let head = head.strip_suffix(end).expect("the arrays are the last fields");
    format!("{head}\"measurements\": {measurements},\n  \"skipped\": {skipped}\n}}\n")
}

/// All that is known of a record of another schema.
#[derive(serde::Deserialize)]
struct Schema {
    schema: u32,
}

fn other_schema(schema: u32) -> String {
    let advice = match schema < SCHEMA {
        true => "record again with this workbook, once the file is deleted",
        false => "update the workbook",
    };
    format!(
        "this program reads schema {OLDEST_SCHEMA} to {SCHEMA}, the file has {schema}: \
         {advice}"
    )
}

/// One rule: `kept`, or else the problem at the field.
fn rule(kept: bool, field: impl Into<String>, problem: impl Into<String>) -> Result<(), Broken> {
    if kept { Ok(()) } else { Err((field.into(), problem.into())) }
}

/// The rule that there are not more than `most` of something, called `what`.
fn limit(field: &str, count: usize, most: usize, what: &str) -> Result<(), Broken> {
    rule(count <= most, field, format!("more than {most}{what}"))
}

/// The rules that the types cannot state.
fn check(record: &Record) -> Result<(), Broken> {
    let known = SCHEMAS.contains(&record.schema);
    rule(known, "schema", other_schema(record.schema))?;
    for (what, field, name) in [
        ("experiment", "experiment", &record.experiment),
        ("machine", "machine.name", &record.machine.name),
    ] {
        check_name(what, name).map_err(|e| (field.to_owned(), e.to_string()))?;
    }
    if let Some(label) = &record.run.label {
        let usable = check_name("label", label);
        usable.map_err(|e| ("run.label".to_owned(), e.to_string()))?;
    }
    let problem = format!("`{}` is no date such as 2026-11-21T04:05:06Z", record.run.started);
    rule(started(record).is_some(), "run.started", problem)?;
    let machine = &record.machine;
    limit("machine.gpus", machine.gpus.len(), MAX_GPUS, "")?;
    let problem = "no such entry in `machine.gpus`";
    rule(machine.measured_gpu().is_some(), "machine.measured_gpu", problem)?;
    let emulated = machine.gpus.iter().any(|gpu| gpu.name == EMULATED_GPU);
    let problem = format!("an `{EMULATED_GPU}` has no time that could be measured");
    rule(!emulated || record.source == Source::Emulated, "source", problem)?;
    check_times("gather_seconds", &record.gather_seconds)?;
    limit("measurements", record.measurements.len(), MAX_MEASUREMENTS, "")?;
    let value = serde_json::to_value(record);
    check_texts("", &value.map_err(|e| (".".to_owned(), e.to_string()))?)?;
    let mut seen = HashSet::new();
    for (i, m) in record.measurements.iter().enumerate() {
        let new = seen.insert((&m.case, &m.parameters));
        rule(new, "case", "the same case and parameters are here twice")
            .and_then(|()| check_measurement(m, record.source))
            .map_err(|(at, problem)| (format!("measurements[{i}].{at}"), problem))?;
    }
    let timed = record.source == Source::Measured || record.gather_seconds.is_empty();
    rule(timed, "gather_seconds", "only a measured record has times")
}

/// The rules of samples.
fn check_times(field: &str, seconds: &[f64]) -> Result<(), Broken> {
    limit(field, seconds.len(), MAX_SAMPLES, " samples")?;
    let wrong = seconds.iter().position(|s| !SECONDS.contains(s));
    wrong.map_or(Ok(()), |k| {
        let problem = format!("{:?} is not a time of 1e-12 to 1e7 seconds", seconds[k]);
        Err((format!("{field}[{k}]"), problem))
    })
}

/// The rules of one measurement; the field is one of it.
fn check_measurement(m: &Measurement, source: Source) -> Result<(), Broken> {
    rule(m.operations_per_sample > 0, "operations_per_sample", "must be at least 1")?;
    for (field, bytes) in [("bytes_read", m.bytes_read), ("bytes_written", m.bytes_written)] {
        rule(bytes <= MAX_BYTES, field, format!("more than {MAX_BYTES} bytes"))?;
    }
    let few = m.arithmetic_operations as f64 <= MAX_MODEL;
    rule(few, "arithmetic_operations", format!("more than {MAX_MODEL}"))?;
    check_times("seconds", &m.seconds)?;
    for (name, value) in &m.model {
        let problem = format!("{value:?} is not a number of at most 1e18");
        rule(value.abs() <= MAX_MODEL, format!("model.{name}"), problem)?;
    }
    limit("spans", m.spans.len(), MAX_SPANS, "")?;
    let mut seen = HashSet::new();
    for (i, span) in m.spans.iter().enumerate() {
        let (start, end) = (span.start_seconds, span.end_seconds);
        let possible = |s: f64| s.abs() <= *SECONDS.end();
        let in_order = possible(start) && possible(end) && start <= end;
        let problem = format!("{start:?} to {end:?} is not a stretch of time");
        rule(in_order, format!("spans[{i}].end_seconds"), problem)?;
        let new = seen.insert((&span.lane, &span.label));
        let problem = "the same lane and label are here twice";
        rule(new, format!("spans[{i}].label"), problem)?;
    }
    limit("memory", m.memory.len(), MAX_SERIES, " series")?;
    for (name, readings) in &m.memory {
        let field = format!("memory.{name}");
        limit(&field, readings.len(), MAX_READINGS, " readings")?;
        let possible =
            |r: &MemoryReading| r.seconds.abs() <= *SECONDS.end() && r.bytes <= MAX_BYTES;
        let in_order =
            readings.iter().all(possible) && readings.is_sorted_by(|a, b| a.seconds <= b.seconds);
        rule(in_order, field, "times must be in order, and no number larger than a machine has")?;
    }
    let timed = !(m.seconds.is_empty() && m.spans.is_empty() && m.memory.is_empty());
    if source == Source::Measured {
        rule(!m.seconds.is_empty(), "seconds", "a measured record has samples")?;
        rule(m.counters.is_empty(), "counters", "a measured record has no counters")?;
    } else {
        rule(!timed, "seconds", "only a measured record has times")?;
        let told = m.sm_clock_khz.is_some() || !m.throttle_reasons.is_empty();
        rule(!told, "sm_clock_khz", "only a measured record has clocks")?;
    }
    let may_remark = source == Source::Emulated || m.remarks.is_empty();
    rule(may_remark, "remarks", "only an emulated record has remarks")
}

/// No text longer than [`MAX_TEXT_BYTES`] and no hidden characters anywhere in `value`, which
/// lies at the field `at`.
fn check_texts(at: &str, value: &serde_json::Value) -> Result<(), Broken> {
    use serde_json::Value::{Array, Object, String};
    let good = |text: &str| text.len() <= MAX_TEXT_BYTES && !text.contains(is_hidden);
    match value {
        String(text) => {
            let problem = format!("longer than {MAX_TEXT_BYTES} bytes, or has hidden characters");
            rule(good(text), at, problem)
        }
        Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(i, item)| check_texts(&format!("{at}[{i}]"), item)),
        Object(fields) => fields.iter().try_for_each(|(k, v)| {
            rule(good(k), at, "a key is too long or has hidden characters")?;
            let dot = if at.is_empty() { "" } else { "." };
            check_texts(&format!("{at}{dot}{k}"), v)
        }),
        _ => Ok(()),
    }
}

/// A text from a file or a user as a terminal may show it: hidden characters are written as
/// their numbers, and what is longer than a thousand characters is cut.
pub fn visible(text: &str) -> String {
    const MOST: usize = 1000;
    let escaped =
        |c: char| -> String { if is_hidden(c) { c.escape_unicode().collect() } else { c.into() } };
    let shown: String = text.chars().take(MOST).map(escaped).collect();
    if text.chars().nth(MOST).is_some() { shown + "…" } else { shown }
}

/// A text of several lines as a terminal may show it.
pub fn visible_lines(text: &str) -> String {
    let line = |line: &str| visible(line).replace("\\u{9}", "\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Whether the character steers a terminal, or the direction of text, or cannot be seen.
fn is_hidden(c: char) -> bool {
    let format = [
        '\u{ad}'..='\u{ad}',
        '\u{61c}'..='\u{61c}',
        '\u{180e}'..='\u{180e}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{2064}',
        '\u{2066}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
        '\u{fff9}'..='\u{fffb}',
        '\u{e0001}'..='\u{e0001}',
        '\u{e0020}'..='\u{e007f}',
    ];
    c.is_control() || format.iter().any(|range| range.contains(&c))
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

/// A name that is safe as a file name on every system and cannot leave its folder.
pub fn check_name(what: &'static str, name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let good = (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.starts_with(plain)
        && name.chars().all(|c| plain(c) || c == '-');
    let number = name.strip_prefix("com").or(name.strip_prefix("lpt"));
    let is_taken = [IMPORTED, THIS_MACHINE, "aux", "con", "nul", "prn"].contains(&name)
        || number.is_some_and(|n| matches!(n.as_bytes(), [b'0'..=b'9']));
    let name = name.to_owned();
    match (good, is_taken) {
        (false, _) => Err(Error::Name { what, name }),
        (true, true) => Err(Error::Taken { what, name }),
        (true, false) => Ok(()),
    }
}

/// Usable names of the entries of `folder` that `pick` takes, sorted; none if there is
/// no such folder.
fn names<'a>(
    folder: &'a Path,
    pick: impl for<'p> Fn(&'p Path) -> Option<&'p std::ffi::OsStr> + 'a,
) -> Result<Vec<String>, Error> {
    let io = Error::io(folder);
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        other => other.map_err(&io)?,
    };
    let mut names = vec![];
    for entry in entries {
        let path = entry.map_err(&io)?.path();
        if let Some(name) = pick(&path).and_then(|n| n.to_str())
            && check_name("machine", name).is_ok()
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Writes `bytes` to a new file beside `path`, then moves it there in one step: whoever reads
/// meanwhile gets the old file or the new one.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let io = Error::io(path);
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(&io)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".record-");
    #[cfg(unix)] // records are meant to be shared, unlike other temporary files
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut file = builder.tempfile_in(folder).map_err(&io)?;
    file.write_all(bytes).map_err(&io)?;
    file.as_file().sync_all().map_err(&io)?;
    file.persist(path).map_err(|e| io(e.error))?;
    Ok(())
}

/// Waits until no other program, and no other thread of this one, holds the lock of this file,
/// which is made if it is not there. It is held while what this returns lives.
pub fn lock(path: &Path) -> Result<File, Error> {
    let io = Error::io(path);
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).map_err(&io)?;
    // What lies there is left as it is: the name may be a file of somebody's.
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(false).open(path).map_err(&io)?;
    match file.lock() {
        // Some network drives know no locks.
        Err(e) if e.kind() != std::io::ErrorKind::Unsupported => Err(io(e)),
        _ => Ok(file),
    }
}
