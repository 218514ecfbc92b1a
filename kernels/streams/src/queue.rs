//! Queues of work, one for each stream, and which of it may run next.
//!
//! Nothing runs when it is queued. It runs when somebody waits for it, and then only what
//! it depends on: the work before it in its stream, and the events that its stream waits
//! for. So work that nobody waits for comes as late as the order of streams allows, which
//! is a schedule that real hardware may have, too.

use std::collections::{BTreeMap, VecDeque};

/// Names one piece of queued work: the `number`th of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// The queue.
    pub queue: u32,
    /// Its place there, from 1 on.
    pub number: u64,
}

impl Ticket {
    /// Ticket of work that was done long ago.
    pub const DONE: Ticket = Ticket { queue: 0, number: 0 };
}

/// How a stream stands to its context's legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is that stream.
    Legacy,
    /// Work here and there waits for each other.
    Blocking,
    /// No order between the two.
    NonBlocking,
}

/// A stream, with the work that waits in it.
pub struct Queue<W> {
    /// Handle of its context.
    pub context: usize,
    /// How it stands to the default stream.
    pub kind: Kind,
    queued: u64,
    done: u64,
    waiting: VecDeque<Item<W>>,
    /// Up to where it waits for other queues, by queue.
    awaited: BTreeMap<u32, u64>,
    /// The first piece of work has been taken out and has not ended.
    running: bool,
    /// The stream is gone, and the queue goes when it is empty.
    retired: bool,
}

struct Item<W> {
    work: W,
    after: Vec<Ticket>,
}

/// What stands between now and the end of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it has been done.
    Done,
    /// The first piece of this queue, which can run.
    First(u32),
    /// Something that runs on another thread.
    Running,
}

/// All queues. `W` is a piece of work.
pub struct Queues<W> {
    all: BTreeMap<u32, Queue<W>>,
    opened: u32,
}

impl<W> Default for Queues<W> {
    fn default() -> Self {
        Queues { all: BTreeMap::new(), opened: 0 }
    }
}

impl<W> Queues<W> {
    /// Opens a queue, and gives its number.
    pub fn open(&mut self, context: usize, kind: Kind) -> u32 {
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

    /// The queue with this number, if it is there.
    pub fn get(&self, queue: u32) -> Option<&Queue<W>> {
        self.all.get(&queue)
    }

    /// Lets a queue go when all of its work is done.
    pub fn retire(&mut self, queue: u32) {
        if let Some(found) = self.all.get_mut(&queue) {
            found.retired = true;
        }
        self.forget_if_over(queue);
    }

    /// Queues work behind what is in `queue`, and behind `after`.
    pub fn push(&mut self, queue: u32, work: W, mut after: Vec<Ticket>) -> Ticket {
        after.extend(self.implied(queue));
        after.retain(|ticket| !self.is_done(*ticket));
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
    pub fn last(&self, queue: u32) -> Option<Ticket> {
        let found = self.get(queue).filter(|found| !found.is_idle())?;
        Some(Ticket { queue, number: found.queued })
    }

    /// The last undone work of every queue of a context.
    pub fn last_of_context(&self, context: usize) -> Vec<Ticket> {
        let queues = self.all.iter().filter(|(_, queue)| queue.context == context);
        queues.filter_map(|(id, _)| self.last(*id)).collect()
    }

    /// The last undone work of every queue.
    pub fn last_of_all(&self) -> Vec<Ticket> {
        self.all.keys().filter_map(|id| self.last(*id)).collect()
    }

    /// Whether what is queued next in `queue` comes after this in any case.
    pub fn is_awaited(&self, queue: u32, ticket: Ticket) -> bool {
        let awaited = self.get(queue).and_then(|found| found.awaited.get(&ticket.queue));
        awaited.is_some_and(|number| *number >= ticket.number)
    }

    /// Whether this has been done.
    pub fn is_done(&self, ticket: Ticket) -> bool {
        self.get(ticket.queue).is_none_or(|queue| queue.done >= ticket.number)
    }

    /// The last work of the first queue in which work that is meant still waits.
    pub fn waiting(&self, is_meant: impl Fn(&W) -> bool) -> Option<Ticket> {
        self.all.iter().find_map(|(id, queue)| {
            let place = queue.waiting.iter().rposition(|item| is_meant(&item.work))? as u64;
            let before = queue.done + u64::from(queue.running);
            Some(Ticket { queue: *id, number: before + place + 1 })
        })
    }

    /// What to do next so that `ticket` gets done.
    pub fn next_towards(&self, ticket: Ticket) -> Next {
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
    pub fn ready(&self) -> Vec<u32> {
        let ready = self.all.iter().filter(|(_, queue)| {
            let free = !queue.running && !queue.waiting.is_empty();
            free && queue.first_obstacle(self).is_none()
        });
        ready.map(|(id, _)| *id).collect()
    }

    /// Takes the first piece of work out of a queue, to run it.
    pub fn begin(&mut self, queue: u32) -> Option<(Ticket, W)> {
        let found = self.all.get_mut(&queue)?;
        let item = found.waiting.pop_front()?;
        found.running = true;
        Some((Ticket { queue, number: found.done + 1 }, item.work))
    }

    /// The work that was taken out of a queue has ended.
    pub fn end(&mut self, queue: u32) {
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

impl<W> Queue<W> {
    /// Whether all of its work is done.
    pub fn is_idle(&self) -> bool {
        self.done == self.queued
    }

    fn first_obstacle(&self, queues: &Queues<W>) -> Option<Ticket> {
        let first = self.waiting.front()?;
        first.after.iter().copied().find(|ticket| !queues.is_done(*ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(queues: &mut Queues<()>, ticket: Ticket) -> Vec<u32> {
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
        let first = queues.push(a, (), vec![]);
        let late = queues.push(a, (), vec![]);
        let waiting = queues.push(b, (), vec![first]);
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
        queues.push(other_context, (), vec![]);
        queues.push(blocking, (), vec![]);
        queues.push(legacy, (), vec![]);
        let last = queues.push(blocking, (), vec![]);
        assert_eq!(drained(&mut queues, last), [blocking, legacy, blocking]);
    }

    #[test]
    fn a_retired_queue_goes_when_it_is_empty() {
        let mut queues = Queues::default();
        let queue = queues.open(1, Kind::NonBlocking);
        let ticket = queues.push(queue, (), vec![]);
        queues.retire(queue);
        assert!(!queues.is_done(ticket));
        assert_eq!(drained(&mut queues, ticket), [queue]);
        assert!(queues.get(queue).is_none() && queues.is_done(ticket));
    }
}
