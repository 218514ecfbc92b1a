//! What each piece of work comes after, by the rules of streams, whatever has been done when it
//! is queued; and what the host has waited for: the orders of a ledger.
//!
//! Streams other than the legacy default ones are numbered in the order in which they are told
//! of.

use std::collections::BTreeMap;
use std::ops::Range;

use ledger::{Kind, Wait};

use crate::queue::{self, Ticket};

/// The orders of all work since a ledger began.
#[derive(Default)]
pub struct Orders {
    /// What is known of streams, by their queues.
    lines: BTreeMap<u32, Line>,
    streams: usize,
    queued: usize,
    numbers: BTreeMap<Ticket, usize>,
    waits: Vec<Wait>,
    /// Memory of pools, and which operation freed it.
    freed: Vec<(Range<u64>, usize)>,
}

/// What is known of a queue. It stays when the queue goes.
struct Line {
    stream: usize,
    context: usize,
    kind: queue::Kind,
    /// The last operation, and the last one that the host waited for; 0 for none.
    last: usize,
    waited: usize,
}

/// A place among the operations of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Its number there, from 1 on.
    pub number: usize,
    /// Number of the stream.
    pub stream: usize,
    /// The operations that it directly comes after.
    pub after: Vec<usize>,
}

/// What the host has waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// A piece of work.
    For(Ticket),
    /// All that is in a queue.
    Queue(u32),
    /// All that is in a context.
    Context(usize),
    /// Everything.
    All,
}

impl Orders {
    /// Notes a stream, which gets the next number, unless it is known.
    pub fn stream(&mut self, queue: u32, context: usize, kind: queue::Kind) {
        self.lines.entry(queue).or_insert_with(|| {
            self.streams += usize::from(kind != queue::Kind::Legacy);
            let stream = if kind == queue::Kind::Legacy { 0 } else { self.streams };
            Line { stream, context, kind, last: 0, waited: 0 }
        });
    }

    /// Notes the queue of a graph's lane, which counts as the stream of `queue`.
    pub fn lane(&mut self, lane: u32, queue: u32) {
        let Some(Line { stream, context, .. }) = self.lines.get(&queue) else {
            return;
        };
        let (stream, context, kind) = (*stream, *context, queue::Kind::NonBlocking);
        let line = Line { stream, context, kind, last: 0, waited: 0 };
        self.lines.insert(lane, line);
    }

    /// Notes, for each queue, up to where the host has waited.
    pub fn waited(&mut self, what: Waited) {
        let number = |ticket| self.numbers.get(&ticket).copied().unwrap_or(0);
        for (queue, line) in &mut self.lines {
            let number = match what {
                Waited::For(ticket) if ticket.queue == *queue => number(ticket),
                Waited::Queue(waited) if waited == *queue => line.last,
                Waited::Context(context) if context == line.context => line.last,
                Waited::All => line.last,
                _ => 0,
            };
            if number > line.waited {
                line.waited = number;
                self.waits.push(Wait { queued: self.queued, operation: number });
            }
        }
    }

    /// What the host has waited for, in its order.
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// The number of a piece of work.
    pub fn number(&self, ticket: Ticket) -> Option<usize> {
        self.numbers.get(&ticket).copied()
    }

    /// Adds work that was queued behind `after`; nothing, if its queue is not known. Memory is
    /// that which it makes or frees.
    pub fn add(
        &mut self,
        ticket: Ticket,
        after: &[Ticket],
        kind: &Kind,
        memory: Option<&Range<u64>>,
    ) -> Option<Order> {
        let line = self.lines.get(&ticket.queue)?;
        let made = memory.filter(|_| *kind == Kind::Allocate);
        let waits = after.iter().filter_map(|ticket| self.numbers.get(ticket));
        let mut before: Vec<usize> = waits.copied().collect();
        before.push(line.last);
        before.extend(self.implied(line));
        before.extend(self.freed_before(made));
        before.retain(|number| *number > 0);
        before.sort_unstable();
        before.dedup();
        self.queued += 1;
        let order = Order { number: self.queued, stream: line.stream, after: before };
        if let Some(line) = self.lines.get_mut(&ticket.queue) {
            line.last = order.number;
        }
        self.numbers.insert(ticket, order.number);
        if let Some(made) = made {
            let again = |freed: &Range<u64>| made.start <= freed.start && freed.end <= made.end;
            self.freed.retain(|(freed, _)| !again(freed));
        }
        if let Some(freed) = memory.filter(|_| *kind == Kind::Free) {
            self.freed.push((freed.clone(), order.number));
        }
        Some(order)
    }

    /// What the legacy default stream waits for, and what waits for it, done or not.
    fn implied(&self, line: &Line) -> Vec<usize> {
        let wanted = match line.kind {
            queue::Kind::Legacy => queue::Kind::Blocking,
            queue::Kind::Blocking => queue::Kind::Legacy,
            queue::Kind::NonBlocking => return vec![],
        };
        let others = self
            .lines
            .values()
            .filter(|other| other.context == line.context && other.kind == wanted);
        others.map(|other| other.last).collect()
    }

    /// What freed the memory that is made: a pool gives it out again only after that.
    fn freed_before(&self, made: Option<&Range<u64>>) -> Vec<usize> {
        let overlaps = |freed: &&(Range<u64>, usize)| {
            made.is_some_and(|made| freed.0.start < made.end && made.start < freed.0.end)
        };
        self.freed.iter().filter(overlaps).map(|(_, number)| *number).collect()
    }
}
