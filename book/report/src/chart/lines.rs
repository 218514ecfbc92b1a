//! Lines: measured curves with their intervals, models and horizontal guides.
//!
//! Curves are labelled at their ends and guides on their lines. Where there is no
//! room for that (narrow charts, long labels), a label goes to the key above the plot.
//! Where curves lie on each other, they alternate in dashes.
//! Marks on the x axis are vertical lines, always named in the key, and so is whose the
//! curves are where there are two machines'.

use plotters::element::{Circle, PathElement, Polygon};

use super::legend::{FOOT, Key, Mark, Sample, foot, measure, nothing, say};
use super::place;
use super::scale::Span;
use super::sheet::{Sheet, sheet};
use super::{Lines, Picture, Point, Reading, Series, Width};
use crate::svg::text::{self, LINE};
use crate::svg::{Anchor, Area, Pen};

/// From the plot to the labels at the ends of curves.
const LEADER: f64 = 10.0;
/// Above the plot, for the title of the vertical axis.
const HEAD: f64 = LINE + 11.0;
/// The least height of the plot. A key that leaves less makes the picture higher.
const LEAST: f64 = 140.0;

struct Curve<'a> {
    label: &'a str,
    pen: Pen,
    points: Vec<&'a Point>,
    kind: Kind,
    steps: bool,
}

/// Where a curve comes from.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Measured,
    /// Measured on another machine.
    Beside,
    Modelled,
}

/// A label at the end of a curve: its lines, and their middle.
type End = (Vec<String>, f64);

/// Everything in its place. Labels that are in the key have no place of their own.
struct Layout {
    height: f64,
    x: Span,
    y: Span,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    plot: Area,
    key: Key,
    /// Of each curve.
    ends: Vec<Option<End>>,
    /// Of each guide: its label and where.
    marks: Vec<Option<(String, Area)>>,
}

pub(super) fn draw(lines: &Lines, width: Width) -> Picture {
    let size = width.pick((640.0, 400.0), (360.0, 380.0));
    panel(lines, &[lines], size, width)
}

/// The same on axes that reach what is `measured` as well, which is not drawn, and go on a little,
/// so that they do not tell how high it comes.
pub(super) fn sketch(lines: &Lines, measured: &Series, width: Width) -> Picture {
    let size = width.pick((640.0, 320.0), (360.0, 320.0));
    let further = |point: &Point| Point { high: 1.25 * point.y, ..point.clone() };
    let points = measured.points.iter().map(further).collect();
    let series = vec![Series { label: String::new(), points }];
    panel(lines, &[&Lines { series, ..lines.clone() }], size, width)
}

/// One of several charts whose axes span the values of all.
pub(super) fn panel(lines: &Lines, all: &[&Lines], size: (f64, f64), width: Width) -> Picture {
    let together: Vec<Curve> = all.iter().flat_map(|lines| curves(lines)).collect();
    let points = || together.iter().flat_map(|curve| &curve.points);
    let values = points().flat_map(|point| [point.y, point.low, point.high]);
    let (y, marks) = measure(&lines.y, values, &lines.guides, '↑');
    let x: Vec<f64> = points().map(|point| point.x).collect();
    let x = Span::across(&lines.x, &x);
    let curves = curves(lines);
    let Some(layout) = settle(lines, &curves, &marks, x, y, size, width) else {
        let why = format!("{} curves are too many for one picture", curves.len());
        let middle = (size.0 / 2.0, size.1 / 2.0);
        let body = sheet(size.0, size.1, |sheet| say(sheet, middle, &why));
        return Picture { size, body, reading: None };
    };
    let size = (size.0, layout.height);
    let body = sheet(size.0, size.1, |sheet| paint(sheet, lines, &curves, &marks, &layout));
    let cross = (layout.plot.left, layout.plot.right);
    let reading = Some(Reading { axis: "y", value: layout.y, cross, over: Some(layout.x) });
    Picture { size, body, reading }
}

/// The series, those beside them, then the models. Models of one name look the same and are
/// labelled once.
fn curves(lines: &Lines) -> Vec<Curve<'_>> {
    let finite = |point: &&Point| point.x.is_finite() && point.y.is_finite();
    let mut curves: Vec<Curve> = Vec::new();
    let kinds = [
        (&lines.series, Kind::Measured),
        (&lines.beside, Kind::Beside),
        (&lines.models, Kind::Modelled),
    ];
    let all = kinds.iter().flat_map(|(all, kind)| all.iter().enumerate().map(move |s| (s, *kind)));
    for ((n, series), kind) in all {
        let mut points: Vec<&Point> = series.points.iter().filter(finite).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        if points.is_empty() {
            continue;
        }
        let models = || curves.iter().filter(|curve| curve.kind == Kind::Modelled);
        let label = series.label.as_str();
        let (label, pen) = match kind {
            Kind::Measured => (label, Pen::series(n)),
            Kind::Beside => {
                let own = lines.series.iter().position(|own| own.label == label);
                match own {
                    Some(own) => ("", Pen::beside(own)),
                    None => (label, Pen::beside(lines.series.len() + n)),
                }
            }
            Kind::Modelled => match models().find(|model| model.label == label) {
                Some(same) => ("", same.pen),
                None => (label, Pen::model(models().count())),
            },
        };
        let steps = lines.steps;
        curves.push(Curve { label, pen, points, kind, steps });
    }
    curves
}

/// The marks that lie on the drawn part of the x axis, dashed unlike the models.
fn uprights<'a>(lines: &'a Lines, x: &'a Span) -> impl Iterator<Item = (&'a super::Mark, Pen)> {
    let shown = |(mark, _): &(&super::Mark, Pen)| (x.min..=x.max).contains(&mark.x);
    lines.marks.iter().zip((lines.models.len()..).map(Pen::model)).filter(shown)
}

/// Finds a place for every label; those that have none go to the key, until all fit. None if
/// the key would be higher than a picture.
fn settle(
    lines: &Lines,
    curves: &[Curve],
    marks: &[Mark],
    x: Span,
    y: Span,
    size: (f64, f64),
    width: Width,
) -> Option<Layout> {
    let (limit, most) = width.pick((150.0, 3), (78.0, 2));
    let wrapped = curves.iter().map(|curve| text::wrap(curve.label, limit, most));
    let mut labels: Option<Vec<Vec<String>>> = wrapped.collect();
    let mut in_key = vec![false; marks.len()];
    // Each round but the last moves something to the key: the curves' labels or a guide's.
    for _ in 0..marks.len() + 2 {
        let mut key = Key::default();
        key.add_whose(&lines.whose, [Pen::INK, Pen::BESIDE].map(|pen| (Sample::Line, pen)));
        if labels.is_none() {
            curves.iter().for_each(|curve| key.add(Sample::Line, curve.pen, curve.label));
        }
        for (mark, _) in marks.iter().zip(&in_key).filter(|(_, in_key)| **in_key) {
            key.add_mark(mark);
        }
        for (mark, pen) in uprights(lines, &x) {
            let place = lines.x.unit.print(mark.x);
            key.add(Sample::Line, pen, &format!("{}: {place}", mark.label));
        }

        let right = labels.iter().flatten().flatten().map(|line| text::width(line));
        let right = right.fold(0.0, f64::max);
        let right = if right > 0.0 { LEADER + right + 2.0 } else { 16.0 };
        if key.height(size.0) > size.1 {
            return None;
        }
        let top = key.height(size.0) + HEAD;
        let bottom = (size.1 - FOOT).max(top + LEAST);
        let y = y.clone().between(bottom, top);
        let y_ticks = y.ticks(|_| 2.0 * LINE);
        let left = y_ticks.iter().map(|(_, label)| text::width(label));
        let left = left.fold(0.0, f64::max) + 10.0;
        let plot = Area { left, top, right: size.0 - right, bottom };
        let x = x.clone().between(plot.left, plot.right);
        let x_ticks = x.ticks(|label| text::width(label) + 14.0);

        let Some(ends) = at_ends(curves, labels.as_deref(), &y, plot) else {
            labels = None;
            continue;
        };
        match on_lines(lines, curves, marks, &in_key, (&x, &y), plot) {
            Ok(marks) => {
                let height = bottom + FOOT;
                return Some(Layout { height, x, y, x_ticks, y_ticks, plot, key, ends, marks });
            }
            Err(homeless) => in_key[homeless] = true,
        }
    }
    None
}

/// The curves' labels, each beside the curve's end as nearly as the others allow; none
/// if that is far off.
fn at_ends(
    curves: &[Curve],
    labels: Option<&[Vec<String>]>,
    y: &Span,
    plot: Area,
) -> Option<Vec<Option<End>>> {
    let labels = labels.unwrap_or_default();
    let mut ends = vec![None; curves.len()];
    let labelled: Vec<usize> = (0..labels.len()).filter(|&i| !labels[i].is_empty()).collect();
    let wanted = labelled.iter().map(|&i| y.position(curves[i].last().y));
    let heights = labelled.iter().map(|&i| labels[i].len() as f64 * LINE);
    let (wanted, heights): (Vec<f64>, Vec<f64>) = (wanted.collect(), heights.collect());
    let middles = place::spread(&wanted, &heights, plot.top - 8.0, plot.bottom + 8.0)?;
    let far = |(wanted, middle): (&f64, &f64)| (wanted - middle).abs() > 3.0 * LINE;
    if wanted.iter().zip(&middles).any(far) {
        return None;
    }
    for (i, middle) in labelled.into_iter().zip(middles) {
        ends[i] = Some((labels[i].clone(), middle));
    }
    Some(ends)
}

/// The guides' labels on their lines; the first that finds no room is the error.
fn on_lines(
    lines: &Lines,
    curves: &[Curve],
    marks: &[Mark],
    in_key: &[bool],
    (x, y): (&Span, &Span),
    plot: Area,
) -> Result<Vec<Option<(String, Area)>>, usize> {
    let place = |(a, b): (f64, f64)| (x.position(a), y.position(b));
    let drawn = curves.iter().map(|curve| curve.path().into_iter().map(place).collect());
    let line = |mark: &Mark| {
        let y = y.position(mark.value);
        vec![(plot.left, y), (plot.right, y)]
    };
    let levels = marks.iter().filter(|mark| !mark.beyond).map(line);
    let uprights = uprights(lines, x).map(|(mark, _)| {
        let x = x.position(mark.x);
        vec![(x, plot.top), (x, plot.bottom)]
    });
    let obstacles: Vec<Vec<(f64, f64)>> = drawn.chain(levels).chain(uprights).collect();
    let mut taken = Vec::new();
    let mut places = Vec::new();
    for (i, mark) in marks.iter().enumerate() {
        let text = text::cut(&mark.label, plot.right - plot.left - 10.0);
        if in_key[i] || text.is_empty() {
            places.push(None);
            continue;
        }
        let height = y.position(mark.value);
        let width = text::width(&text);
        let area = place::beside(height, width, plot, &obstacles, &taken).ok_or(i)?;
        taken.push(area);
        places.push(Some((text, area)));
    }
    Ok(places)
}

fn paint(sheet: &mut Sheet, lines: &Lines, curves: &[Curve], marks: &[Mark], layout: &Layout) {
    let Layout { x, y, plot, .. } = layout;
    for (value, label) in &layout.y_ticks {
        let y = y.position(*value);
        sheet.line(&[(plot.left, y), (plot.right, y)], Pen::GRID.stroke(1.0));
        sheet.text(plot.left - 8.0, y, Anchor::End, Pen::MUTED, label);
    }
    let base = plot.bottom;
    sheet.line(&[(plot.left, base), (plot.right, base)], Pen::MUTED.stroke(1.0));
    for (value, _) in &layout.x_ticks {
        let x = x.position(*value);
        sheet.line(&[(x, base), (x, base + 4.0)], Pen::MUTED.stroke(1.0));
    }
    foot(sheet, x, &layout.x_ticks, &lines.x.label, *plot);
    let title = y.title(&lines.y.label);
    sheet.text(0.0, plot.top - HEAD + LINE / 2.0, Anchor::Start, Pen::MUTED, &title);
    layout.key.draw(sheet);
    for (mark, pen) in uprights(lines, x) {
        let x = x.position(mark.x);
        sheet.line(&[(x, plot.top), (x, base)], pen.stroke(pen.width()));
    }

    for (mark, label) in marks.iter().zip(&layout.marks) {
        if !mark.beyond {
            let y = y.position(mark.value);
            let stroke = mark.pen.stroke(mark.pen.width());
            sheet.line(&[(plot.left, y), (plot.right, y)], stroke);
        }
        if let Some((label, area)) = label {
            sheet.text(area.left, area.middle().1, Anchor::Start, mark.pen, label);
        }
    }
    if curves.is_empty() {
        nothing(sheet, plot.middle());
    }
    let grid = |places: Vec<(f64, f64)>| -> Vec<(i32, i32)> {
        places.into_iter().map(|(a, b)| (x.on_grid(a), y.on_grid(b))).collect()
    };
    for curve in curves.iter().filter(|curve| curve.kind == Kind::Measured && !curve.steps) {
        let outline = grid(curve.band());
        sheet.draw(&Polygon::new(outline.clone(), curve.pen.fill(0.18)));
        if curve.points.len() == 1 {
            sheet.draw(&PathElement::new(outline, curve.pen.stroke(1.0)));
        }
    }
    for curve in curves {
        let stroke = curve.pen.stroke(curve.pen.width());
        sheet.draw(&PathElement::new(grid(curve.path()), stroke));
        sheet.series();
        for point in curve.points.iter().filter(|_| curve.kind != Kind::Modelled) {
            if !curve.steps && curve.kind == Kind::Measured {
                let place = (x.on_grid(point.x), y.on_grid(point.y));
                sheet.draw(&Circle::new(place, 9, curve.pen.fill(1.0)));
            }
            sheet.hover_point((x.position(point.x), y.position(point.y)), &point.hover);
        }
    }
    for (curve, others, stretch) in covered(curves, (x, y)) {
        let stroke = curve.pen.over(others).stroke(curve.pen.width());
        sheet.line(&stretch, stroke);
    }
    for (curve, end) in curves.iter().zip(&layout.ends) {
        let Some((label, middle)) = end else { continue };
        let (end_x, end_y) = (x.position(curve.last().x), y.position(curve.last().y));
        let side = plot.right + LEADER;
        if (end_y - middle).abs() > 3.0 || plot.right - end_x > 2.0 * LEADER {
            let leader = [(end_x + 3.0, end_y), (plot.right, end_y), (side - 3.0, *middle)];
            sheet.line(&leader, curve.pen.faint());
        }
        let first = middle - (label.len() - 1) as f64 / 2.0 * LINE;
        for (n, line) in label.iter().enumerate() {
            sheet.text(side, first + n as f64 * LINE, Anchor::Start, curve.pen, line);
        }
    }
}

/// A stretch of a curve, how many curves lie on it, and its path in pixels.
type Stretch<'c> = (&'c Curve<'c>, usize, Vec<(f64, f64)>);

/// The stretches of measured curves on which later ones lie: drawn again over those, in
/// dashes, so that no curve hides another. The last to be hidden comes first.
fn covered<'c>(curves: &'c [Curve<'c>], (x, y): (&Span, &Span)) -> Vec<Stretch<'c>> {
    let measured: Vec<&Curve> = curves
        .iter()
        .filter(|curve| curve.kind == Kind::Measured && curve.points.len() > 1)
        .collect();
    let place = |(a, b): (f64, f64)| (x.position(a), y.position(b));
    let paths: Vec<Vec<(f64, f64)>> =
        measured.iter().map(|curve| curve.path().into_iter().map(place).collect()).collect();
    let mut stretches = Vec::new();
    for (n, path) in paths.iter().enumerate().rev() {
        let later = &paths[n + 1..];
        let cut = place::cut(path, later);
        let mut stretch: Vec<(f64, f64)> = Vec::new();
        let mut last = 0;
        for ends in cut.windows(2) {
            let on = |other: &&Vec<(f64, f64)>| place::lies_on(ends[0], ends[1], other);
            let others = later.iter().filter(on).count();
            if others != last || stretch.is_empty() {
                stretches.push((measured[n], last, std::mem::take(&mut stretch)));
                stretch.push(ends[0]);
                last = others;
            }
            stretch.push(ends[1]);
        }
        stretches.push((measured[n], last, stretch));
    }
    stretches.retain(|(_, others, _)| *others > 0);
    stretches
}

impl Curve<'_> {
    fn last(&self) -> &Point {
        self.points.last().expect("curves without points are left out")
    }

    /// The places that it goes through: of steps, also their corners.
    fn path(&self) -> Vec<(f64, f64)> {
        let mut path: Vec<(f64, f64)> = Vec::new();
        for point in &self.points {
            let before = path.last().filter(|&&(_, y)| self.steps && y != point.y);
            path.extend(before.map(|&(_, y)| (point.x, y)));
            path.push((point.x, point.y));
        }
        path
    }

    /// The outline of the points' intervals.
    fn band(&self) -> Vec<(f64, f64)> {
        let end = |p: &Point, end: f64| (p.x, if end.is_finite() { end } else { p.y });
        let highs = self.points.iter().map(|p| end(p, p.high));
        let lows = self.points.iter().rev().map(|p| end(p, p.low));
        highs.chain(lows).collect()
    }
}
