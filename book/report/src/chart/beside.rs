//! Two machines in one chart: the other's values on the same axes, and the values of each as
//! shares of its own peak.

use super::{Axis, Bars, Figure, Form, Group, Guide, GuideKind, Lines, Point, Series};
use crate::unit::Unit;

impl Figure {
    /// This machine's chart with what another has beside it; `whose` names both. None if its
    /// form has no axis that values are read from.
    pub fn beside(&self, other: &Figure, whose: (&str, &str)) -> Option<Figure> {
        let form = match (&self.form, &other.form) {
            (Form::Lines(own), Form::Lines(other)) => Form::Lines(lines(own, other, whose)),
            (Form::Bars(own), Form::Bars(other)) => Form::Bars(bars(own, other, whose)),
            _ => return None,
        };
        let description = format!("{} Beside it what the {} has.", self.description, whose.1);
        Some(Figure { form, description, ..self.clone() })
    }

    /// Its bandwidths as shares of its peak; none of a chart that has not exactly one.
    pub fn of_peak(&self) -> Option<Figure> {
        let form = match &self.form {
            Form::Lines(lines) if lines.y.unit == Unit::Bandwidth => {
                let peak = only_peak(&lines.guides)?;
                let of_peak = |all: &[Series]| all.iter().map(|s| shares(s, peak)).collect();
                Form::Lines(Lines {
                    y: of_its_peak(&lines.y),
                    series: of_peak(&lines.series),
                    models: of_peak(&lines.models),
                    guides: vec![whole()],
                    ..lines.clone()
                })
            }
            Form::Bars(bars) if bars.value.unit == Unit::Bandwidth => {
                let peak = only_peak(&bars.guides)?;
                let (value, guides) = (of_its_peak(&bars.value), vec![whole()]);
                let mut groups = bars.groups.clone();
                for bar in groups.iter_mut().flat_map(|group| &mut group.bars) {
                    bar.value /= peak;
                    bar.low /= peak;
                    bar.high /= peak;
                    bar.hover += &of_the_peak(bar.value);
                }
                Form::Bars(Bars { value, groups, guides, whose: None })
            }
            _ => return None,
        };
        let (id, what) = (format!("{}-shares", self.id), "as a share of the peak");
        let title = format!("{}, {what}", self.title);
        Some(Figure { id, title: title.clone(), description: title + ".", form })
    }
}

fn lines(own: &Lines, other: &Lines, (mine, theirs): (&str, &str)) -> Lines {
    let mut lines = own.clone();
    lines.beside = other.series.clone();
    for point in lines.beside.iter_mut().flat_map(|series| &mut series.points) {
        point.hover = format!("{theirs}: {}", point.hover);
    }
    lines.guides.extend(further(&own.guides, &other.guides, theirs));
    lines.whose = Some((mine.to_owned(), theirs.to_owned()));
    lines
}

fn bars(own: &Bars, other: &Bars, (mine, theirs): (&str, &str)) -> Bars {
    let mut bars = own.clone();
    for group in &mut bars.groups {
        let same = |there: &&Group| there.label == group.label;
        let Some(there) = other.groups.iter().find(same) else { continue };
        for bar in &mut group.bars {
            let same = there.bars.iter().find(|there| there.label == bar.label);
            if let Some(there) = same {
                bar.beside = Some(there.value);
                bar.hover += &format!("; {theirs}: {}", there.hover);
            }
        }
    }
    bars.guides.extend(further(&own.guides, &other.guides, theirs));
    bars.whose = Some((mine.to_owned(), theirs.to_owned()));
    bars
}

fn peaks(guides: &[Guide]) -> impl Iterator<Item = &Guide> {
    guides.iter().filter(|guide| guide.kind == GuideKind::Peak)
}

/// The peaks that are others there.
fn further(own: &[Guide], other: &[Guide], theirs: &str) -> Vec<Guide> {
    let is_new = |there: &&Guide| peaks(own).all(|own| own.value != there.value);
    let named =
        |there: &Guide| Guide { label: format!("{} ({theirs})", there.label), ..there.clone() };
    peaks(other).filter(is_new).map(named).collect()
}

fn only_peak(guides: &[Guide]) -> Option<f64> {
    let mut peaks = peaks(guides);
    let only = peaks.next()?.value;
    peaks.next().is_none().then_some(only)
}

fn of_its_peak(axis: &Axis) -> Axis {
    let label = "Share of the machine's theoretical peak".to_owned();
    Axis { label, unit: Unit::Share, ..axis.clone() }
}

fn whole() -> Guide {
    let label = "Theoretical peak".to_owned();
    Guide { label, value: 1.0, kind: GuideKind::Peak }
}

fn shares(series: &Series, peak: f64) -> Series {
    let share = |point: &Point| Point {
        x: point.x,
        y: point.y / peak,
        low: point.low / peak,
        high: point.high / peak,
        hover: format!("{}{}", point.hover, of_the_peak(point.y / peak)),
    };
    let points = series.points.iter().map(share).collect();
    Series { label: series.label.clone(), points }
}

fn of_the_peak(share: f64) -> String {
    format!(", {} of the peak", Unit::Share.print(share))
}
