//! Queues of work, one for each stream, and which of it may run next.
//!
//! Nothing runs when it is queued. It runs when somebody waits for it, and then only what
//! it depends on: the work before it in its stream, and the events that its stream waits
//! for. So work that nobody waits for comes as late as the order of streams allows, which
//! is a schedule that real hardware may have, too.

use std::collections::{BTreeMap, VecDeque};

use crate::work::Work;

/// Names one piece of queued work: the `number`th of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket {
    pub(crate) queue: u32,
    pub(crate) number: u64,
}

impl Ticket {
    /// Ticket of work that was done long ago.
    pub(crate) const DONE: Ticket = Ticket { queue: 0, number: 0 };
}

/// How a stream stands to its context's legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Legacy,
    /// Work here and there waits for each other.
    Blocking,
    /// No order between the two.
    NonBlocking,
}

pub(crate) struct Queue {
    pub(crate) context: usize,
    pub(crate) kind: Kind,
    queued: u64,
    done: u64,
    waiting: VecDeque<Item>,
    /// Up to where it waits for other queues, by queue.
    awaited: BTreeMap<u32, u64>,
    /// The first piece of work has been taken out and has not ended.
    running: bool,
    /// The stream is gone, and the queue goes when it is empty.
    retired: bool,
}

struct Item {
    work: Work,
    after: Vec<Ticket>,
}

/// What stands between now and the end of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing: it has been done.
    Done,
    /// The first piece of this queue, which can run.
    First(u32),
    /// Something that runs on another thread.
    Running,
}

#[derive(Default)]
pub(crate) struct Queues {
    all: BTreeMap<u32, Queue>,
    opened: u32,
    /// What all work that was ever queued takes, in nanoseconds, on the clock of tests.
    pub(crate) clock: u64,
}

impl Queues {
    pub(crate) fn open(&mut self, context: usize, kind: Kind) -> u32 {
        self.opened += 1;
        let queue = Queue {
            context,
            kind,
            queued: 0,
            done: 0,
            waiting: VecDeque::new(),
            awaited: BTreeMap::new(),
            running: false,
            retired: false,
        };
        self.all.insert(self.opened, queue);
        self.opened
    }

    pub(crate) fn get(&self, queue: u32) -> Option<&Queue> {
        self.all.get(&queue)
    }

    /// Lets a queue go when all of its work is done.
    pub(crate) fn retire(&mut self, queue: u32) {
        if let Some(found) = self.all.get_mut(&queue) {
            found.retired = true;
        }
        self.forget_if_over(queue);
    }

    /// Queues work behind what is in `queue`, and behind `after`.
    pub(crate) fn push(&mut self, queue: u32, work: Work, mut after: Vec<Ticket>) -> Ticket {
        after.extend(self.implied(queue));
        after.retain(|ticket| !self.is_done(*ticket));
        self.clock += work.nanoseconds();
        let Some(found) = self.all.get_mut(&queue) else {
            return Ticket { queue, number: 0 };
        };
        for Ticket { queue, number } in &after {
            let awaited = found.awaited.entry(*queue).or_default();
            *awaited = (*awaited).max(*number);
        }
        found.waiting.push_back(Item { work, after });
        found.queued += 1;
        Ticket { queue, number: found.queued }
    }

    /// What the legacy default stream waits for, and what waits for it.
    fn implied(&self, queue: u32) -> Vec<Ticket> {
        let Some(me) = self.get(queue) else { return vec![] };
        let wanted = match me.kind {
            Kind::Legacy => Kind::Blocking,
            Kind::Blocking => Kind::Legacy,
            Kind::NonBlocking => return vec![],
        };
        let others = self.all.iter().filter(|(_, other)| {
            other.context == me.context && other.kind == wanted && !other.is_idle()
        });
        others.filter_map(|(id, _)| self.last(*id)).collect()
    }

    /// The last work of a queue that is not done.
    pub(crate) fn last(&self, queue: u32) -> Option<Ticket> {
        let found = self.get(queue).filter(|found| !found.is_idle())?;
        Some(Ticket { queue, number: found.queued })
    }

    /// The last undone work of every queue of a context.
    pub(crate) fn last_of_context(&self, context: usize) -> Vec<Ticket> {
        let queues = self.all.iter().filter(|(_, queue)| queue.context == context);
        queues.filter_map(|(id, _)| self.last(*id)).collect()
    }

    /// The last undone work of every queue.
    pub(crate) fn last_of_all(&self) -> Vec<Ticket> {
        self.all.keys().filter_map(|id| self.last(*id)).collect()
    }

    /// Whether what is queued next in `queue` comes after this in any case.
    pub(crate) fn is_awaited(&self, queue: u32, ticket: Ticket) -> bool {
        let awaited = self.get(queue).and_then(|found| found.awaited.get(&ticket.queue));
        awaited.is_some_and(|number| *number >= ticket.number)
    }

    pub(crate) fn is_done(&self, ticket: Ticket) -> bool {
        self.get(ticket.queue).is_none_or(|queue| queue.done >= ticket.number)
    }

    /// The work that is still to make the memory at an address.
    pub(crate) fn make_of(&self, address: u64) -> Option<Ticket> {
        self.all.iter().find_map(|(id, queue)| {
            let makes = |item: &Item| {
                matches!(item.work, Work::Make { address: made, .. } if made == address)
            };
            let place = queue.waiting.iter().rposition(makes)? as u64;
            let before = queue.done + u64::from(queue.running);
            Some(Ticket { queue: *id, number: before + place + 1 })
        })
    }

    /// What to do next so that `ticket` gets done.
    pub(crate) fn next_towards(&self, ticket: Ticket) -> Next {
        let mut wanted = ticket;
        while !self.is_done(wanted) {
            let Some(queue) = self.get(wanted.queue) else { break };
            if queue.running {
                return Next::Running;
            }
            // What waits has been queued later than what it waits for; so this ends.
            match queue.first_obstacle(self) {
                Some(obstacle) => wanted = obstacle,
                None => return Next::First(wanted.queue),
            }
        }
        Next::Done
    }

    /// The queues whose first piece of work could run now.
    pub(crate) fn ready(&self) -> Vec<u32> {
        let ready = self.all.iter().filter(|(_, queue)| {
            let free = !queue.running && !queue.waiting.is_empty();
            free && queue.first_obstacle(self).is_none()
        });
        ready.map(|(id, _)| *id).collect()
    }

    /// Takes the first piece of work out of a queue, to run it.
    pub(crate) fn begin(&mut self, queue: u32) -> Option<(Ticket, Work)> {
        let found = self.all.get_mut(&queue)?;
        let item = found.waiting.pop_front()?;
        found.running = true;
        Some((Ticket { queue, number: found.done + 1 }, item.work))
    }

    /// The work that was taken out of a queue has ended.
    pub(crate) fn end(&mut self, queue: u32) {
        if let Some(found) = self.all.get_mut(&queue) {
            found.running = false;
            found.done += 1;
        }
        self.forget_if_over(queue);
    }

    fn forget_if_over(&mut self, queue: u32) {
        if self.get(queue).is_some_and(|found| found.retired && found.is_idle()) {
            self.all.remove(&queue);
        }
    }
}

impl Queue {
    pub(crate) fn is_idle(&self) -> bool {
        self.done == self.queued
    }

    fn first_obstacle(&self, queues: &Queues) -> Option<Ticket> {
        let first = self.waiting.front()?;
        first.after.iter().copied().find(|ticket| !queues.is_done(*ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(queues: &mut Queues, ticket: Ticket) -> Vec<u32> {
        let mut order = vec![];
        while let Next::First(queue) = queues.next_towards(ticket) {
            queues.begin(queue);
            queues.end(queue);
            order.push(queue);
        }
        order
    }

    #[test]
    fn only_what_is_waited_for_runs() {
        let mut queues = Queues::default();
        let a = queues.open(1, Kind::NonBlocking);
        let b = queues.open(1, Kind::NonBlocking);
        let first = queues.push(a, Work::Nothing, vec![]);
        let late = queues.push(a, Work::Nothing, vec![]);
        let waiting = queues.push(b, Work::Nothing, vec![first]);
        assert_eq!(queues.ready(), [a]);
        assert_eq!(drained(&mut queues, waiting), [a, b]);
        assert!(queues.is_done(waiting) && !queues.is_done(late));
    }

    #[test]
    fn the_legacy_stream_waits_for_blocking_streams_and_they_for_it() {
        let mut queues = Queues::default();
        let legacy = queues.open(1, Kind::Legacy);
        let blocking = queues.open(1, Kind::Blocking);
        let other_context = queues.open(2, Kind::Blocking);
        queues.push(other_context, Work::Nothing, vec![]);
        queues.push(blocking, Work::Nothing, vec![]);
        queues.push(legacy, Work::Nothing, vec![]);
        let last = queues.push(blocking, Work::Nothing, vec![]);
        assert_eq!(drained(&mut queues, last), [blocking, legacy, blocking]);
    }

    #[test]
    fn a_retired_queue_goes_when_it_is_empty() {
        let mut queues = Queues::default();
        let queue = queues.open(1, Kind::NonBlocking);
        let ticket = queues.push(queue, Work::Nothing, vec![]);
        queues.retire(queue);
        assert!(!queues.is_done(ticket));
        assert_eq!(drained(&mut queues, ticket), [queue]);
        assert!(queues.get(queue).is_none() && queues.is_done(ticket));
    }
}
