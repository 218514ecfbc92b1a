//! Drawings that explain: `{{drawing NAME}}`. Each has one idea, in the house style, wide and
//! narrow, as charts are. What they say and all timetables are in `book/drawings.toml`; the others
//! are drawn by code.
//!
//! | module | drawings |
//! |---|---|
//! | `machine` | what a machine is made of, and how its GPUs are joined, and locked |
//! | `multiprocessor` | what a multiprocessor is made of |
//! | `threads` | threads, blocks, from the grid to an address, and from a warp to sectors |
//! | `shared` | the banks of shared memory, and a tile that is transposed in it |
//! | `layouts` | structures in memory |
//! | `numbers` | formats of numbers |
//! | `kernels` | kernels that follow each other, and a square of sums that shares its loads |
//! | `host` | kinds of host memory, a page fault, a program's steps, and a loader's slots |
//! | `streams` | streams and engines, and blocks that wait |
//! | `ring` | an all-reduce, step by step |
//! | `pool` | what a pool holds |
//! | `emulator` | the emulated GPU |
//! | `attention` | the matrix of scores that never exists |
//! | `together` | threads that make one number, or a sum for each |
//! | `cuts` | a net that several GPUs share |
//! | `models` | what a model keeps: activations, keys and values, adapters |
//! | `limits` | the roof over what a kernel can reach |
//! | `timetable` | timetables |
//! | `canvas` | the sheet, and what colours mean |
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
mod multiprocessor;
mod numbers;
mod pool;
mod ring;
mod shared;
mod streams;
mod threads;
mod timetable;
mod together;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::html::{escape, prose};
use crate::names::did_you_mean;
use crate::records::Records;
use crate::svg::{self, Width};
use canvas::Canvas;
use facts::Facts;

/// What `drawings.toml` says of a drawing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// What a page calls it; part of its id, `drawing-NAME`.
    #[serde(skip)]
    name: String,
    /// One sentence, for screen readers.
    title: String,
    /// What is to be seen, for screen readers.
    description: String,
    /// A sentence or two below it.
    caption: String,
    /// Its numbers are those of a machine of so many GPUs.
    gpus: Option<u32>,
    timetable: Option<String>,
    strips: Option<String>,
}

type Draw = fn(&mut Canvas);

/// What is drawn by code.
const BY_CODE: [(&str, Draw); 33] = [
    ("adapter", models::adapter),
    ("agreement", together::agreement),
    ("banks", shared::banks),
    ("blocks", threads::split),
    ("cuts", cuts::cuts),
    ("emulator", emulator::emulator),
    ("formats", numbers::formats),
    ("fusion", kernels::fusion),
    ("grid", threads::grid),
    ("host-memory", host::kinds),
    ("keys", models::keys),
    ("layouts", layouts::layouts),
    ("locks", machine::locks),
    ("machine", machine::machine),
    ("multiprocessor", multiprocessor::multiprocessor),
    ("page-fault", host::fault),
    ("pages", models::pages),
    ("pool", pool::pool),
    ("release-threshold", pool::threshold),
    ("reuse", kernels::reuse),
    ("ring", ring::ring),
    ("roof", limits::roof),
    ("scores", attention::scores),
    ("sectors", threads::sectors),
    ("segments", models::segments),
    ("shelf", host::shelf),
    ("so-far", together::so_far),
    ("steps", host::steps),
    ("streams", streams::streams),
    ("threads", threads::threads),
    ("tile", shared::tile),
    ("topology", machine::topology),
    ("waiting", streams::waiting),
];

pub static ALL: LazyLock<BTreeMap<String, Drawing>> = LazyLock::new(|| {
    let all = toml::from_str(include_str!("../../drawings.toml"));
    let mut all: BTreeMap<String, Drawing> = all.expect("a table of each drawing");
    all.iter_mut().for_each(|(name, drawing)| drawing.name.clone_from(name));
    all
});

/// The drawing called `name`; the error names the one that was probably meant.
pub fn find(name: &str) -> Result<&'static Drawing, String> {
    ALL.get(name).ok_or_else(|| {
        let near = did_you_mean(name, ALL.keys().map(String::as_str));
        format!("there is no such drawing{near}")
    })
}

impl Drawing {
    /// The drawing as HTML.
    pub fn expand(&self, records: &Records) -> String {
        let machine = self.gpus.and_then(|gpus| facts::machine(gpus, records));
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
            prose(&self.caption),
        )
    }

    fn canvas<'f>(&self, facts: &'f Facts, width: Width) -> Canvas<'f> {
        let mut canvas = Canvas::new(width, facts);
        match (&self.timetable, &self.strips) {
            (Some(panels), _) => timetable::timetable(&mut canvas, panels),
            (None, Some(panels)) => drop(timetable::strips(&mut canvas, panels)),
            (None, None) => {
                let draw = BY_CODE.iter().find(|(drawn, _)| *drawn == self.name);
                draw.expect("code that draws it").1(&mut canvas);
            }
        }
        canvas
    }

    fn svg(&self, facts: &Facts, width: Width) -> String {
        let Canvas { svg, width: across, bottom, .. } = self.canvas(facts, width);
        let id = format!("drawing-{}", self.name);
        let (size, body) = ((across, bottom + 4.0), svg.shapes() + &svg.texts());
        svg::element(&id, (width, size), [&self.title, &self.description], "", &body)
    }
}
