//! What machines measured in the cases that an explorer shows: a page has it from records, and it
//! is drawn behind the case that the knobs are at.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::picture::{Anchor, COMPUTE, MEMORY, MUTED, Picture};

/// A case of an experiment: its parameters, as records name them.
pub(super) type Case = Vec<(&'static str, String)>;

/// A case of these parameters.
pub(super) fn case<const N: usize>(parameters: [(&'static str, &str); N]) -> Case {
    parameters.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// What was measured over one parameter.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Measured {
    /// The parameter.
    pub along: String,
    /// What it is called.
    pub label: String,
    /// What was measured.
    pub of: String,
    /// Whether equal factors are equally far apart: along, and upwards.
    pub by_factors: [bool; 2],
    /// The least and the most of the axis of values, and what stands there.
    pub ends: [(f64, String); 2],
    /// The page's chart of it, while which is veiled it is not shown.
    pub chart: Option<String>,
    /// What all cases have in common, as parameters.
    pub case: BTreeMap<String, String>,
    /// Who measured it; the reader's own machine comes first.
    pub machines: Vec<Machine>,
}

/// What one machine measured.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Machine {
    /// What it is called.
    pub whose: String,
    /// Cases that differ in the parameter alone are one curve.
    pub curves: Vec<Curve>,
}

/// Measurements over the parameter.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Curve {
    /// The other parameters.
    pub case: BTreeMap<String, String>,
    /// In order.
    pub points: Vec<Point>,
}

/// A measurement. In a page's JSON it is a list, for there are many.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Point {
    /// Where it is along, and what stands there.
    pub at: (f64, String),
    /// What was measured, and the same in words.
    pub value: (f64, String),
}

type Listed = (f64, String, f64, String);

impl From<Listed> for Point {
    fn from((at, there, value, words): Listed) -> Point {
        Point { at: (at, there), value: (value, words) }
    }
}

impl From<Point> for Listed {
    fn from(Point { at, value }: Point) -> Listed {
        (at.0, at.1, value.0, value.1)
    }
}

/// What was measured of a case.
pub(super) struct Found<'m> {
    pub(super) measured: &'m Measured,
    /// Whose the curves are that the case is on, and their points.
    curves: Vec<(&'m str, &'m [Point])>,
    /// Where the case is along.
    at: f64,
}

impl<'m> Found<'m> {
    /// What of all that is in the page was measured of a case.
    pub(super) fn of(all: &'m [Measured], case: &Case) -> Option<Self> {
        all.iter().find_map(|measured| {
            let (_, at) = case.iter().find(|(name, _)| *name == measured.along)?;
            let at = at.parse().ok()?;
            let has = |curve: &&Curve| {
                let its = |name| measured.case.get(name).or(curve.case.get(name));
                let mut others = case.iter().filter(|(name, _)| *name != measured.along);
                others.all(|(name, value)| its(*name) == Some(value))
            };
            let of_machine = |Machine { whose, curves }: &'m Machine| {
                let points = &curves.iter().find(has)?.points;
                (!points.is_empty()).then_some((whose.as_str(), points.as_slice()))
            };
            let curves: Vec<_> = measured.machines.iter().filter_map(of_machine).collect();
            (!curves.is_empty()).then_some(Self { measured, curves, at })
        })
    }

    /// Whose the first curve is, and its points.
    pub(super) fn first(&self) -> (&'m str, &'m [Point]) {
        self.curves[0]
    }

    /// The case's own point.
    fn here(&self) -> Option<&'m Point> {
        self.first().1.iter().find(|point| point.at.0 == self.at)
    }

    /// The case's own value, as a sentence.
    pub(super) fn told(&self) -> Option<String> {
        Some(format!("{}: {}.", self.heading(), self.here()?.value.1))
    }

    /// What was measured, and by whom.
    pub(super) fn heading(&self) -> String {
        format!("Measured, {}: {}", self.first().0, self.measured.of)
    }

    /// Draws the curves below all that is drawn, and where on them the case is.
    fn draw(&self, picture: &mut Picture, top: f64) {
        let Measured { label, by_factors, ends, .. } = self.measured;
        let (left, right) = (90.0, picture.width - 8.0);
        let (up, base) = (top + 22.0, top + ROOM - 24.0);
        let others: String =
            self.curves.iter().skip(1).map(|(whose, _)| format!(" (pale: {whose})")).collect();
        let (_, points) = self.first();
        let heading = self.heading() + &others;
        picture.text((1.0, top), Anchor::Start, MUTED, &heading);
        match self.here() {
            Some(point) => picture.heading((right, top), Anchor::End, &point.value.1),
            None => picture.text((right, top), Anchor::End, MUTED, "not measured here"),
        }
        for ((_, text), y) in ends.iter().zip([base, up]) {
            picture.text((left - 8.0, y), Anchor::End, MUTED, text);
            picture.lines(&[[left, y, right, y]], MUTED, 0.25);
        }
        let span = [points[0].at.0, points[points.len() - 1].at.0];
        let along = |at: f64| place(at, span, by_factors[0], [left + 4.0, right - 4.0]);
        let upwards = |value: f64| place(value, [ends[0].0, ends[1].0], by_factors[1], [base, up]);
        let at = |point: &Point| [along(point.at.0), upwards(point.value.0)];
        let curve = |points: &[Point]| -> Vec<[f64; 4]> {
            let pairs = points.windows(2).map(|pair| (at(&pair[0]), at(&pair[1])));
            pairs.map(|([x, y], [to_x, to_y])| [x, y, to_x, to_y]).collect()
        };
        for (_, points) in self.curves.iter().skip(1) {
            picture.lines(&curve(points), MUTED, 0.5);
        }
        picture.lines(&curve(points), MEMORY, 1.0);
        if by_factors[1] {
            picture.text((left - 8.0, (up + base) / 2.0), Anchor::End, MUTED, "log scale");
        }
        let mut free = left - 2.0;
        picture.text((left - 8.0, base + 17.0), Anchor::End, MUTED, label);
        // Both ends are labelled, and what fits between them.
        let (width, last) = (picture.width, points.len() - 1);
        let half = |point: &Point| 4.0 * point.at.1.chars().count() as f64;
        let within = |point: &Point| at(point)[0].min(width - half(point));
        let end = within(&points[last]) - half(&points[last]);
        for (number, point) in points.iter().enumerate() {
            let [x, y] = at(point);
            picture.cell([x - 2.5, y - 2.5, 5.0, 5.0], MEMORY, 1.0, false);
            let half = half(point);
            let x = if number == 0 { x.max(free + half) } else { within(point) };
            if x - half >= free && (number == last || x + half < end) {
                picture.text((x, base + 17.0), Anchor::Middle, MUTED, &point.at.1);
                free = x + half + 6.0;
            }
        }
        let x = along(self.at);
        picture.lines(&[[x, up - 6.0, x, base]], COMPUTE, 0.7);
        if let Some(point) = self.here() {
            let y = upwards(point.value.0);
            picture.cell([x - 5.0, y - 5.0, 10.0, 10.0], COMPUTE, 0.9, false);
        }
    }
}

/// What the curves take, from the middle of their heading.
const ROOM: f64 = 136.0;

/// Draws what was measured below all that is drawn, or that it was not.
pub(super) fn draw(picture: &mut Picture, found: Option<&Found>) {
    let top = picture.bottom() + 18.0;
    match found {
        Some(found) => {
            let chart = found.measured.chart.as_deref();
            let room = [0.0, top - 8.0, picture.width, ROOM];
            picture.measured(chart, room, |picture| found.draw(picture, top));
            picture.reach(top + ROOM);
        }
        None => picture.text((1.0, top), Anchor::Start, MUTED, "This setting was not measured."),
    }
}

/// The pixel of a value on an axis.
fn place(value: f64, [from, to]: [f64; 2], by_factors: bool, [start, end]: [f64; 2]) -> f64 {
    let warp = |value: f64| if by_factors { value.max(from).ln() } else { value };
    let share = (warp(value) - warp(from)) / (warp(to) - warp(from));
    // One point alone stands in the middle.
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 };
    start + share * (end - start)
}
