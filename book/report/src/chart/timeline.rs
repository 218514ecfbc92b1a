//! Timelines: what ran when, as bars along a time axis, in lanes, in one or several
//! panels below each other.
//!
//! A bar is labelled inside where its label fits, then by the number that its label
//! ends with, then right of it where there is room; else only when pointed at. Bars of
//! one lane that overlap in time lie below each other.

use super::legend::{FOOT, Key, Sample, foot, nothing};
use super::scale::Span;
use super::sheet::{Sheet, sheet};
use super::{Axis, Lane, Picture, Piece, Timeline, Width};
use crate::svg::text::{self, LINE};
use crate::svg::{Anchor, Area, Pen};

/// Opacity of a bar: texts stay legible on it.
const OPACITY: f64 = 0.36;
/// Of a bar that stands for waiting.
const PALE: f64 = 0.1;
const BAR: f64 = 20.0;
/// Above and below the bars of a lane.
const MARGIN: f64 = 3.0;
/// Between a bar and its label.
const GAP: f64 = 4.0;
/// Between panels.
const BETWEEN: f64 = 10.0;
/// Pieces overlap if they do so by more than this part of the axis: clocks tick.
const TICK: f64 = 1e-3;

/// A panel in its place.
struct Row<'a> {
    heading: Vec<String>,
    note: &'a str,
    /// Where the heading begins.
    top: f64,
    time: Span,
    lanes: Vec<Track<'a>>,
    plot: Area,
}

/// A lane in its place.
struct Track<'a> {
    label: &'a str,
    /// Where it begins, with its label if that stands above the bars.
    top: f64,
    bottom: f64,
    /// Its bars, each with where it lies, by time; bars of one height do not meet.
    bars: Vec<(&'a Piece, Area)>,
}

pub(super) fn draw(timeline: &Timeline, width: Width) -> Picture {
    let (width, limit) = width.pick((640.0, 150.0), (360.0, 90.0));
    let mut key = Key::default();
    for kind in timeline.kinds.iter().filter(|_| timeline.kinds.len() > 1) {
        let (pen, opacity) = look(kind.color);
        key.add(Sample::Fill(opacity), pen, &kind.label);
    }
    let head = key.height(width);
    let head = if head > 0.0 { head + 4.0 } else { head };
    let rows = settle(timeline, head, width, limit);
    let bottom = rows.last().map_or(head + 60.0, |row| row.plot.bottom);
    let size = (width, bottom + FOOT);
    let body = sheet(size.0, size.1, |sheet| {
        key.draw(sheet);
        let beside = beside(timeline, limit).is_some();
        rows.iter().for_each(|row| paint(sheet, row, beside));
        if let Some(Row { time, plot, .. }) = rows.last() {
            foot(sheet, time, &ticks(time), &timeline.time.label, *plot);
        }
        if rows.is_empty() {
            nothing(sheet, (size.0 / 2.0, size.1 / 2.0));
        }
    });
    Picture { size, body, reading: None }
}

/// The pen and the opacity of a color; none stands for waiting.
fn look(color: Option<usize>) -> (Pen, f64) {
    color.map_or((Pen::MUTED, PALE), |color| (Pen::series(color), OPACITY))
}

/// Width of the lanes' labels, if they fit beside the bars; else they stand above.
fn beside(timeline: &Timeline, limit: f64) -> Option<f64> {
    let lanes = timeline.panels.iter().flat_map(|panel| &panel.lanes);
    let widest = lanes.map(|lane| text::width(&lane.label)).fold(0.0, f64::max);
    (widest <= limit).then_some(widest)
}

/// The pieces that can be drawn, by time.
fn finite(lane: &Lane) -> Vec<&Piece> {
    let finite = |piece: &&Piece| piece.start.is_finite() && piece.end.is_finite();
    let mut pieces: Vec<&Piece> = lane.pieces.iter().filter(finite).collect();
    pieces.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end)));
    pieces
}

/// The axis from 0, or from the first start if that is earlier, to the last end.
fn axis<'a>(axis: &Axis, lanes: impl Iterator<Item = &'a Lane>) -> Span {
    let ends = lanes.flat_map(finite).flat_map(|piece| [piece.start, piece.end]);
    let ends: Vec<f64> = ends.collect();
    let mut span = Span::of_values(axis, &ends);
    let (first, last) = ends.iter().fold((0f64, 0f64), |(a, b), &end| (a.min(end), b.max(end)));
    if first < last {
        (span.min, span.max) = (first, last);
    }
    span
}

fn settle(timeline: &Timeline, mut top: f64, width: f64, limit: f64) -> Vec<Row<'_>> {
    let beside = beside(timeline, limit);
    let left = beside.map_or(1.0, |label| label + 10.0);
    let lanes = timeline.panels.iter().flat_map(|panel| &panel.lanes);
    let time = axis(&timeline.time, lanes).between(left, width - 8.0);
    let mut rows = Vec::new();
    for panel in &timeline.panels {
        let room = width - text::width(&panel.note) - 14.0;
        // Headings are bold, and wider than the table of widths has them.
        let heading = text::wrap(&panel.label, 0.92 * room, 3)
            .unwrap_or_else(|| vec![text::cut(&panel.label, 0.92 * room)]);
        let lines = match heading.len() {
            0 if panel.note.is_empty() => 0,
            lines => lines.max(1),
        };
        let start = top + lines as f64 * LINE + if lines > 0 { 4.0 } else { 0.0 };
        let mut bottom = start + if panel.lanes.is_empty() { 40.0 } else { 0.0 };
        let mut lanes = Vec::new();
        for lane in &panel.lanes {
            let track = track(lane, &time, bottom, beside.is_some());
            bottom = track.bottom;
            lanes.push(track);
        }
        let plot = Area { left, top: start, right: width - 8.0, bottom };
        let (note, time) = (panel.note.as_str(), time.clone());
        rows.push(Row { heading, note, top, time, lanes, plot });
        top = bottom + BETWEEN;
    }
    rows
}

/// Lays out a lane: a bar is as high up as those before it allow.
fn track<'a>(lane: &'a Lane, time: &Span, top: f64, beside: bool) -> Track<'a> {
    let first = top + MARGIN + if beside { 0.0 } else { LINE };
    let tick = TICK * (time.max - time.min);
    let mut ends: Vec<f64> = Vec::new();
    let mut bars = Vec::new();
    for piece in finite(lane) {
        let free = ends.iter().position(|&end| end - tick <= piece.start);
        let level = free.unwrap_or(ends.len());
        ends.resize(ends.len().max(level + 1), f64::NEG_INFINITY);
        ends[level] = piece.end;
        let left = time.position(piece.start);
        let right = time.position(piece.end).max(left + 1.5);
        let top = first + level as f64 * (BAR + 2.0);
        bars.push((piece, Area { left, top, right, bottom: top + BAR }));
    }
    let levels = ends.len().max(1) as f64;
    let bottom = first + levels * (BAR + 2.0) - 2.0 + MARGIN;
    Track { label: &lane.label, top, bottom, bars }
}

fn ticks(time: &Span) -> Vec<(f64, String)> {
    time.ticks(|label| text::width(label) + 14.0)
}

fn paint(sheet: &mut Sheet, row: &Row, beside: bool) {
    let Row { time, plot, .. } = row;
    for (n, line) in row.heading.iter().enumerate() {
        sheet.heading(0.0, row.top + (n as f64 + 0.5) * LINE, line);
    }
    let y = row.top + 0.5 * LINE;
    sheet.text(sheet.width, y, Anchor::End, Pen::INK, row.note);
    for (tick, _) in ticks(time) {
        let x = time.position(tick);
        sheet.line(&[(x, plot.top), (x, plot.bottom)], Pen::GRID.stroke(1.0));
    }
    if row.lanes.is_empty() {
        nothing(sheet, plot.middle());
    }
    for lane in &row.lanes {
        sheet.series();
        let ends = [(plot.left, lane.bottom), (sheet.width, lane.bottom)];
        sheet.line(&ends, Pen::GRID.stroke(1.0));
        if beside {
            // In the middle of all its bars, with a bracket where they lie below each other.
            let y = (lane.top + lane.bottom) / 2.0;
            sheet.text(plot.left - 8.0, y, Anchor::End, Pen::INK, lane.label);
            if lane.bottom - lane.top > 2.0 * BAR {
                let (x, ends) = (plot.left - 4.0, (lane.top + MARGIN, lane.bottom - MARGIN));
                sheet.line(&[(x, ends.0), (x, ends.1)], Pen::MUTED.stroke(1.5));
            }
        } else {
            let y = lane.top + MARGIN + LINE / 2.0;
            sheet.text(0.0, y, Anchor::Start, Pen::MUTED, lane.label);
        }
        // Numbers for all bars of a lane, or for none.
        let numbered = lane
            .bars
            .iter()
            .all(|(piece, area)| number(piece).is_none_or(|number| fits(number, area)));
        for (n, (piece, area)) in lane.bars.iter().enumerate() {
            let later = lane.bars[n + 1..].iter().map(|(_, area)| area);
            let next = later.filter(|next| next.top == area.top).map(|next| next.left);
            let next = next.fold(sheet.width, f64::min);
            paint_bar(sheet, piece, area, next, numbered);
        }
    }
    let base = plot.bottom;
    // Beyond the last bar, which so ends before the axis does.
    sheet.line(&[(plot.left, base), (sheet.width, base)], Pen::MUTED.stroke(1.0));
    if beside {
        let axis = [(plot.left, plot.top), (plot.left, base)];
        sheet.line(&axis, Pen::MUTED.stroke(1.0));
    }
}

/// The number at the end of a bar's label.
fn number(piece: &Piece) -> Option<&str> {
    let last = piece.label.split_whitespace().last()?;
    Some(last).filter(|number| number.parse::<u32>().is_ok())
}

fn fits(text: &str, area: &Area) -> bool {
    text::width(text) + GAP <= area.right - area.left
}

/// Draws a bar, and its label where that fits; `next` is where the bar after it begins.
fn paint_bar(sheet: &mut Sheet, piece: &Piece, area: &Area, next: f64, numbered: bool) {
    let (pen, opacity) = look(piece.color);
    sheet.outlined(area, pen, opacity);
    let Area { left, right, .. } = *area;
    let (middle, y) = area.middle();
    let outside = right + GAP + text::width(&piece.label) + GAP <= next;
    if fits(&piece.label, area) {
        sheet.text_on_fill(middle, y, &piece.label);
    } else if let Some(number) = number(piece) {
        if numbered {
            sheet.text_on_fill(middle, y, number);
        }
    } else if outside {
        sheet.text(right + GAP, y, Anchor::Start, Pen::INK, &piece.label);
    }
    let reach = (6.0 - (right - left)).max(0.0) / 2.0;
    let target = Area { left: left - reach, right: right + reach, ..*area };
    sheet.hover_area(&target, &piece.hover);
}
