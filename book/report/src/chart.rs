//! Charts in the house style, drawn by plotters as [`mod@crate::svg`].
//!
//! A [`Figure`] says what is shown; [`svg()`] draws it, wide or narrow. The same figure
//! gives the same bytes on every machine.
//!
//! | module | what is in it |
//! |---|---|
//! | `lines` | curves over an axis |
//! | `bars` | horizontal bars in groups |
//! | `heatmap` | coloured cells with numbers |
//! | `beside` | another machine's values on the same axes, and shares of each one's peak |
//! | `timeline` | what ran when, in lanes |
//! | `memory` | memory over time, in steps |
//! | `legend` | guides, the key, the axis below the plot |
//! | `place` | where labels go, so that none overlaps another |
//! | `scale` | axes: values to pixels, ticks |
//! | `sheet` | the sheet drawn on |
//! | `values` | what is drawn, as CSV |
//!
//! Values that are not finite are left out, and a cell without one says so. A figure with
//! no values is drawn as empty axes that say so.

mod bars;
mod beside;
mod heatmap;
mod legend;
mod lines;
mod memory;
mod place;
mod scale;
mod sheet;
mod timeline;
mod values;

#[cfg(test)]
mod tests;

use serde::Deserialize;

use crate::metric::Work;
use crate::svg::{self, Width, short};
use crate::unit::Unit;
use scale::Span;

pub use values::csv;

#[derive(Clone, Debug)]
pub struct Figure {
    /// Unique in the book; ids in the SVG derive from it.
    pub id: String,
    /// One sentence, for screen readers: the picture itself does not show it.
    pub title: String,
    /// What is plotted and what it shows, for screen readers.
    pub description: String,
    pub form: Form,
}

#[derive(Clone, Debug)]
pub enum Form {
    Lines(Lines),
    Bars(Bars),
    Heatmap(Heatmap),
    /// Bars along a time axis.
    Timeline(Timeline),
    Memory(Memory),
}

#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// The axis that values are plotted over.
    pub x: Axis,
    pub y: Axis,
    /// Measured curves, each in a colour of its own.
    pub series: Vec<Series>,
    /// Another machine's, dashed in the colours of the series that they are called like.
    pub beside: Vec<Series>,
    /// Whose the series are and whose those beside them, if there are any.
    pub whose: Option<(String, String)>,
    /// Modelled curves, all in the model's colour; models with the same label are
    /// dashed alike and labelled once.
    pub models: Vec<Series>,
    pub guides: Vec<Guide>,
    /// Vertical lines: places on the x axis that matter, named in the key.
    pub marks: Vec<Mark>,
    /// A value holds until the next point: curves are steps, without dots.
    pub steps: bool,
}

/// A vertical line at one place of the x axis, left out if the axis does not reach it.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Written in the key, followed by the place.
    pub label: String,
    pub x: f64,
}

#[derive(Clone, Debug)]
pub struct Bars {
    pub value: Axis,
    /// The bars, from the top down.
    pub groups: Vec<Group>,
    pub guides: Vec<Guide>,
    /// Whose the bars are and whose the thinner ones below them, if there are any.
    pub whose: Option<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Group {
    /// The heading; none if empty.
    pub label: String,
    /// The bars, from the top down.
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug)]
pub struct Bar {
    pub label: String,
    pub value: f64,
    /// Lower end of the 95% interval.
    pub low: f64,
    /// Upper end of the 95% interval.
    pub high: f64,
    /// Shown when pointed at.
    pub hover: String,
    /// Colour, counted from 0 (`--chart-1`); six in turn.
    pub color: usize,
    /// What was done in it, if it is a time.
    pub work: Option<Work>,
    /// What another machine has: a thinner bar below.
    pub beside: Option<f64>,
}

/// Ratios in coloured cells, in columns and rows: one colour below 1, another above, and a line
/// between them.
#[derive(Clone, Debug)]
pub struct Heatmap {
    /// From left to right.
    pub columns: Side,
    /// From the top down.
    pub rows: Side,
    /// What the ratios are of.
    pub label: String,
    /// What it means to be below 1.
    pub below: String,
    /// What it means to be above 1.
    pub above: String,
    /// Of each row, a cell of each column.
    pub cells: Vec<Vec<Cell>>,
}

/// The columns or the rows of a heat map.
#[derive(Clone, Debug)]
pub struct Side {
    pub label: String,
    pub names: Vec<String>,
}

/// A cell of a heat map.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its number; not finite if there is none.
    pub value: f64,
    /// Shown when pointed at.
    pub hover: String,
}

/// What ran when: bars along a time axis.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The time axis, the same of all panels, labelled once.
    pub time: Axis,
    /// What the colours mean; not said if there is only one.
    pub kinds: Vec<Kind>,
    /// From the top down.
    pub panels: Vec<Panel>,
}

#[derive(Clone, Debug)]
pub struct Kind {
    pub label: String,
    /// As in [`Piece::color`].
    pub color: Option<usize>,
}

/// What ran when in one measurement.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The heading; none if empty.
    pub label: String,
    /// Written at the end of the heading's line.
    pub note: String,
    /// From the top down.
    pub lanes: Vec<Lane>,
}

/// What ran in one place.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The place: a stream, an engine, the host.
    pub label: String,
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub struct Piece {
    /// Written in its bar, or only its last word if that is a number.
    pub label: String,
    pub start: f64,
    pub end: f64,
    /// Shown when pointed at.
    pub hover: String,
    /// Colour, counted from 0 (`--chart-1`); none if nothing is done but waiting.
    pub color: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Memory {
    /// From the top down; their axes span the values of all.
    pub panels: Vec<MemoryPanel>,
}

/// Memory over the time of one measurement.
#[derive(Clone, Debug)]
pub struct MemoryPanel {
    /// The heading; none if empty.
    pub label: String,
    pub lines: Lines,
}

#[derive(Clone, Debug)]
pub struct Series {
    /// Written at its end; nothing if empty.
    pub label: String,
    /// Its points; drawn in the order of `x`.
    pub points: Vec<Point>,
}

#[derive(Clone, Debug)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Lower end of the 95% interval.
    pub low: f64,
    /// Upper end of the 95% interval.
    pub high: f64,
    /// Shown when pointed at (measured curves only).
    pub hover: String,
    /// What was done in it, if it is a time.
    pub work: Option<Work>,
}

#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it shows; the unit is added.
    pub label: String,
    /// How values are spaced. Linear axes that values are read from start at 0.
    pub scale: Scale,
    pub unit: Unit,
}

/// How values are spaced on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    #[default]
    Linear,
    /// By their logarithm; ticks at powers of two.
    Log2,
    /// By their logarithm; ticks at powers of ten, or at 1, 2 and 5 times those.
    Log10,
}

impl Scale {
    /// As pages write it.
    fn word(self) -> &'static str {
        match self {
            Scale::Linear => "linear",
            Scale::Log2 => "log2",
            Scale::Log10 => "log10",
        }
    }
}

/// A straight line across the plot at one value. A linear axis extends to include it
/// unless it is more than six times beyond the data; then a note with an arrow stands
/// at the axis' end.
#[derive(Clone, Debug)]
pub struct Guide {
    /// Written on the line; of peaks and models, the value is added.
    pub label: String,
    pub value: f64,
    pub kind: GuideKind,
    /// Another machine's, in dots and dashes.
    pub beside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuideKind {
    /// What the hardware can do at most: a thin line.
    Peak,
    /// What the source claims: a dashed line.
    Claim,
    /// What a model predicts: a dotted line.
    Model,
}

/// A drawn form, to be framed.
struct Picture {
    size: (f64, f64),
    body: String,
    /// None if values are not read from one axis.
    reading: Option<Reading>,
}

/// How values are read from a picture.
struct Reading {
    /// The axis that they are read from, and how it is drawn.
    axis: &'static str,
    value: Span,
    /// The plot's first and last pixel on the other axis.
    cross: (f64, f64),
    /// The other axis, if values are plotted over it.
    over: Option<Span>,
}

impl Reading {
    fn attributes(&self) -> String {
        let Reading { axis, value, cross, .. } = self;
        let scale = value.scale.word();
        format!(
            " data-value-axis=\"{axis}\" data-value-scale=\"{scale}\" \
             data-value-min=\"{}\" data-value-max=\"{}\" \
             data-value-start=\"{}\" data-value-end=\"{}\" \
             data-cross-start=\"{}\" data-cross-end=\"{}\"",
            value.min,
            value.max,
            short(value.start),
            short(value.end),
            short(cross.0),
            short(cross.1),
        )
    }
}

/// The figure as an `<svg>` element without blank lines, ending with a newline.
///
/// Attributes `data-value-…` say how values map to the picture's coordinates, and
/// `data-cross-…` where the plot begins and ends on the other axis, so that a script
/// can add a mark of its own. Only lines and bars have them.
pub fn svg(figure: &Figure, width: Width) -> String {
    let picture = match &figure.form {
        Form::Lines(lines) => lines::draw(lines, width),
        Form::Bars(bars) => bars::draw(bars, width),
        Form::Heatmap(map) => heatmap::draw(map, width),
        Form::Timeline(timeline) => timeline::draw(timeline, width),
        Form::Memory(memory) => memory::draw(memory, width),
    };
    let attributes = picture.reading.as_ref().map_or_else(String::new, Reading::attributes);
    framed(figure, picture, width, &attributes)
}

/// The axes of `figure`, a chart of lines, with room for what is `measured`, which is not drawn:
/// a script draws a curve of the reader's there. `data-cross-…` says besides how the other axis
/// maps to the picture's coordinates.
pub fn sketch(figure: &Figure, lines: &Lines, measured: &Series, width: Width) -> String {
    let picture = lines::sketch(lines, measured, width);
    let attributes = picture.reading.as_ref().map_or_else(String::new, |reading| {
        let over = reading.over.as_ref().map_or_else(String::new, |over| {
            let (scale, min, max) = (over.scale.word(), over.min, over.max);
            format!(
                " data-cross-scale=\"{scale}\" data-cross-min=\"{min}\" data-cross-max=\"{max}\""
            )
        });
        reading.attributes() + &over
    });
    framed(figure, picture, width, &attributes)
}

fn framed(figure: &Figure, picture: Picture, width: Width, attributes: &str) -> String {
    let id = format!("chart-{}", figure.id);
    let texts = [&*figure.title, &*figure.description];
    svg::element(&id, (width, picture.size), texts, attributes, &picture.body)
}
