//! Two machines in one chart: the other's values on the same axes, and the values of each as
//! shares of its own peak, or as rates. Times of other work stand in charts of their own: every
//! time comes here with its work, so no page can forget it.

use std::collections::BTreeMap;

use super::{Axis, Bar, Bars, Figure, Form, Group, Guide, GuideKind, Lines, Point, Series};
use crate::metric::Work;
use crate::unit::Unit;

impl Figure {
    /// This machine's chart with what another has beside it; `whose` names both. None if its
    /// form has no axis that values are read from, or if times are of other work.
    pub fn beside(&self, other: &Figure, whose: (&str, &str)) -> Option<Figure> {
        let form = match (&self.form, &other.form) {
            _ if self.is_of_other_work(other) => return None,
            (Form::Lines(own), Form::Lines(other)) => Form::Lines(lines(own, other, whose)),
            (Form::Bars(own), Form::Bars(other)) => Form::Bars(bars(own, other, whose)),
            _ => return None,
        };
        let description = format!("{} Beside it what the {} has.", self.description, whose.1);
        Some(Figure { form, description, ..self.clone() })
    }

    /// Whether a time at the same place is of other work, so that who is faster cannot be seen.
    pub fn is_of_other_work(&self, other: &Figure) -> bool {
        let (own, other) = (work(&self.form), work(&other.form));
        own.iter().any(|(place, done)| other.get(place).is_some_and(|there| there != done))
    }

    /// Its bandwidths as shares of its peak, by the name that the chart gives that; none of a
    /// chart that has not exactly one.
    pub fn of_peak(&self) -> Option<Figure> {
        let (axis, guides) = self.form.axis()?;
        let peak = only_peak(guides).filter(|_| axis.unit == Unit::Bandwidth)?;
        let of = format!("of “{}”", peak.label);
        let axis = Axis { label: format!("Share {of}"), unit: Unit::Share, ..axis.clone() };
        let whole = Guide { value: 1.0, ..peak.clone() };
        self.on(axis, vec![whole], ["shares", &format!("as a share {of}")], |number, _| {
            let shares = number.map(|end| end / peak.value);
            Some((shares, format!("{} {of}", Unit::Share.print(shares[0]))))
        })
    }

    /// Its times as rates, which stand beside another's whatever the work; none if a time has
    /// no bytes.
    pub fn as_rates(&self) -> Option<Figure> {
        let (axis, _) = self.form.axis().filter(|(axis, _)| axis.unit == Unit::Time)?;
        let label = "Effective bandwidth".to_owned();
        let axis = Axis { label, unit: Unit::Bandwidth, ..axis.clone() };
        self.on(axis, vec![], ["rates", "as a rate"], |[value, low, high], work| {
            let (bytes, _) = work.filter(|(bytes, _)| *bytes > 0)?;
            let rates = [value, high, low].map(|seconds| bytes as f64 / seconds);
            Some((rates, Unit::Bandwidth.print(rates[0])))
        })
    }

    /// The figure on another axis, called by a suffix and by what it is: `of` gives each number
    /// with its interval there, and what is said of it.
    fn on(
        &self,
        axis: Axis,
        guides: Vec<Guide>,
        [suffix, what]: [&str; 2],
        of: impl Fn([f64; 3], Option<Work>) -> Option<([f64; 3], String)>,
    ) -> Option<Figure> {
        let change = |[value, low, high]: [&mut f64; 3], work: &mut Option<Work>| {
            let (number, said) = of([*value, *low, *high], work.take())?;
            [*value, *low, *high] = number;
            Some(format!(", {said}"))
        };
        let mut form = self.form.clone();
        match &mut form {
            Form::Lines(lines) => {
                (lines.y, lines.guides) = (axis, guides);
                let curves = lines.series.iter_mut().chain(&mut lines.models);
                for Point { y, low, high, hover, work, .. } in curves.flat_map(|c| &mut c.points) {
                    *hover += &change([y, low, high], work)?;
                }
            }
            Form::Bars(bars) => {
                (bars.value, bars.guides) = (axis, guides);
                let bars = bars.groups.iter_mut().flat_map(|group| &mut group.bars);
                for Bar { value, low, high, hover, work, .. } in bars {
                    *hover += &change([value, low, high], work)?;
                }
            }
            _ => return None,
        }
        let (id, title) = (format!("{}-{suffix}", self.id), format!("{}, {what}", self.title));
        Some(Figure { id, title: title.clone(), description: title + ".", form })
    }
}

impl Form {
    /// The axis that values are read from, and the guides to compare them with.
    fn axis(&self) -> Option<(&Axis, &[Guide])> {
        match self {
            Form::Lines(lines) => Some((&lines.y, &lines.guides)),
            Form::Bars(bars) => Some((&bars.value, &bars.guides)),
            _ => None,
        }
    }
}

/// What was done in each time, by its place in the chart: the names of curve or bar, and x.
fn work(form: &Form) -> BTreeMap<(&str, &str, u64), Work> {
    let mut all = BTreeMap::new();
    match form {
        Form::Lines(lines) => {
            for Series { label, points } in &lines.series {
                for at in points {
                    let place = ("", label.as_str(), at.x.to_bits());
                    all.extend(at.work.map(|done| (place, done)));
                }
            }
        }
        Form::Bars(bars) => {
            for Group { label, bars } in &bars.groups {
                for bar in bars {
                    let place = (label.as_str(), bar.label.as_str(), 0);
                    all.extend(bar.work.map(|done| (place, done)));
                }
            }
        }
        _ => {}
    }
    all
}

fn lines(own: &Lines, other: &Lines, (mine, theirs): (&str, &str)) -> Lines {
    let mut lines = own.clone();
    // The other's curves may well cross what bounds only this machine's, and bend elsewhere.
    let is_same = |a: &Series, b: &Series| {
        a.label == b.label
            && a.points.iter().map(|at| (at.x, at.y)).eq(b.points.iter().map(|at| (at.x, at.y)))
    };
    for model in &mut lines.models {
        if !model.label.is_empty() && !other.models.iter().any(|there| is_same(model, there)) {
            model.label = format!("{}, {mine}", model.label);
        }
    }
    for mark in &mut lines.marks {
        if !other.marks.iter().any(|there| there.label == mark.label && there.x == mark.x) {
            mark.label = format!("{}, {mine}", mark.label);
        }
    }
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
                bar.beside = there.value.is_finite().then_some(there.value);
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
    let named = |there: &Guide| {
        let label = format!("{} ({theirs})", there.label);
        Guide { label, beside: true, ..there.clone() }
    };
    peaks(other).filter(is_new).map(named).collect()
}

fn only_peak(guides: &[Guide]) -> Option<&Guide> {
    let mut peaks = peaks(guides);
    let only = peaks.next()?;
    peaks.next().is_none().then_some(only)
}
