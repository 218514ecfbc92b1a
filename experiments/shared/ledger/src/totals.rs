//! How much a program asked for.

use std::collections::BTreeMap;

use crate::{Kind, Ledger};

/// Functions that make the driver allocate, by how their names begin.
const ALLOCATING: [&str; 3] = ["cuMemAlloc", "cuMemHostAlloc", "cuMemHostRegister"];

/// How often, and how many bytes in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Operations.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// How much a program asked for. (How often it called which function, [`Ledger::calls`] says.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Kernels, each time that one was launched; those of graphs, too.
    pub launches: u64,
    /// Copies from the host to a GPU.
    pub uploads: Amount,
    /// Copies from a GPU to the host.
    pub downloads: Amount,
    /// Copies within the memory of a GPU.
    pub device_copies: Amount,
    /// Copies from one GPU to another.
    pub peer_copies: Amount,
    /// Copies from the host to the host.
    pub host_copies: Amount,
    /// Prefetches, to wherever; bytes as asked for, there already or not.
    pub prefetches: Amount,
    /// Fills.
    pub fills: Amount,
    /// Calls that make the driver allocate, or pin the program's memory, by name. What a pool
    /// of the program's own gives out again is not among them.
    pub allocations: BTreeMap<String, u64>,
}

/// Adds up.
pub fn totals(ledger: &Ledger) -> Totals {
    let mut totals = Totals::default();
    for operation in &ledger.operations {
        let amount = match operation.kind {
            Kind::Kernel(_) => {
                totals.launches += 1;
                continue;
            }
            Kind::Upload => &mut totals.uploads,
            Kind::Download => &mut totals.downloads,
            Kind::Copy => &mut totals.device_copies,
            Kind::PeerCopy { .. } => &mut totals.peer_copies,
            Kind::HostCopy => &mut totals.host_copies,
            Kind::Prefetch { .. } => &mut totals.prefetches,
            Kind::Fill => &mut totals.fills,
            _ => continue,
        };
        amount.count += 1;
        amount.bytes += operation.bytes;
    }
    let allocates = |name: &str| ALLOCATING.iter().any(|begin| name.starts_with(begin));
    let allocations = ledger.calls.iter().filter(|(name, _)| allocates(name));
    totals.allocations = allocations.map(|(name, count)| (name.clone(), *count)).collect();
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_add_up_by_direction() {
        let text = "\
call 2 cuMemAllocAsync
call 1 cuMemFreeAsync
call 1 cuMemHostAlloc
operation 1 1 0 100 - upload
operation 2 1 0 200 1 upload
operation 3 1 0 300 2 peer 0 1
operation 4 1 0 0 3 kernel scale
operation 5 1 0 400 4 download
operation 6 1 0 0 5 record
";
        let totals = totals(&text.parse().unwrap());
        assert_eq!(totals.launches, 1);
        assert_eq!(totals.uploads, Amount { count: 2, bytes: 300 });
        assert_eq!(totals.peer_copies, Amount { count: 1, bytes: 300 });
        assert_eq!(totals.downloads, Amount { count: 1, bytes: 400 });
        assert_eq!(totals.fills, Amount::default());
        let names: Vec<_> = totals.allocations.into_iter().collect();
        let expected = [("cuMemAllocAsync", 2), ("cuMemHostAlloc", 1)];
        assert_eq!(names, expected.map(|(name, count)| (name.to_owned(), count)));
    }
}
