//! Heat maps: a cell for each pair of values, its ratio in it, its colour as strong as the ratio
//! is far from break-even.
//!
//! The number carries the meaning and the colour repeats it, so nothing is lost on a
//! reader who sees no colours. Numbers get as many digits as fit their cells.

use plotters::style::ShapeStyle;

use super::legend::{FOOT, Key, Sample, nothing};
use super::scale::Span;
use super::sheet::{Sheet, sheet};
use super::{Axis, Heatmap, Picture, Width};
use crate::svg::text::{self, LINE};
use crate::svg::{Anchor, Area, Pen};
use crate::unit::Unit;

/// Opacity of the palest and of the strongest cell: texts stay legible on both.
const OPACITY: (f64, f64) = (0.06, 0.42);
/// From this factor on, above or below break-even, a cell has its strongest colour.
const FULL: f64 = 4.0;
/// Around a number or a heading in its cell.
const MARGIN: f64 = 1.5;
const ROW: f64 = 30.0;
/// Below break-even.
const BELOW: Pen = Pen::series(0);
/// Above break-even.
const ABOVE: Pen = Pen::series(1);

struct Layout<'a> {
    map: &'a Heatmap,
    values: Vec<f64>,
    /// How they are printed.
    printed: Span,
    key: Key,
    /// Of each row.
    labels: Vec<String>,
    /// Of each column, its lines.
    headings: Vec<Vec<String>>,
    plot: Area,
    column: f64,
    height: f64,
}

pub(super) fn draw(map: &Heatmap, width: Width) -> Picture {
    let (width, limit) = width.pick((640.0, 170.0), (360.0, 90.0));
    let layout = settle(map, width, limit);
    let size = (width, layout.height);
    let body = sheet(size.0, size.1, |sheet| paint(sheet, &layout));
    Picture { size, body, reading: None }
}

fn settle(map: &Heatmap, width: f64, limit: f64) -> Layout<'_> {
    let values = map.cells.iter().flatten().map(|cell| cell.value);
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let axis = Axis { unit: Unit::Ratio, ..Axis::default() };
    let printed = Span::of_values(&axis, &values);

    let mut key = Key::default();
    key.add(Sample::Nothing, Pen::MUTED, &map.label);
    key.add(Sample::Fill(OPACITY.1), BELOW, &map.below);
    key.add(Sample::Fill(OPACITY.1), ABOVE, &map.above);
    key.add(Sample::Line, Pen::INK, "break-even");
    let labels = map.rows.names.iter();
    let labels: Vec<String> = labels.map(|name| text::cut(name, limit)).collect();
    let label = labels.iter().map(|label| text::width(label)).fold(0.0, f64::max);
    let (left, top) = (label + 10.0, key.height(width) + LINE + 4.0);
    let (columns, rows) = (map.columns.names.len(), map.rows.names.len());
    let (columns, rows) = (columns.max(1) as f64, rows.max(1) as f64);
    let column = ((width - left - 1.0) / columns).min(4.0 * ROW);
    let headings = headings(&map.columns.names, column - 2.0 * MARGIN);
    let lines = headings.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let (right, bottom) = (left + column * columns, top + ROW * rows);
    let plot = Area { left, top, right, bottom };
    let height = bottom + FOOT + (lines - 1) as f64 * LINE;
    Layout { map, values, printed, key, labels, headings, plot, column, height }
}

impl Layout<'_> {
    /// Where the cell in this row and column lies.
    fn area(&self, y: usize, x: usize) -> Area {
        let left = self.plot.left + x as f64 * self.column;
        let top = self.plot.top + y as f64 * ROW;
        Area { left, top, right: left + self.column, bottom: top + ROW }
    }
}

fn paint(sheet: &mut Sheet, layout: &Layout) {
    let Layout { map, plot, column, .. } = layout;
    layout.key.draw(sheet);
    let above = plot.top - LINE / 2.0 - 2.0;
    sheet.text(0.0, above, Anchor::Start, Pen::MUTED, &map.rows.label);
    let middle = plot.middle().0;
    let below = layout.height - LINE / 2.0 - 1.0;
    sheet.text(middle, below, Anchor::Middle, Pen::MUTED, &map.columns.label);
    if layout.values.is_empty() {
        return nothing(sheet, plot.middle());
    }
    for (y, label) in layout.labels.iter().enumerate() {
        let y = plot.top + (y as f64 + 0.5) * ROW;
        sheet.text(plot.left - 8.0, y, Anchor::End, Pen::MUTED, label);
    }
    for (x, lines) in layout.headings.iter().enumerate() {
        let x = plot.left + (x as f64 + 0.5) * column;
        for (n, line) in lines.iter().enumerate() {
            let y = plot.bottom + 14.0 + n as f64 * LINE;
            sheet.text(x, y, Anchor::Middle, Pen::MUTED, line);
        }
    }
    let number = numbers(&layout.printed, &layout.values, column - 2.0 * MARGIN);
    for (y, row) in map.cells.iter().enumerate() {
        sheet.series();
        for (x, cell) in row.iter().enumerate() {
            let area = layout.area(y, x);
            sheet.hover_area(&area, &cell.hover);
            let (x, y) = area.middle();
            if !cell.value.is_finite() {
                sheet.text(x, y, Anchor::Middle, Pen::MUTED, "–");
                continue;
            }
            sheet.rectangle(&area.inside(0.5), fill(cell.value));
            if let Some(number) = number(cell.value) {
                sheet.text_on_fill(x, y, &number);
            }
        }
    }
    break_even(sheet, layout);
}

/// The columns' names: on one line if all fit so, or else all broken into their words;
/// what fits neither way is cut.
fn headings(names: &[String], room: f64) -> Vec<Vec<String>> {
    let whole = names.iter().all(|name| text::width(name) <= room);
    let words = |name: &String| -> Vec<String> {
        name.split_whitespace().map(|word| text::cut(word, room)).take(3).collect()
    };
    let lines = |name: &String| if whole { vec![name.clone()] } else { words(name) };
    names.iter().map(lines).collect()
}

/// The fill of a ratio's cell: the stronger, the further it is from 1, by its logarithm.
fn fill(ratio: f64) -> ShapeStyle {
    let strength = (ratio.ln().abs() / FULL.ln()).min(1.0);
    let pen = if ratio >= 1.0 { ABOVE } else { BELOW };
    pen.fill(OPACITY.0 + strength * (OPACITY.1 - OPACITY.0))
}

/// How numbers are written: with their unit if all fit so, or else each with as many
/// digits as fit.
fn numbers<'a>(
    printed: &'a Span,
    values: &[f64],
    room: f64,
) -> impl Fn(f64) -> Option<String> + 'a {
    let fits = move |text: &String| text::width(text) <= room;
    let whole = values.iter().all(|&value| fits(&printed.number(value)));
    move |value| match whole {
        true => Some(printed.number(value)),
        false => [3, 2, 1].map(|digits| printed.bare(value, digits)).into_iter().find(fits),
    }
}

/// Draws the line between cells below and cells above break-even.
fn break_even(sheet: &mut Sheet, layout: &Layout) {
    let cells = &layout.map.cells;
    let below = |y: usize, x: usize| {
        let value = cells.get(y)?.get(x)?.value;
        value.is_finite().then_some(value < 1.0)
    };
    for (y, row) in cells.iter().enumerate() {
        for x in 0..row.len() {
            let Area { left, top, right, bottom } = layout.area(y, x);
            for (next, ends) in [
                (below(y, x + 1), [(right, top), (right, bottom)]),
                (below(y + 1, x), [(left, bottom), (right, bottom)]),
            ] {
                if next.is_some_and(|next| below(y, x) == Some(!next)) {
                    sheet.line(&ends, Pen::INK.stroke(2.0));
                }
            }
        }
    }
}
