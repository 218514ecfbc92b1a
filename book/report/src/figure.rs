//! `chart` blocks: which measurements a chart shows, and the figure that it becomes.
//! What a chart looks like is decided in [`crate::chart`].

use std::collections::BTreeMap;

use record::{Measurement, Parameter, Record};
use serde::Deserialize;

use crate::chart::{
    self, Axis, Bar, Bars, Figure, Group, Lines, Point, Reference, ReferenceKind,
    Scale, Series, Width,
};
use crate::fit::Fit;
use crate::html::{escape, prose};
use crate::names::Names;
use crate::provenance;
use crate::quantity::Quantity;
use crate::records::{Machine, Records};
use crate::select::{self, Estimate, Filter, Metric, Query, Where};
use crate::unit::Unit;

/// A `chart` block.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Unique in the book; also the stem of the figure's file.
    pub id: String,
    experiment: String,
    title: String,
    description: String,
    form: Form,
    #[serde(default, rename = "where")]
    filter: Where,
    x: Option<String>,
    x_label: Option<String>,
    x_scale: Option<ScaleName>,
    x_unit: Option<String>,
    y: String,
    y_label: String,
    y_scale: Option<ScaleName>,
    series: Option<String>,
    group: Option<String>,
    bar: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    order: Vec<Parameter>,
    #[serde(default, rename = "reference")]
    references: Vec<ReferenceLine>,
    #[serde(default, rename = "model")]
    models: Vec<Model>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Form {
    Lines,
    Bars,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScaleName {
    Linear,
    Log2,
    Log10,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceLine {
    label: String,
    kind: Kind,
    is: Option<String>,
    value: Option<f64>,
    quantity: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Peak,
    Claim,
    Model,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    label: String,
    metric: Option<String>,
    fit: Option<String>,
    #[serde(default, rename = "where")]
    filter: Where,
}

/// A picture for `figures/<machine>/<stem>.svg`.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The machine it is of.
    pub machine: String,
    /// The file's name without `.svg`.
    pub stem: String,
    /// The file's content.
    pub svg: String,
}

impl Block {
    /// Parses a block and checks what its types cannot state.
    pub fn parse(toml: &str) -> Result<Block, String> {
        let block: Block = crate::page::parse(toml)?;
        crate::page::check_id(&block.id)?;
        let lines = [
            ("x", block.x.is_some(), true),
            ("x_label", block.x_label.is_some(), true),
            ("x_scale", block.x_scale.is_some(), false),
            ("x_unit", block.x_unit.is_some(), false),
            ("series", block.series.is_some(), false),
            ("model", !block.models.is_empty(), false),
        ];
        let bars = [
            ("bar", block.bar.is_some(), true),
            ("group", block.group.is_some(), false),
        ];
        let (own, others, form) = match block.form {
            Form::Lines => (&lines[..], &bars[..], "lines"),
            Form::Bars => (&bars[..], &lines[..], "bars"),
        };
        if let Some((key, _, _)) =
            own.iter().find(|(_, given, needed)| *needed && !given)
        {
            return Err(format!("a chart of {form} needs `{key}`"));
        }
        if let Some((key, _, _)) = others.iter().find(|(_, given, _)| *given) {
            return Err(format!("a chart of {form} has no `{key}`"));
        }
        Ok(block)
    }

    /// The unit of the axis on which values are read.
    pub fn unit(&self) -> Result<Unit, String> {
        Ok(Metric::parse(&self.y)?.unit())
    }

    /// The chart as HTML, and the pictures for the figures folder.
    pub fn expand(
        &self,
        records: &Records,
        quantities: &BTreeMap<String, Quantity>,
    ) -> Result<(String, Vec<Picture>), String> {
        let measured = Filter::new(&self.filter)
            .all(records.reference.record(&self.experiment)?)?;
        self.names().check(&measured)?;
        let figures = records.both(|machine| {
            let record = machine.record(&self.experiment)?;
            let figure = Plot::new(self, machine, record, quantities)?.figure()?;
            Ok((record, figure))
        })?;
        let (mut html, mut pictures) = (String::new(), vec![]);
        for ((record, figure), beside) in figures.each() {
            html += &self.html(record, figure, beside);
            for (suffix, width) in [("", Width::Wide), ("-narrow", Width::Narrow)] {
                pictures.push(Picture {
                    machine: record.machine.name.clone(),
                    stem: format!("{}{suffix}", self.id),
                    svg: svg(figure, width),
                });
            }
        }
        Ok((html, pictures))
    }

    fn html(&self, record: &Record, figure: &Figure, beside: bool) -> String {
        // Two figures of one chart on one page: their ids must differ.
        let (class, suffix) =
            if beside { ("chart beside", "-reference") } else { ("chart", "") };
        let figure = Figure { id: format!("{}{suffix}", self.id), ..figure.clone() };
        format!(
            "<figure class=\"{class}\" id=\"figure-{}\" data-machine=\"{}\">\n\
             <figcaption><strong>{}</strong> {}</figcaption>\n{}{}</figure>\n",
            figure.id,
            escape(&record.machine.name),
            prose(&self.title),
            provenance::line(record, &Filter::new(&self.filter)),
            svg(&figure, Width::Wide),
            svg(&figure, Width::Narrow),
        )
    }

    fn names(&self) -> Names<'_> {
        Names { labels: &self.labels, order: &self.order }
    }
}

/// The figure's SVG. Braces become entities for the same reason as in
/// [`crate::html::escape`].
fn svg(figure: &Figure, width: Width) -> String {
    chart::svg(figure, width).replace('{', "&#123;")
}

/// A block on one machine.
struct Plot<'a> {
    block: &'a Block,
    machine: &'a Machine,
    record: &'a Record,
    quantities: &'a BTreeMap<String, Quantity>,
    filter: Filter,
    y: Metric,
}

impl<'a> Plot<'a> {
    fn new(
        block: &'a Block,
        machine: &'a Machine,
        record: &'a Record,
        quantities: &'a BTreeMap<String, Quantity>,
    ) -> Result<Plot<'a>, String> {
        let (filter, y) = (Filter::new(&block.filter), Metric::parse(&block.y)?);
        Ok(Plot { block, machine, record, quantities, filter, y })
    }

    fn figure(&self) -> Result<Figure, String> {
        let form = match self.block.form {
            Form::Lines => chart::Form::Lines(self.lines()?),
            Form::Bars => chart::Form::Bars(self.bars()?),
        };
        Ok(Figure {
            id: self.block.id.clone(),
            title: self.block.title.clone(),
            description: self.block.description.clone(),
            form,
        })
    }

    fn lines(&self) -> Result<Lines, String> {
        let block = self.block;
        let key = block.x.clone().unwrap_or_default();
        let x_unit = match &block.x_unit {
            Some(text) => Unit::parse(text)?,
            None => Unit::of_name(&key),
        };
        let x = Axis {
            label: block.x_label.clone().unwrap_or_default(),
            scale: scale(block.x_scale),
            unit: x_unit.on_axis(),
        };
        let chosen = self.filter.all(self.record)?;
        let mut series = vec![];
        for (label, measurements) in self.series(&chosen) {
            let points = self.points(&key, &x_unit, &label, &measurements, |m| {
                let estimate = self.value(m)?;
                let hover = self.y.in_words(m, &estimate);
                Ok((estimate, hover))
            })?;
            series.push(Series { label, points });
        }
        let mut models = vec![];
        for model in &block.models {
            models.extend(
                self.model(model, &key, &x_unit)
                    .map_err(|e| format!("model \"{}\": {e}", model.label))?,
            );
        }
        let y = self.value_axis();
        Ok(Lines { x, y, series, models, references: self.references()? })
    }

    /// The measurements of each line, under the line's label.
    fn series<'r>(
        &self,
        chosen: &[&'r Measurement],
    ) -> Vec<(String, Vec<&'r Measurement>)> {
        let Some(key) = &self.block.series else {
            return vec![(String::new(), chosen.to_vec())];
        };
        let names = self.block.names();
        let with = |value: &Parameter| {
            let is =
                |m: &&Measurement| select::parameter(m, key).as_ref() == Some(value);
            chosen.iter().copied().filter(is).collect()
        };
        let values = names.values(chosen, key).into_iter();
        values.map(|value| (names.value(key, &value), with(&value))).collect()
    }

    /// One line's points, by rising x.
    fn points(
        &self,
        key: &str,
        unit: &Unit,
        label: &str,
        measurements: &[&Measurement],
        of: impl Fn(&Measurement) -> Result<(Estimate, String), String>,
    ) -> Result<Vec<Point>, String> {
        let mut at: BTreeMap<u64, Vec<&Measurement>> = BTreeMap::new();
        for m in measurements {
            let x = select::parameter(m, key).and_then(|x| x.integer());
            let x =
                x.ok_or_else(|| format!("a measurement has no number `{key}`"))?;
            at.entry(x).or_default().push(m);
        }
        let mut points = vec![];
        for (x, here) in at {
            let m = select::only(&here).map_err(|keys| {
                format!(
                    "{} measurements stand at {key} = {x}; add {keys} to `where`",
                    here.len()
                )
            })?;
            if x == 0 && !matches!(scale(self.block.x_scale), Scale::Linear) {
                return Err(format!("{key} = 0 has no place on a logarithmic axis"));
            }
            let (estimate, hover) = match of(m) {
                Ok(found) => found,
                Err(e) if self.machine.is_reference => {
                    return Err(format!("at {key} = {x}: {e}"));
                }
                Err(_) => continue, // what the reference must have, another may lack
            };
            let x = x as f64;
            let comma = if label.is_empty() { "" } else { ", " };
            let hover = format!("{label}{comma}{}: {hover}", unit.print(x));
            let Estimate { value, low, high } = estimate;
            points.push(Point { x, y: value, low, high, hover });
        }
        Ok(points)
    }

    /// What the block's metric is for `m`.
    fn value(&self, m: &Measurement) -> Result<Estimate, String> {
        let estimate = self.y.of(self.record, m)?;
        if estimate.low <= 0.0 && !matches!(scale(self.block.y_scale), Scale::Linear)
        {
            return Err("zero has no place on a logarithmic axis".to_owned());
        }
        Ok(estimate)
    }

    /// A model's curves: one for each line that it speaks of.
    fn model(
        &self,
        model: &Model,
        key: &str,
        unit: &Unit,
    ) -> Result<Vec<Series>, String> {
        let chosen =
            self.filter.and(&Filter::new(&model.filter)).all(self.record)?;
        let curve = match (&model.metric, &model.fit) {
            (Some(metric), None) => Curve::Metric(Metric::parse(metric)?),
            (None, Some(fitted)) if *fitted != self.block.y => {
                return Err("`fit` must be what `y` is".to_owned());
            }
            (None, Some(_)) => match self.y {
                Metric::Time => Curve::Time(select::fit(&chosen)?),
                Metric::Bandwidth => Curve::Bandwidth(select::fit(&chosen)?),
                _ => return Err("a fit gives time or bandwidth".to_owned()),
            },
            _ => return Err("give either `metric` or `fit`".to_owned()),
        };
        if let Curve::Metric(metric) = &curve {
            self.same_unit(&metric.unit())?;
        }
        let lines = self.series(&chosen);
        let several = lines.len() > 1;
        lines
            .into_iter()
            .map(|(line, measurements)| {
                let label = match several {
                    true => format!("{}, {line}", model.label),
                    false => model.label.clone(),
                };
                let points = self.points(key, unit, &label, &measurements, |m| {
                    let value = curve.value(self.record, m)?;
                    let exact = Estimate { value, low: value, high: value };
                    Ok((exact, self.y.unit().print(value)))
                })?;
                Ok(Series { label, points })
            })
            .collect()
    }

    fn bars(&self) -> Result<Bars, String> {
        let names = self.block.names();
        let chosen = self.filter.all(self.record)?;
        let key = self.block.bar.as_deref().unwrap_or_default();
        let bars = names.values(&chosen, key);
        if bars.is_empty() {
            return Err(format!("bar: there is no parameter `{key}`"));
        }
        let groups = match &self.block.group {
            Some(group) => {
                names.values(&chosen, group).into_iter().map(Some).collect()
            }
            None => vec![None],
        };
        let is = |m: &Measurement, key: &str, value: &Parameter| {
            select::parameter(m, key).as_ref() == Some(value)
        };
        let mut out = vec![];
        for group in groups {
            let (outer, label) = match (&self.block.group, &group) {
                (Some(key), Some(value)) => (key.as_str(), names.value(key, value)),
                _ => ("", String::new()),
            };
            let mut inner = vec![];
            for (color, bar) in bars.iter().enumerate() {
                let mut here = chosen.clone();
                here.retain(|m| is(m, key, bar));
                here.retain(|m| {
                    group.as_ref().is_none_or(|value| is(m, outer, value))
                });
                if here.is_empty() {
                    continue; // not every group has every bar
                }
                let name = names.value(key, bar);
                let m = select::only(&here).map_err(|keys| {
                    format!(
                        "{} measurements are \"{name}\"; add {keys} to `where`",
                        here.len()
                    )
                })?;
                let estimate = self.value(m)?;
                let hover = format!("{name}: {}", self.y.in_words(m, &estimate));
                let Estimate { value, low, high } = estimate;
                inner.push(Bar { label: name, value, low, high, hover, color });
            }
            out.push(Group { label, bars: inner });
        }
        Ok(Bars {
            value: self.value_axis(),
            groups: out,
            references: self.references()?,
        })
    }

    fn value_axis(&self) -> Axis {
        Axis {
            label: self.block.y_label.clone(),
            scale: scale(self.block.y_scale),
            unit: self.y.unit().on_axis(),
        }
    }

    /// The reference lines. One that this machine cannot give is left out; the reference
    /// machine must give all.
    fn references(&self) -> Result<Vec<Reference>, String> {
        let mut lines = vec![];
        for line in &self.block.references {
            match self.reference(line) {
                Ok(value) => lines.push(Reference {
                    label: line.label.clone(),
                    value,
                    kind: match line.kind {
                        Kind::Peak => ReferenceKind::Peak,
                        Kind::Claim => ReferenceKind::Claim,
                        Kind::Model => ReferenceKind::Model,
                    },
                }),
                Err(problem) if self.machine.is_reference => {
                    return Err(format!("reference \"{}\": {problem}", line.label));
                }
                Err(_) => {}
            }
        }
        Ok(lines)
    }

    fn reference(&self, line: &ReferenceLine) -> Result<f64, String> {
        let value = match (&line.is, line.value, &line.quantity) {
            (Some(is), None, None) => {
                let query = Query::parse(is, Some(&self.block.experiment))?;
                self.same_unit(&query.unit())?;
                query.value(self.machine)?
            }
            (None, Some(value), None) => value,
            (None, None, Some(name)) => {
                let quantity = self
                    .quantities
                    .get(name)
                    .ok_or_else(|| format!("this page has no quantity `{name}`"))?;
                self.same_unit(&quantity.unit)?;
                *quantity.value.on(self.machine).ok_or("this machine lacks it")?
            }
            _ => return Err("give one of `is`, `value`, `quantity`".to_owned()),
        };
        let logarithmic = !matches!(scale(self.block.y_scale), Scale::Linear);
        if !value.is_finite() || (logarithmic && value <= 0.0) {
            return Err(format!("{value} has no place on the axis"));
        }
        Ok(value)
    }

    fn same_unit(&self, unit: &Unit) -> Result<(), String> {
        let (axis, unit) = (self.y.unit(), unit.clone());
        if axis == unit {
            return Ok(());
        }
        Err(format!("is in `{}`, the axis in `{}`", unit.symbol(), axis.symbol()))
    }
}

/// Where a model's curve comes from.
enum Curve {
    /// The experiment's model, stored with each measurement.
    Metric(Metric),
    /// The time that a fitted line gives.
    Time(Fit),
    /// The bandwidth that a fitted line gives.
    Bandwidth(Fit),
}

impl Curve {
    fn value(&self, record: &Record, m: &Measurement) -> Result<f64, String> {
        let bytes = m.bytes() as f64;
        match self {
            Curve::Metric(metric) => Ok(metric.of(record, m)?.value),
            Curve::Time(fit) => Ok(fit.seconds(bytes)),
            Curve::Bandwidth(fit) => Ok(bytes / fit.seconds(bytes)),
        }
    }
}

fn scale(name: Option<ScaleName>) -> Scale {
    match name {
        None | Some(ScaleName::Linear) => Scale::Linear,
        Some(ScaleName::Log2) => Scale::Log2,
        Some(ScaleName::Log10) => Scale::Log10,
    }
}
