//! The cases of two records against each other: how many times as fast one is, and whether that
//! is more than their runs differ.

use record::{Ceiling, Measurement};
use serde::Serialize;

use crate::estimate::Estimate;
use crate::metric::{InRuns, Metric};
use crate::records::Recorded;
use crate::unit::Unit;

/// What counts as a difference if nothing else is said: less is none.
pub const THRESHOLD: f64 = 0.05;

#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    pub name: String,
    /// How many runs each side has of it.
    pub runs: (usize, usize),
    /// The cases that both have, in the first one's order.
    pub cases: Vec<Case>,
    /// How many cases only one of them has, or both but not for the same amount of work.
    pub unmatched: usize,
}

/// One case on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The case and its parameters.
    pub name: String,
    /// The same without those parameters that all the experiment's cases of that kind share.
    #[serde(skip)]
    pub short: String,
    /// Its rate of arithmetic, its bandwidth if it does none, or else its time.
    pub values: (Estimate, Estimate),
    #[serde(serialize_with = "symbol")]
    pub unit: Unit,
    /// The share of the machine's theoretical peak that each reaches, if there is one.
    pub shares_of_peak: Option<(f64, f64)>,
    /// How many times as fast the second side is.
    pub speedup: Estimate,
    /// What carries its bytes.
    #[serde(skip)]
    pub ceiling: Ceiling,
}

/// What an interval says of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The second side takes longer at every value of the interval, and at its middle by more
    /// than the threshold.
    Slower,
    /// It takes less time, likewise.
    Faster,
    Undecided,
    /// The whole interval is within the threshold.
    Same,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Slower => "slower",
            Outcome::Faster => "faster",
            Outcome::Undecided => "undecided",
            Outcome::Same => "same",
        }
    }
}

fn symbol<S: serde::Serializer>(unit: &Unit, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(unit.symbol())
}

impl Case {
    /// The same case on both sides; none if it was not timed, or if one side may have done
    /// less: a quick run does less work, and how much there was may follow from the machine.
    fn of(
        a: (&Recorded, &Measurement),
        b: (&Recorded, &Measurement),
        short: String,
    ) -> Option<Case> {
        let metric = match (a.1.work(), b.1.work()) {
            ((_, 1..), (_, 1..)) => Metric::Arithmetic,
            ((1.., _), (1.., _)) => Metric::Bandwidth,
            _ if a.0.run.quick == b.0.run.quick => Metric::Time,
            _ => return None,
        };
        let both = |metric: &Metric| Some((metric.of(a.0, a.1).ok()?, metric.of(b.0, b.1).ok()?));
        let values = both(&metric)?;
        let shares = both(&Metric::ShareOfPeak);
        Some(Case {
            name: name_of(a.1),
            short,
            values,
            unit: metric.unit(),
            shares_of_peak: shares.map(|(a, b)| (a.value, b.value)),
            ceiling: a.1.ceiling,
            speedup: match metric {
                Metric::Time => over(&values.0, &values.1),
                _ => over(&values.1, &values.0),
            },
        })
    }

    /// Whether one side is faster by more than the share `threshold`, whatever runs differ by.
    pub fn differs(&self, threshold: f64) -> bool {
        matches!(self.outcome(threshold), Outcome::Faster | Outcome::Slower)
    }

    /// What became of it, if a difference of less than the share `threshold` is none.
    pub fn outcome(&self, threshold: f64) -> Outcome {
        let Estimate { value, low, high, .. } = self.speedup;
        let most = 1.0 + threshold;
        if low >= 1.0 / most && high <= most {
            Outcome::Same
        } else if low > 1.0 && value > most {
            Outcome::Faster
        } else if high < 1.0 && value < 1.0 / most {
            Outcome::Slower
        } else {
            Outcome::Undecided
        }
    }
}

/// What a case is called: its name and its parameters.
pub(crate) fn name_of(m: &Measurement) -> String {
    name_with(m, |_| true)
}

/// The same with those parameters only that are `shown`.
fn name_with(m: &Measurement, shown: impl Fn(&str) -> bool) -> String {
    let parameters = m.parameters.iter().filter(|(key, _)| shown(key));
    let words = parameters.map(|(key, value)| match value.integer() {
        Some(n) => format!(" {key}={}", Unit::of_name(key).print(n as f64)),
        None => format!(" {value}"),
    });
    m.case.clone() + &words.collect::<String>()
}

/// The ratio of two independent estimates of positive numbers: the squares of their errors add
/// up, on a logarithmic scale.
///
/// What a side of one run knows of its error leaves out how runs differ. They are taken to differ
/// as the other side's do. If it has one, too, nothing tells.
fn over(a: &Estimate, b: &Estimate) -> Estimate {
    let value = a.value / b.value;
    let add = |x: f64, y: f64| x.ln().hypot(y.ln()).exp();
    let least = match (a.runs, b.runs) {
        (1, 2..) => b.of_a_new_run(),
        (2.., 1) => a.of_a_new_run(),
        _ => 1.0,
    };
    Estimate {
        low: value / add(a.value / a.low, b.high / b.value).max(least),
        high: value * add(a.high / a.value, b.value / b.low).max(least),
        runs: a.runs.min(b.runs),
        ..Estimate::exact(value)
    }
}

impl Experiment {
    /// What two sides recorded of the experiment called `name`.
    pub fn of(name: &str, a: &Recorded, b: &Recorded) -> Experiment {
        let of_b = |m: &Measurement| {
            b.measurements
                .iter()
                .find(|other| other.case == m.case && other.parameters == m.parameters)
        };
        let matched = a.measurements.iter().filter_map(|m| Some((m, of_b(m)?)));
        let matched: Vec<_> = matched.collect();
        let all = a.measurements.len() + b.measurements.len();
        let differs = |m: &Measurement, key: &str| {
            let mut of_its_kind = matched.iter().filter(|(other, _)| other.case == m.case);
            of_its_kind.any(|(other, _)| other.parameters.get(key) != m.parameters.get(key))
        };
        let cases = matched.iter().filter_map(|(m, other)| {
            Case::of((a, m), (b, other), name_with(m, |key| differs(m, key)))
        });
        let cases: Vec<_> = cases.collect();
        Experiment {
            name: name.to_owned(),
            runs: (a.runs().count(), b.runs().count()),
            unmatched: all - matched.len() - cases.len(),
            cases,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(low: f64, value: f64, high: f64) -> Estimate {
        Estimate { low, high, ..Estimate::exact(value) }
    }

    #[test]
    fn intervals_decide() {
        for (low, value, high, outcome) in [
            (0.98, 1.0, 1.02, Outcome::Same),
            (1.01, 1.03, 1.049, Outcome::Same),
            (1.01, 1.04, 1.07, Outcome::Undecided),
            (0.90, 1.0, 1.10, Outcome::Undecided),
            (0.98, 1.20, 1.40, Outcome::Undecided),
            (1.10, 1.20, 1.30, Outcome::Faster),
            (0.70, 0.80, 0.90, Outcome::Slower),
        ] {
            let case = Case {
                name: String::new(),
                short: String::new(),
                values: (estimate(1.0, 1.0, 1.0), estimate(1.0, 1.0, 1.0)),
                unit: Unit::Time,
                shares_of_peak: None,
                speedup: estimate(low, value, high),
                ceiling: Ceiling::None,
            };
            assert_eq!(case.outcome(0.05), outcome, "{low} {value} {high}");
        }
    }

    #[test]
    fn errors_of_a_ratio_add_up_as_squares() {
        let e = std::f64::consts::E;
        let (a, b) = (estimate(2.0, 2.0, 2.0 * e.powi(3)), estimate(e.powi(-4), 1.0, 1.0));
        let ratio = over(&a, &b);
        assert_eq!((ratio.low, ratio.value), (2.0, 2.0));
        assert!((ratio.high / 2.0 - e.powi(5)).abs() < 1e-9 * e.powi(5));
    }
}
