//! The ledger: what a program asked of the driver, for whoever judges it afterwards. It is
//! kept once [`workbookEmulatorLedgerStart`] was called, and told by
//! [`workbookEmulatorLedger`] as text, a record a line:
//!
//! | line | what it says |
//! |---|---|
//! | `call COUNT NAME` | how often a function of the API was called |
//! | `operation NUMBER STREAM GPU BYTES AFTER KIND` | a piece of queued work |
//! | `read ADDRESS BYTES OFFSET NAME` | memory that the operation above has read |
//! | `write ADDRESS BYTES OFFSET NAME` | the same of memory that it has written |
//! | `waited NUMBER` | the host knows that this operation is done |
//! | `managed ADDRESS BYTES` | the program has this managed memory from here on |
//!
//! Operations come in the order in which they were queued, numbered from 1 on. `STREAM` is 0
//! for a GPU's legacy default stream, and 1, 2, … for others in the order in which they were
//! made (or first used, if that was before the ledger began). Work of a graph is of the
//! stream that it was launched in. `AFTER` lists what the operation directly comes after,
//! `3,5`, or is `-`: the one before it in its stream, the events that were waited for, what
//! the rule of the legacy default stream says, and of a pool's memory what freed it. A
//! `waited` between two operations is what the host waited for, by a synchronisation, a query
//! that succeeded, a copy that blocks or a free, before it queued the second. (The host is
//! one here, however many threads it has.)
//!
//! `KIND` is `upload`, `download`, `copy` (on a GPU), `peer FROM TO` (between GPUs),
//! `host-copy`, `prefetch PLACE ADDRESS` (a GPU, or `host`), `fill`, `kernel NAME`, `host-function`, `allocate`, `free` (both in the order
//! of streams), `record`, `wait`, or `mark`: a place in a stream, such as a graph's begin and
//! end. `BYTES` is 0 for a kernel.
//!
//! Addresses and sizes are in bytes. `NAME` is as [`workbookEmulatorName`] was told, or the
//! driver's own; `OFFSET` counts from where the name begins. Memory is what the driver holds:
//! a GPU's, and the host's that it knows. Of pageable memory there is nothing: an upload takes
//! it in the call. A kernel's memory is known after it has run; an allocation and a free write
//! all of theirs.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::fmt::Write;
use std::ops::Range;

use emulator::Touched;

use crate::counted::hand_over;
use crate::driver::Driver;
use crate::memory::Where;
use crate::queue::{Kind, Queue, Ticket};
use crate::work::Work;

/// The ledger, and what the program calls its memory.
#[derive(Default)]
pub(crate) struct Ledger {
    /// For each buffer, by what errors call it: names, by the address where each begins.
    names: BTreeMap<String, BTreeMap<u64, String>>,
    kept: Option<Kept>,
}

/// What is written in it.
#[derive(Default)]
struct Kept {
    calls: BTreeMap<&'static str, u64>,
    /// By their queues.
    lines: BTreeMap<u32, Line>,
    streams: u32,
    operations: Vec<Operation>,
    /// Numbers of operations.
    numbers: BTreeMap<Ticket, usize>,
    /// What the host has waited for: how many operations there were, and for which one.
    waits: Vec<(usize, usize)>,
    /// Managed memory: how many operations there were before it, its address and its size.
    managed: Vec<(usize, u64, u64)>,
    /// Memory of pools, and which operation freed it.
    freed: Vec<(Range<u64>, usize)>,
}

/// What is known of a queue. It stays when the queue goes.
struct Line {
    stream: u32,
    context: usize,
    kind: Kind,
    /// Its last operation, and the last one that the host waited for; 0 for none.
    last: usize,
    waited: usize,
}

/// A piece of queued work.
struct Operation {
    gpu: usize,
    /// As the text has it.
    kind: String,
    bytes: u64,
    stream: u32,
    after: Vec<usize>,
    read: Vec<Part>,
    written: Vec<Part>,
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
    /// A whole buffer.
    fn whole(buffer: &str, start: u64, bytes: u64) -> Part {
        let (buffer, addresses) = (buffer.to_owned(), start..start + bytes);
        Part { buffer, start, bytes, addresses }
    }

    /// Such as "buffer 3 (4 MiB)".
    fn own_name(&self) -> String {
        let name = self.buffer.split(" (").next().unwrap_or_default();
        let size = [(1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")]
            .into_iter()
            .find(|(unit, _)| self.bytes.is_multiple_of(*unit))
            .map(|(unit, word)| format!("{} {word}", self.bytes / unit));
        format!("{name} ({})", size.unwrap_or_default())
    }
}

impl Ledger {
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Notes a call.
    pub(crate) fn call(&mut self, name: &'static str) {
        if let Some(kept) = &mut self.kept {
            *kept.calls.entry(name).or_default() += 1;
        }
    }

    /// Notes managed memory.
    pub(crate) fn managed(&mut self, address: u64, bytes: u64) {
        if let Some(kept) = &mut self.kept {
            kept.managed.push((kept.operations.len(), address, bytes));
        }
    }

    /// Notes a stream, which gets the next number, unless it is known.
    pub(crate) fn stream(&mut self, queue: u32, context: usize, kind: Kind) {
        let Some(kept) = &mut self.kept else { return };
        kept.lines.entry(queue).or_insert_with(|| {
            kept.streams += u32::from(kind != Kind::Legacy);
            let stream = if kind == Kind::Legacy { 0 } else { kept.streams };
            Line { stream, context, kind, last: 0, waited: 0 }
        });
    }

    /// Notes the queue of a graph's lane, which counts as the stream of `queue`.
    pub(crate) fn lane(&mut self, lane: u32, queue: u32) {
        let Some(kept) = &mut self.kept else { return };
        let Some(Line { stream, context, .. }) = kept.lines.get(&queue) else {
            return;
        };
        let (stream, context, kind) = (*stream, *context, Kind::NonBlocking);
        let line = Line { stream, context, kind, last: 0, waited: 0 };
        kept.lines.insert(lane, line);
    }

    /// Notes that the host has waited for a piece of work.
    pub(crate) fn waited_for(&mut self, ticket: Ticket) {
        let Some(kept) = &mut self.kept else { return };
        if let Some(number) = kept.numbers.get(&ticket) {
            let number = *number;
            kept.waited(|queue, _| (queue == ticket.queue).then_some(number));
        }
    }

    /// The same of all that is in a queue.
    pub(crate) fn waited_for_queue(&mut self, queue: u32) {
        let Some(kept) = &mut self.kept else { return };
        kept.waited(|other, line| (other == queue).then_some(line.last));
    }

    /// The same of all that is in a context.
    pub(crate) fn waited_for_context(&mut self, context: usize) {
        let Some(kept) = &mut self.kept else { return };
        kept.waited(|_, line| (line.context == context).then_some(line.last));
    }

    /// The same of everything.
    pub(crate) fn waited_for_all(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        kept.waited(|_, line| Some(line.last));
    }

    fn tell(&self) -> String {
        let mut text = String::new();
        let Some(kept) = &self.kept else { return text };
        for (name, count) in &kept.calls {
            let _ = writeln!(text, "call {count} {name}");
        }
        let mut managed = kept.managed.iter().peekable();
        let mut waits = kept.waits.iter().peekable();
        for issued in 0..=kept.operations.len() {
            while let Some((_, waited)) = waits.next_if(|wait| wait.0 == issued) {
                let _ = writeln!(text, "waited {waited}");
            }
            while let Some((_, address, bytes)) = managed.next_if(|managed| managed.0 == issued) {
                let _ = writeln!(text, "managed {address} {bytes}");
            }
            if let Some(operation) = kept.operations.get(issued) {
                self.tell_operation(&mut text, issued + 1, operation);
            }
        }
        text
    }

    fn tell_operation(&self, text: &mut String, number: usize, told: &Operation) {
        let Operation { gpu, kind, bytes, stream, .. } = told;
        let after = match &told.after[..] {
            [] => "-".to_owned(),
            some => some.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        };
        let _ = writeln!(text, "operation {number} {stream} {gpu} {bytes} {after} {kind}");
        for (verb, parts) in [("read", &told.read), ("write", &told.written)] {
            for part in parts {
                self.tell_part(text, verb, part);
            }
        }
    }

    /// A line for each name that memory has.
    fn tell_part(&self, text: &mut String, verb: &str, part: &Part) {
        let Part { buffer, start, addresses, .. } = part;
        let unnamed = BTreeMap::new();
        let named = self.names.get(buffer).unwrap_or(&unnamed);
        let own = part.own_name();
        let mut from = addresses.start;
        while from < addresses.end {
            let (begin, name) = match named.range(..=from).next_back() {
                Some((begin, name)) => (*begin, name),
                None => (*start, &own),
            };
            let next = named.range(from + 1..).next().map(|(at, _)| *at);
            let end = next.map_or(addresses.end, |at| at.min(addresses.end));
            let (bytes, offset) = (end - from, from - begin);
            let _ = writeln!(text, "{verb} {from} {bytes} {offset} {name}");
            from = end;
        }
    }
}

impl Kept {
    /// Notes for each queue up to where the host has waited, if it has.
    fn waited(&mut self, upto: impl Fn(u32, &Line) -> Option<usize>) {
        let issued = self.operations.len();
        for (queue, line) in &mut self.lines {
            let number = upto(*queue, line).unwrap_or(0);
            if number > line.waited {
                line.waited = number;
                self.waits.push((issued, number));
            }
        }
    }

    /// Notes a piece of work that was queued behind `after`.
    fn add(&mut self, ticket: Ticket, mut operation: Operation, after: &[Ticket]) {
        let Some(line) = self.lines.get(&ticket.queue) else { return };
        let waits = after.iter().filter_map(|ticket| self.numbers.get(ticket));
        let mut before: Vec<usize> = waits.copied().collect();
        before.push(line.last);
        before.extend(self.implied(line));
        before.extend(self.freed_before(&operation));
        before.retain(|number| *number > 0);
        before.sort_unstable();
        before.dedup();
        (operation.after, operation.stream) = (before, line.stream);
        let number = self.operations.len() + 1;
        if let Some(line) = self.lines.get_mut(&ticket.queue) {
            line.last = number;
        }
        self.numbers.insert(ticket, number);
        self.note_pool(&operation, number);
        self.operations.push(operation);
    }

    /// What the legacy default stream waits for, and what waits for it, done or not.
    fn implied(&self, line: &Line) -> Vec<usize> {
        let wanted = match line.kind {
            Kind::Legacy => Kind::Blocking,
            Kind::Blocking => Kind::Legacy,
            Kind::NonBlocking => return vec![],
        };
        let others = self
            .lines
            .values()
            .filter(|other| other.context == line.context && other.kind == wanted);
        others.map(|other| other.last).collect()
    }

    /// What freed the memory that this allocates: a pool gives it out again only after that.
    fn freed_before(&self, operation: &Operation) -> Vec<usize> {
        let made = allocated(operation);
        let overlaps = |freed: &&(Range<u64>, usize)| {
            made.is_some_and(|m| freed.0.start < m.end && m.start < freed.0.end)
        };
        self.freed.iter().filter(overlaps).map(|(_, number)| *number).collect()
    }

    fn note_pool(&mut self, operation: &Operation, number: usize) {
        if let Some(made) = allocated(operation) {
            let again = |freed: &Range<u64>| made.start <= freed.start && freed.end <= made.end;
            self.freed.retain(|(freed, _)| !again(freed));
        }
        if operation.kind == FREE
            && let Some(part) = operation.written.first()
        {
            self.freed.push((part.addresses.clone(), number));
        }
    }
}

/// What the text calls an allocation and a free in the order of streams.
const ALLOCATE: &str = "allocate";
const FREE: &str = "free";

/// The memory that an allocation makes.
fn allocated(operation: &Operation) -> Option<&Range<u64>> {
    let made = operation.written.first().filter(|_| operation.kind == ALLOCATE);
    made.map(|part| &part.addresses)
}

impl Driver {
    /// Queues work behind what is in `queue`, and behind `after`; and notes it.
    pub(crate) fn push(&mut self, queue: u32, work: Work, after: Vec<Ticket>) -> Ticket {
        let noted = self.ledger.is_kept();
        let noted = noted.then(|| (self.operation(queue, &work), after.clone()));
        let ticket = self.queues.push(queue, work, after);
        if let Some((operation, after)) = noted
            && let Some(Queue { context, kind, .. }) = self.queues.get(queue)
        {
            self.ledger.stream(queue, *context, *kind);
            if let Some(kept) = &mut self.ledger.kept {
                kept.add(ticket, operation, &after);
            }
        }
        ticket
    }

    /// What the ledger has of a piece of work, but for its place among the others.
    fn operation(&self, queue: u32, work: &Work) -> Operation {
        let gpu = self.gpu_of(queue).unwrap_or_default();
        let (mut read, mut written) = (vec![], vec![]);
        let (kind, bytes) = match work {
            Work::Nothing => ("mark".to_owned(), 0),
            Work::Record => ("record".to_owned(), 0),
            Work::Wait => ("wait".to_owned(), 0),
            Work::Call(_) => ("host-function".to_owned(), 0),
            Work::Launch(launch) => (format!("kernel {}", launch.kernel), 0),
            Work::Copy { to, from, bytes, .. } => {
                read.extend(self.part(*from, *bytes));
                written.extend(self.part(*to, *bytes));
                (self.direction(*to, *from, gpu), *bytes)
            }
            Work::Upload { to, from } => {
                written.extend(self.part(*to, from.len() as u64));
                ("upload".to_owned(), from.len() as u64)
            }
            Work::Prefetch { address, bytes, to } => {
                let to = to.map_or("host".to_owned(), |gpu| gpu.to_string());
                (format!("prefetch {to} {address}"), *bytes)
            }
            Work::Fill { to, pattern, count } => {
                let bytes = pattern.len() as u64 * count;
                written.extend(self.part(*to, bytes));
                ("fill".to_owned(), bytes)
            }
            Work::Make { address, bytes, name } => {
                written.push(Part::whole(name, *address, *bytes));
                (ALLOCATE.to_owned(), *bytes)
            }
            Work::Unmake { address, bytes, name } => {
                written.push(Part::whole(name, *address, *bytes));
                (FREE.to_owned(), *bytes)
            }
        };
        let (stream, after) = (0, vec![]);
        Operation { gpu, kind, bytes, stream, after, read, written }
    }

    /// A range of the memory that the program holds.
    fn part(&self, address: u64, bytes: u64) -> Option<Part> {
        let (start, holding) = self.memory.around(address)?;
        let whole = Part::whole(&holding.name, start, holding.bytes);
        Some(Part { addresses: address..address + bytes, ..whole })
    }

    /// What kind of a copy it is, in a stream of this GPU.
    fn direction(&self, to: u64, from: u64, gpu: usize) -> String {
        let place = |address| match self.memory.locate(address, 1) {
            Ok(Where::Device(gpu)) => Some(gpu),
            Ok(Where::Host | Where::Pageable) => None,
            Err(_) => Some(gpu), // a graph's, which was freed since
        };
        match (place(from), place(to)) {
            (None, None) => "host-copy".to_owned(),
            (None, Some(_)) => "upload".to_owned(),
            (Some(_), None) => "download".to_owned(),
            (Some(from), Some(to)) if from == to => "copy".to_owned(),
            (Some(from), Some(to)) => format!("peer {from} {to}"),
        }
    }

    /// Notes what a kernel has read and written that has just run, or failed.
    pub(crate) fn note_touched(&mut self, ticket: Ticket) {
        let touched = self.memory.content.take_touched();
        let Some(kept) = &mut self.ledger.kept else { return };
        let Some(number) = kept.numbers.get(&ticket) else { return };
        let operation = &mut kept.operations[number - 1];
        for Touched { address, read, written } in touched {
            let Some(buffer) = self.memory.content.buffer(address) else {
                continue;
            };
            let part = |range: &Range<u64>| {
                let whole = Part::whole(buffer.name, buffer.address, buffer.bytes);
                let addresses = address + range.start..address + range.end;
                Part { addresses, ..whole }
            };
            operation.read.extend(read.iter().map(part));
            operation.written.extend(written.iter().map(part));
        }
    }
}

/// Begins a new ledger. What was queued before is not in it.
#[cfg_attr(not(for_tests), unsafe(no_mangle))]
#[allow(non_snake_case)]
extern "C" fn workbookEmulatorLedgerStart() {
    let mut driver = Driver::lock();
    let managed = driver.memory.managed();
    let managed = managed.map(|(address, bytes)| (0, address, bytes)).collect();
    driver.ledger.kept = Some(Kept { managed, ..Kept::default() });
}

/// Tells the ledger, as text of at most `room` bytes with a NUL at its end; returns how many
/// bytes it needs, and with too little room tells nothing. The text is empty if no ledger was
/// begun.
///
/// # Safety
///
/// `text` is null, or `room` bytes can be written there.
#[cfg_attr(not(for_tests), unsafe(no_mangle))]
#[allow(non_snake_case)]
unsafe extern "C" fn workbookEmulatorLedger(text: *mut c_char, room: usize) -> usize {
    let told = std::panic::catch_unwind(|| Driver::lock().ledger.tell());
    let told = told.unwrap_or_default();
    // SAFETY: the caller has as much room as it says.
    unsafe { hand_over(&told, text, room) };
    told.len() + 1
}

/// Calls memory by a name, in the ledger: from `address` to where another name begins, or to
/// the end of its buffer. Nothing happens if the driver holds no memory there.
///
/// # Safety
///
/// `name` is a text that ends with a NUL.
#[cfg_attr(not(for_tests), unsafe(no_mangle))]
#[allow(non_snake_case)]
unsafe extern "C" fn workbookEmulatorName(address: u64, name: *const c_char) {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let name = name.replace(char::is_control, " "); // a record is a line
    let mut driver = Driver::lock();
    let buffer = driver.memory.around(address).map(|(_, held)| held.name.clone());
    if let Some(buffer) = buffer {
        driver.ledger.names.entry(buffer).or_default().insert(address, name);
    }
}
