//! Where pages of managed memory are, and which kernels fault on them: a model.
//!
//! Memory moves in pages of 64 KiB, counted from where it starts. At first all are with the host.
//! A page is where the last prefetch has brought it, or the last kernel that touched it, of
//! those that come before in any schedule. A kernel faults once on each page that it touches
//! and that is not on its GPU.
//!
//! The driver's own guesses are left out: it brings neighbours of what was touched, too, and
//! hardware fetches pages of other sizes. What the host touches is not seen: whoever prefetches
//! to a GPU in time has no fault there, and no more is said.

use std::collections::BTreeMap;

use crate::order::{Set, before};
use crate::{Kind, Ledger, Managed, Operation};

/// Bytes of a page of the model.
pub const PAGE_BYTES: u64 = 64 << 10;

/// What the model says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residence {
    /// Faults of kernels, a page each.
    pub faults: u64,
    /// Pages that are on a GPU in the end, by where they start. All others are with the host.
    pub on_gpus: BTreeMap<u64, usize>,
}

/// Follows all pages of managed memory.
pub fn residence(ledger: &Ledger) -> Residence {
    let before = before(ledger);
    let mut residence = Residence::default();
    // For each page where it was brought: by which operation, in their order, and to which GPU.
    let mut moves = BTreeMap::<(usize, u64), Vec<(usize, Option<usize>)>>::new();
    for (place, operation) in ledger.operations.iter().enumerate() {
        let (to, is_touch) = match operation.kind {
            Kind::Prefetch { to, .. } => (to, false),
            Kind::Kernel(_) => (Some(operation.gpu), true),
            _ => continue,
        };
        for page in pages(ledger, place, operation) {
            let moves = moves.entry(page).or_default();
            let is_there = at(moves, &before[place]) == to;
            residence.faults += u64::from(is_touch && !is_there);
            moves.push((place, to));
        }
    }
    for ((memory, page), moves) in moves {
        if let Some((_, Some(gpu))) = moves.last() {
            let address = ledger.managed[memory].address + page * PAGE_BYTES;
            residence.on_gpus.insert(address, *gpu);
        }
    }
    residence
}

/// Where a page is once these operations are done; `None` is with the host.
fn at(moves: &[(usize, Option<usize>)], done: &Set) -> Option<usize> {
    moves.iter().rev().find(|(place, _)| done.has(*place)).and_then(|(_, to)| *to)
}

/// The pages that an operation touches or moves: each the place of its memory among all, and its
/// own in that memory.
fn pages(ledger: &Ledger, place: usize, operation: &Operation) -> Vec<(usize, u64)> {
    let touched = operation.read.iter().chain(&operation.written);
    let touched = touched.map(|range| (range.address, range.bytes));
    let moved = match operation.kind {
        Kind::Prefetch { address, .. } => Some((address, operation.bytes)),
        _ => None,
    };
    let mut pages = vec![];
    for (address, bytes) in touched.chain(moved) {
        // The same addresses may have been other memory before.
        let holds = |memory: &&(usize, &Managed)| {
            let Managed { queued, address: start, bytes } = *memory.1;
            queued <= place && (start..start + bytes).contains(&address)
        };
        let memory = ledger.managed.iter().enumerate().rfind(|m| holds(&m));
        let Some((memory, Managed { address: start, .. })) = memory else {
            continue;
        };
        let (first, last) = (address - start, address + bytes.max(1) - 1 - start);
        pages.extend((first / PAGE_BYTES..=last / PAGE_BYTES).map(|p| (memory, p)));
    }
    pages.sort_unstable();
    pages.dedup();
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel's touch of the first three pages of memory at 1,000,000, after other lines.
    fn of(lines: &str, number: usize, stream: usize, after: &str) -> Residence {
        let text = format!(
            "managed 1000000 1000000\n{lines}\
             operation {number} {stream} 0 0 {after} kernel scale\n\
             read 1000000 131073 0 x\nwrite 1000000 131073 0 x\n"
        );
        residence(&text.parse().unwrap())
    }

    #[test]
    fn a_kernel_faults_on_what_nobody_has_brought() {
        let found = of("", 1, 1, "-");
        assert_eq!(found.faults, 3);
        let pages: Vec<_> = found.on_gpus.into_keys().collect();
        assert_eq!(pages, [1_000_000, 1_065_536, 1_131_072]);
        let two = "operation 1 1 0 131072 - prefetch 0 1000000\n";
        assert_eq!(of(two, 2, 1, "1").faults, 1);
        let all = "operation 1 1 0 131073 - prefetch 0 1000000\n";
        assert_eq!(of(all, 2, 1, "1").faults, 0);
        let other = "operation 1 1 0 131073 - prefetch 1 1000000\n";
        assert_eq!(of(other, 2, 1, "1").faults, 3, "that is another GPU");
    }

    #[test]
    fn only_what_surely_comes_before_counts() {
        let all = "operation 1 1 0 131073 - prefetch 0 1000000\n";
        assert_eq!(of(all, 2, 2, "-").faults, 3, "in another stream");
        assert_eq!(of(&format!("{all}waited 1\n"), 2, 2, "-").faults, 0);
        let back = "operation 2 1 0 65536 1 prefetch host 1000000\n";
        assert_eq!(of(&format!("{all}{back}"), 3, 1, "2").faults, 1);
        let again = "managed 1000000 1000000\n";
        assert_eq!(of(&format!("{all}{again}"), 2, 1, "1").faults, 3, "new memory");
    }
}
