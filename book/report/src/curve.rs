//! A prediction's `curve`: the reader draws a measured curve of a chart, at some places on its x
//! axis, before seeing it. What there is to draw on shows the axes, the peaks and what is given;
//! the measured curve goes with the question, for a script that draws it behind the reader's.

use serde_json::json;

use crate::chart::{Figure, Form, Lines, Point, Series, sketch};
use crate::html::{escape, uncapitalised};
use crate::page::Page;
use crate::page::blocks::Curve;
use crate::records::Records;
use crate::select;
use crate::svg::Width;
use crate::unit::Unit;

/// A measured curve that a reader draws.
pub struct Drawn<'c> {
    curve: &'c Curve,
    lines: Lines,
    given: Vec<Point>,
    asked: Vec<Point>,
    /// The size of the unit in which the reader answers, in that of the values.
    scale: f64,
}

impl Curve {
    /// The curve of the page's `chart` that was measured on this machine, or else on the
    /// reference machine.
    pub fn read(&self, chart: &str, records: &Records, page: &Page) -> Result<Drawn<'_>, String> {
        let at = |lines: &Lines, places| {
            points(lines, places).map_err(|problem| format!("curve: {problem}"))
        };
        let is_whole = |lines: &Lines| {
            at(lines, &self.given)?;
            at(lines, &self.asked).map(drop)
        };
        let both = page.chart(chart)?.curve(&self.filter, records, page, is_whole)?;
        let lines = both.first().clone();
        let (unit, typed) = (&lines.y.unit, &self.unit);
        let scale = unit.scale_of(typed);
        let scale =
            scale.ok_or_else(|| format!("curve: it is in `{}`, not `{typed}`", unit.symbol()))?;
        let (given, asked) = (at(&lines, &self.given)?, at(&lines, &self.asked)?);
        Ok(Drawn { curve: self, lines, given, asked, scale })
    }
}

/// The points of the only series of `lines` at these places, from the left.
fn points(lines: &Lines, places: &[record::Parameter]) -> Result<Vec<Point>, String> {
    let place = |place: &record::Parameter| {
        let x = select::value(&place.to_string()).integer();
        let x = x.ok_or_else(|| format!("`{place}` is no place on the x axis"))?;
        let mut points = lines.series.iter().flat_map(|series| &series.points);
        let found = points.find(|point| point.x == x as f64);
        found.cloned().ok_or_else(|| format!("nothing was measured at {place}"))
    };
    let mut points = places.iter().map(place).collect::<Result<Vec<_>, String>>()?;
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(points)
}

impl Drawn<'_> {
    /// What the list of all predictions needs of it, too, as attributes.
    pub fn attributes(&self) -> String {
        let answer: Vec<f64> = self.asked.iter().map(|point| point.y).collect();
        let at: Vec<_> =
            self.asked.iter().map(|point| json!([point.x, self.place(point)])).collect();
        let numbers: Vec<String> = self.asked.iter().map(|point| self.number(point)).collect();
        format!(
            "data-answer=\"{}\" data-scale=\"{}\" data-answer-text=\"{}\" data-unit=\"{}\" \
             data-at=\"{}\"",
            json!(answer),
            self.scale,
            escape(&self.with_unit(&numbers.join(", "))),
            escape(&self.curve.unit),
            escape(&json!(at).to_string())
        )
    }

    /// What is given, and the whole curve, for the script that draws them.
    pub fn curves(&self) -> String {
        let pairs = |points: &[Point]| {
            let pairs: Vec<_> = points.iter().map(|point| [point.x, point.y]).collect();
            json!(pairs)
        };
        let whole = self.lines.series.iter().flat_map(|series| series.points.clone());
        let whole: Vec<Point> = whole.collect();
        format!(" data-given=\"{}\" data-curve=\"{}\"", pairs(&self.given), pairs(&whole))
    }

    /// What was measured where the reader draws, as HTML: `3.12 GB/s at 8 KiB, …`.
    pub fn words(&self) -> String {
        let words = self.asked.iter().map(|point| {
            let value = escape(&self.with_unit(&self.number(point)));
            format!("<span class=\"value\">{value}</span> at {}", escape(&self.place(point)))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// What the reader draws on, as HTML.
    pub fn sketch(&self, id: &str) -> String {
        let given = self.given.iter().map(|point| {
            format!(" Given: {} at {}.", self.with_unit(&self.number(point)), self.place(point))
        });
        let Lines { x, y, series, .. } = &self.lines;
        let over = uncapitalised(&x.label);
        let lines = Lines {
            series: vec![Series { label: String::new(), points: self.given.clone() }],
            ..self.lines.clone()
        };
        let figure = Figure {
            id: format!("{id}-sketch"),
            title: format!("{} over {over}, to be drawn", y.label),
            description: format!("Empty axes.{}", given.collect::<String>()),
            form: Form::Lines(lines.clone()),
        };
        let svg = |width| sketch(&figure, &lines, &series[0], width).replace('{', "&#123;");
        format!("<div class=\"sketch\">\n{}{}</div>\n", svg(Width::Wide), svg(Width::Narrow))
    }

    fn place(&self, point: &Point) -> String {
        let x = self.lines.x.unit.print(point.x);
        self.curve.place.as_ref().map_or_else(|| x.clone(), |place| place.replace("{}", &x))
    }

    /// A value in the reader's unit, without it.
    fn number(&self, point: &Point) -> String {
        Unit::Number.print(point.y / self.scale)
    }

    fn with_unit(&self, numbers: &str) -> String {
        let space = if ["%", "×"].contains(&&*self.curve.unit) { "" } else { " " };
        format!("{numbers}{space}{}", self.curve.unit).trim_end().to_owned()
    }
}
