//! Graphs: work that a stream captured instead of doing it.
//!
//! A graph has a lane for each stream that took part, and its launch is a queue for each
//! lane. So work of different lanes is no more ordered than the events say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use crate::watch::Noted;
use crate::work::Work;

/// A place in a graph: the `index`th piece of work of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) lane: usize,
    index: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// In the order in which it was captured, so that what comes later waits for earlier.
    pub(crate) nodes: Vec<(Place, Node)>,
    pub(crate) lanes: usize,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) work: Work,
    /// Work of other lanes that it waits for.
    pub(crate) after: Vec<Place>,
    /// Memory of the host's that it copies.
    pub(crate) host: Vec<HostPart>,
}

#[derive(Debug)]
pub(crate) enum HostPart {
    /// That the driver knows: where, and what it was called.
    Known(u64, String),
    /// Pageable memory, and whether the program was told that it has changed since.
    Pageable(Noted, AtomicBool),
}

/// A capture that has not ended.
pub(crate) struct Capture {
    /// The queue whose stream began it.
    pub(crate) origin: u32,
    pub(crate) graph: Graph,
    pub(crate) lanes: BTreeMap<u32, Lane>,
    /// Something forbidden was tried; there will be no graph.
    pub(crate) invalid: bool,
}

#[derive(Default)]
pub(crate) struct Lane {
    number: usize,
    length: usize,
    /// What the next piece of work waits for.
    after: Vec<Place>,
}

impl Capture {
    pub(crate) fn of(origin: u32) -> Capture {
        let graph = Graph { nodes: vec![], lanes: 1 };
        let lanes = BTreeMap::from([(origin, Lane::default())]);
        Capture { origin, graph, lanes, invalid: false }
    }

    pub(crate) fn add(&mut self, queue: u32, work: Work, host: Vec<HostPart>) -> Option<Place> {
        let lane = self.lanes.get_mut(&queue)?;
        let place = Place { lane: lane.number, index: lane.length };
        lane.length += 1;
        let after = std::mem::take(&mut lane.after);
        self.graph.nodes.push((place, Node { work, after, host }));
        Some(place)
    }

    /// What `queue` captures from now on comes after `place`; it takes part if it did not.
    pub(crate) fn wait(&mut self, queue: u32, place: Place) {
        let next = self.graph.lanes;
        let lane = self.lanes.entry(queue).or_insert_with(|| {
            self.graph.lanes += 1;
            Lane { number: next, ..Lane::default() }
        });
        lane.after.push(place);
    }

    /// Whether the stream that began it waits for all that the others have captured.
    pub(crate) fn is_joined(&self) -> bool {
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
