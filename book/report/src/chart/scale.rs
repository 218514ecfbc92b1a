//! Axes: from values to pixels, which part of an axis is drawn, and its ticks.
//!
//! | axis | drawn part | ticks |
//! |---|---|---|
//! | linear | from 0 (values) or around the data (across) | 1-2-5 steps |
//! | log2 | whole powers of two (values) or around the data | 2ⁿ, thinned to fit |
//! | log10 | between numbers 1, 2 or 5 × 10ⁿ, or around the data | 1-2-5 or decades |
//!
//! Where places on a logarithmic axis lie between its ticks, the ticks are those places, if they
//! fit. An end of a log10 axis that would leave a fifth of it empty is another digit × 10ⁿ.
//!
//! What cannot be shown is drawn at the nearer end of the axis: a value of 0 on a
//! logarithmic axis, a guide far beyond the data on a linear one.

use record::units;

use super::{Axis, Scale};
use crate::svg::quarter;
use crate::unit::Unit;

/// The drawn part of an axis, and where on the sheet it lies.
#[derive(Clone, Debug)]
pub(super) struct Span {
    unit: Unit,
    pub(super) scale: Scale,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Pixel of `min`.
    pub(super) start: f64,
    /// Pixel of `max`.
    pub(super) end: f64,
    /// Printed numbers are values times this…
    factor: f64,
    /// …in this unit, named in the axis' title.
    printed: &'static str,
    /// The values count something: nothing lies between whole numbers.
    counts: bool,
    /// Where values are plotted over it.
    places: Vec<f64>,
}

impl Span {
    pub(super) fn of_values(axis: &Axis, values: &[f64]) -> Span {
        let mut span = Span::new(axis, values);
        match axis.scale {
            Scale::Linear => {
                let high = if span.max > 0.0 { span.max } else { 0.0 };
                let low = span.min.min(0.0);
                (span.min, span.max) =
                    if low < high { (low, high) } else { (0.0, 1.0 / span.factor) };
                let step = span.step(7.0);
                span.min = (span.min / step).floor() * step;
                span.max = (span.max / step).ceil() * step;
            }
            Scale::Log2 => {
                span.min = span.min.log2().floor().exp2();
                span.max = span.max.log2().ceil().exp2();
            }
            Scale::Log10 => {
                let (low, high) = (span.min, span.max);
                let below = |digits| rounds(digits, low).rfind(|&end| end <= low * (1.0 + 1e-9));
                let above = |digits| rounds(digits, high).find(|&end| end >= high * (1.0 - 1e-9));
                span.min = below(&STEPS).unwrap_or(low);
                span.max = above(&STEPS).unwrap_or(high);
                let fifth = (span.max / span.min).powf(0.2);
                if low < high && low > span.min * fifth {
                    span.min = below(&DIGITS).unwrap_or(low);
                }
                if low < high && span.max > high * fifth {
                    span.max = above(&DIGITS).unwrap_or(high);
                }
            }
        }
        span.widened()
    }

    /// The axis that values are plotted over.
    pub(super) fn across(axis: &Axis, values: &[f64]) -> Span {
        let mut span = Span::new(axis, values).widened();
        let (low, high) = (span.warp(span.min), span.warp(span.max));
        let room = 0.025 * (high - low);
        (span.min, span.max) = (span.unwarp(low - room), span.unwarp(high + room));
        span.places = values.to_vec();
        span.places.sort_by(f64::total_cmp);
        span.places.dedup();
        span
    }

    fn new(axis: &Axis, values: &[f64]) -> Span {
        let Axis { scale, unit, .. } = axis.clone();
        let shown = values.iter().filter(|&&v| scale == Scale::Linear || v > 0.0);
        let (min, max) =
            shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        let (min, max) = if min <= max { (min, max) } else { (1.0, 1.0) };
        let binary = |power: i32| 1024f64.powi(-power);
        let (factor, printed) = match unit {
            Unit::Number | Unit::Ratio | Unit::Things(_) => (1.0, ""),
            Unit::Share => (100.0, ""),
            Unit::Bandwidth if max < 0.1e9 => (1e-6, "MB/s"),
            Unit::Bandwidth => (1e-9, "GB/s"),
            Unit::Arithmetic if max < 0.1e12 => (1e-9, "GFLOP/s"),
            Unit::Arithmetic => (1e-12, "TFLOP/s"),
            Unit::Time | Unit::Bytes if scale != Scale::Linear => (1.0, ""),
            Unit::Time if max < 1e-6 => (1e9, "ns"),
            Unit::Time if max < 1e-3 => (1e6, "µs"),
            Unit::Time if max < 1.0 => (1e3, "ms"),
            Unit::Time => (1.0, "s"),
            Unit::Bytes if max < 1024.0 => (1.0, "B"),
            Unit::Bytes if max * binary(2) < 1.0 => (binary(1), "KiB"),
            Unit::Bytes if max * binary(3) < 1.0 => (binary(2), "MiB"),
            Unit::Bytes => (binary(3), "GiB"),
        };
        let is_count = matches!(unit, Unit::Number | Unit::Things(_));
        let counts = is_count && values.iter().all(|value| value.fract() == 0.0);
        let (start, end, places) = (0.0, 1.0, vec![]);
        Span { unit, scale, min, max, start, end, factor, printed, counts, places }
    }

    /// An axis of some length, even if all values are equal.
    fn widened(mut self) -> Span {
        if self.min >= self.max {
            let value = self.min;
            (self.min, self.max) = match self.scale {
                Scale::Linear => (value - 1.0, value + 1.0),
                Scale::Log2 => (value / 2.0, value * 2.0),
                Scale::Log10 => (value / 10.0, value * 10.0),
            };
        }
        self
    }

    /// Lies between these pixels of the sheet.
    pub(super) fn between(mut self, start: f64, end: f64) -> Span {
        (self.start, self.end) = (start, end);
        self
    }

    fn warp(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log2 | Scale::Log10 => value.ln(),
        }
    }

    fn unwarp(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log2 | Scale::Log10 => value.exp(),
        }
    }

    /// The pixel of a value; of the nearer end, if the value is not on the axis.
    pub(super) fn position(&self, value: f64) -> f64 {
        let (low, high) = (self.warp(self.min), self.warp(self.max));
        let part = (self.warp(value.max(self.min).min(self.max)) - low) / (high - low);
        let part = if part.is_finite() { part } else { 0.0 };
        self.start + part * (self.end - self.start)
    }

    /// The same on the grid that shapes are drawn on, between the axis' ends on it.
    pub(super) fn on_grid(&self, value: f64) -> i32 {
        let [start, end] = [self.start, self.end].map(|end| quarter(end).into());
        self.clone().between(start, end).position(value).round() as i32
    }

    /// The smallest 1-2-5 step that divides the axis into at most `most` parts, of what is
    /// counted a whole one.
    fn step(&self, most: f64) -> f64 {
        let least = (self.max - self.min) * self.factor / most;
        let least = if self.counts { least.max(1.0) } else { least };
        let step = ladder(least).find(|&step| step >= least * (1.0 - 1e-9));
        step.unwrap_or(least) / self.factor
    }

    /// Values to label, the most that leave each label `room(label)` pixels.
    pub(super) fn ticks(&self, room: impl Fn(&str) -> f64) -> Vec<(f64, String)> {
        let fits = |ticks: &Vec<(f64, String)>| {
            ticks.windows(2).all(|pair| {
                let needed = (room(&pair[0].1) + room(&pair[1].1)) / 2.0;
                (self.position(pair[0].0) - self.position(pair[1].0)).abs() >= needed
            })
        };
        let labelled = |values: Vec<f64>| -> Vec<(f64, String)> {
            let drawn = self.min * (1.0 - 1e-9)..=self.max * (1.0 + 1e-9);
            let shown = values.into_iter().filter(|value| match self.scale {
                Scale::Linear => true,
                Scale::Log2 | Scale::Log10 => drawn.contains(value),
            });
            shown.map(|value| (value, self.tick(value))).collect()
        };
        let strides = [1, 2, 5, 10, 20, 50, 100, 200, 500];
        let powers = |base: f64| {
            let exponent = |x: f64| (x.ln() / base.ln()).clamp(-1100.0, 1100.0) as i32;
            let (low, high) = (exponent(self.min) - 1, exponent(self.max) + 1);
            strides.map(|stride: i32| {
                let first = low.div_euclid(stride) * stride;
                let exponents = (first..=high).step_by(stride as usize);
                labelled(exponents.map(|n| base.powi(n)).collect())
            })
        };
        let logarithmic: Vec<_> = match self.scale {
            Scale::Linear => Vec::new(),
            Scale::Log2 => powers(2.0).into(),
            Scale::Log10 => {
                // Up to three decades there is room for more than the powers of ten.
                let dense = (self.max / self.min < 1.1e3).then(|| {
                    let ends = [self.min, self.min * 1e3];
                    labelled(ends.into_iter().flat_map(ladder).collect())
                });
                dense.into_iter().chain(powers(10.0)).collect()
            }
        };
        let is_tick = |place: &f64| logarithmic.iter().take(1).flatten().any(|(t, _)| t == place);
        let between = self.scale != Scale::Linear && !self.places.iter().all(is_tick);
        let places = between.then(|| labelled(self.places.clone()));
        let chosen = places.into_iter().chain(logarithmic).find(|ticks| fits(ticks));
        if let Some(ticks) = chosen.filter(|ticks| ticks.len() >= 2) {
            return ticks;
        }
        let steps = [7.0, 5.0, 4.0, 3.0, 2.0, 1.0].map(|most| {
            let step = self.step(most);
            let first = (self.min / step - 1e-6).ceil();
            let count = ((self.max / step + 1e-6).floor() - first) as usize;
            let values = (0..=count.min(9)).map(|n| (first + n as f64) * step);
            labelled(values.collect())
        });
        steps.into_iter().find(|ticks| fits(ticks)).unwrap_or_default()
    }

    /// A tick's number, as short as it can be.
    fn tick(&self, value: f64) -> String {
        match (&self.unit, self.printed) {
            (Unit::Bytes, "") if value >= 1.0 => units::bytes(value as u64),
            (Unit::Time, "") => trimmed(&units::time(value)),
            (Unit::Share, _) => format!("{}%", plain(value * self.factor)),
            (Unit::Ratio, _) => format!("{}×", plain(value)),
            _ => plain(value * self.factor),
        }
    }

    /// A value's number with its digits, in the unit of the axis.
    pub(super) fn number(&self, value: f64) -> String {
        match (&self.unit, self.printed) {
            _ if value == 0.0 => "0".to_owned(),
            (unit, "") => unit.print(value),
            _ => units::number(value * self.factor),
        }
    }

    /// The same without its unit, with this many digits at least.
    pub(super) fn bare(&self, value: f64, digits: u8) -> String {
        let value = value * self.factor;
        let first = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
        let places = (f64::from(digits) - 1.0 - first).clamp(0.0, 12.0) as usize;
        format!("{value:.places$}")
    }

    /// The axis' title with its unit.
    pub(super) fn title(&self, label: &str) -> String {
        match self.printed {
            "" => label.to_owned(),
            unit => format!("{label} ({unit})").trim_start().to_owned(),
        }
    }
}

/// The first digits of steps that people use.
const STEPS: [&str; 3] = ["1", "2", "5"];
const DIGITS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// 1, 2 and 5 × 10ⁿ around a positive number.
fn ladder(x: f64) -> impl DoubleEndedIterator<Item = f64> {
    rounds(&STEPS, x)
}

/// These digits × 10ⁿ around a positive number.
fn rounds(digits: &'static [&'static str], x: f64) -> impl DoubleEndedIterator<Item = f64> {
    let decade = if x > 0.0 { x.log10().floor().min(308.0) as i32 } else { 0 };
    // `powi` would give each system other last bits.
    let number = |digit, n| format!("{digit}e{n}").parse().expect("it is a number");
    (decade - 1..=decade + 1).flat_map(move |n| digits.iter().map(move |digit| number(digit, n)))
}

/// A round number: no trailing zeros, thousands separated.
fn plain(x: f64) -> String {
    // To twelve digits: 3 × 0.1 is 0.3.
    let x: f64 = format!("{x:.11e}").parse().unwrap_or(x);
    match x.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-6..1e12).contains(&size) => format!("{x:e}"),
        size if size >= 1000.0 && x.fract() == 0.0 => units::number(x),
        _ => x.to_string(),
    }
}

/// `1.00 µs` as `1 µs`.
fn trimmed(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, unit: Unit) -> Axis {
        Axis { label: "Axis".to_owned(), scale, unit }
    }

    #[test]
    fn ticks_are_numbers_that_people_use() {
        use Scale::{Linear, Log2, Log10};
        const KIB: f64 = 1024.0;
        let cases: [(_, _, &[f64], _); 15] = [
            (Linear, Unit::Bandwidth, &[4814e9], "0; 1,000; 2,000; 3,000; 4,000; 5,000"),
            (Linear, Unit::Bandwidth, &[55e6], "0; 10; 20; 30; 40; 50; 60"),
            (Linear, Unit::Share, &[0.23], "0%; 5%; 10%; 15%; 20%; 25%"),
            (Linear, Unit::Ratio, &[0.7, 1.1], "0×; 0.2×; 0.4×; 0.6×; 0.8×; 1×; 1.2×"),
            (Linear, Unit::Time, &[0.0021], "0; 0.5; 1; 1.5; 2; 2.5"),
            (Linear, Unit::Bytes, &[3.0 * KIB * KIB], "0; 0.5; 1; 1.5; 2; 2.5; 3"),
            (Linear, Unit::Number, &[0.0, 0.5], "0; 0.1; 0.2; 0.3; 0.4; 0.5"),
            (Linear, Unit::Number, &[0.0, 0.0], "0; 1"),
            (Linear, Unit::Things("slots".to_owned()), &[1.0, 3.0], "0; 1; 2; 3"),
            (Linear, Unit::Number, &[-3.0, 5.0], "-4; -2; 0; 2; 4; 6"),
            (Log2, Unit::Bytes, &[KIB, KIB.powi(3)], "1 KiB; 32 KiB; 1 MiB; 32 MiB; 1 GiB"),
            (Log2, Unit::Number, &[1.0, 32.0], "1; 2; 4; 8; 16; 32"),
            (Log10, Unit::Bandwidth, &[0.2e9, 98e9], "1; 10; 100"),
            (Log10, Unit::Time, &[3e-6, 4e-5], "2 µs; 5 µs; 10 µs; 20 µs; 50 µs"),
            (Log10, Unit::Number, &[0.0, 7.0], "5; 10"),
        ];
        for (scale, unit, values, want) in cases {
            let span = Span::of_values(&axis(scale, unit.clone()), values);
            let ticks = span.between(400.0, 0.0).ticks(|_| 60.0);
            let labels: Vec<String> = ticks.into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels.join("; "), want, "{scale:?} {unit:?} {values:?}");
        }
    }

    #[test]
    fn places_between_ticks_are_ticks_and_ends_lie_near_the_values() {
        let places = |values: &[f64], room| {
            let span = Span::across(&axis(Scale::Log2, Unit::Number), values).between(0.0, 400.0);
            let labels = span.ticks(|_| room).into_iter().map(|(_, label)| label);
            labels.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(places(&[4.0, 1.0, 3.0, 2.0, 2.0], 60.0), "1; 2; 3; 4");
        assert_eq!(places(&[1.0, 3.0, 4.0], 120.0), "1; 2; 4", "there is no room for 3");
        assert_eq!(places(&[1.0, 8.0], 60.0), "1; 2; 4; 8");
        for (values, ends) in [
            ([53e9, 215e9], [50e9, 300e9]),
            ([8.4e9, 36e9], [8e9, 50e9]),
            ([0.2e9, 98e9], [0.2e9, 100e9]),
            ([7e9, 7e9], [5e9, 10e9]),
        ] {
            let span = Span::of_values(&axis(Scale::Log10, Unit::Bandwidth), &values);
            assert_eq!([span.min, span.max], ends, "{values:?}");
        }
    }
}
