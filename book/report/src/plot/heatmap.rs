//! Heat maps: a cell for each pair of two parameters' values.

use excerpt::page::{Key, Kind, Table};
use record::{Measurement, Parameter};
use serde::Deserialize;

use super::{Plot, Values, on_scale};
use crate::chart::{self, Cell, Heatmap, Scale};
use crate::metric::InRuns;
use crate::names::{self, Defaults, Names};
use crate::select::{self, Choose, Filter};
use crate::unit::Unit;

/// What a heat map says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The parameter that tells one column from the other.
    column: Side,
    /// The parameter that tells one row from the other.
    row: Side,
    pub y: Values,
    #[serde(default)]
    order: Vec<Parameter>,
    /// What each measurement is divided by.
    over: Over,
}

/// The columns or the rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    of: String,
    #[serde(default)]
    label: String,
}

/// What a measurement is divided by.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Over {
    /// What changes from the measurement to the one that it is divided by.
    #[serde(rename = "where")]
    filter: Filter,
    /// What it means that the ratio is below 1.
    below: String,
    /// What it means that the ratio is above 1.
    above: String,
}

impl Block {
    /// Adds the labels that are not given.
    pub fn complete(&mut self, names: &Defaults) {
        self.y.complete(names);
        for Side { of, label } in [&mut self.column, &mut self.row] {
            names.label(label, of, names::of_parameter(of));
        }
    }

    /// What is drawn, as a table.
    pub fn table(&self, of_block: Table) -> Table {
        let key = |Side { of, label }: &Side| Key {
            of: of.clone(),
            heading: label.clone(),
            kind: Kind::Rising,
        };
        Table {
            rows: vec![key(&self.row)],
            columns: Some(key(&self.column)),
            values: vec![self.y.column()],
            over: Some(self.over.filter.clone()),
            order: self.order.clone(),
            ..of_block
        }
    }

    pub fn draw(&self, plot: &Plot) -> Result<Heatmap, String> {
        let (chosen, names) = plot.chosen(&self.order)?;
        let (column, row) = (&self.column.of, &self.row.of);
        let in_columns = along("column", column, &chosen, &names)?;
        let in_rows = along("row", row, &chosen, &names)?;
        let side = |Side { of, label }: &Side, values: &[Parameter]| chart::Side {
            label: label.clone(),
            names: values.iter().map(|v| names.value(of, v)).collect(),
        };
        let columns = side(&self.column, &in_columns);
        let rows = side(&self.row, &in_rows);

        let cell = |(y, of_row): (usize, &Parameter), (x, of_column)| {
            let (row_label, column_label) = (&rows.label, &columns.label);
            let (row_name, column_name) = (&rows.names[y], &columns.names[x]);
            let place = format!("{row_label} {row_name}, {column_label} {column_name}");
            let mut here = chosen.clone();
            here.retain(|m| {
                select::parameter(m, row).as_ref() == Some(of_row)
                    && select::parameter(m, column).as_ref() == Some(of_column)
            });
            let found = self.cell(plot, &here);
            let found = found.map_err(|e| format!("at {place}: {e}"));
            let found = plot.or_left_out(found)?;
            let (value, words) = found.unwrap_or((f64::NAN, "–".to_owned()));
            Ok(Cell { value, hover: format!("{place}: {words}") })
        };
        let cells_of = |row| in_columns.iter().enumerate().map(move |c| cell(row, c)).collect();
        let cells: Result<Vec<Vec<Cell>>, String> =
            in_rows.iter().enumerate().map(cells_of).collect();
        let cells = cells?;
        if cells.iter().flatten().all(|cell| cell.value.is_nan()) {
            return Err("there is nothing to draw".to_owned());
        }
        let Over { below, above, .. } = self.over.clone();
        Ok(Heatmap { columns, rows, label: self.y.label.clone(), below, above, cells })
    }

    /// The ratio of a cell, and the same in words.
    fn cell(&self, plot: &Plot, here: &[&Measurement]) -> Result<(f64, String), String> {
        let m = select::only(here)?;
        let other = Filter::like(m).and(&self.over.filter).one(plot.record);
        let other = other.map_err(|e| format!("over: {e}"))?;
        let of = |m| self.y.of.of(plot.record, m).map(|estimate| estimate.value);
        let (a, b) = (of(m)?, of(other)?);
        let ratio = on_scale(a / b, Scale::Log2)?;
        let (unit, words) = (self.y.of.unit(), Unit::Ratio.print(ratio));
        Ok((ratio, format!("{words} ({} over {})", unit.print(a), unit.print(b))))
    }
}

/// The values along a side: in the order of the block, then by size.
fn along(
    what: &str,
    key: &str,
    chosen: &[&Measurement],
    names: &Names,
) -> Result<Vec<Parameter>, String> {
    let mut values = select::distinct(chosen, key);
    if values.is_empty() {
        return Err(format!("{what}: no measurement has this parameter"));
    }
    values.sort_by_key(|value| (names.place(value), value.integer()));
    Ok(values)
}
