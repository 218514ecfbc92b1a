//! What several forms share: guides, the key, the axis below the plot.

use super::place;
use super::scale::Span;
use super::sheet::Sheet;
use super::{Axis, Guide, GuideKind, Scale};
use crate::svg::text::{self, LINE};
use crate::svg::{Anchor, Area, Pen, Place};
use crate::unit::Unit;

/// How far beyond the data a linear axis still extends to a guide.
const REACH: f64 = 6.0;

/// A guide, ready to draw.
pub(super) struct Mark {
    pub(super) label: String,
    pub(super) pen: Pen,
    pub(super) value: f64,
    /// Too far beyond the data to be drawn to scale: only a note at the edge.
    pub(super) beyond: bool,
}

/// The axis that shows these values, and the guides beside them; `arrow` points to
/// those beyond the axis.
pub(super) fn measure(
    axis: &Axis,
    values: impl Iterator<Item = f64>,
    guides: &[Guide],
    arrow: char,
) -> (Span, Vec<Mark>) {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let finite = guides.iter().filter(|guide| guide.value.is_finite());
    let mark = |guide: &Guide| {
        let value = guide.value;
        let linear = axis.scale == Scale::Linear;
        let beyond = linear && high > 0.0 && value > REACH * high;
        let label = label(guide, &axis.unit);
        let label = if beyond { format!("{label} {arrow}") } else { label };
        let pen = match guide.kind {
            GuideKind::Peak => Pen::PEAK,
            GuideKind::Claim => Pen::CLAIM,
            GuideKind::Model => Pen::model(0),
        };
        let pen = if guide.beside { pen.dots_and_dashes() } else { pen };
        Mark { label, pen, value, beyond }
    };
    let marks: Vec<Mark> = finite.map(mark).collect();
    values.extend(marks.iter().filter(|mark| !mark.beyond).map(|mark| mark.value));
    (Span::of_values(axis, &values), marks)
}

/// A claim is quoted as it stands; other labels are followed by their value.
fn label(guide: &Guide, unit: &Unit) -> String {
    let value = unit.print(guide.value);
    match guide.kind {
        GuideKind::Peak | GuideKind::Model
            if !guide.label.is_empty() && !guide.label.contains(&value) =>
        {
            format!("{}: {value}", guide.label)
        }
        _ => guide.label.clone(),
    }
}

/// The key: samples of lines with their labels, in rows at the top of the sheet.
#[derive(Default)]
pub(super) struct Key {
    entries: Vec<Entry>,
}

struct Entry {
    pen: Pen,
    label: String,
    sample: Sample,
}

/// Half the height of a thin bar.
pub(super) const STRIP: f64 = 3.0;

/// What stands before a label.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sample {
    Nothing,
    Line,
    /// A fill of this opacity.
    Fill(f64),
    /// A thin bar.
    Strip,
}

impl Sample {
    fn width(self) -> f64 {
        if self == Sample::Nothing { 0.0 } else { 24.0 }
    }
}

impl Key {
    const ROW: f64 = LINE + 3.0;

    /// Adds an entry, unless it has no label.
    pub(super) fn add(&mut self, sample: Sample, pen: Pen, label: &str) {
        if !label.is_empty() {
            self.entries.push(Entry { pen, label: label.to_owned(), sample });
        }
    }

    /// Adds how the values of each are drawn, where there are two machines'.
    pub(super) fn add_whose(
        &mut self,
        whose: &Option<(String, String)>,
        [own, theirs]: [(Sample, Pen); 2],
    ) {
        if let Some((machine, other)) = whose {
            self.add(own.0, own.1, machine);
            self.add(theirs.0, theirs.1, other);
        }
    }

    pub(super) fn add_mark(&mut self, mark: &Mark) {
        let sample = if mark.beyond { Sample::Nothing } else { Sample::Line };
        self.add(sample, mark.pen, &mark.label);
    }

    /// Of each entry: its label as it fits, where it begins and its row.
    fn layout(&self, width: f64) -> Vec<(String, f64, usize)> {
        let cut = |entry: &Entry| text::cut(&entry.label, width - entry.sample.width());
        let labels: Vec<String> = self.entries.iter().map(cut).collect();
        let widths = self.entries.iter().zip(&labels);
        let widths: Vec<f64> =
            widths.map(|(entry, label)| entry.sample.width() + text::width(label)).collect();
        let places = place::rows(&widths, 16.0, width);
        labels.into_iter().zip(places).map(|(l, (x, row))| (l, x, row)).collect()
    }

    pub(super) fn height(&self, width: f64) -> f64 {
        let rows = self.layout(width).last().map_or(0, |(.., row)| row + 1);
        rows as f64 * Key::ROW + if rows > 0 { 4.0 } else { 0.0 }
    }

    pub(super) fn draw(&self, sheet: &mut Sheet) {
        let places = self.layout(sheet.width);
        for (Entry { pen, sample, .. }, (label, x, row)) in self.entries.iter().zip(places) {
            let y = (row as f64 + 0.5) * Key::ROW;
            let end = x + sample.width() - 6.0;
            let mut ink = *pen;
            match sample {
                Sample::Nothing => {}
                Sample::Line => {
                    sheet.line(&[(x, y), (end, y)], pen.stroke(pen.width()));
                }
                Sample::Fill(opacity) => {
                    let (top, bottom) = (y - 6.0, y + 6.0);
                    let area = Area { left: x, top, right: end, bottom };
                    sheet.rectangle(&area, pen.fill(*opacity));
                    ink = Pen::INK;
                }
                Sample::Strip => {
                    let (top, bottom) = (y - STRIP, y + STRIP);
                    sheet.rectangle(&Area { left: x, top, right: end, bottom }, pen.fill(1.0));
                }
            }
            sheet.text(x + sample.width(), y, Anchor::Start, ink, &label);
        }
    }
}

/// Height of the ticks' labels and the title below the plot.
pub(super) const FOOT: f64 = 2.0 * LINE + 8.0;

/// Labels the ticks of an axis below the plot, and writes its title.
pub(super) fn foot(
    sheet: &mut Sheet,
    axis: &Span,
    ticks: &[(f64, String)],
    title: &str,
    plot: Area,
) {
    for (value, label) in ticks {
        let x = axis.position(*value);
        sheet.text(x, plot.bottom + 14.0, Anchor::Middle, Pen::MUTED, label);
    }
    let y = plot.bottom + 14.0 + LINE + 1.0;
    sheet.text(plot.middle().0, y, Anchor::Middle, Pen::MUTED, &axis.title(title));
}

/// What an empty plot says in its middle.
pub(super) fn nothing(sheet: &mut Sheet, middle: Place) {
    say(sheet, middle, "No measurements");
}

/// What stands where there can be no picture.
pub(super) fn say(sheet: &mut Sheet, (x, y): Place, why: &str) {
    sheet.text(x, y, Anchor::Middle, Pen::MUTED, why);
}
