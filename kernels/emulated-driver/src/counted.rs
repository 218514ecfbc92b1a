//! What kernels did since somebody asked last, and why calls failed: what the driver tells a
//! program that knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_char;
use std::fmt::Write;

use emulator::{Counts, Sectors, Tally, Wavefronts};

use crate::driver::{Driver, explanations};

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
    fn tell(&self) -> String {
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

/// From now on an elapsed time is not-a-number instead of an error: for a program that
/// keeps no times, so that what it runs may ask for them.
#[cfg_attr(not(for_tests), unsafe(no_mangle))]
#[allow(non_snake_case)]
extern "C" fn workbookEmulatorNoTime() {
    Driver::lock().elapsed_is_nan = true;
}

/// Tells what was counted since it last told, as text of at most `room` bytes with a NUL at
/// its end; returns how many bytes it needs. With too little room it tells nothing, and
/// forgets nothing. NVIDIA's driver has no such function: who finds it has the emulated one.
///
/// # Safety
///
/// `text` is null, or `room` bytes can be written there.
#[cfg_attr(not(for_tests), unsafe(no_mangle))]
#[allow(non_snake_case)]
unsafe extern "C" fn workbookEmulatorCounts(text: *mut c_char, room: usize) -> usize {
    let told = std::panic::catch_unwind(|| {
        let mut driver = Driver::lock();
        let told = driver.counted.tell();
        // SAFETY: the caller has as much room as it says.
        if unsafe { hand_over(&told, text, room) } {
            driver.counted = Counted::default();
        }
        told.len() + 1
    });
    told.unwrap_or(0)
}

/// Tells in the same way why calls were answered with errors since it last told, a line each.
/// From the first question on that is on standard error no more: the program says it, or
/// expects the error.
///
/// # Safety
///
/// `text` is null, or `room` bytes can be written there.
#[cfg_attr(not(for_tests), unsafe(no_mangle))]
#[allow(non_snake_case)]
unsafe extern "C" fn workbookEmulatorExplanations(text: *mut c_char, room: usize) -> usize {
    let mut kept = explanations();
    let told = kept.get_or_insert_default();
    let needed = told.len() + 1;
    // SAFETY: the caller has as much room as it says.
    if unsafe { hand_over(told, text, room) } {
        told.clear();
    }
    needed
}

/// Writes `told` with a NUL at its end, if there is room for all of it.
///
/// # Safety
///
/// `text` is null, or `room` bytes can be written there.
pub(crate) unsafe fn hand_over(told: &str, text: *mut c_char, room: usize) -> bool {
    let has_room = !text.is_null() && told.len() < room;
    if has_room {
        // SAFETY: there is room.
        unsafe {
            std::ptr::copy_nonoverlapping(told.as_ptr(), text.cast(), told.len());
            text.add(told.len()).write(0);
        }
    }
    has_room
}
