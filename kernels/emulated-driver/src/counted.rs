//! What kernels did since somebody asked last.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use emulator::{Counts, Sectors, Tally, Wavefronts};

/// Counts since the last question.
#[derive(Default)]
pub(crate) struct Counted {
    launches: u64,
    kernels: BTreeSet<String>,
    total: Tally,
    lines: BTreeMap<(String, u32), Tally>,
}

impl Counted {
    pub(crate) fn add(&mut self, counts: &Counts) {
        self.launches += 1;
        if !self.kernels.contains(&counts.kernel) {
            self.kernels.insert(counts.kernel.clone());
        }
        self.total += counts.total();
        for (line, tally) in counts.by_source_line() {
            *self.lines.entry(line).or_default() += tally;
        }
    }

    /// One `name number` a line: the totals; then `kernel NAME` for each; then, for each line
    /// of a source that did something, `line NUMBER FILE` and its own.
    pub(crate) fn tell(&self) -> String {
        let mut text = format!("launches {}\n", self.launches);
        write_tally(&mut text, &self.total);
        for kernel in &self.kernels {
            let _ = writeln!(text, "kernel {kernel}");
        }
        for ((file, line), tally) in &self.lines {
            let _ = writeln!(text, "line {line} {file}");
            write_tally(&mut text, tally);
        }
        text
    }
}

fn write_tally(text: &mut String, tally: &Tally) {
    let sectors = |count: Sectors| [count.requests, count.sectors, count.ideal];
    let wavefronts = |count: Wavefronts| [count.requests, count.wavefronts, count.ideal];
    for (kind, unit, [requests, pieces, ideal]) in [
        ("global_load", "sectors", sectors(tally.global_loads)),
        ("global_store", "sectors", sectors(tally.global_stores)),
        ("shared_load", "wavefronts", wavefronts(tally.shared_loads)),
        ("shared_store", "wavefronts", wavefronts(tally.shared_stores)),
        ("async_copy", "sectors", sectors(tally.async_copies)),
    ] {
        if kind == "async_copy" && requests == 0 {
            continue; // few kernels have such copies
        }
        let _ = writeln!(text, "{kind}_requests {requests}");
        let _ = writeln!(text, "{kind}_{unit} {pieces}");
        let _ = writeln!(text, "{kind}_{unit}_ideal {ideal}");
    }
    for (name, number) in [
        ("atomic_requests", tally.atomics()),
        ("barriers", tally.barriers),
        ("divergent_branches", tally.divergent_branches),
        ("ptx_instructions", tally.instructions),
        ("ptx_thread_instructions", tally.thread_instructions),
    ] {
        let _ = writeln!(text, "{name} {number}");
    }
    // What few kernels have.
    let global = tally.global_atomics.requests + tally.global_reductions.requests;
    for (name, number) in [
        ("global_atomic_requests", global),
        ("shared_atomic_requests", tally.shared_atomics.requests),
        ("matrix_operations", tally.matrix_operations),
    ] {
        if number > 0 {
            let _ = writeln!(text, "{name} {number}");
        }
    }
}
