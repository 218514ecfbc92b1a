//! Lines: curves over a swept parameter, beside models of them.

use std::collections::BTreeMap;

use excerpt::page::{Key, Kind, Table, Value};
use record::{Measurement, Parameter};
use serde::Deserialize;

use super::{Drawn, GuideLine, Plot, Values, on_scale, same_unit};
use crate::chart::{Axis, GuideKind, Lines, Mark, Point, Scale, Series};
use crate::estimate::Estimate;
use crate::metric::{InRuns, Metric};
use crate::names::{self, Defaults, Group, Names};
use crate::query;
use crate::select::{self, Choose, Filter};
use crate::unit::Unit;

/// What a chart of lines says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The axis that values are plotted over.
    pub x: Along,
    pub y: Values,
    /// The parameter that tells one line from the other.
    series: Option<String>,
    #[serde(default)]
    order: Vec<Parameter>,
    /// Straight lines to compare with.
    #[serde(default, rename = "references")]
    guides: Vec<GuideLine>,
    #[serde(default)]
    models: Vec<Model>,
    /// Places on the x axis that matter.
    #[serde(default)]
    marks: Vec<MarkLine>,
}

/// The axis that values are plotted over.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// A parameter; its name tells the unit.
    pub of: String,
    #[serde(default)]
    pub label: String,
    #[serde(default)]
    pub scale: Scale,
}

/// A place on the x axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkLine {
    label: String,
    /// The place: what a quantity can be, or a quantity's name.
    is: String,
}

/// A curve that a model gives: a value stored with each measurement, or a fit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    label: String,
    metric: Option<Metric>,
    /// The line that fits, of times or bandwidths.
    #[serde(default)]
    fit: bool,
    #[serde(default, rename = "where")]
    filter: Filter,
}

/// The value that a model gives for a measurement.
type Curve<'a> = Box<dyn Fn(&Measurement) -> Result<f64, String> + 'a>;

impl Block {
    /// Adds the labels of axes that are not given.
    pub fn complete(&mut self, names: &Defaults) {
        self.y.complete(names);
        names.label(&mut self.x.label, &self.x.of, names::of_parameter(&self.x.of));
    }

    /// What is drawn, as a table: a column for each line, or for the only one and its models.
    pub fn table(&self, of_block: Table, names: &Defaults) -> Table {
        let Along { of, label, .. } = &self.x;
        let models = self.models.iter().filter(|_| self.series.is_none());
        let models = models.filter_map(|Model { label, metric, .. }| {
            Some(Value { of: metric.clone()?, heading: label.clone() })
        });
        Table {
            rows: vec![Key { of: of.clone(), heading: label.clone(), kind: Kind::Axis }],
            columns: self.series.as_ref().map(|series| names.key(series)),
            values: std::iter::once(self.y.column()).chain(models).collect(),
            order: self.order.clone(),
            ..of_block
        }
    }

    pub fn draw(&self, plot: &Plot) -> Result<Lines, String> {
        let (chosen, names) = plot.chosen(&self.order)?;
        let mut series = vec![];
        for group in names.groups(&chosen, self.series.as_deref()) {
            let Group { label, measurements, .. } = group;
            let of = |m: &Measurement| self.y.value(plot, m);
            let points = self.points(plot, &label, &measurements, of)?;
            series.push(Series { label, points });
        }
        if series.iter().all(|series| series.points.is_empty()) {
            return Err("there is nothing to draw".to_owned());
        }
        let mut models = vec![];
        for model in &self.models {
            let curves = self.model(plot, &names, model);
            let curves = curves.map_err(|e| format!("model \"{}\": {e}", model.label));
            models.extend(plot.or_left_out(curves)?.into_iter().flatten());
        }
        for only in series.iter_mut().filter(|of| of.label.is_empty() && !models.is_empty()) {
            only.label = "measured".to_owned();
        }
        let Along { label, scale, .. } = &self.x;
        let (label, unit) = (label.clone(), self.x_unit());
        let x = Axis { label, scale: *scale, unit };
        let Values { of, scale, .. } = &self.y;
        let guides = plot.guides(&self.guides, &of.unit(), *scale)?;
        let (y, marks) = (self.y.axis(), self.marks(plot)?);
        Ok(Lines { x, y, series, models, guides, marks, ..Lines::default() })
    }

    /// The same with peaks alone beside the measured curves, which no parameter tells apart.
    pub fn bare(&self) -> Block {
        let mut bare =
            Block { series: None, order: vec![], models: vec![], marks: vec![], ..self.clone() };
        bare.guides.retain(|guide| guide.kind == GuideKind::Peak);
        bare
    }

    fn x_unit(&self) -> Unit {
        Unit::of_name(&self.x.of)
    }

    /// One line's points, by rising x.
    fn points(
        &self,
        plot: &Plot,
        label: &str,
        measurements: &[&Measurement],
        of: impl Fn(&Measurement) -> Result<Drawn, String>,
    ) -> Result<Vec<Point>, String> {
        let key = &self.x.of;
        let mut at: BTreeMap<u64, Vec<&Measurement>> = BTreeMap::new();
        for m in measurements {
            let x = select::parameter(m, key).and_then(|x| x.integer());
            at.entry(x.ok_or_else(|| format!("x: a measurement has no number `{key}`"))?)
                .or_default()
                .push(m);
        }
        let mut points = vec![];
        for (x, here) in at {
            let m = select::only(&here).map_err(|e| format!("{key} = {x} {e}"))?;
            let found = on_scale(x as f64, self.x.scale)
                .and_then(|x| Ok((x, of(m)?)))
                .map_err(|e| format!("at {key} = {x}: {e}"));
            if let Some((x, Drawn { estimate, words, work })) = plot.or_left_out(found)? {
                let comma = if label.is_empty() { "" } else { ", " };
                let hover = format!("{label}{comma}{}: {words}", self.x_unit().print(x));
                let (value, (low, high)) = (estimate.value, estimate.ends());
                points.push(Point { x, y: value, low, high, hover, work });
            }
        }
        Ok(points)
    }

    /// A model's curves: one for each line that it speaks of.
    fn model(&self, plot: &Plot, names: &Names, model: &Model) -> Result<Vec<Series>, String> {
        let chosen = plot.common.filter.and(&model.filter).all(plot.record)?;
        let unit = self.y.of.unit();
        let bytes = |m: &Measurement| m.bytes() as f64;
        let value: Curve = match (&model.metric, model.fit) {
            (Some(metric), false) => {
                same_unit(&metric.unit(), &unit)?;
                Box::new(|m| Ok(metric.of(plot.record, m)?.value))
            }
            (None, true) => {
                let fit = query::fit(plot.record, &chosen)?;
                match self.y.of {
                    Metric::Time => Box::new(move |m| Ok(fit.seconds(bytes(m)))),
                    Metric::Bandwidth => Box::new(move |m| Ok(bytes(m) / fit.seconds(bytes(m)))),
                    _ => return Err("a fit gives time or bandwidth".to_owned()),
                }
            }
            _ => return Err("give either `metric` or `fit`".to_owned()),
        };
        let lines = names.groups(&chosen, self.series.as_deref());
        let several = lines.len() > 1;
        let series = lines.into_iter().map(|line| {
            let Group { label: line, measurements, .. } = line;
            let label = match several {
                true => format!("{}, {line}", model.label),
                false => model.label.clone(),
            };
            let points = self.points(plot, &label, &measurements, |m| {
                let value = on_scale(value(m)?, self.y.scale)?;
                let (estimate, words) = (Estimate::exact(value), unit.print(value));
                Ok(Drawn { estimate, words, work: self.y.of.work(m) })
            })?;
            Ok(Series { label, points })
        });
        series.collect()
    }

    fn marks(&self, plot: &Plot) -> Result<Vec<Mark>, String> {
        let mut marks = vec![];
        for MarkLine { label, is } in &self.marks {
            let x = plot.place(is, &self.x_unit(), self.x.scale);
            let x = x.map_err(|e| format!("mark \"{label}\": {e}"));
            if let Some(x) = plot.or_left_out(x)? {
                marks.push(Mark { label: label.clone(), x });
            }
        }
        Ok(marks)
    }
}
