//! The sheet that a chart is drawn on: shapes, which go through plotters, below texts, below what
//! can be pointed at. Texts have a halo of the paper's colour and stay legible on lines.

use std::fmt::Write as _;

use plotters::element::{Drawable, PathElement, PointCollection, Rectangle};
use plotters::prelude::IntoDrawingArea as _;
use plotters::style::ShapeStyle;

use crate::html::xml;
use crate::svg::text::{self, LINE};
use crate::svg::{Anchor, Area, Face, Look, Pen, Place, Svg, dot, short};

/// A chart being drawn: lengths and places in pixels from the upper left.
pub(super) struct Sheet {
    pub(super) width: f64,
    svg: Svg,
    hovers: String,
}

/// Runs `paint` on a new sheet; the content of the SVG.
pub(super) fn sheet(width: f64, height: f64, paint: impl FnOnce(&mut Sheet)) -> String {
    let mut sheet = Sheet { width, svg: Svg::new((width, height)), hovers: String::new() };
    paint(&mut sheet);
    let Sheet { svg, hovers, .. } = sheet;
    let hovers = match hovers.is_empty() {
        true => hovers,
        false => format!("<g class=\"hover\" fill=\"transparent\">\n<g>\n{hovers}</g>\n</g>\n"),
    };
    format!(
        "<g stroke-linejoin=\"round\">\n{}\
         <g stroke=\"{}\" stroke-width=\"3\" paint-order=\"stroke\">\n{}</g>\n</g>\n{hovers}",
        svg.shapes(),
        Pen::PAPER.css(),
        svg.texts()
    )
}

impl Sheet {
    /// Draws an element of plotters, on the grid of quarter pixels.
    pub(super) fn draw<'e, E>(&mut self, element: &'e E)
    where
        &'e E: PointCollection<'e, (i32, i32)>,
        E: for<'s> Drawable<&'s mut Svg>,
    {
        let area = (&mut self.svg).into_drawing_area();
        area.draw(element).expect("an SVG takes every shape");
    }

    /// Draws straight lines through these places.
    pub(super) fn line(&mut self, places: &[Place], stroke: ShapeStyle) {
        let dots: Vec<_> = places.iter().copied().map(dot).collect();
        self.draw(&PathElement::new(dots, stroke));
    }

    /// Draws a vertical line, interrupted where it would cross texts written so far.
    pub(super) fn vertical(&mut self, x: f64, top: f64, bottom: f64, stroke: ShapeStyle) {
        let written = self.svg.texts.iter().map(|text| text.area(LINE, 1.0));
        let crossed = |area: &Area| area.left - 3.0 < x && x < area.right + 3.0;
        let mut crossed: Vec<Area> = written.filter(crossed).collect();
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

    pub(super) fn rectangle(&mut self, area: &Area, fill: ShapeStyle) {
        let [from, _, to, _] = area.corners().map(dot);
        self.draw(&Rectangle::new([from, to], fill));
    }

    /// Draws a bar of this opacity with its outline. Neighbours of one pen are one element, which
    /// plotters, for which fill and line are two, could not tell.
    pub(super) fn outlined(&mut self, area: &Area, pen: Pen, opacity: f64) {
        let look = Look { pen, fill: opacity, line: 1.0, width: 4 };
        self.svg.line(area.corners().map(dot).to_vec(), true, look);
    }

    /// Writes a line of text, `y` its middle, moved inwards if it would be clipped.
    pub(super) fn text(&mut self, x: f64, y: f64, side: Anchor, pen: Pen, text: &str) {
        self.words(x, y, side, pen, Face::Plain, text);
    }

    /// Writes a number in the middle of a filled area.
    pub(super) fn text_on_fill(&mut self, x: f64, y: f64, text: &str) {
        self.words(x, y, Anchor::Middle, Pen::INK, Face::Bare, text);
    }

    pub(super) fn heading(&mut self, x: f64, y: f64, text: &str) {
        self.words(x, y, Anchor::Start, Pen::INK, Face::Bold, text);
    }

    fn words(&mut self, x: f64, y: f64, side: Anchor, pen: Pen, face: Face, text: &str) {
        let text = text::cut(text, self.width);
        let width = text::width(&text);
        let before = side.before(width);
        let x = x.min(self.width - (width - before)).max(before);
        self.svg.text((x, y), side, pen, face, &text);
    }

    /// What can be pointed at from now on is another series: a script walks along one by the
    /// keyboard, and from one to the next.
    pub(super) fn series(&mut self) {
        if !self.hovers.is_empty() && !self.hovers.ends_with("<g>\n") {
            self.hovers += "</g>\n<g>\n";
        }
    }

    /// An invisible disc that shows `title` when pointed at.
    pub(super) fn hover_point(&mut self, (x, y): Place, title: &str) {
        let (x, y, title) = (short(x), short(y), xml(title));
        let _ = writeln!(
            self.hovers,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"8\"><title>{title}</title></circle>",
        );
    }

    /// An invisible rectangle that shows `title` when pointed at.
    pub(super) fn hover_area(&mut self, area: &Area, title: &str) {
        let (x, y) = (short(area.left), short(area.top));
        let (width, height) = (short(area.right - area.left), short(area.bottom - area.top));
        let _ = writeln!(
            self.hovers,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\">\
             <title>{}</title></rect>",
            xml(title)
        );
    }

    /// An invisible strip across the sheet that shows `title` when pointed at.
    pub(super) fn hover_strip(&mut self, top: f64, bottom: f64, title: &str) {
        self.hover_area(&Area { left: 0.0, top, right: self.width, bottom }, title);
    }
}
