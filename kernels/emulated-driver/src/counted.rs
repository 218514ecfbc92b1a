//! What kernels did since somebody asked last.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use emulator::{Counts, Pieces, Sectors, Tally, Wavefronts};

/// Counts since the last question.
#[derive(Default)]
pub(crate) struct Counted {
    launches: u64,
    kernels: BTreeSet<String>,
    total: Tally,
    lines: BTreeMap<(String, u32), (Tally, Pieces)>,
}

impl Counted {
    pub(crate) fn add(&mut self, counts: &Counts) {
        self.launches += 1;
        if !self.kernels.contains(&counts.kernel) {
            self.kernels.insert(counts.kernel.clone());
        }
        self.total += counts.total();
        for (line, tally) in counts.by_source_line() {
            self.lines.entry(line).or_default().0 += tally;
        }
        for (line, pieces) in counts.pieces_by_source_line() {
            self.lines.entry(line).or_default().1 += pieces;
        }
    }

    /// One `name number` a line: the totals; then `kernel NAME` for each; then, for each line
    /// of a source that did something, `line NUMBER FILE` and its own, with further ones.
    pub(crate) fn tell(&self) -> String {
        let mut text = format!("launches {}\n", self.launches);
        write_tally(&mut text, &self.total);
        for kernel in &self.kernels {
            let _ = writeln!(text, "kernel {kernel}");
        }
        for ((file, line), (tally, pieces)) in &self.lines {
            let _ = writeln!(text, "line {line} {file}");
            write_tally(&mut text, tally);
            write_some(
                &mut text,
                &[
                    ("global_load_lines", pieces.load_lines),
                    ("global_load_fetches", pieces.load_fetches),
                    ("global_load_block_sectors", pieces.block_load_sectors),
                    ("global_store_lines", pieces.store_lines),
                    ("global_store_partial_sectors", pieces.partial_store_sectors),
                    ("local_requests", tally.local_accesses),
                ],
            );
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
    write_some(
        text,
        &[
            ("global_atomic_requests", global),
            ("shared_atomic_requests", tally.shared_atomics.requests),
            ("matrix_operations", tally.matrix_operations),
        ],
    );
}

/// Those that are not 0.
fn write_some(text: &mut String, counts: &[(&str, u64)]) {
    for (name, number) in counts.iter().filter(|(_, number)| *number > 0) {
        let _ = writeln!(text, "{name} {number}");
    }
}
