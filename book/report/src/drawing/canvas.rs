//! The sheet that drawings are drawn on, and what its colours mean.
//!
//! Lengths and places are in pixels from the upper left, as in charts, whose colours and
//! typeface these are. The sheet is as high as what is drawn on it.

use super::facts::Facts;
use crate::svg::text::{self, LINE, SIZE};
use crate::svg::{Face, Form, Look, Place, Svg, dot};

pub(super) use crate::svg::{Anchor, Area, Pen, Width};

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

/// The radius of the corners of boxes, in quarter pixels.
const ROUND: i32 = 12;

/// The rectangle of this size whose upper left corner is here.
pub(super) fn area(left: f64, top: f64, width: f64, height: f64) -> Area {
    Area { left, top, right: left + width, bottom: top + height }
}

pub(super) struct Canvas<'f> {
    /// What there is to say of a machine.
    pub(super) facts: &'f Facts,
    /// What it is laid out for.
    pub(super) layout: Width,
    pub(super) width: f64,
    /// Where the lowest thing on it ends.
    pub(super) bottom: f64,
    pub(super) svg: Svg,
}

impl Canvas<'_> {
    pub(super) fn new(layout: Width, facts: &Facts) -> Canvas<'_> {
        let width = layout.pick(640.0, 360.0);
        Canvas { facts, layout, width, bottom: 0.0, svg: Svg::new((width, f64::INFINITY)) }
    }

    /// What belongs to its layout.
    pub(super) fn pick<T>(&self, wide: T, narrow: T) -> T {
        self.layout.pick(wide, narrow)
    }

    /// Draws a box for a thing.
    pub(super) fn frame(&mut self, area: Area, pen: Pen) {
        self.rectangle(area, pen, 0.1, 1.0, ROUND);
    }

    /// Draws a box for a thing, with its name in it.
    pub(super) fn thing(&mut self, area: Area, pen: Pen, name: &str) {
        self.frame(area, pen);
        self.label(area, name);
    }

    /// Draws only the edge of a box.
    pub(super) fn outline(&mut self, area: Area, pen: Pen) {
        self.rectangle(area, pen, 0.0, 1.0, ROUND);
    }

    /// Draws the box of something that is gone, or is not there yet.
    pub(super) fn ghost(&mut self, area: Area, pen: Pen) {
        self.rectangle(area, pen.short_dashes(), 0.0, 1.0, ROUND);
    }

    /// Fills a rectangle, without an edge.
    pub(super) fn fill(&mut self, area: Area, pen: Pen, opacity: f64) {
        self.rectangle(area, pen, opacity, 0.0, 0);
    }

    /// Draws one of several things that lie side by side.
    pub(super) fn cell(&mut self, area: Area, pen: Pen, opacity: f64) {
        self.rectangle(area, pen, opacity, 1.0, 0);
    }

    /// Draws such a one with its name in it.
    pub(super) fn named(&mut self, area: Area, pen: Pen, opacity: f64, name: &str) {
        self.cell(area, pen, opacity);
        self.label(area, name);
    }

    fn rectangle(&mut self, area: Area, pen: Pen, fill: f64, line: f64, radius: i32) {
        self.bottom = self.bottom.max(area.bottom);
        let [from, _, to, _] = area.corners().map(dot);
        self.svg.draw(Form::Rectangle([from, to], radius), Look { pen, fill, line, width: 4 });
    }

    pub(super) fn line(&mut self, places: &[Place], pen: Pen) {
        self.stroke(places, pen, [false, false]);
    }

    /// Draws an arrow to the last place.
    pub(super) fn arrow(&mut self, places: &[Place], pen: Pen) {
        self.stroke(places, pen, [false, true]);
    }

    /// Draws an arrow to both ends.
    pub(super) fn both_ways(&mut self, places: &[Place], pen: Pen) {
        self.stroke(places, pen, [true, true]);
    }

    /// Draws a dashed arrow: not bytes, but a signal.
    pub(super) fn signal(&mut self, places: &[Place], pen: Pen) {
        self.stroke(places, pen.signal(), [false, true]);
    }

    fn stroke(&mut self, places: &[Place], pen: Pen, [at_first, at_last]: [bool; 2]) {
        let lowest = places.iter().map(|(_, y)| *y);
        self.bottom = lowest.fold(self.bottom, f64::max);
        let (mut ends, mut heads) = (places.to_vec(), vec![]);
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
            heads.push([(x, y), sides[0], sides[1]].map(dot).to_vec());
        }
        let dots = ends.into_iter().map(dot).collect();
        self.svg.line(dots, false, Look { pen, fill: 0.0, line: 1.0, width: 6 });
        for head in heads {
            self.svg.line(head, true, Look { pen, fill: 1.0, line: 0.0, width: 0 });
        }
    }

    /// Writes a line of text, `y` its middle.
    pub(super) fn text(&mut self, at: Place, anchor: Anchor, pen: Pen, content: &str) {
        self.write(at, anchor, pen, Face::Plain, content);
    }

    pub(super) fn heading(&mut self, at: Place, anchor: Anchor, content: &str) {
        self.write(at, anchor, Pen::INK, Face::Bold, content);
    }

    fn write(&mut self, at: Place, anchor: Anchor, pen: Pen, face: Face, content: &str) {
        if !content.is_empty() {
            self.bottom = self.bottom.max(at.1 + SIZE / 2.0);
        }
        self.svg.text(at, anchor, pen, face, content);
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
}

/// The text in lines that fit, if its words do.
fn lines(content: &str, width: f64) -> Vec<String> {
    text::wrap(content, width, usize::MAX).unwrap_or(vec![content.to_owned()])
}
