//! What a program queues: the rules of streams order it, a schedule or declared costs run it.

use std::collections::BTreeMap;

use ledger::{Costs, Engine, Kind, Ledger, Operation, Run};
use streams::queue;
use streams::{Next, Order, Orders, Queues, Schedule, Ticket, Waited};

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};

/// A program's streams, and all that it has queued. `W` says what a piece of work does.
pub(super) struct Program<W> {
    pub(super) queues: Queues<W>,
    orders: Orders,
    schedule: Schedule,
    ledger: Ledger,
    done: Vec<W>,
}

/// The one context.
const CONTEXT: usize = 1;

impl<W> Program<W> {
    /// A program whose work is done in the order that this seed gives; without one, when
    /// somebody waits for it.
    pub(super) fn new(seed: Option<u64>) -> Self {
        Self {
            queues: Queues::default(),
            orders: Orders::default(),
            schedule: Schedule::new(seed),
            ledger: Ledger::default(),
            done: vec![],
        }
    }

    pub(super) fn stream(&mut self, kind: queue::Kind) -> u32 {
        let queue = self.queues.open(CONTEXT, kind);
        self.orders.stream(queue, CONTEXT, kind);
        queue
    }

    /// Queues work behind what is in a stream, and behind `after`.
    pub(super) fn call(
        &mut self,
        stream: u32,
        operation: Operation,
        does: W,
        after: &[Ticket],
    ) -> Ticket {
        let ticket = self.queues.push(stream, does, after.to_vec());
        let order = self.orders.add(ticket, after, &operation.kind, None);
        if let Some(Order { number, stream, after }) = order {
            self.ledger.operations.push(Operation { number, stream, after, ..operation });
        }
        while let Some(queue) = self.schedule.next(&self.queues) {
            self.run_first(queue);
        }
        ticket
    }

    /// The host waits for a piece of work.
    pub(super) fn wait(&mut self, ticket: Ticket) {
        loop {
            while let Some(queue) = self.schedule.next(&self.queues) {
                self.run_first(queue);
            }
            match self.queues.next_towards(ticket) {
                Next::First(queue) => self.run_first(queue),
                Next::Done | Next::Running => break,
            }
        }
        self.orders.waited(Waited::For(ticket));
    }

    fn run_first(&mut self, queue: u32) {
        if let Some((_, work)) = self.queues.begin(queue) {
            self.done.push(work);
            self.queues.end(queue);
        }
    }

    /// Waits for all work; tells the ledger until then, and what was done in which order.
    pub(super) fn end(mut self) -> (Ledger, Vec<W>) {
        self.ledger.waits = self.orders.waits().to_vec();
        for ticket in self.queues.last_of_all() {
            self.wait(ticket);
        }
        (self.ledger, self.done)
    }
}

impl Program<()> {
    /// Queues a step of some length. From or to pageable memory the host does not go on before a
    /// copy has ended.
    pub(super) fn step(&mut self, stream: u32, kind: Kind, length: u32, is_pageable: bool) {
        let is_copy = matches!(kind, Kind::Upload | Kind::Download);
        let ticket = self.call(stream, operation(kind, length.into()), (), &[]);
        if is_copy && is_pageable {
            self.wait(ticket);
        }
    }
}

/// An operation that has no place in a ledger yet.
pub(super) fn operation(kind: Kind, bytes: u64) -> Operation {
    let (after, read, written) = (vec![], vec![], vec![]);
    Operation { number: 0, stream: 0, gpu: 0, kind, bytes, after, read, written }
}

/// Costs of copies of a byte in a unit of time, and of kernels of that length.
pub(super) fn costs(kernel: u32) -> Costs {
    let kernels = BTreeMap::from([("kernel".to_owned(), f64::from(kernel))]);
    Costs { upload: 1.0, download: 1.0, kernels, ..Costs::default() }
}

/// A call that is dragged: what it is called, which row its stream is, and how it is filled.
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) row: usize,
    pub(super) pen: &'static str,
}

/// Draws the host's calls in their order, a stream in each row, and tells where that ends. `sets`
/// is what it means to drag the call of this name to a row and a column.
pub(super) fn calls(
    picture: &mut Picture,
    rows: &[&str],
    calls: &[Call],
    sets: impl Fn(&str, usize, usize) -> String,
) -> f64 {
    let (left, pitch, high) = (picture.pick(74.0, 64.0), 44.0, 36.0);
    let top = 20.0;
    let column = (picture.width - 2.0 - left) / calls.len() as f64;
    let cell = |row: usize, place: usize| {
        [left + place as f64 * column, top + row as f64 * pitch, column, high]
    };
    picture.text((1.0, 8.0), Anchor::Start, MUTED, "the host's calls, in their order");
    for (row, name) in rows.iter().enumerate() {
        let [x, y, ..] = cell(row, 0);
        picture.text((1.0, y + high / 2.0), Anchor::Start, INK, name);
        picture.cell([x, y, picture.width - 2.0 - left, high], MUTED, 0.05, false);
        for (place, Call { name, .. }) in
            (0..calls.len()).flat_map(|place| calls.iter().map(move |call| (place, call)))
        {
            picture.place(cell(row, place), name, &sets(name, row, place));
        }
    }
    for (place, Call { name, row, pen }) in calls.iter().enumerate() {
        let [x, y, width, high] = cell(*row, place);
        let area = [x + 3.0, y + 2.0, width - 6.0, high - 4.0];
        picture.cell(area, pen, 0.35, true);
        let text = format!("{}: {name}", place + 1);
        picture.text((x + width / 2.0, y + high / 2.0), Anchor::Middle, INK, &text);
        picture.handle(area, name);
    }
    top + rows.len() as f64 * pitch
}

/// Draws when everything runs, an engine in each row, and tells where it ends. `label` is what
/// stands in a box.
pub(super) fn timeline(
    picture: &mut Picture,
    top: f64,
    runs: &[Run],
    most: f64,
    label: impl Fn(usize) -> String,
) -> f64 {
    let (left, pitch) = picture.pick((74.0, 34.0), (64.0, 42.0));
    let high = pitch - 8.0;
    let scale = (picture.width - 2.0 - left) / most;
    let rows = [("upload", MEMORY), ("kernel", COMPUTE), ("download", MEMORY)];
    for (row, (name, _)) in rows.iter().enumerate() {
        let y = top + row as f64 * pitch;
        picture.text((1.0, y + high / 2.0), Anchor::Start, INK, name);
        picture.cell([left, y, picture.width - 2.0 - left, high], MUTED, 0.05, false);
    }
    for run in runs {
        let row = match run.engine {
            Some(Engine::Upload(_)) => 0,
            Some(Engine::Compute(_)) => 1,
            Some(Engine::Download(_)) => 2,
            _ => continue,
        };
        let (x, width) = (left + run.start * scale, (run.end - run.start) * scale);
        let y = top + row as f64 * pitch;
        // An edge would cross the number of a short one.
        picture.cell([x, y, width, high], rows[row].1, 0.35, width > 10.0);
        picture.text((x + width / 2.0, y + high / 2.0), Anchor::Middle, INK, &label(run.number));
    }
    top + rows.len() as f64 * pitch + 15.0
}
