//! Graphs by capture.

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_ulonglong};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use cudarc::driver::sys::CUresult::*;
use streams::Ticket;
use streams::queue::Kind;

use crate::answer::{Answer, require};
use crate::call::{Out, api};
use crate::driver::{Recorded, Session, report};
use crate::graph::{Capture, Graph, HostPart, Place};
use crate::host;
use crate::memory::Where;
use crate::watch::Noted;
use crate::work::Work;

/// Flags of an executable graph that may be combined: free on launch, upload, priorities.
const EXECUTABLE_FLAGS: c_ulonglong = 0b1011;

impl Session {
    fn capture_of(&mut self, queue: u32) -> Option<(u64, &mut Capture)> {
        let mut captures = self.captures.iter_mut();
        let found = captures.find(|(_, capture)| capture.lanes.contains_key(&queue))?;
        Some((*found.0, found.1))
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
        require(!capture.invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)?;
        capture.add(queue, work.clone(), host);
        Ok(true)
    }

    /// The memory of the host's that work copies, unless it is a target that the driver does
    /// not know.
    fn host_memory_of(&self, work: &Work) -> Vec<HostPart> {
        let Work::Copy { to, from, bytes, .. } = *work else { return vec![] };
        let known = [to, from].into_iter().filter_map(|address| {
            let (_, holding) = self.memory.around(address)?;
            holding.host.is_some().then(|| HostPart::Known(address, holding.name.clone()))
        });
        let mut parts: Vec<_> = known.collect();
        if self.memory.locate(from, bytes) == Ok(Where::Pageable) {
            // SAFETY: the program has just asked to copy from there.
            let noted = unsafe { Noted::new(from as usize, bytes as usize, self.host_writes) };
            parts.push(HostPart::Pageable(noted, AtomicBool::new(false)));
        }
        parts
    }

    /// An error if a graph copies memory of the host's that is no longer what it was.
    fn check_host_memory(&self, graph: &Graph) -> Answer {
        for part in graph.nodes.iter().flat_map(|(_, node)| &node.host) {
            let (address, name) = match part {
                HostPart::Known(address, name) => (address, name),
                HostPart::Pageable(noted, told) => {
                    self.check_pageable(noted, told)?;
                    continue;
                }
            };
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

    /// An error if the program does not have memory any more that a graph copies. Where it is,
    /// it may have been freed, too, and then mostly holds something else.
    fn check_pageable(&self, noted: &Noted, told: &AtomicBool) -> Answer {
        let (start, bytes) = noted.range();
        let copies = format!("the graph copies {bytes} bytes of pageable memory at {start:#x}");
        if !host::is_mapped(start, bytes) {
            let why = format!("{copies}, which the program does not have any more");
            return self.refuse(CUDA_ERROR_INVALID_VALUE, &why);
        }
        // SAFETY: the program has it.
        if unsafe { noted.differs() } && !told.swap(true, Relaxed) {
            let what = "which has changed since they were captured: was that memory freed, or is \
                        the change meant?";
            report(self.call, &format!("{copies}, {what}"));
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
                let is_same = other.is_none_or(|number| number == capture);
                require(is_same, CUDA_ERROR_STREAM_CAPTURE_MERGE)?;
                let capture = self.captures.get_mut(&capture).ok_or(CUDA_ERROR_CAPTURED_EVENT)?;
                capture.wait(queue, place);
                Ok(())
            }
        }
    }

    /// Queues a graph's work behind what is in `queue`.
    fn launch_graph(&mut self, graph: &Arc<Graph>, queue: u32) -> Answer {
        self.forbid_capture(queue)?; // a graph inside a graph is not supported
        self.check_host_memory(graph)?;
        let context = self.queues.get(queue).map(|queue| queue.context);
        let context = context.ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        let start = self.push(queue, Work::Nothing, vec![]);
        let lanes: Vec<u32> =
            (0..graph.lanes).map(|_| self.queues.open(context, Kind::NonBlocking)).collect();
        lanes.iter().for_each(|lane| self.recorder.lane(*lane, queue));
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

api! {
    fn cuStreamBeginCapture_v2(session, stream: usize, mode: c_uint) {
        let queue = session.queue(stream)?;
        require(mode <= 2, CUDA_ERROR_INVALID_VALUE)?;
        if session.queues.get(queue).is_some_and(|queue| queue.kind == Kind::Legacy) {
            return session.refuse(
                CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "the legacy default stream cannot capture",
            );
        }
        require(!session.is_capturing(queue), CUDA_ERROR_ILLEGAL_STATE)?;
        let number = session.captures.last_key_value().map_or(1, |(last, _)| last + 1);
        session.captures.insert(number, Capture::of(queue));
    }

    fn cuStreamEndCapture(session, stream: usize, graph: Out<usize>) {
        let queue = session.queue(stream)?;
        graph.check()?;
        let (number, capture) = session.capture_of(queue).ok_or(CUDA_ERROR_ILLEGAL_STATE)?;
        require(capture.origin == queue, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)?;
        let capture = session.captures.remove(&number).ok_or(CUDA_ERROR_UNKNOWN)?;
        require(!capture.invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)?;
        if !capture.is_joined() {
            return session.refuse(
                CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                "the stream that began the capture does not wait for all the others",
            );
        }
        graph.set(session.graphs.insert(Arc::new(capture.graph)))?;
    }

    /// The status as the API numbers it: none, active, invalidated.
    fn cuStreamIsCapturing(session, stream: usize, status: Out<c_uint>) {
        let queue = session.queue(stream)?;
        let capture = session.capture_of(queue);
        status.set(capture.map_or(0, |(_, capture)| 1 + c_uint::from(capture.invalid)))?;
    }

    fn cuGraphInstantiateWithFlags(
        session, executable: Out<usize>, graph: usize, flags: c_ulonglong,
    ) {
        executable.check()?;
        let graph = session.graphs.get(graph).ok_or(CUDA_ERROR_INVALID_VALUE)?.clone();
        require(flags & !EXECUTABLE_FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
        executable.set(session.executables.insert(graph))?;
    }

    /// There is nothing to bring to the GPU in advance.
    fn cuGraphUpload(session, executable: usize, stream: usize) {
        session.queue(stream)?;
        session.executables.get(executable).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    }

    fn cuGraphLaunch(session, executable: usize, stream: usize) {
        let queue = session.queue(stream)?;
        let graph = session.executables.get(executable).ok_or(CUDA_ERROR_INVALID_VALUE)?.clone();
        session.launch_graph(&graph, queue)?;
    }

    /// What was launched keeps what it needs.
    fn cuGraphExecDestroy(session, executable: usize) {
        session.executables.remove(executable).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    }

    fn cuGraphClone(session, clone: Out<usize>, graph: usize) {
        clone.check()?;
        let graph = session.graphs.get(graph).ok_or(CUDA_ERROR_INVALID_VALUE)?.clone();
        clone.set(session.graphs.insert(graph))?;
    }

    fn cuGraphDestroy(session, graph: usize) {
        session.graphs.remove(graph).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    }
}
