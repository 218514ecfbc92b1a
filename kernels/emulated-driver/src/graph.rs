//! Graphs: work that a stream captured instead of doing it.
//!
//! A graph has a lane for each stream that took part, and its launch is a queue for each
//! lane. So work of different lanes is no more ordered than the events say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cudarc::driver::sys::CUresult::*;

use crate::answer::Answer;
use crate::driver::{Event, Recorded, Session};
use crate::queue::{Kind, Ticket};
use crate::work::Work;

/// A place in a graph: the `index`th piece of work of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    lane: usize,
    index: usize,
}

/// Captured work.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// In the order in which it was captured, so that what comes later waits for earlier.
    nodes: Vec<(Place, Node)>,
    lanes: usize,
}

#[derive(Debug)]
struct Node {
    work: Work,
    /// Of other lanes.
    after: Vec<Place>,
    /// Memory of the host's that it copies: where, and what it was called.
    host: Vec<(u64, String)>,
}

/// A capture that has not ended.
pub(crate) struct Capture {
    /// The queue whose stream began it.
    origin: u32,
    graph: Graph,
    lanes: BTreeMap<u32, Lane>,
    /// Something forbidden was tried; there will be no graph.
    invalid: bool,
}

#[derive(Default)]
struct Lane {
    number: usize,
    length: usize,
    /// What the next piece of work waits for.
    after: Vec<Place>,
}

impl Capture {
    fn of(origin: u32) -> Capture {
        let graph = Graph { nodes: vec![], lanes: 1 };
        let lanes = BTreeMap::from([(origin, Lane::default())]);
        Capture { origin, graph, lanes, invalid: false }
    }

    fn add(&mut self, queue: u32, work: Work, host: Vec<(u64, String)>) -> Option<Place> {
        let lane = self.lanes.get_mut(&queue)?;
        let place = Place { lane: lane.number, index: lane.length };
        lane.length += 1;
        let after = std::mem::take(&mut lane.after);
        self.graph.nodes.push((place, Node { work, after, host }));
        Some(place)
    }

    /// What `queue` captures from now on comes after `place`; it takes part if it did not.
    fn wait(&mut self, queue: u32, place: Place) {
        let next = self.graph.lanes;
        let lane = self.lanes.entry(queue).or_insert_with(|| {
            self.graph.lanes += 1;
            Lane { number: next, ..Lane::default() }
        });
        lane.after.push(place);
    }

    /// Whether the stream that began it waits for all that the others have captured.
    fn is_joined(&self) -> bool {
        let origin = &self.lanes[&self.origin];
        let before =
            |place: Place| place.index.checked_sub(1).map(|index| Place { index, ..place });
        let mut wanted = origin.after.clone();
        wanted.extend(before(Place { lane: origin.number, index: origin.length }));
        let nodes: BTreeMap<_, _> = self.graph.nodes.iter().map(|(p, n)| (*p, n)).collect();
        let mut seen = BTreeSet::new();
        while let Some(place) = wanted.pop() {
            if seen.insert(place) {
                wanted.extend(before(place));
                wanted.extend(nodes.get(&place).into_iter().flat_map(|node| &node.after));
            }
        }
        seen.len() == self.graph.nodes.len()
    }
}

impl Session {
    fn capture_of(&mut self, queue: u32) -> Option<(u64, &mut Capture)> {
        let mut captures = self.captures.iter_mut();
        let found = captures.find(|(_, capture)| capture.lanes.contains_key(&queue))?;
        Some((*found.0, found.1))
    }

    /// As the API numbers it: none, active, invalidated.
    pub(crate) fn capture_status(&mut self, queue: u32) -> u32 {
        self.capture_of(queue).map_or(0, |(_, capture)| 1 + u32::from(capture.invalid))
    }

    pub(crate) fn is_capturing(&mut self, queue: u32) -> bool {
        self.capture_of(queue).is_some()
    }

    /// Whether a stream of this context captures.
    pub(crate) fn captures_in(&self, context: usize) -> bool {
        let mut queues = self.captures.values().flat_map(|capture| capture.lanes.keys());
        queues.any(|queue| self.queues.get(*queue).is_some_and(|q| q.context == context))
    }

    /// An error if the stream captures: the call would need work to be done.
    pub(crate) fn forbid_capture(&mut self, queue: u32) -> Answer {
        let Some((_, capture)) = self.capture_of(queue) else { return Ok(()) };
        capture.invalid = true;
        self.refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream is capturing")
    }

    /// Adds work to what a stream captures, if it does.
    pub(crate) fn add_to_capture(&mut self, queue: u32, work: &Work) -> Answer<bool> {
        if !self.is_capturing(queue) {
            return Ok(false);
        }
        let host = self.host_memory_of(work);
        let Some((_, capture)) = self.capture_of(queue) else { return Ok(false) };
        if capture.invalid {
            return Err(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
        capture.add(queue, work.clone(), host);
        Ok(true)
    }

    /// The memory of the host's, as far as the driver knows it, that work copies.
    fn host_memory_of(&self, work: &Work) -> Vec<(u64, String)> {
        let Work::Copy { to, from, .. } = *work else { return vec![] };
        let host = [to, from].into_iter().filter_map(|address| {
            let (_, holding) = self.memory.around(address)?;
            holding.host.is_some().then(|| (address, holding.name.clone()))
        });
        host.collect()
    }

    /// An error if a graph copies memory of the host's that is no longer what it was.
    fn check_host_memory(&self, graph: &Graph) -> Answer {
        for (address, name) in graph.nodes.iter().flat_map(|(_, node)| &node.host) {
            let why = match self.memory.around(*address) {
                Some((_, holding)) if holding.name == *name => continue,
                Some((_, now)) => format!("it is in {} now", now.name),
                None => self.memory.nobodys(*address),
            };
            let why = format!("the graph copies {name} at {address:#x}, but {why}");
            return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
        }
        Ok(())
    }

    /// Records an event: in a queue, or in what its stream captures.
    pub(crate) fn record(&mut self, queue: u32) -> Answer<Recorded> {
        if let Some((number, capture)) = self.capture_of(queue) {
            let place = capture.add(queue, Work::Record, vec![]).ok_or(CUDA_ERROR_UNKNOWN)?;
            return Ok(Recorded::Captured { capture: number, place });
        }
        let ticket = self.push(queue, Work::Record, vec![]);
        self.stray();
        Ok(Recorded::Queued(ticket))
    }

    /// Lets a stream wait for an event.
    pub(crate) fn wait_event(&mut self, queue: u32, event: usize) -> Answer {
        let event = self.events.get(event).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        match event.recorded {
            None => Ok(()),
            Some(Recorded::Queued(ticket)) => {
                if let Some((_, capture)) = self.capture_of(queue) {
                    capture.invalid = true;
                    return self.refuse(
                        CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                        "the stream is capturing, and the event was recorded outside",
                    );
                }
                self.push(queue, Work::Wait, vec![ticket]);
                self.stray();
                Ok(())
            }
            Some(Recorded::Captured { capture, place }) => {
                let other = self.capture_of(queue).map(|(number, _)| number);
                if other.is_some_and(|number| number != capture) {
                    return Err(CUDA_ERROR_STREAM_CAPTURE_MERGE);
                }
                let Some(capture) = self.captures.get_mut(&capture) else {
                    return Err(CUDA_ERROR_CAPTURED_EVENT);
                };
                capture.wait(queue, place);
                Ok(())
            }
        }
    }

    pub(crate) fn begin_capture(&mut self, queue: u32) -> Answer {
        if self.queues.get(queue).is_some_and(|queue| queue.kind == Kind::Legacy) {
            return self.refuse(
                CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "the legacy default stream cannot capture",
            );
        }
        if self.is_capturing(queue) {
            return Err(CUDA_ERROR_ILLEGAL_STATE);
        }
        let number = self.captures.last_key_value().map_or(1, |(last, _)| last + 1);
        self.captures.insert(number, Capture::of(queue));
        Ok(())
    }

    pub(crate) fn end_capture(&mut self, queue: u32) -> Answer<Graph> {
        let (number, capture) = self.capture_of(queue).ok_or(CUDA_ERROR_ILLEGAL_STATE)?;
        if capture.origin != queue {
            return Err(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        }
        let capture = self.captures.remove(&number).ok_or(CUDA_ERROR_UNKNOWN)?;
        if capture.invalid {
            return Err(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
        if !capture.is_joined() {
            return self.refuse(
                CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                "the stream that began the capture does not wait for all the others",
            );
        }
        Ok(capture.graph)
    }

    /// Queues a graph's work behind what is in `queue`.
    pub(crate) fn launch_graph(&mut self, graph: &Arc<Graph>, queue: u32) -> Answer {
        self.forbid_capture(queue)?; // a graph inside a graph is not supported
        self.check_host_memory(graph)?;
        let context = self.queues.get(queue).map(|queue| queue.context);
        let context = context.ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        let start = self.push(queue, Work::Nothing, vec![]);
        let lanes: Vec<u32> =
            (0..graph.lanes).map(|_| self.queues.open(context, Kind::NonBlocking)).collect();
        lanes.iter().for_each(|lane| self.ledger.lane(*lane, queue));
        let mut tickets: BTreeMap<Place, Ticket> = BTreeMap::new();
        for (place, node) in &graph.nodes {
            let mut after: Vec<_> =
                node.after.iter().filter_map(|place| tickets.get(place)).copied().collect();
            after.push(start);
            let ticket = self.push(lanes[place.lane], node.work.clone(), after);
            tickets.insert(*place, ticket);
        }
        let ends = lanes.iter().filter_map(|lane| self.queues.last(*lane)).collect();
        self.push(queue, Work::Nothing, ends);
        for lane in lanes {
            self.queues.retire(lane);
        }
        self.stray();
        Ok(())
    }
}

impl Event {
    /// The work that an event stands for; `None` if it was never recorded.
    pub(crate) fn ticket(&self) -> Answer<Option<Ticket>> {
        match self.recorded {
            None => Ok(None),
            Some(Recorded::Queued(ticket)) => Ok(Some(ticket)),
            Some(Recorded::Captured { .. }) => Err(CUDA_ERROR_CAPTURED_EVENT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_has_to_come_back_to_where_it_began() {
        let mut capture = Capture::of(1);
        let begun = capture.add(1, Work::Nothing, vec![]).unwrap();
        capture.wait(2, begun);
        let aside = capture.add(2, Work::Nothing, vec![]).unwrap();
        assert!(!capture.is_joined());
        capture.wait(1, aside);
        assert!(capture.is_joined());
        capture.add(2, Work::Nothing, vec![]);
        assert!(!capture.is_joined());
    }
}
