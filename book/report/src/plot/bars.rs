//! Bars, in groups.

use excerpt::page::Table;
use record::Parameter;
use serde::Deserialize;

use super::{Drawn, GuideLine, Plot, Values};
use crate::chart::{self, Bar, Bars};
use crate::names::{Defaults, Group};
use crate::select;

/// What a chart of bars says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The parameter that tells one bar of a group from the other.
    bar: String,
    /// The parameter that tells one group from the other.
    group: Option<String>,
    pub y: Values,
    #[serde(default)]
    order: Vec<Parameter>,
    /// Straight lines to compare with.
    #[serde(default, rename = "references")]
    guides: Vec<GuideLine>,
}

impl Block {
    /// What is drawn, as a table: a row for each bar.
    pub fn table(&self, of_block: Table, names: &Defaults) -> Table {
        let keys = self.group.iter().chain([&self.bar]);
        Table {
            rows: keys.map(|key| names.key(key)).collect(),
            values: vec![self.y.column()],
            order: self.order.clone(),
            ..of_block
        }
    }

    pub fn draw(&self, plot: &Plot) -> Result<Bars, String> {
        let (chosen, names) = plot.chosen(&self.order)?;
        // The same bar has the same colour in every group.
        let colors = names.groups(&chosen, Some(&self.bar));
        if colors.is_empty() {
            return Err("bar: no measurement has this parameter".to_owned());
        }
        let mut groups = vec![];
        for group in names.groups(&chosen, self.group.as_deref()) {
            let mut bars = vec![];
            let all = names.groups(&group.measurements, Some(&self.bar));
            for (color, Group { value, label: name, .. }) in colors.iter().enumerate() {
                let Some(here) = all.iter().find(|bar| bar.value == *value) else {
                    continue; // not every group has every bar
                };
                let m = select::only(&here.measurements);
                let m = m.map_err(|e| format!("\"{name}\" {e}"))?;
                let Some(Drawn { estimate, words, work }) =
                    plot.or_left_out(self.y.value(plot, m))?
                else {
                    continue;
                };
                let (value, (low, high)) = (estimate.value, estimate.ends());
                let (label, hover) = (name.clone(), format!("{name}: {words}"));
                let beside = None;
                bars.push(Bar { label, value, low, high, hover, color, work, beside });
            }
            groups.push(chart::Group { label: group.label, bars });
        }
        if groups.iter().all(|group| group.bars.is_empty()) {
            return Err("there is nothing to draw".to_owned());
        }
        let Values { of, scale, .. } = &self.y;
        let guides = plot.guides(&self.guides, &of.unit(), *scale)?;
        Ok(Bars { value: self.y.axis(), groups, guides, whose: None })
    }
}
