//! Which operations touch the same memory in no order.

use std::fmt;

use crate::{Kind, Ledger, Operation, Range};

/// Two operations that touch the same memory, one of them writing, and that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The one that was queued first.
    pub first: Operation,
    /// What it touches of the memory that both do: its lowest overlap with the other.
    pub first_range: Range,
    /// Whether it writes there.
    pub first_writes: bool,
    /// The one that was queued later.
    pub second: Operation,
    /// Range of the same memory, as the second touches it.
    pub second_range: Range,
    /// Whether it writes there.
    pub second_writes: bool,
}

/// All pairs of operations that touch the same memory, at least one of them writing, where the
/// later one need not wait for the earlier: by streams, events, or because the host has waited.
/// One conflict for each pair, in the order in which the later ones were queued.
///
/// Memory is known by its address. So what a pool gives out again is the same memory, and who
/// still uses what was freed is in conflict with the free, and with the new owner. (That the
/// pool gives memory out again only after the free is an order that the ledger has.)
pub fn unordered(ledger: &Ledger) -> Vec<Conflict> {
    let before = before(ledger);
    let pairs = ledger.operations.iter().enumerate().flat_map(|(place, second)| {
        let earlier = ledger.operations[..place].iter().enumerate();
        let free = earlier.filter(|(first, _)| !before[place].has(*first));
        free.filter_map(|(_, first)| conflict(first, second)).collect::<Vec<_>>()
    });
    pairs.collect()
}

/// Which operations are done before an operation begins.
#[derive(Clone, Default)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    pub(crate) fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn insert(&mut self, place: usize) {
        let words = self.0.len().max(place / 64 + 1);
        self.0.resize(words, 0);
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn add(&mut self, other: &Set) {
        let words = self.0.len().max(other.0.len());
        self.0.resize(words, 0);
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
}

/// All operations that come before each one in any schedule.
pub(crate) fn before(ledger: &Ledger) -> Vec<Set> {
    let mut all: Vec<Set> = Vec::with_capacity(ledger.operations.len());
    let mut waits = ledger.waits.iter().peekable();
    let mut host = Set::default();
    for (place, operation) in ledger.operations.iter().enumerate() {
        while let Some(wait) = waits.next_if(|wait| wait.queued <= place) {
            host.add(&all[wait.operation - 1]);
            host.insert(wait.operation - 1);
        }
        let mut set = host.clone();
        for number in &operation.after {
            set.add(&all[number - 1]);
            set.insert(number - 1);
        }
        all.push(set);
    }
    all
}

fn conflict(first: &Operation, second: &Operation) -> Option<Conflict> {
    let sides = [
        (&first.read, false, &second.written, true),
        (&first.written, true, &second.read, false),
        (&first.written, true, &second.written, true),
    ];
    sides.into_iter().find_map(|(a, first_writes, b, second_writes)| {
        let (a, b) = overlap(a, b)?;
        Some(Conflict {
            first: first.clone(),
            first_range: a.clone(),
            first_writes,
            second: second.clone(),
            second_range: b.clone(),
            second_writes,
        })
    })
}

/// The first ranges of both that overlap. Both are in the order of addresses, and merged.
fn overlap<'a>(a: &'a [Range], b: &'a [Range]) -> Option<(&'a Range, &'a Range)> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let (x, y) = (*a.peek()?, *b.peek()?);
        if x.address + x.bytes <= y.address {
            a.next();
        } else if y.address + y.bytes <= x.address {
            b.next();
        } else {
            return Some((x, y));
        }
    }
}

impl fmt::Display for Conflict {
    /// A sentence such as "kernel `scale` (4, stream 1) reads `half 0`, which upload 6 (stream 2) writes;
    /// nothing makes 6 wait for 4".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conflict { first, second, first_range, second_range, .. } = self;
        let does = verb(&first.kind, self.first_writes);
        let other = verb(&second.kind, self.second_writes);
        let (name, second_name) = (&first_range.name, &second_range.name);
        write!(f, "{first} {does} `{name}`, ")?;
        match name == second_name {
            true => write!(f, "which {second} {other}")?,
            false => write!(f, "the memory that {second} {other} as `{second_name}`")?,
        }
        let (number, later) = (first.number, second.number);
        write!(f, "; nothing makes {later} wait for {number}")
    }
}

fn verb(kind: &Kind, writes: bool) -> &'static str {
    match kind {
        Kind::Allocate => "allocates",
        Kind::Free => "frees",
        _ if writes => "writes",
        _ => "reads",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentences for a ledger's text.
    fn told(text: &str) -> Vec<String> {
        let ledger = text.parse().unwrap();
        unordered(&ledger).iter().map(Conflict::to_string).collect()
    }

    const UPLOAD: &str = "operation 1 1 0 64 - upload\nwrite 1000 64 0 half 0\n";

    fn then(between: &str, after: &str) -> Vec<String> {
        let kernel = "kernel scale\nread 1032 64 32 half 0\n";
        told(&format!("{UPLOAD}{between}operation 2 2 0 0 {after} {kernel}"))
    }

    #[test]
    fn a_missing_wait_is_named() {
        let sentence = "upload 1 (stream 1) writes `half 0`, which kernel `scale` (2, stream 2) \
             reads; nothing makes 2 wait for 1";
        assert_eq!(then("", "-"), [sentence]);
    }

    #[test]
    fn an_event_and_the_host_order() {
        assert!(then("", "1").is_empty());
        assert!(then("waited 1\n", "-").is_empty());
    }

    #[test]
    fn what_was_waited_for_counts_with_all_before_it_and_for_all_later() {
        let text = "\
operation 1 1 0 8 - upload
write 1000 8 0 a
operation 2 1 0 0 1 record
operation 3 3 0 0 - record
waited 2
operation 4 2 0 8 - download
read 1000 8 0 a
operation 5 3 0 8 3 fill
write 1004 8 4 a
";
        let conflicts = told(text);
        assert_eq!(conflicts.len(), 1, "{conflicts:?}");
        assert!(conflicts[0].starts_with("download 4 (stream 2) reads `a`, which fill 5"));
        let late = text.replace("waited 2\n", "") + "waited 2\n";
        assert_eq!(told(&late).len(), 3, "a wait orders what is queued later");
    }

    #[test]
    fn reads_and_other_memory_are_no_conflict() {
        let reads = "\
operation 1 1 0 8 - download
read 1000 8 0 a
operation 2 2 0 8 - download
read 1000 8 0 a
operation 3 2 0 8 2 fill
write 1008 8 8 a
";
        assert!(told(reads).is_empty());
    }

    #[test]
    fn memory_that_is_given_out_again_is_the_same_memory() {
        let text = "\
operation 1 1 0 0 - kernel old
read 1000 64 0 x
operation 2 2 0 64 - free
write 1000 64 0 x
operation 3 2 0 64 2 allocate
write 1000 64 0 y
";
        assert_eq!(
            told(text),
            [
                "kernel `old` (1, stream 1) reads `x`, which free 2 (stream 2) frees; nothing \
                 makes 2 wait for 1",
                "kernel `old` (1, stream 1) reads `x`, the memory that allocation 3 (stream 2) \
                 allocates as `y`; nothing makes 3 wait for 1"
            ]
        );
    }

    #[test]
    fn many_ranges_and_operations() {
        let mut text = String::from("operation 1 1 0 0 - kernel even\n");
        for line in 0..500 {
            text += &format!("write {} 8 0 a\n", 16 * line);
        }
        text += "operation 2 2 0 0 - kernel odd\n";
        for line in 0..500 {
            text += &format!("write {} 8 0 a\n", 16 * line + 8);
        }
        assert!(told(&text).is_empty());
        for number in 3..300 {
            text += &format!("operation {number} 1 0 0 {} mark\n", number - 2);
        }
        text += "operation 300 3 0 8 298 fill\nwrite 7984 8 0 a\n";
        assert_eq!(told(&text).len(), 1, "298 comes after 2, and not after 1");
    }
}
