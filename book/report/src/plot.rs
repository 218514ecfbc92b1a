//! Which point lies where: a `chart` block with one machine's record becomes lines,
//! bars or a heat map. Timelines and memory over time are for [`crate::course`].
//!
//! A reference machine must give everything that the block asks for. What another
//! machine lacks is left out of its chart.

use std::collections::BTreeMap;

use record::{Measurement, Parameter, Record};

use crate::chart::{
    Axis, Bar, Bars, Cell, Group, Heatmap, Lines, Mark, Point, Reference, Scale,
    Series, Side, Tones,
};
use crate::figure::{Block, MarkLine, Model, ReferenceLine};
use crate::fit::Fit;
use crate::metric::{Estimate, Metric};
use crate::page::Page;
use crate::query::{self, Query};
use crate::records::Machine;
use crate::select::{self, Filter};
use crate::unit::Unit;

/// A block on one machine.
pub struct Plot<'a> {
    /// The block.
    pub block: &'a Block,
    /// The machine.
    pub machine: &'a Machine,
    /// Its record of the block's experiment.
    pub record: &'a Record,
    /// Where its queries look: there first, on the other references after it.
    pub machines: Vec<&'a Machine>,
    /// The page, which may define quantities that are drawn.
    pub page: &'a Page,
}

impl Plot<'_> {
    /// A chart of lines.
    pub fn lines(&self) -> Result<Lines, String> {
        let block = self.block;
        let chosen = block.filter.all(self.record)?;
        let mut series = vec![];
        for (label, measurements) in
            block.names().groups(&chosen, block.series.as_deref())
        {
            let points = self.points(&label, &measurements, |m| self.value(m))?;
            series.push(Series { label, points });
        }
        if series.iter().all(|series| series.points.is_empty()) {
            return Err("there is nothing to draw".to_owned());
        }
        let mut models = vec![];
        for model in &block.models {
            let curves = self.model(model);
            let curves =
                curves.map_err(|e| format!("model \"{}\": {e}", model.label));
            models.extend(self.or_left_out(curves)?.into_iter().flatten());
        }
        let x = Axis {
            label: block.x_label.clone().unwrap_or_default(),
            scale: block.x_scale,
            unit: self.x_unit().on_axis(),
        };
        let (y, references) = (self.values(), self.references()?);
        let marks = self.marks()?;
        Ok(Lines { x, y, series, models, references, marks, steps: false })
    }

    /// A chart of bars.
    pub fn bars(&self) -> Result<Bars, String> {
        let (block, names) = (self.block, self.block.names());
        let chosen = block.filter.all(self.record)?;
        // The same bar has the same colour in every group.
        let colors = names.groups(&chosen, block.bar.as_deref());
        if colors.is_empty() {
            return Err("bar: no measurement has this parameter".to_owned());
        }
        let mut groups = vec![];
        for (label, measurements) in names.groups(&chosen, block.group.as_deref()) {
            let mut bars = vec![];
            for (color, (name, _)) in colors.iter().enumerate() {
                let here = names.groups(&measurements, block.bar.as_deref());
                let Some((_, here)) = here.iter().find(|(label, _)| label == name)
                else {
                    continue; // not every group has every bar
                };
                let m = select::only(here).map_err(|keys| {
                    let count = here.len();
                    format!(
                        "{count} measurements are \"{name}\"; add {keys} to `where`"
                    )
                })?;
                let Some((estimate, words)) = self.or_left_out(self.value(m))?
                else {
                    continue;
                };
                let Estimate { value, low, high } = estimate;
                let hover = format!("{name}: {words}");
                bars.push(Bar {
                    label: name.clone(),
                    value,
                    low,
                    high,
                    hover,
                    color,
                });
            }
            groups.push(Group { label, bars });
        }
        if groups.iter().all(|group| group.bars.is_empty()) {
            return Err("there is nothing to draw".to_owned());
        }
        Ok(Bars { value: self.values(), groups, references: self.references()? })
    }

    /// A heat map.
    pub fn heatmap(&self) -> Result<Heatmap, String> {
        let block = self.block;
        let chosen = block.filter.all(self.record)?;
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let (column, row) = (of(&block.column), of(&block.row));
        let in_columns = self.along("column", &column, &chosen)?;
        let in_rows = self.along("row", &row, &chosen)?;
        let side = |label: &Option<String>, key: &str, values: &[Parameter]| Side {
            label: of(label),
            names: values.iter().map(|v| block.names().value(key, v)).collect(),
        };
        let columns = side(&block.column_label, &column, &in_columns);
        let rows = side(&block.row_label, &row, &in_rows);

        let cell = |(y, of_row): (usize, &Parameter), (x, of_column)| {
            let (row_label, column_label) = (&rows.label, &columns.label);
            let (row_name, column_name) = (&rows.names[y], &columns.names[x]);
            let place =
                format!("{row_label} {row_name}, {column_label} {column_name}");
            let mut here = chosen.clone();
            here.retain(|m| {
                select::parameter(m, &row).as_ref() == Some(of_row)
                    && select::parameter(m, &column).as_ref() == Some(of_column)
            });
            let found = self.cell(&here).map_err(|e| format!("at {place}: {e}"));
            let found = self.or_left_out(found)?;
            let (value, words) = found.unwrap_or((f64::NAN, "–".to_owned()));
            Ok(Cell { value, hover: format!("{place}: {words}") })
        };
        let cells_of =
            |row| in_columns.iter().enumerate().map(move |c| cell(row, c)).collect();
        let cells: Result<Vec<Vec<Cell>>, String> =
            in_rows.iter().enumerate().map(cells_of).collect();
        let cells = cells?;
        if cells.iter().flatten().all(|cell| cell.value.is_nan()) {
            return Err("there is nothing to draw".to_owned());
        }
        let tones = match &block.over {
            None => Tones::Sequence,
            Some(_) => {
                Tones::Around { below: of(&block.below), above: of(&block.above) }
            }
        };
        let mut value = self.values();
        if block.over.is_some() {
            value.unit = Unit::Ratio.on_axis();
        }
        Ok(Heatmap { columns, rows, value, tones, cells })
    }

    /// The values along a side of a heat map: in the order of the block, then by size.
    fn along(
        &self,
        what: &str,
        key: &str,
        chosen: &[&Measurement],
    ) -> Result<Vec<Parameter>, String> {
        let mut values = select::distinct(chosen, key);
        if values.is_empty() {
            return Err(format!("{what}: no measurement has this parameter"));
        }
        let names = self.block.names();
        values.sort_by_key(|value| (names.place(value), value.integer()));
        Ok(values)
    }

    /// The number of a heat map's cell, and the same in words.
    fn cell(&self, here: &[&Measurement]) -> Result<(f64, String), String> {
        if let ([], Some(reason)) = (here, &self.block.empty) {
            return Ok((f64::NAN, reason.clone()));
        }
        if here.is_empty() {
            return Err("there is no measurement; say why in `empty`".to_owned());
        }
        let m = select::only(here).map_err(|keys| {
            format!("{} measurements; add {keys} to `where`", here.len())
        })?;
        let Some(over) = &self.block.over else {
            let (estimate, words) = self.value(m)?;
            return Ok((estimate.value, words));
        };
        let other = Filter::like(m).and(over).one(self.record);
        let other = other.map_err(|e| format!("over: {e}"))?;
        let of = |m| {
            self.block.metric().of(self.record, m).map(|estimate| estimate.value)
        };
        let (a, b) = (of(m)?, of(other)?);
        let ratio = on_scale(a / b, Scale::Log2)?;
        let (unit, words) = (self.block.unit(), Unit::Ratio.print(ratio));
        Ok((ratio, format!("{words} ({} over {})", unit.print(a), unit.print(b))))
    }

    /// One line's points, by rising x.
    fn points(
        &self,
        label: &str,
        measurements: &[&Measurement],
        of: impl Fn(&Measurement) -> Result<(Estimate, String), String>,
    ) -> Result<Vec<Point>, String> {
        let key = self.block.x.as_deref().unwrap_or_default();
        let mut at: BTreeMap<u64, Vec<&Measurement>> = BTreeMap::new();
        for m in measurements {
            let x = select::parameter(m, key).and_then(|x| x.integer());
            at.entry(
                x.ok_or_else(|| format!("x: a measurement has no number `{key}`"))?,
            )
            .or_default()
            .push(m);
        }
        let mut points = vec![];
        for (x, here) in at {
            let m = select::only(&here).map_err(|keys| {
                let count = here.len();
                format!("{count} measurements stand at {key} = {x}; add {keys} to `where`")
            })?;
            let found = on_scale(x as f64, self.block.x_scale)
                .and_then(|x| Ok((x, of(m)?)))
                .map_err(|e| format!("at {key} = {x}: {e}"));
            if let Some((x, (estimate, words))) = self.or_left_out(found)? {
                let comma = if label.is_empty() { "" } else { ", " };
                let hover =
                    format!("{label}{comma}{}: {words}", self.x_unit().print(x));
                let Estimate { value, low, high } = estimate;
                points.push(Point { x, y: value, low, high, hover });
            }
        }
        Ok(points)
    }

    /// What is drawn of `m`, and the same in words.
    fn value(&self, m: &Measurement) -> Result<(Estimate, String), String> {
        let estimate = self.block.metric().of(self.record, m)?;
        on_scale(estimate.low, self.block.y_scale)?;
        Ok((estimate, self.block.metric().in_words(m, &estimate)))
    }

    /// A model's curves: one for each line that it speaks of.
    fn model(&self, model: &Model) -> Result<Vec<Series>, String> {
        let block = self.block;
        let chosen = block.filter.and(&model.filter).all(self.record)?;
        let curve = match (&model.metric, &model.fit) {
            (Some(metric), None) => {
                same_unit(&metric.unit(), &block.unit())?;
                Curve::Metric(metric)
            }
            (None, Some(metric)) if *metric != *block.metric() => {
                return Err("`fit` must be what `y` is".to_owned());
            }
            (None, Some(Metric::Time)) => Curve::Time(query::fit(&chosen)?),
            (None, Some(Metric::Bandwidth)) => {
                Curve::Bandwidth(query::fit(&chosen)?)
            }
            (None, Some(_)) => {
                return Err("a fit gives time or bandwidth".to_owned());
            }
            _ => return Err("give either `metric` or `fit`".to_owned()),
        };
        let lines = block.names().groups(&chosen, block.series.as_deref());
        let several = lines.len() > 1;
        let series = lines.into_iter().map(|(line, measurements)| {
            let label = match several {
                true => format!("{}, {line}", model.label),
                false => model.label.clone(),
            };
            let points = self.points(&label, &measurements, |m| {
                let value = on_scale(curve.value(self.record, m)?, block.y_scale)?;
                let exact = Estimate { value, low: value, high: value };
                Ok((exact, block.unit().print(value)))
            })?;
            Ok(Series { label, points })
        });
        series.collect()
    }

    pub(crate) fn references(&self) -> Result<Vec<Reference>, String> {
        let mut lines = vec![];
        for ReferenceLine { label, kind, is, value, quantity } in
            &self.block.references
        {
            let value = match (is, value, quantity) {
                (Some(is), None, None) => self.query(is, &self.block.unit()),
                (None, Some(value), None) => Ok(*value),
                (None, None, Some(name)) => self.quantity(name),
                _ => {
                    return Err(format!(
                        "reference \"{label}\": give one of `is`, `value`, `quantity`"
                    ));
                }
            };
            let value = value
                .and_then(|value| on_scale(value, self.block.y_scale))
                .map_err(|e| format!("reference \"{label}\": {e}"));
            if let Some(value) = self.or_left_out(value)? {
                lines.push(Reference { label: label.clone(), value, kind: *kind });
            }
        }
        Ok(lines)
    }

    fn marks(&self) -> Result<Vec<Mark>, String> {
        let mut marks = vec![];
        for MarkLine { label, is } in &self.block.marks {
            let x = self.query(is, &self.x_unit());
            let x = x.and_then(|x| on_scale(x, self.block.x_scale));
            let x = x.map_err(|e| format!("mark \"{label}\": {e}"));
            if let Some(x) = self.or_left_out(x)? {
                marks.push(Mark { label: label.clone(), x });
            }
        }
        Ok(marks)
    }

    /// A query's value, which must be in the unit of the axis that it is drawn on.
    fn query(&self, is: &str, axis: &Unit) -> Result<f64, String> {
        let query = Query::parse(is, Some(&self.block.experiment))?;
        same_unit(&query.unit(), axis)?;
        Ok(query.value(&self.machines)?.0)
    }

    fn quantity(&self, name: &str) -> Result<f64, String> {
        let quantity = self.page.quantity(name)?;
        same_unit(&quantity.unit, &self.block.unit())?;
        Ok(*quantity.value.on(self.machine).ok_or("this machine lacks it")?)
    }

    /// The axis on which values are read.
    pub(crate) fn values(&self) -> Axis {
        let Block { y_label, y_scale, .. } = self.block;
        let label = y_label.clone().unwrap_or_default();
        Axis { label, scale: *y_scale, unit: self.block.unit().on_axis() }
    }

    fn x_unit(&self) -> Unit {
        let named = || Unit::of_name(self.block.x.as_deref().unwrap_or_default());
        self.block.x_unit.clone().unwrap_or_else(named)
    }

    /// What the reference machine lacks is an error, what another lacks is left out.
    pub(crate) fn or_left_out<T>(
        &self,
        found: Result<T, String>,
    ) -> Result<Option<T>, String> {
        match found {
            Err(problem) if self.machine.is_reference() => Err(problem),
            found => Ok(found.ok()),
        }
    }
}

/// Where a model's curve comes from.
enum Curve<'a> {
    /// The experiment's model, stored with each measurement.
    Metric(&'a Metric),
    /// The time that a fitted line gives.
    Time(Fit),
    /// The bandwidth that a fitted line gives.
    Bandwidth(Fit),
}

impl Curve<'_> {
    fn value(&self, record: &Record, m: &Measurement) -> Result<f64, String> {
        let bytes = m.bytes() as f64;
        match self {
            Curve::Metric(metric) => Ok(metric.of(record, m)?.value),
            Curve::Time(fit) => Ok(fit.seconds(bytes)),
            Curve::Bandwidth(fit) => Ok(bytes / fit.seconds(bytes)),
        }
    }
}

fn same_unit(unit: &Unit, axis: &Unit) -> Result<(), String> {
    match axis == unit {
        true => Ok(()),
        false => Err(format!(
            "is in `{}`, the axis in `{}`",
            unit.symbol(),
            axis.symbol()
        )),
    }
}

/// `value`, if an axis of this scale has a place for it.
fn on_scale(value: f64, scale: Scale) -> Result<f64, String> {
    if !value.is_finite() || (value <= 0.0 && !matches!(scale, Scale::Linear)) {
        return Err(format!("{value} has no place on the axis"));
    }
    Ok(value)
}
