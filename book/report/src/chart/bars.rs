//! Bars: horizontal, in groups, with intervals, values at their ends and vertical
//! guides. Another machine's are thinner, each on a line of its own below, so that no number
//! stands beside the other's mark.
//!
//! Labels stand left of the bars, or above them where they are too wide for that.

use std::collections::BTreeSet;

use super::legend::{FOOT, Key, Mark, STRIP, Sample, foot, measure, nothing};
use super::place::{self, Flag};
use super::scale::Span;
use super::sheet::{Sheet, sheet};
use super::{Bar, Bars, Picture, Reading, Width};
use crate::svg::text::{self, LINE};
use crate::svg::{Anchor, Area, Pen};

/// From a bar's interval to its value.
const GAP: f64 = 6.0;
/// From the middle of a bar to that of another machine's below it.
const BELOW: f64 = 14.0;

/// A bar or a group's heading, from `top` to `bottom`.
struct Row<'a> {
    content: Content<'a>,
    top: f64,
    bottom: f64,
}

enum Content<'a> {
    Heading(&'a str),
    Bar(&'a Bar),
}

struct Layout<'a> {
    value: Span,
    ticks: Vec<(f64, String)>,
    rows: Vec<Row<'a>>,
    plot: Area,
    /// Labels left of the bars, not above them.
    beside: bool,
    /// Every bar is a kind of its own, so that colours would tell nothing.
    plain: bool,
    key: Key,
    /// Of each guide; none if it is in the key.
    flags: Vec<Option<Flag>>,
    height: f64,
}

pub(super) fn draw(bars: &Bars, width: Width) -> Picture {
    let (width, label_limit) = width.pick((640.0, 170.0), (360.0, 106.0));
    let shown = |bar: &&Bar| bar.value.is_finite();
    let all = || bars.groups.iter().flat_map(|group| &group.bars).filter(shown);
    let values =
        all().flat_map(|bar| [bar.value, bar.low, bar.high, bar.beside.unwrap_or(bar.value)]);
    let (value, marks) = measure(&bars.value, values, &bars.guides, '→');

    let label = all().map(|bar| text::width(&bar.label)).fold(0.0, f64::max);
    let beside = label <= label_limit;
    let left = if beside { label + 10.0 } else { 1.0 };
    let layout = settle(bars, &marks, value, (left, width), beside);
    let size = (width, layout.height);
    let body = sheet(size.0, size.1, |sheet| paint(sheet, bars, &marks, &layout));
    let cross = (layout.plot.top, layout.plot.bottom);
    let reading = Some(Reading { axis: "x", value: layout.value, cross, over: None });
    Picture { size, body, reading }
}

fn settle<'a>(
    bars: &'a Bars,
    marks: &[Mark],
    value: Span,
    (left, width): (f64, f64),
    beside: bool,
) -> Layout<'a> {
    // As wide as the values at the bars' ends allow.
    let all = || bars.groups.iter().flat_map(|group| &group.bars);
    let all = || all().filter(|bar| bar.value.is_finite());
    let fits = |value: &Span| {
        let ends = all().flat_map(|bar| [Some(bar.number()), bar.beside.map(|b| (b, b))]);
        ends.flatten().all(|(number, end)| {
            let number = value.number(number);
            behind(end, &number, value, marks) + text::width(&number) <= width
        })
    };
    let mut right = width - 14.0;
    while right > left + 60.0 && !fits(&value.clone().between(left, right)) {
        right -= 4.0;
    }
    let value = value.between(left, right);
    let ticks = value.ticks(|label| text::width(label) + 14.0);

    let mut key = Key::default();
    let looks = [(Sample::Fill(0.85), Pen::series(0)), (Sample::Strip, Pen::MUTED)];
    key.add_whose(&bars.whose, looks);
    // A flag for what lies beyond the axis flies from the sheet's edge.
    let pole = |mark: &Mark| {
        let edge = width + place::STAFF;
        let x = if mark.beyond { edge } else { value.position(mark.value) };
        (x, text::width(&mark.label))
    };
    let poles: Vec<(f64, f64)> = marks.iter().map(pole).collect();
    let flags = place::flags(&poles, width);
    for (mark, _) in marks.iter().zip(&flags).filter(|(_, flag)| flag.is_none()) {
        key.add_mark(mark);
    }
    let flag_rows = flags.iter().flatten().map(|flag| flag.row + 1).max().unwrap_or(0);

    let top = key.height(width) + flag_rows as f64 * LINE + 2.0;
    let rows = rows(bars, top + 2.0, beside);
    let bottom = rows.last().map_or(top + 40.0, |row| row.bottom) + 4.0;
    let plot = Area { left, top, right, bottom };
    let (count, kinds) = (all().count(), all().map(|bar| bar.color));
    let plain = kinds.collect::<BTreeSet<_>>().len() == count;
    let height = bottom + FOOT;
    Layout { value, ticks, rows, plot, beside, plain, key, flags, height }
}

/// The headings and bars, one below the other.
fn rows(bars: &Bars, top: f64, beside: bool) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut y = top;
    for group in &bars.groups {
        y += if rows.is_empty() { 0.0 } else { 8.0 };
        let heading = (!group.label.is_empty()).then_some(Content::Heading(&group.label));
        let shown = group.bars.iter().filter(|bar| bar.value.is_finite());
        for content in heading.into_iter().chain(shown.map(Content::Bar)) {
            let mut height = match content {
                Content::Bar(_) if !beside => LINE + 20.0,
                _ => 22.0,
            };
            if let Content::Bar(Bar { beside: Some(_), .. }) = content {
                height += BELOW;
            }
            rows.push(Row { content, top: y, bottom: y + height });
            y += height;
        }
    }
    rows
}

/// Where the number of what ends there begins: right of it, and of the guides that would run
/// through the number, if that does not take it far from its bar.
fn behind(end: f64, number: &str, value: &Span, marks: &[Mark]) -> f64 {
    let width = text::width(number);
    let drawn = marks.iter().filter(|mark| !mark.beyond);
    let mut lines: Vec<f64> = drawn.map(|mark| value.position(mark.value)).collect();
    lines.sort_by(f64::total_cmp);
    lines.into_iter().fold(value.position(end) + GAP, |start, line| {
        let through = start - GAP < line && line < start + width + GAP;
        let is_near = line + GAP - start <= width;
        if through && is_near { line + GAP } else { start }
    })
}

fn paint(sheet: &mut Sheet, bars: &Bars, marks: &[Mark], layout: &Layout) {
    let Layout { value, plot, .. } = layout;
    for (tick, _) in &layout.ticks {
        let x = value.position(*tick);
        sheet.line(&[(x, plot.top), (x, plot.bottom)], Pen::GRID.stroke(1.0));
    }
    foot(sheet, value, &layout.ticks, &bars.value.label, *plot);
    layout.key.draw(sheet);
    if layout.rows.is_empty() {
        nothing(sheet, plot.middle());
    }
    for row in &layout.rows {
        let middle = (row.top + row.bottom) / 2.0;
        match row.content {
            Content::Heading(label) => sheet.heading(layout.indent(), middle, label),
            Content::Bar(bar) => {
                paint_bar(sheet, bar, marks, row, layout);
                sheet.hover_strip(row.top, row.bottom, &bar.hover);
            }
        }
    }
    let zero = value.position(0.0);
    sheet.vertical(zero, plot.top, plot.bottom, Pen::MUTED.stroke(1.0));
    for (mark, flag) in marks.iter().zip(&layout.flags) {
        let top = match flag {
            Some(flag) => plot.top - (flag.row + 1) as f64 * LINE + 2.0,
            None => plot.top,
        };
        if !mark.beyond {
            let x = value.position(mark.value);
            let width = mark.pen.width();
            sheet.vertical(x, plot.top, plot.bottom, Pen::PAPER.stroke(width + 2.0));
            sheet.vertical(x, top, plot.bottom, mark.pen.stroke(width));
        }
        if let Some(flag) = flag {
            let y = plot.top - (flag.row as f64 + 0.5) * LINE;
            let (x, side) = match flag.left {
                true => (flag.ends.1, Anchor::End),
                false => (flag.ends.0, Anchor::Start),
            };
            sheet.text(x, y, side, mark.pen, &mark.label);
        }
    }
}

fn paint_bar(sheet: &mut Sheet, bar: &Bar, marks: &[Mark], row: &Row, layout: &Layout) {
    let Layout { value, plot, beside, plain, .. } = layout;
    let (top, middle) = if *beside {
        (row.top + 4.0, row.top + 11.0)
    } else {
        (row.top + LINE + 1.0, row.top + LINE + 8.0)
    };
    let pen = Pen::series(if *plain { 0 } else { bar.color });
    let mut strip = |(number, end): (f64, f64), middle: f64, half: f64, (pen, opacity), ink| {
        let (zero, tip) = (value.position(0.0), value.position(number));
        let (left, right) = (zero.min(tip), zero.max(tip));
        let area = Area { left, top: middle - half, right, bottom: middle + half };
        sheet.rectangle(&area, Pen::fill(pen, opacity));
        let number = value.number(number);
        sheet.text(behind(end, &number, value, marks), middle, Anchor::Start, ink, &number);
    };
    strip(bar.number(), middle, middle - top, (pen, 0.85), Pen::INK);
    if let Some(there) = bar.beside {
        strip((there, there), middle + BELOW, STRIP, (Pen::MUTED, 1.0), Pen::MUTED);
    }
    if bar.low.is_finite() && bar.high.is_finite() && bar.low < bar.high {
        let (low, high) = (value.position(bar.low), value.position(bar.high));
        for stroke in [Pen::PAPER.stroke(3.0), Pen::INK.stroke(1.0)] {
            sheet.line(&[(low, middle), (high, middle)], stroke);
            for x in [low, high] {
                sheet.line(&[(x, middle - 3.0), (x, middle + 3.0)], stroke);
            }
        }
    }
    if *beside {
        sheet.text(plot.left - 8.0, middle, Anchor::End, Pen::INK, &bar.label);
    } else {
        let (x, y) = (layout.indent(), row.top + LINE / 2.0);
        sheet.text(x, y, Anchor::Start, Pen::INK, &bar.label);
    }
}

impl Bar {
    /// Its number, and where its interval ends.
    fn number(&self) -> (f64, f64) {
        (self.value, if self.high.is_finite() { self.high.max(self.value) } else { self.value })
    }
}

impl Layout<'_> {
    /// Where labels begin: clear of the axis, if they stand above their bars.
    fn indent(&self) -> f64 {
        if self.beside { 0.0 } else { 5.0 }
    }
}
