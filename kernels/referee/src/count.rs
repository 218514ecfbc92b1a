//! Counts by their names, as `check.toml` and reports have them, and by lines of the source.

use std::collections::BTreeMap;

use emulator::{Counts, Place, Sectors, Tally, Wavefronts};
use record::units;

/// What each line did.
pub type Lines = BTreeMap<u32, Tally>;

/// Counts of launches by lines of the source, or of the PTX.
pub fn lines(launches: &[Counts], is_ptx: bool) -> Lines {
    let mut lines = Lines::new();
    for counted in launches.iter().flat_map(|counts| &counts.lines) {
        if let Some(number) = line(&counted.place, is_ptx) {
            *lines.entry(number).or_default() += counted.tally;
        }
    }
    lines.retain(|_, tally| tally.instructions > 0);
    lines
}

/// The line of the file that a place is in.
pub fn line(place: &Place, is_ptx: bool) -> Option<u32> {
    match is_ptx {
        true => Some(place.ptx_line),
        false => place.source.as_ref().map(|(_, line)| *line),
    }
}

/// The sum over lines.
pub fn total(lines: &Lines) -> Tally {
    let mut total = Tally::default();
    lines.values().for_each(|tally| total += *tally);
    total
}

/// Counts by their names, each with what it would be at best, where the two can differ.
pub fn count(tally: &Tally, name: &str) -> Option<(u64, u64)> {
    let sectors = |of: Sectors, part: &str| match part {
        "requests" => Some((of.requests, 0)),
        "sectors" => Some((of.sectors, of.ideal)),
        "ideal" => Some((of.ideal, 0)),
        _ => None,
    };
    let wavefronts = |of: Wavefronts, part: &str| match part {
        "requests" => Some((of.requests, 0)),
        "wavefronts" => Some((of.wavefronts, of.ideal)),
        "ideal" => Some((of.ideal, 0)),
        _ => None,
    };
    if let Some((family, part)) = name.split_once('.') {
        return match family {
            "loads" => sectors(tally.global_loads, part),
            "stores" => sectors(tally.global_stores, part),
            "async" => sectors(tally.async_copies, part),
            "shared_loads" => wavefronts(tally.shared_loads, part),
            "shared_stores" => wavefronts(tally.shared_stores, part),
            _ => None,
        };
    }
    let number = match name {
        "atomics" => tally.atomics(),
        "global_atomics" => tally.global_atomics.requests + tally.global_reductions.requests,
        "shared_atomics" => tally.shared_atomics.requests,
        "matrix_operations" => tally.matrix_operations,
        "locals" => tally.local_accesses,
        "barriers" => tally.barriers,
        "divergent_branches" => tally.divergent_branches,
        "instructions" => tally.instructions,
        "thread_instructions" => tally.thread_instructions,
        _ => return None,
    };
    Some((number, 0))
}

/// A count as a column of a table.
pub struct Column {
    /// What stands at its head.
    pub heading: &'static str,
    /// Its name in JSON and in exercises.
    pub name: &'static str,
    /// What is counted, if it has an ideal.
    what: &'static str,
    /// What to do about many times the ideal.
    remedy: &'static str,
}

impl Column {
    const fn new(heading: &'static str, name: &'static str) -> Column {
        Column { heading, name, what: "", remedy: "" }
    }

    const fn with_ideal(self, what: &'static str, remedy: &'static str) -> Column {
        Column { what, remedy, ..self }
    }
}

const READ: &str = "let the threads of a warp read neighbouring elements";
const WRITE: &str = "let the threads of a warp write neighbouring elements";
const BANKS: &str = "let the threads of a warp use different banks";

/// All of them, in their order.
pub const COLUMNS: [Column; 10] = [
    Column::new("loads", "loads.sectors").with_ideal("sectors are read as", READ),
    Column::new("stores", "stores.sectors").with_ideal("sectors are written as", WRITE),
    Column::new("async copies", "async.sectors").with_ideal("sectors are copied as", READ),
    Column::new("shared loads", "shared_loads.wavefronts")
        .with_ideal("wavefronts of shared memory are read as", BANKS),
    Column::new("shared stores", "shared_stores.wavefronts")
        .with_ideal("wavefronts of shared memory are written as", BANKS),
    Column::new("atomics", "atomics"),
    Column::new("local", "locals"),
    Column::new("barriers", "barriers"),
    Column::new("divergent", "divergent_branches"),
    Column::new("instructions", "instructions"),
];

/// How many times the ideal a kernel may count before it is said.
const EXCESS: f64 = 1.25;
/// How many times it is not for want of alignment alone.
const MANY: u64 = 2;

impl Column {
    /// What was counted, and what it would be at best.
    pub fn of(&self, tally: &Tally) -> (u64, u64) {
        count(tally, self.name).unwrap_or_default()
    }

    /// `1,000 ×8.00`, where the same bytes would need an eighth.
    pub fn text(&self, tally: &Tally) -> String {
        let (value, ideal) = self.of(tally);
        let number = units::grouped(&value.to_string());
        match value {
            0 => String::new(),
            _ if ideal > 0 && value > ideal => format!("{number} {}", times(value, ideal)),
            _ => number,
        }
    }
}

fn times(value: u64, ideal: u64) -> String {
    format!("×{}", units::number(value as f64 / ideal as f64))
}

/// What moves more than its bytes need in one of several shapes, with the line that does most of
/// it, and a sentence.
pub fn excess<'l>(shapes: impl Iterator<Item = &'l Lines>) -> Vec<(u32, String)> {
    let shapes: Vec<_> = shapes.map(|lines| (lines, total(lines))).collect();
    let mut found = vec![];
    for column in &COLUMNS {
        let share = |tally: &Tally| {
            let (value, ideal) = column.of(tally);
            value as f64 / ideal.max(1) as f64
        };
        let beyond = |tally: &Tally| {
            let (value, ideal) = column.of(tally);
            value.saturating_sub(ideal)
        };
        let worst = shapes.iter().max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)));
        let lines = worst.filter(|(_, total)| share(total) > EXCESS).map(|(lines, _)| *lines);
        let line = lines.and_then(|lines| lines.iter().max_by_key(|(_, tally)| beyond(tally)));
        let Some((line, tally)) = line else { continue };
        let (value, ideal) = column.of(tally);
        if ideal > 0 {
            let is_many = value >= MANY * ideal;
            let remedy = if is_many { format!(": {}", column.remedy) } else { String::new() };
            let times = times(value, ideal);
            let text = format!("{times} as many {} these bytes need{remedy}", column.what);
            found.push((*line, text));
        }
    }
    found
}
