//! The values of a chart as comma-separated text: a row for each point, bar, cell or piece of
//! work, numbers as they are kept. Heads name the units.

use csv::Writer;

use super::{Axis, Figure, Form, Lines};
use crate::unit::Unit;

/// What a chart shows, as CSV with a row of heads.
pub fn csv(figure: &Figure) -> String {
    let mut table = Writer::from_writer(vec![]);
    for row in rows(&figure.form) {
        table.write_record(row).expect("all rows are as long as the first");
    }
    let bytes = table.into_inner().expect("a vector takes all bytes");
    String::from_utf8(bytes).expect("it was made of strings")
}

/// The heads, then the rows.
fn rows(form: &Form) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = vec![];
    match form {
        Form::Lines(lines) => {
            rows.push([vec![text("series")], heads_of(lines)].concat());
            rows.extend(points(lines));
        }
        Form::Bars(bars) => {
            let [value, low, high] = with_ends(&bars.value);
            rows.push(vec![text("group"), text("bar"), value, low, high]);
            for group in &bars.groups {
                rows.extend(group.bars.iter().map(|bar| {
                    let names = vec![text(&group.label), text(&bar.label)];
                    [names, vec![number(bar.value), number(bar.low), number(bar.high)]].concat()
                }));
            }
        }
        Form::Heatmap(map) => {
            let (across, down) = (&map.columns, &map.rows);
            rows.push(vec![text(&down.label), text(&across.label), text(&map.label)]);
            for (name, cells) in down.names.iter().zip(&map.cells) {
                rows.extend(
                    across
                        .names
                        .iter()
                        .zip(cells)
                        .map(|(column, cell)| vec![text(name), text(column), number(cell.value)]),
                );
            }
        }
        Form::Timeline(timeline) => {
            let [start, end] = ["start", "end"].map(|of| in_unit(of, &Unit::Time));
            rows.push(vec![text("panel"), text("lane"), text("work"), start, end]);
            for panel in &timeline.panels {
                for lane in &panel.lanes {
                    rows.extend(lane.pieces.iter().map(|piece| {
                        let names = [&panel.label, &lane.label, &piece.label];
                        let names = names.map(|name| text(name)).to_vec();
                        [names, vec![number(piece.start), number(piece.end)]].concat()
                    }));
                }
            }
        }
        Form::Memory(memory) => {
            let heads = memory.panels.first().map(|panel| heads_of(&panel.lines));
            let names = vec![text("panel"), text("series")];
            rows.push([names, heads.unwrap_or_default()].concat());
            for panel in &memory.panels {
                let points = points(&panel.lines).into_iter();
                rows.extend(points.map(|row| [vec![text(&panel.label)], row].concat()));
            }
        }
    }
    rows
}

/// The heads of a curve's points.
fn heads_of(lines: &Lines) -> Vec<String> {
    [vec![in_unit(&lines.x.label, &lines.x.unit)], with_ends(&lines.y).to_vec()].concat()
}

/// The points of all curves. Models have no interval.
fn points(lines: &Lines) -> Vec<Vec<String>> {
    let series = lines.series.iter().map(|series| (series, true));
    let models = lines.models.iter().map(|model| (model, false));
    let rows = series.chain(models).flat_map(|(series, measured)| {
        series.points.iter().map(move |point| {
            let end = |end| if measured { number(end) } else { String::new() };
            let (x, y) = (number(point.x), number(point.y));
            vec![text(&series.label), x, y, end(point.low), end(point.high)]
        })
    });
    rows.collect()
}

/// The heads of a value and of the ends of its interval.
fn with_ends(axis: &Axis) -> [String; 3] {
    [&axis.label, "low", "high"].map(|label| in_unit(label, &axis.unit))
}

/// A head with the unit that numbers are kept in.
fn in_unit(label: &str, unit: &Unit) -> String {
    let unit = match unit {
        Unit::Number | Unit::Ratio => return text(label),
        Unit::Share => "of 1",
        Unit::Bandwidth => "bytes/s",
        Unit::Arithmetic => "operations/s",
        Unit::Time => "s",
        Unit::Bytes => "bytes",
        Unit::Things(things) => things,
    };
    text(&format!("{label} ({unit})"))
}

/// A number; nothing if there is none.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// A name, which a spreadsheet must not take for a formula.
fn text(name: &str) -> String {
    let formula = name.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("{}{name}", if formula { "'" } else { "" })
}
