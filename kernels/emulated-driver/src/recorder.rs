//! The recorder: notes what a program asks of the driver, for whoever judges it afterwards, once
//! [`Recorder::start`] was called. The crate [`ledger`] says what a ledger is.
//!
//! Streams are numbered in the order in which they were made, or first used, if that was before
//! the ledger began. Work of a graph is of the stream that it was launched in. Memory is what the driver holds: a GPU's, and the host's that it
//! knows. Of pageable memory there is nothing: an upload takes it in the call. A kernel's memory is
//! known after it has run; an allocation and a free write all of theirs.

use std::collections::BTreeMap;
use std::ops::Range;

use emulator::Touched;
use ledger::{Kind, Ledger, Managed, Operation};
use streams::queue;
use streams::{Order, Orders, Ticket, Waited};

use crate::memory::{Memory, Where};
use crate::work::Work;

/// Notes a ledger, and what the program calls its memory.
#[derive(Default)]
pub(crate) struct Recorder {
    /// Names of each buffer, by what errors call it, and by the address where each begins.
    names: BTreeMap<String, BTreeMap<u64, String>>,
    kept: Option<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The ledger, but for its operations and waits.
    ledger: Ledger,
    operations: Vec<Noted>,
    orders: Orders,
}

/// An operation, whose memory has no names yet.
pub(crate) struct Noted {
    operation: Operation,
    read: Vec<Part>,
    written: Vec<Part>,
}

impl Noted {
    /// What there is to note of a piece of work, but for its place among the others.
    fn of(work: &Work, gpu: usize, memory: &Memory) -> Noted {
        let (mut read, mut written) = (vec![], vec![]);
        let (kind, bytes) = match work {
            Work::Nothing => (Kind::Mark, 0),
            Work::Record => (Kind::Record, 0),
            Work::Wait => (Kind::Wait, 0),
            Work::Call(_) => (Kind::HostFunction, 0),
            Work::Launch(launch) => (Kind::Kernel(launch.kernel.clone()), 0),
            Work::Copy { to, from, bytes, .. } => {
                read.extend(Part::of(memory, *from, *bytes));
                written.extend(Part::of(memory, *to, *bytes));
                (direction(memory, *to, *from, gpu), *bytes)
            }
            Work::Upload { to, from } => {
                written.extend(Part::of(memory, *to, from.len() as u64));
                (Kind::Upload, from.len() as u64)
            }
            Work::Prefetch { address, bytes, to } => {
                (Kind::Prefetch { to: *to, address: *address }, *bytes)
            }
            Work::Fill { to, pattern, count } => {
                let bytes = pattern.len() as u64 * count;
                written.extend(Part::of(memory, *to, bytes));
                (Kind::Fill, bytes)
            }
            Work::Make { address, bytes, name } => {
                written.push(Part::whole(name, *address, *bytes));
                (Kind::Allocate, *bytes)
            }
            Work::Unmake { address, bytes, name } => {
                written.push(Part::whole(name, *address, *bytes));
                (Kind::Free, *bytes)
            }
        };
        let (number, stream, after) = (0, 0, vec![]);
        let operation =
            Operation { number, stream, gpu, kind, bytes, after, read: vec![], written: vec![] };
        Noted { operation, read, written }
    }
}

/// What kind of a copy it is, in a stream of this GPU.
fn direction(memory: &Memory, to: u64, from: u64, gpu: usize) -> Kind {
    let place = |address| match memory.locate(address, 1) {
        Ok(Where::Device(gpu)) => Some(gpu),
        Ok(Where::Host | Where::Pageable) => None,
        Err(_) => Some(gpu), // a graph's, which was freed since
    };
    match (place(from), place(to)) {
        (None, None) => Kind::HostCopy,
        (None, Some(_)) => Kind::Upload,
        (Some(_), None) => Kind::Download,
        (Some(from), Some(to)) if from == to => Kind::Copy,
        (Some(from), Some(to)) => Kind::PeerCopy { from, to },
    }
}

/// Contiguous memory of a buffer.
struct Part {
    /// What errors call the buffer, where it starts, and its size.
    buffer: String,
    start: u64,
    bytes: u64,
    addresses: Range<u64>,
}

impl Part {
    fn whole(buffer: &str, start: u64, bytes: u64) -> Part {
        let (buffer, addresses) = (buffer.to_owned(), start..start + bytes);
        Part { buffer, start, bytes, addresses }
    }

    /// A range of the memory that the program holds.
    fn of(memory: &Memory, address: u64, bytes: u64) -> Option<Part> {
        let (start, holding) = memory.around(address)?;
        let whole = Part::whole(&holding.name, start, holding.bytes);
        Some(Part { addresses: address..address + bytes, ..whole })
    }

    /// A name such as "buffer 3 (4 MiB)".
    fn own_name(&self) -> String {
        let name = self.buffer.split(" (").next().unwrap_or_default();
        let size = [(1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")]
            .into_iter()
            .find(|(unit, _)| self.bytes.is_multiple_of(*unit))
            .map(|(unit, word)| format!("{} {word}", self.bytes / unit));
        format!("{name} ({})", size.unwrap_or_default())
    }
}

impl Recorder {
    /// Begins a new ledger. What was queued before is not in it.
    pub(crate) fn start(&mut self, memory: &Memory) {
        let managed =
            memory.managed().map(|(address, bytes)| Managed { queued: 0, address, bytes });
        let ledger = Ledger { managed: managed.collect(), ..Ledger::default() };
        self.kept = Some(Kept { ledger, ..Kept::default() });
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Calls memory by a name: from `address` to where another name begins, or to the end of its
    /// buffer. Nothing happens if the driver holds no memory there.
    pub(crate) fn name(&mut self, memory: &Memory, address: u64, name: &str) {
        if let Some((_, held)) = memory.around(address) {
            let name = name.replace(char::is_control, " "); // a record is a line
            self.names.entry(held.name.clone()).or_default().insert(address, name);
        }
    }

    pub(crate) fn call(&mut self, name: &'static str) {
        if let Some(kept) = &mut self.kept {
            *kept.ledger.calls.entry(name.to_owned()).or_default() += 1;
        }
    }

    pub(crate) fn managed(&mut self, address: u64, bytes: u64) {
        if let Some(kept) = &mut self.kept {
            let queued = kept.operations.len();
            kept.ledger.managed.push(Managed { queued, address, bytes });
        }
    }

    /// Notes a stream, unless it is known.
    pub(crate) fn stream(&mut self, queue: u32, context: usize, kind: queue::Kind) {
        if let Some(kept) = &mut self.kept {
            kept.orders.stream(queue, context, kind);
        }
    }

    /// Notes the queue of a graph's lane, which counts as the stream of `queue`.
    pub(crate) fn lane(&mut self, lane: u32, queue: u32) {
        if let Some(kept) = &mut self.kept {
            kept.orders.lane(lane, queue);
        }
    }

    /// Notes what the host has waited for.
    pub(crate) fn waited(&mut self, what: Waited) {
        if let Some(kept) = &mut self.kept {
            kept.orders.waited(what);
        }
    }

    /// Notes a piece of work, if a ledger is kept, before it is queued.
    pub(crate) fn note(&self, work: &Work, gpu: usize, memory: &Memory) -> Option<Noted> {
        self.kept.as_ref().map(|_| Noted::of(work, gpu, memory))
    }

    /// Adds work that was queued behind `after`.
    pub(crate) fn add(&mut self, ticket: Ticket, mut noted: Noted, after: &[Ticket]) {
        let Some(kept) = &mut self.kept else { return };
        let memory = noted.written.first().map(|part| &part.addresses);
        let added = kept.orders.add(ticket, after, &noted.operation.kind, memory);
        if let Some(Order { number, stream, after }) = added {
            noted.operation = Operation { number, stream, after, ..noted.operation };
            kept.operations.push(noted);
        }
    }

    /// Notes what a kernel has read and written that has just run, or failed.
    pub(crate) fn touched(&mut self, ticket: Ticket, content: &mut emulator::Memory) {
        let touched = content.take_touched();
        let Some(kept) = &mut self.kept else { return };
        let Some(number) = kept.orders.number(ticket) else { return };
        let noted = &mut kept.operations[number - 1];
        for Touched { address, read, written } in touched {
            let Some(buffer) = content.buffer(address) else { continue };
            let part = |range: &Range<u64>| {
                let whole = Part::whole(buffer.name, buffer.address, buffer.bytes);
                let addresses = address + range.start..address + range.end;
                Part { addresses, ..whole }
            };
            noted.read.extend(read.iter().map(part));
            noted.written.extend(written.iter().map(part));
        }
    }

    /// The ledger as text; empty if none was begun.
    pub(crate) fn tell(&self) -> String {
        self.ledger().map_or_else(String::new, |ledger| ledger.to_string())
    }

    /// The ledger, if one was begun.
    pub(crate) fn ledger(&self) -> Option<Ledger> {
        let kept = self.kept.as_ref()?;
        let operations = kept.operations.iter().map(|noted| {
            let [read, written] = [&noted.read, &noted.written].map(|parts| self.named(parts));
            Operation { read, written, ..noted.operation.clone() }
        });
        let (operations, waits) = (operations.collect(), kept.orders.waits().to_vec());
        Some(Ledger { operations, waits, ..kept.ledger.clone() })
    }

    /// Memory by names: a range for each that it has.
    fn named(&self, parts: &[Part]) -> Vec<ledger::Range> {
        let unnamed = BTreeMap::new();
        let mut ranges = vec![];
        for part in parts {
            let Part { buffer, start, addresses, .. } = part;
            let named = self.names.get(buffer).unwrap_or(&unnamed);
            let own = part.own_name();
            let mut address = addresses.start;
            while address < addresses.end {
                let (begin, name) = match named.range(..=address).next_back() {
                    Some((begin, name)) => (*begin, name),
                    None => (*start, &own),
                };
                let next = named.range(address + 1..).next().map(|(at, _)| *at);
                let end = next.map_or(addresses.end, |at| at.min(addresses.end));
                let (bytes, offset, name) = (end - address, address - begin, name.clone());
                ranges.push(ledger::Range { address, bytes, name, offset });
                address = end;
            }
        }
        ranges
    }
}
