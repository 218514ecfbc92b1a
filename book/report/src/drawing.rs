//! Drawings that explain: `{{drawing NAME}}`. Each has one idea, and is drawn by code in
//! the house style, wide and narrow, as charts are.
//!
//! | module | drawings |
//! |---|---|
//! | `machine` | what a machine is made of, and how its GPUs are joined |
//! | `multiprocessor` | what a multiprocessor is made of |
//! | `threads` | threads, blocks, from the grid to an address, and from a warp to sectors |
//! | `shared` | the banks of shared memory, and a tile that is transposed in it |
//! | `layouts` | structures in memory |
//! | `numbers` | formats of numbers |
//! | `kernels` | kernels that follow each other, and a square of sums that shares its loads |
//! | `host` | kinds of host memory, a page fault, a program's steps, and a loader's slots |
//! | `streams` | streams and engines, a pipeline, all-reduces beside products, and blocks that wait |
//! | `ring` | an all-reduce, step by step |
//! | `pool` | what a pool holds |
//! | `emulator` | the emulated GPU |
//! | `attention` | the matrix of scores that never exists |
//! | `together` | threads that make one number, or a place for each |
//! | `cuts` | a net that several GPUs share |
//! | `models` | what a model keeps: activations, keys and values, packed weights; micro-batches |
//! | `timetable` | timetables, and those of a copy between host and GPU |
//! | `moves` | timetables of memory that is carried, taken and given back |
//! | `queues` | timetables of calls, copies, launches and blocks |
//! | `shares` | timetables of what is shared: starts, a cache, a list of jobs, a host |
//! | `canvas` | the sheet, and what colours mean |
//! | `limits` | what bounds a kernel: room for its blocks, and the roof over what it can reach |
//! | `facts` | what a machine's records say |

mod attention;
mod canvas;
mod cuts;
mod emulator;
mod facts;
mod host;
mod kernels;
mod layouts;
mod limits;
mod machine;
mod models;
mod moves;
mod multiprocessor;
mod numbers;
mod pool;
mod queues;
mod ring;
mod shared;
mod shares;
mod streams;
mod threads;
mod timetable;
mod together;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::html::{escape, prose};
use crate::names::did_you_mean;
use crate::records::Records;
use crate::svg::{self, Width};
use canvas::Canvas;
use facts::{Facts, Of};

pub struct Drawing {
    /// What a page calls it; part of its id, `drawing-NAME`.
    pub name: &'static str,
    /// One sentence, for screen readers.
    title: &'static str,
    /// What is to be seen, for screen readers.
    description: &'static str,
    /// A sentence or two below it.
    caption: &'static str,
    /// Whose numbers it shows.
    of: Of,
    draw: fn(&mut Canvas, &Facts),
}

pub static ALL: [Drawing; 62] = [
    threads::THREADS,
    threads::BLOCKS,
    machine::MACHINE,
    threads::GRID,
    threads::SECTORS,
    shared::BANKS,
    shared::TILE,
    host::KINDS,
    host::FAULT,
    layouts::LAYOUTS,
    streams::STREAMS,
    streams::PIPELINE,
    streams::OVERLAP,
    streams::WAITING,
    machine::TOPOLOGY,
    ring::RING,
    pool::POOL,
    pool::THRESHOLD,
    emulator::EMULATOR,
    numbers::FORMATS,
    kernels::FUSION,
    multiprocessor::MULTIPROCESSOR,
    attention::SCORES,
    cuts::CUTS,
    timetable::CLOCK,
    timetable::COPY_TIME,
    timetable::LATENCY,
    timetable::TRIPS,
    moves::FIRST_TOUCH,
    moves::STAGING,
    moves::ZERO_COPY,
    moves::CLOCKS,
    moves::ORDERS,
    kernels::REUSE,
    queues::PEELING,
    queues::TWO_PAIRS,
    queues::LAUNCHES,
    queues::WAVES,
    queues::RETURNS,
    queues::ARRIVAL,
    queues::BUSY,
    shares::FETCHES,
    shares::FLIGHT,
    shares::STARTS,
    shares::RUNGS,
    shares::SHARES,
    shares::INDICES,
    shares::JOBS,
    shares::CARRIERS,
    shares::PROCESSES,
    together::CELLS,
    together::AGREEMENT,
    together::SO_FAR,
    limits::ROOM,
    limits::ROOF,
    host::STEPS,
    host::SHELF,
    models::SEGMENTS,
    models::MICRO_BATCHES,
    models::KEYS,
    models::PACKED,
    models::PAGES,
];

/// The drawing called `name`; the error names the one that was probably meant.
pub fn find(name: &str) -> Result<&'static Drawing, String> {
    ALL.iter().find(|drawing| drawing.name == name).ok_or_else(|| {
        let near = did_you_mean(name, ALL.iter().map(|drawing| drawing.name));
        format!("there is no such drawing{near}")
    })
}

impl Drawing {
    pub fn expand(&self, records: &Records) -> String {
        let machine = self.of.machine(records);
        let facts = machine.map_or_else(Facts::default, Facts::of);
        let whose = machine.map_or_else(String::new, |machine| match machine.is_reference() {
            true => format!(" Numbers: {}.", escape(&machine.label)),
            false => {
                format!(" Numbers: {} ({}).", escape(&machine.label), escape(machine.whose()))
            }
        });
        format!(
            "<figure class=\"drawing\" id=\"drawing-{}\">\n{}{}\
             <figcaption>{}{whose}</figcaption>\n</figure>\n",
            self.name,
            self.svg(&facts, Width::Wide),
            self.svg(&facts, Width::Narrow),
            prose(self.caption),
        )
    }

    fn canvas(&self, facts: &Facts, width: Width) -> Canvas {
        let mut canvas = Canvas::new(width);
        (self.draw)(&mut canvas, facts);
        canvas
    }

    fn svg(&self, facts: &Facts, width: Width) -> String {
        let Canvas { svg, width: across, bottom, .. } = self.canvas(facts, width);
        let id = format!("drawing-{}", self.name);
        let (size, body) = ((across, bottom + 4.0), svg.shapes() + &svg.texts());
        svg::element(&id, (width, size), [self.title, self.description], "", &body)
    }
}

impl fmt::Debug for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Drawing").field(&self.name).finish()
    }
}
