//! When each operation would run, on engines with declared speeds: a model, without a clock.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Kind, Ledger, Operation};

/// What work costs, as declared. Rates are bytes per microsecond (1000 are 1 GB/s) and
/// positive. The default is of a GPU with PCI Express 5.0 and NVLink, in round numbers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Rate from the host to a GPU.
    pub upload: f64,
    /// Rate from a GPU to the host.
    pub download: f64,
    /// Rate from one GPU to another.
    pub peer: f64,
    /// Rate of a GPU's memory: for what a kernel touches, whatever memory it is, for fills,
    /// and for copies on the GPU, which read and write.
    pub memory: f64,
    /// What each kernel costs besides, in microseconds.
    pub launch: f64,
    /// What some kernels cost in place of all this, by name, in microseconds. Those that cost
    /// nothing leave the engine to others: a few blocks of them run beside anything.
    pub kernels: BTreeMap<String, f64>,
}

impl Default for Costs {
    fn default() -> Costs {
        let (upload, download, peer, memory) = (50e3, 50e3, 300e3, 4e6);
        Costs { upload, download, peer, memory, launch: 2.0, kernels: BTreeMap::new() }
    }
}

/// What does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// Copies from the host to this GPU.
    Upload(usize),
    /// Runs kernels, fills and copies on this GPU.
    Compute(usize),
    /// Copies from this GPU to the host.
    Download(usize),
    /// Copies from one GPU to another.
    Link {
        /// The GPU that is read.
        from: usize,
        /// The GPU that is written.
        to: usize,
    },
}

/// When an operation runs, in microseconds from the first on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Number of the operation.
    pub number: usize,
    /// On what. `None`: it costs nothing.
    pub engine: Option<Engine>,
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
}

/// When everything runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// All operations, in the order in which they were queued.
    pub runs: Vec<Run>,
    /// Microseconds in which a kernel and a copy to or from the GPU ran at the same time, for
    /// each GPU that ran a kernel.
    pub overlap: BTreeMap<usize, f64>,
}

impl Schedule {
    /// Microseconds until everything is done.
    pub fn makespan(&self) -> f64 {
        self.runs.iter().map(|run| run.end).fold(0.0, f64::max)
    }
}

/// A list schedule, in the order in which operations were queued: each begins when all that it
/// comes after has ended, also what the host had waited for, and when its engine is free. The
/// host takes no time, nor do events, allocations, frees and functions of the host.
pub fn schedule(ledger: &Ledger, costs: &Costs) -> Schedule {
    let mut runs: Vec<Run> = Vec::with_capacity(ledger.operations.len());
    let mut free = BTreeMap::<Engine, f64>::new();
    let mut waits = ledger.waits.iter().peekable();
    let mut host: f64 = 0.0;
    for (place, operation) in ledger.operations.iter().enumerate() {
        while let Some(wait) = waits.next_if(|wait| wait.queued <= place) {
            host = host.max(runs[wait.operation - 1].end);
        }
        let ends = operation.after.iter().map(|number| runs[number - 1].end);
        let engine = engine(operation, costs);
        let idle = engine.and_then(|engine| free.get(&engine)).copied();
        let start = ends.chain(idle).fold(host, f64::max);
        let end = start + costs.of(operation);
        if let Some(engine) = engine {
            free.insert(engine, end);
        }
        runs.push(Run { number: operation.number, engine, start, end });
    }
    let overlap = overlap(ledger, &runs);
    Schedule { runs, overlap }
}

fn engine(operation: &Operation, costs: &Costs) -> Option<Engine> {
    let gpu = operation.gpu;
    match operation.kind {
        Kind::Upload => Some(Engine::Upload(gpu)),
        Kind::Download => Some(Engine::Download(gpu)),
        Kind::PeerCopy { from, to } => Some(Engine::Link { from, to }),
        Kind::Prefetch { to: Some(gpu), .. } => Some(Engine::Upload(gpu)),
        Kind::Prefetch { to: None, .. } => Some(Engine::Download(gpu)),
        Kind::Kernel(ref name) if costs.kernels.get(name) == Some(&0.0) => None,
        Kind::Copy | Kind::Fill | Kind::Kernel(_) => Some(Engine::Compute(gpu)),
        Kind::HostCopy
        | Kind::HostFunction
        | Kind::Allocate
        | Kind::Free
        | Kind::Record
        | Kind::Wait
        | Kind::Mark => None,
    }
}

impl Costs {
    /// What an operation costs, in microseconds.
    fn of(&self, operation: &Operation) -> f64 {
        let bytes = operation.bytes as f64;
        match &operation.kind {
            Kind::Upload | Kind::Prefetch { to: Some(_), .. } => bytes / self.upload,
            Kind::Download | Kind::Prefetch { to: None, .. } => bytes / self.download,
            Kind::PeerCopy { .. } => bytes / self.peer,
            Kind::Copy => 2.0 * bytes / self.memory,
            Kind::Fill => bytes / self.memory,
            Kind::Kernel(name) => self
                .kernels
                .get(name)
                .copied()
                .unwrap_or_else(|| operation.touched_bytes() as f64 / self.memory + self.launch),
            _ => 0.0,
        }
    }
}

/// Microseconds in which a kernel and a copy run together, for each GPU with kernels.
fn overlap(ledger: &Ledger, runs: &[Run]) -> BTreeMap<usize, f64> {
    let mut overlap = BTreeMap::new();
    for (operation, run) in ledger.operations.iter().zip(runs) {
        if matches!(operation.kind, Kind::Kernel(_)) {
            let copies = copies_of(operation.gpu, runs);
            *overlap.entry(operation.gpu).or_default() += shared(run, copies);
        }
    }
    overlap
}

fn copies_of(gpu: usize, runs: &[Run]) -> impl Iterator<Item = &Run> {
    runs.iter().filter(move |run| match run.engine {
        Some(Engine::Upload(own) | Engine::Download(own)) => own == gpu,
        Some(Engine::Link { from, to }) => [from, to].contains(&gpu),
        _ => false,
    })
}

/// How long at least one of `others` runs while `run` does.
fn shared<'a>(run: &Run, others: impl Iterator<Item = &'a Run>) -> f64 {
    let within = |other: &Run| (other.start.max(run.start), other.end.min(run.end));
    let mut parts: Vec<_> = others.map(within).filter(|(a, b)| a < b).collect();
    parts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut total, mut upto) = (0.0, run.start);
    for (start, end) in parts {
        total += (end - start.max(upto)).max(0.0);
        upto = end.max(upto);
    }
    total
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 100 bytes a microsecond in all directions, 1000 in memory, 2 microseconds a launch.
    pub(crate) fn costs() -> Costs {
        let (upload, download, peer, memory) = (100.0, 100.0, 100.0, 1000.0);
        let (launch, kernels) = (2.0, BTreeMap::new());
        Costs { upload, download, peer, memory, launch, kernels }
    }

    /// Three turns of an upload, a kernel and a download, in a stream for each turn, or in one.
    pub(crate) fn pipeline(streams: usize) -> Ledger {
        let mut text = String::new();
        for turn in 0..3 {
            let (stream, first) = (turn % streams + 1, 3 * turn + 1);
            let before = match streams {
                1 if turn > 0 => (first - 1).to_string(),
                _ => "-".to_owned(),
            };
            let (second, third) = (first + 1, first + 2);
            text += &format!("operation {first} {stream} 0 1000 {before} upload\n");
            text += &format!("operation {second} {stream} 0 0 {first} kernel scale\n");
            text += "read 0 4000 0 x\nwrite 0 4000 0 x\n";
            text += &format!("operation {third} {stream} 0 1000 {second} download\n");
        }
        text.parse().unwrap()
    }

    #[test]
    fn a_stream_for_each_turn_overlaps_copies_and_kernels() {
        let serial = schedule(&pipeline(1), &costs());
        assert_eq!((serial.makespan(), serial.overlap[&0]), (90.0, 0.0));
        let overlapped = schedule(&pipeline(3), &costs());
        assert_eq!((overlapped.makespan(), overlapped.overlap[&0]), (50.0, 30.0));
        let starts: Vec<_> = overlapped.runs.iter().map(|run| run.start).collect();
        assert_eq!(starts, [0.0, 10.0, 20.0, 10.0, 20.0, 30.0, 20.0, 30.0, 40.0]);
    }

    #[test]
    fn a_wait_of_the_host_holds_all_that_is_queued_later() {
        let text = "\
operation 1 1 0 500 - upload
waited 1
operation 2 2 0 300 - download
operation 3 3 1 700 - upload
";
        let schedule = schedule(&text.parse().unwrap(), &costs());
        let runs: Vec<_> = schedule.runs.iter().map(|r| (r.start, r.end)).collect();
        assert_eq!(runs, [(0.0, 5.0), (5.0, 8.0), (5.0, 12.0)]);
        assert!(schedule.overlap.is_empty(), "there is no kernel");
    }

    #[test]
    fn each_kind_has_its_engine_and_its_cost() {
        let text = "\
operation 1 1 0 500 - peer 0 1
operation 2 2 1 500 - peer 1 0
operation 3 3 0 500 - peer 0 1
operation 4 4 0 500 - copy
operation 5 5 0 500 - fill
operation 6 6 0 0 - kernel long
operation 7 7 0 500 - host-copy
";
        let kernels = [("long".to_owned(), 7.0)].into();
        let costs = Costs { kernels, ..costs() };
        let schedule = schedule(&text.parse().unwrap(), &costs);
        let ends: Vec<_> = schedule.runs.iter().map(|run| run.end).collect();
        assert_eq!(ends, [5.0, 5.0, 10.0, 1.0, 1.5, 8.5, 0.0]);
        assert_eq!(schedule.overlap[&0], 7.0, "two copies at once count once");
    }

    #[test]
    fn a_kernel_that_costs_nothing_holds_up_no_other() {
        let text = "\
operation 1 1 0 500 - upload
operation 2 1 0 0 1 kernel free
operation 3 2 0 0 - kernel long
";
        let kernels = [("free".to_owned(), 0.0), ("long".to_owned(), 7.0)].into();
        let costs = Costs { kernels, ..costs() };
        let schedule = schedule(&text.parse().unwrap(), &costs);
        let runs: Vec<_> = schedule.runs.iter().map(|r| (r.start, r.end)).collect();
        assert_eq!(runs, [(0.0, 5.0), (5.0, 5.0), (0.0, 7.0)]);
    }
}
