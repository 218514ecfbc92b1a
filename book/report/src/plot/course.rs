//! The course of an operation: what ran when, and memory over time.

use std::collections::{BTreeMap, BTreeSet};

use excerpt::page::{Table, Value};
use record::{Measurement, MemoryReading, Span};
use serde::Deserialize;

use super::{GuideLine, Plot};
use crate::chart::{self, Axis, Kind, Lane, Lines, MemoryPanel, Piece, Point, Scale, Series};
use crate::metric::{InRuns, Metric};
use crate::names::{self, Defaults};
use crate::select::{CASE, Choose, Filter};
use crate::unit::Unit;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// The measurements, from the top down; without, the only one that is chosen.
    #[serde(default)]
    panels: Vec<Panel>,
    /// The lanes that are drawn, in order; without, all.
    lanes: Option<Vec<String>>,
    /// The time axis in words.
    x_label: Option<String>,
    /// What is written at the end of each panel's heading.
    note: Option<Metric>,
}

/// What a chart of memory over time says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The measurements, from the top down; without, the only one that is chosen.
    #[serde(default)]
    panels: Vec<Panel>,
    /// The series of readings that are drawn, in order; without, all.
    readings: Option<Vec<String>>,
    /// The axis of memory in words.
    pub y_label: String,
    /// Straight lines to compare with.
    #[serde(default, rename = "references")]
    guides: Vec<GuideLine>,
}

/// One measurement of a timeline or of memory over time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    label: String,
    /// Which measurement, of those that the block chooses.
    #[serde(default, rename = "where")]
    filter: Filter,
}

/// Kinds of work and their colours, the same in the whole book; none stands for waiting.
const KINDS: [(&str, Option<usize>); 8] = [
    ("kernel", Some(0)),
    ("copy", Some(1)),
    ("upload", Some(1)),
    ("download", Some(2)),
    ("launch", Some(3)),
    ("allocate", Some(4)),
    ("free", Some(5)),
    ("wait", None),
];
/// As many as there are colours.
const MOST_KINDS: usize = 6;

impl Timeline {
    /// How long what is drawn takes, or what is written beside it, as a table.
    pub fn table(&self, of_block: Table, names: &Defaults) -> Table {
        let of = self.note.clone().unwrap_or(Metric::Time);
        let values = vec![Value { heading: names::of_metric(&of), of }];
        Table { values, ..of_panels(&self.panels, of_block, names) }
    }

    pub fn draw(&self, plot: &Plot) -> Result<chart::Timeline, String> {
        let has_spans = |m: &Measurement| !m.spans.is_empty();
        let chosen = plot.panels(&self.panels, has_spans, "timeline")?;
        let spans = || chosen.iter().flat_map(|(_, m)| &m.spans);
        let there = distinct(spans().map(|span| span.lane.as_str()));
        let lanes = plot.those(&there, self.lanes.as_deref(), "lanes: no span lies in")?;
        let drawn = || spans().filter(|span| lanes.contains(&span.lane.as_str()));
        let kinds = kinds(&distinct(drawn().map(kind)))?;
        plot.check_labels(|name| {
            kinds.iter().any(|(kind, _)| *kind == name) || lanes.contains(&name)
        })?;

        let piece = |span: &Span| {
            let Span { lane, label, start_seconds: start, end_seconds: end } = span;
            let (from, to) = (Unit::Time.print(*start), Unit::Time.print(*end));
            let took = Unit::Time.print(end - start);
            let hover = format!("{}, {label}: {took}, from {from} to {to}", plot.called(lane));
            let known = kinds.iter().find(|(name, _)| *name == kind(span));
            let color = known.and_then(|(_, color)| *color);
            Piece { label: label.clone(), start: *start, end: *end, hover, color }
        };
        let lane = |m: &Measurement, lane: &&str| {
            let here = m.spans.iter().filter(|span| span.lane == *lane);
            let pieces: Vec<Piece> = here.map(piece).collect();
            let label = plot.called(lane);
            (!pieces.is_empty()).then_some(Lane { label, pieces })
        };
        let mut panels = vec![];
        for (panel, m) in &chosen {
            let mut note = String::new();
            if let Some(metric) = &self.note {
                let found = plot.or_left_out(metric.of(plot.record, m))?;
                note.extend(found.map(|found| found.print(&metric.unit())));
            }
            panels.push(chart::Panel {
                label: panel.label.clone(),
                note,
                lanes: lanes.iter().filter_map(|name| lane(m, name)).collect(),
            });
        }
        let kinds = kinds.iter().map(|&(name, color)| Kind { label: plot.called(name), color });
        Ok(chart::Timeline { time: time(&self.x_label), kinds: kinds.collect(), panels })
    }
}

impl Memory {
    /// The most that there is of each series of readings, as a table.
    pub fn table(&self, of_block: Table, names: &Defaults) -> Table {
        let most = |name: &String| Value {
            of: Metric::Memory(name.clone(), "max".to_owned()),
            heading: format!("At most, {}", of_block.labels.get(name).unwrap_or(name)),
        };
        let values = self.readings.iter().flatten().map(most).collect();
        Table { values, ..of_panels(&self.panels, of_block, names) }
    }

    pub fn draw(&self, plot: &Plot) -> Result<chart::Memory, String> {
        let has_memory = |m: &Measurement| !m.memory.is_empty();
        let chosen = plot.panels(&self.panels, has_memory, "memory over time")?;
        let names = chosen.iter().flat_map(|(_, m)| m.memory.keys().map(String::as_str));
        let there = distinct(names);
        let wanted = self.readings.as_deref();
        let drawn = plot.those(&there, wanted, "readings: there are none of")?;
        plot.check_labels(|name| drawn.contains(&name))?;

        let series = |m: &Measurement, name: &&str| {
            let label = plot.called(name);
            let readings = m.memory.get(*name).map_or(&[][..], Vec::as_slice);
            let points = changes(readings).map(|&MemoryReading { seconds, bytes }| {
                let (at, value) = (Unit::Time.print(seconds), bytes as f64);
                let hover = format!("{label} at {at}: {}", Unit::Bytes.print(value));
                Point { x: seconds, y: value, low: value, high: value, hover, work: None }
            });
            let points = points.collect();
            Series { label, points }
        };
        let mut panels = vec![];
        for (panel, m) in &chosen {
            let (label, unit) = (self.y_label.clone(), Unit::Bytes);
            let (scale, guides) = (Scale::Linear, &self.guides);
            let lines = Lines {
                x: time(&None),
                y: Axis { label, scale, unit },
                series: drawn.iter().map(|name| series(m, name)).collect(),
                guides: plot.guides(guides, &Unit::Bytes, scale)?,
                steps: true,
                ..Lines::default()
            };
            panels.push(MemoryPanel { label: panel.label.clone(), lines });
        }
        Ok(chart::Memory { panels })
    }
}

/// A row for each panel; labels are of lanes and series, and there are none of these.
fn of_panels(panels: &[Panel], of_block: Table, names: &Defaults) -> Table {
    let panel = |Panel { label, filter }: &Panel| {
        let (label, filter) = (label.clone(), filter.clone());
        excerpt::page::Panel { label, filter }
    };
    let panels: Vec<_> = panels.iter().map(panel).collect();
    let rows = if panels.is_empty() { vec![names.key(CASE)] } else { vec![] };
    Table { rows, panels, labels: BTreeMap::new(), ..of_block }
}

impl Plot<'_> {
    /// The measurement of each panel, which must have what is to be drawn of it.
    fn panels(
        &self,
        panels: &[Panel],
        has: impl Fn(&Measurement) -> bool,
        what: &str,
    ) -> Result<Vec<(Panel, &Measurement)>, String> {
        let mut panels = panels.to_vec();
        if panels.is_empty() {
            panels.push(Panel::default());
        }
        let mut chosen = vec![];
        for panel in panels {
            let found = self.common.filter.and(&panel.filter).one(self.record);
            let found = found.and_then(|m| match has(m) {
                true => Ok(m),
                false => Err(format!("the measurement has no {what}")),
            });
            let found = found.map_err(|e| match panel.label.as_str() {
                "" => e,
                label => format!("panel \"{label}\": {e}"),
            });
            chosen.extend(self.or_left_out(found)?.map(|m| (panel, m)));
        }
        if chosen.is_empty() { Err("there is nothing to draw".to_owned()) } else { Ok(chosen) }
    }

    /// The wanted names that are there, or all that are.
    fn those<'n>(
        &'n self,
        there: &[&'n str],
        wanted: Option<&'n [String]>,
        lacking: &str,
    ) -> Result<Vec<&'n str>, String> {
        let Some(wanted) = wanted else { return Ok(there.to_vec()) };
        let mut found = vec![];
        for name in wanted {
            let there = there.iter().find(|there| *there == name).copied();
            let there = there.ok_or_else(|| format!("{lacking} `{name}`"));
            found.extend(self.or_left_out(there)?);
        }
        Ok(found)
    }

    /// A label of what is not drawn would be silent.
    fn check_labels(&self, drawn: impl Fn(&str) -> bool) -> Result<(), String> {
        let unknown = self.common.labels.keys().find(|name| !drawn(name));
        let unknown = unknown.map_or(Ok(()), |name| {
            Err(format!("labels: nothing that is drawn is called `{name}`"))
        });
        self.or_left_out(unknown).map(|_| ())
    }

    /// What a lane, a kind of work or a series of readings is called.
    fn called(&self, name: &str) -> String {
        let label = self.common.labels.get(name).cloned();
        label.unwrap_or_else(|| name.replace('_', " "))
    }
}

fn time(label: &Option<String>) -> Axis {
    let label = label.clone().unwrap_or_else(|| "Time".to_owned());
    Axis { label, scale: Scale::Linear, unit: Unit::Time }
}

/// The kind of work that a piece is: the first word of its label.
fn kind(span: &Span) -> &str {
    span.label.split_whitespace().next().unwrap_or_default()
}

/// A colour for each kind: the one it has everywhere, or the first that is free.
fn kinds<'n>(names: &[&'n str]) -> Result<Vec<(&'n str, Option<usize>)>, String> {
    let mut free: Vec<usize> = (0..MOST_KINDS).collect();
    let mut take = |wanted: Option<usize>| {
        let place = free.iter().position(|&color| wanted.is_none_or(|w| w == color))?;
        Some(free.remove(place))
    };
    let usual = |name: &str| KINDS.iter().find(|(known, _)| *known == name);
    let mut colors: Vec<Option<Option<usize>>> = names
        .iter()
        .map(|name| match usual(name)?.1 {
            None => Some(None),
            wanted => take(wanted).map(Some),
        })
        .collect();
    for color in colors.iter_mut().filter(|color| color.is_none()) {
        *color = take(None).map(Some);
    }
    let colors = names.iter().zip(colors).map(|(name, color)| Some((*name, color?)));
    let colors: Option<Vec<_>> = colors.collect();
    colors.ok_or_else(|| {
        format!(
            "more than {MOST_KINDS} kinds of work: {}; draw fewer `lanes`, or give labels \
             that begin with the same word",
            names.join(", ")
        )
    })
}

/// Each name once, in order.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// The readings less those that repeat what stands before and after them.
fn changes(readings: &[MemoryReading]) -> impl Iterator<Item = &MemoryReading> {
    let bytes = |n: usize| readings.get(n).map(|reading| reading.bytes);
    readings.iter().enumerate().filter_map(move |(n, reading)| {
        let before = n.checked_sub(1).and_then(bytes);
        let same = before == Some(reading.bytes) && bytes(n + 1) == before;
        (!same).then_some(reading)
    })
}
