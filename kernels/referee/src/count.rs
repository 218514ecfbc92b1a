//! Counts by their names, as `check.toml` and reports have them, and by lines of the source.

use std::collections::BTreeMap;

use emulator::{Counts, Place, Sectors, Tally, Wavefronts};

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
