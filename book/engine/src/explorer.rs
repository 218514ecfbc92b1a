//! Explorers: the reader moves knobs, a kernel runs, a picture shows what it did. All of it is
//! computed here, on the emulated GPU; a page's script only carries knobs in and pictures out.
//!
//! | module | explorer |
//! |---|---|
//! | `coalescing` | an index of the lane, and the sectors that it costs |
//! | `banks` | a tile in shared memory, and the wavefronts that a read of it takes |
//! | `layout` | elements with fields, in tiles, and the sectors of some of the fields |
//! | `legacy` | three calls, one of them in the default stream |
//! | `transpose` | kernels that transpose, warp by warp |
//! | `warps` | an `if`, and the instructions of the warps that go both ways |
//! | `formats` | a sum of ones in a format of few bits |
//! | `ring` | an all-reduce, step by step |
//! | `pipeline` | batches in streams, and the step that sets the pace |
//! | `allocation` | calls that take memory from a pool, free it, and wait |
//! | `overlap` | a copy beside a kernel, by the host's calls |
//! | `waits` | a program with a wait too few, in many schedules |

mod allocation;
mod banks;
mod coalescing;
mod expression;
mod formats;
mod layout;
mod legacy;
mod measured;
mod overlap;
mod picture;
mod pipeline;
mod program;
mod ring;
mod transpose;
mod waits;
mod warps;

use std::collections::BTreeMap;

use record::units;
use serde::{Deserialize, Serialize};

use measured::{Case, Found, case};
pub use measured::{Curve, Machine, Measured, Point};

use crate::launch::{self, Ran};

/// Something to move on a page.
#[derive(Debug)]
pub struct Explorer {
    /// What a page and an address call it.
    pub name: &'static str,
    /// What it is, for people who do not see it.
    pub title: &'static str,
    /// What the reader is asked to find. Between backquotes is code.
    pub task: &'static str,
    /// What there is to find: the task's answer.
    pub finding: &'static str,
    /// What can be moved.
    pub knobs: &'static [Knob],
    show: fn(&State<'_>) -> Result<Drawn, String>,
}

/// One thing that can be moved.
#[derive(Debug)]
pub struct Knob {
    /// What an address calls it.
    pub name: &'static str,
    /// What the page calls it.
    pub label: &'static str,
    /// What it is at first.
    pub first: &'static str,
    /// What it can be.
    pub values: Values,
}

/// What a knob can be.
#[derive(Debug)]
pub enum Values {
    /// Whole numbers from the first to the second.
    Range(u32, u32),
    /// One of several words, each with what the page calls it.
    Choice(&'static [(&'static str, &'static str)]),
    /// Text that the explorer understands.
    Text {
        /// Texts to begin with.
        examples: &'static [&'static str],
        /// Texts for a slider, if it has one: its label, what stands after its number, and its
        /// ends.
        slider: Option<(&'static str, &'static str, u32, u32)>,
        /// Words that are added at the end, each with what the page calls it.
        words: &'static [(&'static str, &'static str)],
    },
}

/// All explorers.
pub static ALL: [Explorer; 12] = [
    coalescing::EXPLORER,
    banks::EXPLORER,
    transpose::EXPLORER,
    layout::EXPLORER,
    warps::EXPLORER,
    formats::EXPLORER,
    ring::EXPLORER,
    pipeline::EXPLORER,
    allocation::EXPLORER,
    overlap::EXPLORER,
    legacy::EXPLORER,
    waits::EXPLORER,
];

/// What a page wants to see.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The explorer's name.
    pub name: String,
    /// The value of each knob that is not as at first.
    #[serde(default)]
    pub state: BTreeMap<String, String>,
    /// What the page has of records.
    #[serde(default)]
    pub measured: Vec<Measured>,
}

/// What a page shows.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// What is to be seen, in a sentence or two.
    pub said: String,
    /// What was measured with the knobs where they are, as a sentence.
    pub measured: Option<String>,
    /// How far a knob goes where the others are; one that is beyond is taken to be there.
    pub limit: Option<(&'static str, u32)>,
    /// The picture for a page, 640 pixels wide, as SVG.
    pub wide: String,
    /// The picture for a phone, 360 pixels wide.
    pub narrow: String,
}

/// An explorer's picture in both widths, and the sentence.
struct Drawn {
    said: String,
    draw: Box<dyn Fn(&mut picture::Picture)>,
    /// What experiments call the state, if one of them measures any: what was measured is drawn
    /// below the picture.
    case: Option<Case>,
    /// How far a knob goes where the others are, if that is less far than it goes at most.
    limit: Option<(&'static str, u32)>,
}

/// The explorer with this name.
pub fn find(name: &str) -> Result<&'static Explorer, String> {
    ALL.iter().find(|explorer| explorer.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|explorer| explorer.name).collect();
        format!("there is no explorer `{name}`: there are {}", names.join(", "))
    })
}

/// Shows an explorer in a state, or says what is wrong with the state.
pub fn show(request: &Request) -> Result<Shown, String> {
    let explorer = find(&request.name)?;
    let state = State { explorer, given: &request.state, measured: &request.measured };
    for (name, value) in &request.state {
        state.knob(name)?.check(value)?;
    }
    let Drawn { said, draw, case, limit } =
        (explorer.show)(&state).map_err(|problem| sentence(&problem))?;
    let case = case.filter(|_| !request.measured.is_empty());
    let found = case.as_ref().and_then(|case| Found::of(&request.measured, case));
    let draw = |picture: &mut picture::Picture| {
        draw(picture);
        if case.is_some() {
            measured::draw(picture, found.as_ref());
        }
    };
    let [wide, narrow] = [false, true].map(|is_narrow| picture::svg(&said, is_narrow, &draw));
    Ok(Shown { said, measured: found.as_ref().and_then(Found::told), limit, wide, narrow })
}

/// What the knobs of an explorer are at.
struct State<'s> {
    explorer: &'static Explorer,
    given: &'s BTreeMap<String, String>,
    measured: &'s [Measured],
}

impl State<'_> {
    fn knob(&self, name: &str) -> Result<&'static Knob, String> {
        let Explorer { name: whose, knobs, .. } = self.explorer;
        let knob = knobs.iter().find(|knob| knob.name == name);
        knob.ok_or_else(|| format!("the explorer `{whose}` has no knob `{name}`"))
    }

    fn text(&self, name: &str) -> Result<&str, String> {
        Ok(self.given.get(name).map_or(self.knob(name)?.first, String::as_str))
    }

    fn number(&self, name: &str) -> Result<u32, String> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("`{name}` is {text:?}; expected a number"))
    }
}

impl Knob {
    fn check(&self, value: &str) -> Result<(), String> {
        let expected = match &self.values {
            Values::Text { .. } => return Ok(()),
            Values::Range(least, most) => match value.parse::<u32>() {
                Ok(number) if (*least..=*most).contains(&number) => return Ok(()),
                _ => format!("a number from {least} to {most}"),
            },
            Values::Choice(words) => match words.iter().any(|(word, _)| *word == value) {
                true => return Ok(()),
                false => words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
            },
        };
        Err(format!("`{}` is {value:?}; expected {expected}.", self.name))
    }
}

/// Runs what an explorer wants to see.
fn run(request: &launch::Request<'_>) -> Result<Ran, String> {
    launch::run(request).map_err(|error| error.to_string())
}

/// What is wrong, with a capital letter and a full stop.
fn sentence(problem: &str) -> String {
    let (first, rest) = problem.split_at(problem.chars().next().map_or(0, char::len_utf8));
    let stop = if problem.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{}{rest}{stop}", first.to_uppercase())
}

/// "1 sector", "1,024 sectors".
fn count(number: u64, thing: &str) -> String {
    grouped(&format!("{number} {thing}{}", if number == 1 { "" } else { "s" }))
}

/// The text with its long numbers in groups of three digits: "1,024".
fn grouped(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_one = |a: &char, b: &char| a.is_alphanumeric() == b.is_alphanumeric();
    let group = |part: &[char]| match part.iter().all(char::is_ascii_digit) {
        true => units::grouped(&String::from_iter(part)),
        false => String::from_iter(part),
    };
    chars.chunk_by(is_one).map(group).collect()
}

/// The lanes of a mask.
fn active(lanes: u32) -> impl Iterator<Item = usize> {
    (0..emulator::WARP).filter(move |lane| lanes >> lane & 1 == 1)
}

/// What the explorer of this name says in a state, or what is wrong with the state.
#[cfg(test)]
fn said(name: &str, state: &[(&str, &str)]) -> String {
    let state = state.iter().map(|(knob, value)| ((*knob).into(), (*value).into())).collect();
    let request = Request { name: name.to_owned(), state, measured: vec![] };
    show(&request).map_or_else(|error| error, |shown| shown.said)
}
