//! Which point lies where: each form of `chart` block, with one machine's record, becomes
//! a chart. A reference machine must give everything that the block asks for. What another
//! machine lacks is left out of its chart.

use std::collections::BTreeMap;

use excerpt::page::Value;
use record::{Measurement, Parameter};
use serde::Deserialize;

use crate::chart::{Axis, Guide, GuideKind, Scale};
use crate::estimate::Estimate;
use crate::metric::{InRuns, Metric, Work};
use crate::names::{self, Check, Defaults, Names};
use crate::quantity::Quantities;
use crate::records::{Machine, Recorded};
use crate::select::{Choose, Filter};
use crate::unit::Unit;

pub mod bars;
pub mod course;
pub mod heatmap;
pub mod lines;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// Whose record is drawn; without, that of the page's experiment.
    pub experiment: Option<String>,
    /// Which reference machine is drawn; without, the first that has the record, and the
    /// reader's own.
    pub machine: Option<String>,
    /// A sentence: what the chart shows.
    pub title: String,
    /// For screen readers.
    pub description: String,
    /// What title and description say, as a condition.
    pub holds: Option<String>,
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// What values, lanes, kinds of work and series of readings are called.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// What is drawn of each measurement.
    pub of: Metric,
    #[serde(default)]
    pub label: String,
    #[serde(default)]
    pub scale: Scale,
}

struct Drawn {
    estimate: Estimate,
    words: String,
    /// As [`Metric::work`].
    work: Option<Work>,
}

impl Values {
    /// Adds the label, if it is not given.
    pub fn complete(&mut self, names: &Defaults) {
        names.label(&mut self.label, &self.of.name(), names::of_metric(&self.of));
    }

    /// The same as a column.
    pub fn column(&self) -> Value {
        Value { of: self.of.clone(), heading: self.label.clone() }
    }

    pub fn axis(&self) -> Axis {
        let Values { of, label, scale } = self;
        Axis { label: label.clone(), scale: *scale, unit: of.unit() }
    }

    /// What is drawn of `m`.
    fn value(&self, plot: &Plot, m: &Measurement) -> Result<Drawn, String> {
        let estimate = self.of.of(plot.record, m)?;
        on_scale(estimate.ends().0, self.scale)?;
        let (words, work) = (self.of.in_words(m, &estimate), self.of.work(m));
        Ok(Drawn { estimate, words, work })
    }
}

/// A straight line to compare with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuideLine {
    pub kind: GuideKind,
    pub label: String,
    /// Where it is: what a quantity can be, or a quantity's name.
    pub is: String,
}

/// A chart with one machine's record.
pub struct Plot<'a> {
    /// What the block says, whatever its form.
    pub common: &'a Common,
    pub machine: &'a Machine,
    pub record: &'a Recorded,
    /// Where queries look: on this machine, and for a reference on the others after it.
    pub machines: Vec<&'a Machine>,
    pub quantities: &'a Quantities,
}

impl Plot<'_> {
    /// The measurements that the block chooses, and what their values are called in the
    /// given order.
    fn chosen<'p>(
        &'p self,
        order: &'p [Parameter],
    ) -> Result<(Vec<&'p Measurement>, Names<'p>), String> {
        let chosen = self.common.filter.all(self.record)?;
        let names = Names { labels: &self.common.labels, order };
        if self.machine.is_reference() {
            names.check(&chosen)?;
            self.common.filter.check(self.record, &chosen)?;
        }
        Ok((chosen, names))
    }

    fn guides(&self, lines: &[GuideLine], unit: &Unit, scale: Scale) -> Result<Vec<Guide>, String> {
        let mut guides = vec![];
        for GuideLine { kind, label, is } in lines {
            let value = self.place(is, unit, scale);
            let value = value.map_err(|e| format!("reference \"{label}\": {e}"));
            if let Some(value) = self.or_left_out(value)? {
                guides.push(Guide { label: label.clone(), value, kind: *kind, beside: false });
            }
        }
        Ok(guides)
    }

    /// The number that `is` writes, which must be in the unit of the axis that it is drawn
    /// on, and have a place there.
    fn place(&self, is: &str, axis: &Unit, scale: Scale) -> Result<f64, String> {
        let (value, unit) = self.quantities.number(is, self.machine, &self.machines)?;
        same_unit(&unit, axis)?;
        on_scale(value, scale)
    }

    /// What the reference machine lacks is an error, what another lacks is left out.
    fn or_left_out<T>(&self, found: Result<T, String>) -> Result<Option<T>, String> {
        match found {
            Err(problem) if self.machine.is_reference() => Err(problem),
            found => Ok(found.ok()),
        }
    }
}

fn same_unit(unit: &Unit, axis: &Unit) -> Result<(), String> {
    match axis == unit {
        true => Ok(()),
        false => Err(format!("is in `{}`, the axis in `{}`", unit.symbol(), axis.symbol())),
    }
}

/// `value`, if an axis of this scale has a place for it.
fn on_scale(value: f64, scale: Scale) -> Result<f64, String> {
    if !value.is_finite() || (value <= 0.0 && !matches!(scale, Scale::Linear)) {
        return Err(format!("{value} has no place on the axis"));
    }
    Ok(value)
}
