//! The house style: pens, and the sheet that a chart is drawn on.
//!
//! Shapes go through plotters, whose coordinates are whole numbers: they are drawn on a
//! grid of quarter pixels and scaled down, so that curves stay smooth. Each pen has a
//! colour of its own, which [`sheet`] replaces by a CSS variable with a
//! fallback, so that charts follow the book's theme. Texts and hover targets lie on
//! top; texts have a halo of the paper's colour and stay legible on lines.

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::place::Area;
use super::text::{self, SIZE};
use crate::html::xml;

/// Why drawing on a sheet cannot fail.
pub(super) const INFALLIBLE: &str = "a string takes every shape";

/// A colour with its dash pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pen(usize);

/// CSS variable (`--chart-NAME`), fallback colour, dash pattern in quarter pixels.
const PENS: [(&str, &str, &str); 34] = [
    ("ink", "#1a1a1a", ""),
    ("muted", "#595959", ""),
    ("grid", "#dedede", ""),
    ("peak", "#444444", ""),
    ("claim", "#9b1c31", "28 16"),
    ("model", "#555555", "6 14"),
    ("model", "#555555", "20 12"),
    ("model", "#555555", "24 10 6 10"),
    ("1", "#0065b4", ""),
    ("2", "#ad3b00", ""),
    ("3", "#005247", ""),
    ("4", "#b02a86", ""),
    ("5", "#5c4200", ""),
    ("6", "#43329b", ""),
    ("1", "#0065b4", "48 24"),
    ("2", "#ad3b00", "48 24"),
    ("3", "#005247", "48 24"),
    ("4", "#b02a86", "48 24"),
    ("5", "#5c4200", "48 24"),
    ("6", "#43329b", "48 24"),
    ("1", "#0065b4", "24 48"),
    ("2", "#ad3b00", "24 48"),
    ("3", "#005247", "24 48"),
    ("4", "#b02a86", "24 48"),
    ("5", "#5c4200", "24 48"),
    ("6", "#43329b", "24 48"),
    ("1", "#0065b4", "16 12"),
    ("2", "#ad3b00", "16 12"),
    ("3", "#005247", "16 12"),
    ("4", "#b02a86", "16 12"),
    ("5", "#5c4200", "16 12"),
    ("6", "#43329b", "16 12"),
    ("ink", "#1a1a1a", "16 12"),
    ("paper", "#ffffff", ""),
];

impl Pen {
    pub(crate) const INK: Pen = Pen(0);
    pub(crate) const MUTED: Pen = Pen(1);
    pub(super) const GRID: Pen = Pen(2);
    pub(super) const PEAK: Pen = Pen(3);
    pub(super) const CLAIM: Pen = Pen(4);
    /// In the key: another machine's.
    pub(super) const BESIDE: Pen = Pen(32);
    /// Around what lies on a bar, in any theme.
    pub(super) const PAPER: Pen = Pen(33);

    /// The `n`th model: one colour, three dash patterns in turn.
    pub(super) fn model(n: usize) -> Pen {
        Pen(5 + n % 3)
    }

    /// The `n`th series: six colours in turn.
    pub(crate) const fn series(n: usize) -> Pen {
        Pen(8 + n % 6)
    }

    /// What another machine has of the `n`th series.
    pub(super) const fn beside(n: usize) -> Pen {
        Pen(26 + n % 6)
    }

    /// The same of a series, in dashes that leave gaps to those that it is drawn over:
    /// one, or two and more.
    pub(super) const fn over(self, others: usize) -> Pen {
        Pen(self.0 + if others > 1 { 12 } else { 6 })
    }

    /// The width of its lines in a chart.
    pub(super) fn width(self) -> f64 {
        match self {
            Pen::PEAK => 1.0,
            Pen::CLAIM => 1.25,
            Pen(..8) => 1.5,
            Pen(..26) => 2.0,
            Pen(_) => 1.25,
        }
    }

    pub(crate) fn css(self) -> String {
        let (name, fallback, _) = PENS[self.0];
        format!("var(--chart-{name},{fallback})")
    }

    fn color(self) -> RGBColor {
        RGBColor(0, 0, self.0 as u8)
    }

    /// A stroke of this width in pixels.
    pub(super) fn stroke(self, width: f64) -> ShapeStyle {
        self.color().stroke_width(quarter(width) as u32)
    }

    /// The stroke of what is no data.
    pub(super) fn faint(self) -> ShapeStyle {
        self.color().mix(0.5).stroke_width(4)
    }

    /// A fill.
    pub(super) fn fill(self, opacity: f64) -> ShapeStyle {
        self.color().mix(opacity).filled()
    }
}

/// A length in the quarter pixels that plotters draws in.
pub(super) fn quarter(pixels: f64) -> i32 {
    (pixels * 4.0).round() as i32
}

/// The side of its anchor point that a text lies on.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A chart being drawn: lengths and places in pixels from the upper left.
pub(super) struct Sheet<'a> {
    pub(super) width: f64,
    /// For shapes of plotters, on the grid of quarter pixels.
    pub(super) area: DrawingArea<SVGBackend<'a>, Shift>,
    texts: String,
    hovers: String,
    written: Vec<Area>,
}

/// Runs `paint` on a new sheet; the content of the SVG.
pub(super) fn sheet(width: f64, height: f64, paint: impl FnOnce(&mut Sheet)) -> String {
    let mut shapes = String::new();
    let size = (quarter(width) as u32, quarter(height) as u32);
    let (texts, hovers) = {
        let area = SVGBackend::with_string(&mut shapes, size).into_drawing_area();
        let (texts, hovers) = (String::new(), String::new());
        let mut sheet = Sheet { width, area, texts, hovers, written: Vec::new() };
        paint(&mut sheet);
        (sheet.texts, sheet.hovers)
    };
    let hovers = match hovers.is_empty() {
        true => hovers,
        false => format!("<g class=\"hover\" fill=\"transparent\">\n<g>\n{hovers}</g>\n</g>\n"),
    };
    format!(
        "<g transform=\"scale(.25)\" stroke-linejoin=\"round\">\n{}</g>\n\
         <g stroke=\"var(--chart-paper,#fff)\" stroke-width=\"3\" \
         stroke-linejoin=\"round\" paint-order=\"stroke\">\n{texts}</g>\n{hovers}",
        themed(&shapes)
    )
}

/// What plotters drew, without its frame and defaults, in the theme's colours.
fn themed(svg: &str) -> String {
    let mut out = String::new();
    for shape in svg.lines().filter(|line| line.ends_with("/>")) {
        out.push_str(shape);
        out.push('\n');
    }
    for default in [" opacity=\"1\"", " stroke=\"none\"", " stroke-width=\"0\""] {
        out = out.replace(default, "");
    }
    out = out.replace(" \"/>", "\"/>");
    for (n, (_, _, dash)) in PENS.iter().enumerate() {
        let (sentinel, css) = (format!("#0000{n:02X}"), Pen(n).css());
        let dash = match *dash {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        out = out
            .replace(&format!("fill=\"{sentinel}\""), &format!("fill=\"{css}\""))
            .replace(&format!("stroke=\"{sentinel}\""), &format!("stroke=\"{css}\"{dash}"));
    }
    out
}

impl Sheet<'_> {
    /// Draws straight lines through these places.
    pub(super) fn line(&self, places: &[(f64, f64)], stroke: ShapeStyle) {
        let places: Vec<_> = places.iter().map(|&(x, y)| (quarter(x), quarter(y))).collect();
        self.area.draw(&PathElement::new(places, stroke)).expect(INFALLIBLE);
    }

    /// Draws a vertical line, interrupted where it would cross texts written so far.
    pub(super) fn vertical(&self, x: f64, top: f64, bottom: f64, stroke: ShapeStyle) {
        let crossed = |area: &&Area| area.left - 3.0 < x && x < area.right + 3.0;
        let mut crossed: Vec<&Area> = self.written.iter().filter(crossed).collect();
        crossed.sort_by(|a, b| a.top.total_cmp(&b.top));
        let mut from = top;
        let mut upto = |end: f64, next: f64| {
            if end > from {
                // Upwards, so that dashes of lines at one place coincide.
                self.line(&[(x, end), (x, from)], stroke);
            }
            from = from.max(next);
        };
        for area in crossed {
            upto(area.top.min(bottom), area.bottom);
        }
        upto(bottom, bottom);
    }

    /// Draws a filled rectangle.
    pub(super) fn rectangle(&self, area: &Area, fill: ShapeStyle) {
        let corners =
            [(quarter(area.left), quarter(area.top)), (quarter(area.right), quarter(area.bottom))];
        self.area.draw(&Rectangle::new(corners, fill)).expect(INFALLIBLE);
    }

    /// Writes a line of text, `y` its middle, moved inwards if it would be clipped.
    pub(super) fn text(&mut self, x: f64, y: f64, side: Anchor, pen: Pen, text: &str) {
        self.words(x, y, side, pen, "", text);
    }

    /// Writes a number in the middle of a filled area, on which a halo would stain.
    pub(super) fn text_on_fill(&mut self, x: f64, y: f64, text: &str) {
        self.words(x, y, Anchor::Middle, Pen::INK, " stroke=\"none\"", text);
    }

    /// Writes a heading.
    pub(super) fn heading(&mut self, x: f64, y: f64, text: &str) {
        let weight = " font-weight=\"600\"";
        self.words(x, y, Anchor::Start, Pen::INK, weight, text);
    }

    fn words(&mut self, x: f64, y: f64, side: Anchor, pen: Pen, look: &str, text: &str) {
        let text = text::cut(text, self.width);
        let width = text::width(&text);
        let (before, after, anchor) = match side {
            Anchor::Start => (0.0, width, ""),
            Anchor::Middle => (width / 2.0, width / 2.0, " text-anchor=\"middle\""),
            Anchor::End => (width, 0.0, " text-anchor=\"end\""),
        };
        let x = x.min(self.width - after).max(before);
        let half = text::LINE / 2.0;
        let (left, right) = (x - before, x + after);
        self.written.push(Area { left, top: y - half, right, bottom: y + half });
        // The baseline: half the height of a capital below the middle.
        let y = y + 0.36 * SIZE;
        let _ = writeln!(
            self.texts,
            "<text x=\"{}\" y=\"{}\"{anchor}{look} fill=\"{}\">{}</text>",
            short(x),
            short(y),
            pen.css(),
            xml(&text)
        );
    }

    /// What can be pointed at from now on is another series: a script walks along one by the
    /// keyboard, and from one to the next.
    pub(super) fn series(&mut self) {
        if !self.hovers.is_empty() && !self.hovers.ends_with("<g>\n") {
            self.hovers += "</g>\n<g>\n";
        }
    }

    /// An invisible disc that shows `title` when pointed at.
    pub(super) fn hover_point(&mut self, (x, y): (f64, f64), title: &str) {
        let (x, y, title) = (short(x), short(y), xml(title));
        let _ = writeln!(
            self.hovers,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"8\"><title>{title}</title></circle>",
        );
    }

    /// An invisible rectangle that shows `title` when pointed at.
    pub(super) fn hover_area(&mut self, area: &Area, title: &str) {
        let _ = writeln!(
            self.hovers,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
            short(area.left),
            short(area.top),
            short(area.right - area.left),
            short(area.bottom - area.top),
            xml(title)
        );
    }

    /// An invisible strip across the sheet that shows `title` when pointed at.
    pub(super) fn hover_strip(&mut self, top: f64, bottom: f64, title: &str) {
        let _ = writeln!(
            self.hovers,
            "<rect y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
            short(top),
            short(self.width),
            short(bottom - top),
            xml(title)
        );
    }
}

/// A coordinate, to the quarter pixel.
pub(crate) fn short(pixels: f64) -> f64 {
    f64::from(quarter(pixels)) / 4.0
}
