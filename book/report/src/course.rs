//! The course of an operation: what ran when, and memory over time, from a `chart` block
//! with one machine's record.

use record::{Measurement, MemoryReading, Span};

use crate::chart::{
    Axis, Kind, Lane, Lines, Memory, MemoryPanel, Panel, Piece, Point, Scale,
    Series, Timeline, Unit as AxisUnit,
};
use crate::figure;
use crate::plot::Plot;
use crate::unit::Unit;

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

impl Plot<'_> {
    /// A timeline.
    pub fn timeline(&self) -> Result<Timeline, String> {
        let block = self.block;
        let chosen = self.panels(|m| match m.spans.is_empty() {
            true => Err("the measurement has no timeline".to_owned()),
            false => Ok(()),
        })?;
        let spans = || chosen.iter().flat_map(|(_, m)| &m.spans);
        let there = distinct(spans().map(|span| span.lane.as_str()));
        let lanes =
            self.those(&there, block.lanes.as_deref(), "lanes: no span lies in")?;
        let drawn = || spans().filter(|span| lanes.contains(&span.lane.as_str()));
        let kinds = kinds(&distinct(drawn().map(kind)))?;
        self.check_labels(|name| {
            kinds.iter().any(|(kind, _)| *kind == name) || lanes.contains(&name)
        })?;

        let piece = |span: &Span| {
            let Span { lane, label, start_seconds: start, end_seconds: end } = span;
            let (from, to) = (Unit::Time.print(*start), Unit::Time.print(*end));
            let took = Unit::Time.print(end - start);
            let hover = format!(
                "{}, {label}: {took}, from {from} to {to}",
                block.called(lane)
            );
            let known = kinds.iter().find(|(name, _)| *name == kind(span));
            let color = known.and_then(|(_, color)| *color);
            Piece { label: label.clone(), start: *start, end: *end, hover, color }
        };
        let lane = |m: &Measurement, lane: &&str| {
            let here = m.spans.iter().filter(|span| span.lane == *lane);
            let pieces: Vec<Piece> = here.map(piece).collect();
            let label = block.called(lane);
            (!pieces.is_empty()).then_some(Lane { label, pieces })
        };
        let mut panels = vec![];
        for (panel, m) in &chosen {
            let note = match &block.y {
                None => None,
                Some(metric) => self.or_left_out(metric.of(self.record, m))?,
            };
            let note = note.map(|estimate| block.unit().print(estimate.value));
            panels.push(Panel {
                label: panel.label.clone(),
                note: note.unwrap_or_default(),
                lanes: lanes.iter().filter_map(|name| lane(m, name)).collect(),
            });
        }
        let kinds = kinds
            .iter()
            .map(|&(name, color)| Kind { label: block.called(name), color });
        Ok(Timeline {
            time: self.time(),
            shared: block.own_axes != Some(true),
            kinds: kinds.collect(),
            panels,
        })
    }

    /// Memory over time.
    pub fn memory(&self) -> Result<Memory, String> {
        let block = self.block;
        let chosen = self.panels(|m| match m.memory.is_empty() {
            true => Err("the measurement has no memory over time".to_owned()),
            false => Ok(()),
        })?;
        let names =
            chosen.iter().flat_map(|(_, m)| m.memory.keys().map(String::as_str));
        let there = distinct(names);
        let drawn = self.those(
            &there,
            block.readings.as_deref(),
            "readings: there are none of",
        )?;
        self.check_labels(|name| drawn.contains(&name))?;

        let series = |m: &Measurement, name: &&str| {
            let label = block.called(name);
            let readings = m.memory.get(*name).map_or(&[][..], Vec::as_slice);
            let points =
                changes(readings).map(|&MemoryReading { seconds, bytes }| {
                    let (at, value) = (Unit::Time.print(seconds), bytes as f64);
                    let hover =
                        format!("{label} at {at}: {}", Unit::Bytes.print(value));
                    Point { x: seconds, y: value, low: value, high: value, hover }
                });
            let points = points.collect();
            Series { label, points }
        };
        let mut panels = vec![];
        for (panel, m) in &chosen {
            let lines = Lines {
                x: self.time(),
                y: self.values(),
                series: drawn.iter().map(|name| series(m, name)).collect(),
                models: vec![],
                references: self.references()?,
                marks: vec![],
                steps: true,
            };
            panels.push(MemoryPanel { label: panel.label.clone(), lines });
        }
        Ok(Memory { panels })
    }

    /// The measurement of each panel that has what is to be drawn of it.
    fn panels(
        &self,
        check: impl Fn(&Measurement) -> Result<(), String>,
    ) -> Result<Vec<(figure::Panel, &Measurement)>, String> {
        let block = self.block;
        let mut panels = block.panels.clone();
        if panels.is_empty() {
            panels.push(figure::Panel::default());
        }
        let mut chosen = vec![];
        for panel in panels {
            let found = block.filter.and(&panel.filter).one(self.record);
            let found = found.and_then(|m| check(m).map(|()| m));
            let found = found.map_err(|e| match panel.label.as_str() {
                "" => e,
                label => format!("panel \"{label}\": {e}"),
            });
            chosen.extend(self.or_left_out(found)?.map(|m| (panel, m)));
        }
        match chosen.is_empty() {
            true => Err("there is nothing to draw".to_owned()),
            false => Ok(chosen),
        }
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
        let unknown = self.block.labelled().find(|name| !drawn(name));
        let unknown = unknown.map_or(Ok(()), |name| {
            Err(format!("labels: nothing that is drawn is called `{name}`"))
        });
        self.or_left_out(unknown).map(|_| ())
    }

    fn time(&self) -> Axis {
        let label = self.block.x_label.clone().unwrap_or_else(|| "Time".to_owned());
        Axis { label, scale: Scale::Linear, unit: AxisUnit::Time }
    }
}

/// The kind of work that a piece is: the first word of its label.
fn kind(span: &Span) -> &str {
    span.label.split_whitespace().next().unwrap_or_default()
}

/// A colour for each kind: the one it has everywhere, or the first that is free.
fn kinds<'n>(names: &[&'n str]) -> Result<Vec<(&'n str, Option<usize>)>, String> {
    let mut free: Vec<usize> = (0..MOST_KINDS).collect();
    let mut take = |wanted: Option<usize>| {
        let place =
            free.iter().position(|&color| wanted.is_none_or(|w| w == color))?;
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
    let mut found: Vec<&str> = vec![];
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
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
