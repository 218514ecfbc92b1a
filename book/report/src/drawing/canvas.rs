//! The sheet that drawings are drawn on, and what its colours mean.
//!
//! Lengths and places are in pixels from the upper left, as in charts, whose colours and
//! typeface these are. The sheet is as high as what is drawn on it.

use std::fmt::Write as _;

pub(super) use crate::chart::Width;
pub(super) use crate::chart::place::Area;
use crate::chart::style::short;
pub(super) use crate::chart::style::{Anchor, Pen};
use crate::chart::text::{self, LINE, SIZE};
use crate::html::xml;

/// A kernel, and the threads and units that run it; as kernels on timelines.
pub(super) const COMPUTE: Pen = Pen::series(0);
/// Copies, and those to the GPU; as on timelines.
pub(super) const UPLOAD: Pen = Pen::series(1);
/// Copies to the host; as on timelines.
pub(super) const DOWNLOAD: Pen = Pen::series(2);
/// What the driver does on the host; as launches on timelines.
pub(super) const DRIVER: Pen = Pen::series(3);
/// Memory, and what lies in it; as its allocation on timelines.
pub(super) const MEMORY: Pen = Pen::series(4);

/// A place on the sheet.
pub(super) type Place = (f64, f64);

/// Semi-bold letters are wider than regular ones by less than this.
const BOLD: f64 = 1.07;

/// The rectangle of this size whose upper left corner is here.
pub(super) fn area(left: f64, top: f64, width: f64, height: f64) -> Area {
    Area { left, top, right: left + width, bottom: top + height }
}

/// A drawing being drawn.
pub(super) struct Canvas {
    /// What it is laid out for.
    pub(super) layout: Width,
    /// How wide it is.
    pub(super) width: f64,
    pub(super) shapes: Vec<Shape>,
    pub(super) texts: Vec<Text>,
}

/// A rectangle or a line.
pub(super) enum Shape {
    Rectangle { area: Area, pen: Pen, fill: f64, edge: Edge },
    Line { places: Vec<Place>, pen: Pen, dashed: bool, heads: [bool; 2] },
}

/// How a rectangle ends.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Edge {
    None,
    Square,
    Solid,
    Dashed,
}

/// A line of text.
pub(super) struct Text {
    pub(super) area: Area,
    pub(super) content: String,
    anchor: Anchor,
    pen: Pen,
    bold: bool,
}

impl Canvas {
    /// An empty one.
    pub(super) fn new(layout: Width) -> Canvas {
        let width = layout.pick(640.0, 360.0);
        Canvas { layout, width, shapes: vec![], texts: vec![] }
    }

    /// What belongs to its layout.
    pub(super) fn pick<T>(&self, wide: T, narrow: T) -> T {
        self.layout.pick(wide, narrow)
    }

    /// Draws a box for a thing.
    pub(super) fn frame(&mut self, area: Area, pen: Pen) {
        self.rectangle(area, pen, 0.1, Edge::Solid);
    }

    /// Draws only the edge of a box.
    pub(super) fn outline(&mut self, area: Area, pen: Pen) {
        self.rectangle(area, pen, 0.0, Edge::Solid);
    }

    /// Draws the box of something that is gone, or is not there yet.
    pub(super) fn ghost(&mut self, area: Area, pen: Pen) {
        self.rectangle(area, pen, 0.0, Edge::Dashed);
    }

    /// Fills a rectangle, without an edge.
    pub(super) fn fill(&mut self, area: Area, pen: Pen, opacity: f64) {
        self.rectangle(area, pen, opacity, Edge::None);
    }

    /// Draws one of several things that lie side by side.
    pub(super) fn cell(&mut self, area: Area, pen: Pen, opacity: f64) {
        self.rectangle(area, pen, opacity, Edge::Square);
    }

    fn rectangle(&mut self, area: Area, pen: Pen, fill: f64, edge: Edge) {
        self.shapes.push(Shape::Rectangle { area, pen, fill, edge });
    }

    /// Draws a line.
    pub(super) fn line(&mut self, places: &[Place], pen: Pen) {
        self.stroke(places, pen, false, [false, false]);
    }

    /// Draws an arrow to the last place.
    pub(super) fn arrow(&mut self, places: &[Place], pen: Pen) {
        self.stroke(places, pen, false, [false, true]);
    }

    /// Draws an arrow to both ends.
    pub(super) fn both_ways(&mut self, places: &[Place], pen: Pen) {
        self.stroke(places, pen, false, [true, true]);
    }

    /// Draws a dashed arrow: not bytes, but a signal.
    pub(super) fn signal(&mut self, places: &[Place], pen: Pen) {
        self.stroke(places, pen, true, [false, true]);
    }

    fn stroke(&mut self, places: &[Place], pen: Pen, dashed: bool, heads: [bool; 2]) {
        let places = places.to_vec();
        self.shapes.push(Shape::Line { places, pen, dashed, heads });
    }

    /// Writes a line of text, `y` its middle.
    pub(super) fn text(&mut self, (x, y): Place, anchor: Anchor, pen: Pen, content: &str) {
        self.write((x, y), anchor, pen, false, content);
    }

    /// Writes a heading.
    pub(super) fn heading(&mut self, at: Place, anchor: Anchor, content: &str) {
        self.write(at, anchor, Pen::INK, true, content);
    }

    fn write(&mut self, (x, y): Place, anchor: Anchor, pen: Pen, bold: bool, content: &str) {
        if content.is_empty() {
            return;
        }
        let width = text::width(content) * if bold { BOLD } else { 1.0 };
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let area = area(left, y - SIZE / 2.0, width, SIZE);
        let content = content.to_owned();
        self.texts.push(Text { area, content, anchor, pen, bold });
    }

    /// Writes into the middle of a box, in as many lines as it takes.
    pub(super) fn label(&mut self, area: Area, content: &str) {
        let room = area.right - area.left - 4.0;
        let lines = lines(content, room);
        let (x, y) = area.middle();
        let first = y - (lines.len() as f64 - 1.0) * LINE / 2.0;
        for (n, line) in lines.iter().enumerate() {
            let y = first + n as f64 * LINE;
            self.text((x, y), Anchor::Middle, Pen::INK, line);
        }
    }

    /// Writes lines of at most this width from `y`, the middle of the first, on; where
    /// the next line would be.
    pub(super) fn paragraph(
        &mut self,
        (x, mut y): Place,
        width: f64,
        anchor: Anchor,
        content: &str,
    ) -> f64 {
        for line in lines(content, width) {
            self.text((x, y), anchor, Pen::MUTED, &line);
            y += LINE;
        }
        y
    }

    /// How high it is.
    pub(super) fn height(&self) -> f64 {
        let shapes = self.shapes.iter().map(|shape| match shape {
            Shape::Rectangle { area, .. } => area.bottom,
            Shape::Line { places, .. } => places.iter().map(|(_, y)| *y).fold(0.0, f64::max),
        });
        let texts = self.texts.iter().map(|text| text.area.bottom);
        shapes.chain(texts).fold(0.0, f64::max) + 4.0
    }

    /// The content of the SVG.
    pub(super) fn svg(&self) -> String {
        let mut out = String::new();
        for shape in &self.shapes {
            match shape {
                Shape::Rectangle { area, pen, fill, edge } => {
                    rectangle(&mut out, area, *pen, *fill, *edge);
                }
                Shape::Line { places, pen, dashed, heads } => {
                    line(&mut out, places, *pen, *dashed, *heads);
                }
            }
        }
        for text in &self.texts {
            text.svg(&mut out);
        }
        out
    }
}

/// The text in lines that fit, if its words do.
fn lines(content: &str, width: f64) -> Vec<String> {
    text::wrap(content, width, usize::MAX).unwrap_or(vec![content.to_owned()])
}

impl Text {
    fn svg(&self, out: &mut String) {
        let Text { area, content, anchor, pen, bold } = self;
        let (x, anchor) = match anchor {
            Anchor::Start => (area.left, ""),
            Anchor::Middle => (area.middle().0, " text-anchor=\"middle\""),
            Anchor::End => (area.right, " text-anchor=\"end\""),
        };
        // The baseline: half the height of a capital below the middle.
        let y = area.middle().1 + 0.36 * SIZE;
        let weight = if *bold { " font-weight=\"600\"" } else { "" };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\"{anchor}{weight} fill=\"{}\">{}</text>",
            short(x),
            short(y),
            pen.css(),
            xml(content)
        );
    }
}

fn rectangle(out: &mut String, area: &Area, pen: Pen, fill: f64, edge: Edge) {
    let css = pen.css();
    let stroke = match edge {
        Edge::None => String::new(),
        Edge::Square => format!(" stroke=\"{css}\""),
        Edge::Solid => format!(" stroke=\"{css}\" rx=\"3\""),
        Edge::Dashed => {
            format!(" stroke=\"{css}\" stroke-dasharray=\"4 3\" rx=\"3\"")
        }
    };
    let fill = match fill {
        0.0 => "none\"".to_owned(),
        opacity => format!("{css}\" fill-opacity=\"{opacity:.2}\""),
    };
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}{stroke}/>",
        short(area.left),
        short(area.top),
        short(area.right - area.left),
        short(area.bottom - area.top),
    );
}

fn line(
    out: &mut String,
    places: &[Place],
    pen: Pen,
    dashed: bool,
    [at_first, at_last]: [bool; 2],
) {
    let css = pen.css();
    let point = |(x, y): Place| format!("{},{}", short(x), short(y));
    let (mut ends, mut arrows) = (places.to_vec(), String::new());
    let last = places.len() - 1;
    for (wanted, tip, before) in [(at_first, 0, 1), (at_last, last, last - 1)] {
        if !wanted {
            continue;
        }
        let ((x, y), (from_x, from_y)) = (places[tip], places[before]);
        let length = (x - from_x).hypot(y - from_y);
        let (dx, dy) = ((x - from_x) / length, (y - from_y) / length);
        // The line ends inside the head, which is 8 long and 8 wide.
        ends[tip] = (x - 6.0 * dx, y - 6.0 * dy);
        let (x8, y8) = (x - 8.0 * dx, y - 8.0 * dy);
        let sides = [(x8 - 4.0 * dy, y8 + 4.0 * dx), (x8 + 4.0 * dy, y8 - 4.0 * dx)];
        let [one, other] = sides.map(point);
        let tip = point((x, y));
        let _ = writeln!(arrows, "<polygon points=\"{tip} {one} {other}\" fill=\"{css}\"/>");
    }
    let points: Vec<String> = ends.into_iter().map(point).collect();
    let dash = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{css}\" \
         stroke-width=\"1.5\"{dash}/>",
        points.join(" ")
    );
    out.push_str(&arrows);
}
