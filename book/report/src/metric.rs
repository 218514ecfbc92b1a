//! The numbers of one measurement, as [`excerpt::metric`] reads them, over all runs.

use record::statistics::CONFIDENCE;
use record::{Ceiling, Measurement, Record};

pub use excerpt::metric::{Metric, Work};

use crate::estimate::{Estimate, Runs};
use crate::records::Recorded;
use crate::unit::Unit;

/// A number of a measurement in several runs.
pub trait InRuns {
    /// The number over all runs that measured it, with its interval.
    fn of(&self, record: &Recorded, m: &Measurement) -> Result<Estimate, String>;

    /// The number in each run that has it; the newest must.
    fn runs(&self, record: &Recorded, m: &Measurement) -> Result<Runs, String>;

    /// The number with how well it is known, in words; plain if it is exact.
    fn in_words(&self, m: &Measurement, estimate: &Estimate) -> String;
}

impl InRuns for Metric {
    fn of(&self, record: &Recorded, m: &Measurement) -> Result<Estimate, String> {
        Ok(self.runs(record, m)?.estimate())
    }

    fn runs(&self, record: &Recorded, m: &Measurement) -> Result<Runs, String> {
        let estimate = |(run, m): (&Record, &Measurement)| {
            let (value, low, high) = self.in_run(run, m)?;
            let kind = record.kind(run).filter(|_| m.ceiling == Ceiling::DeviceMemory);
            let estimate = Estimate { low, high, ..Estimate::exact(value) };
            Ok::<_, String>((run.run.label.clone(), kind, estimate))
        };
        let newest = estimate((record, m))?;
        let others = record.others(m).filter_map(|of| estimate(of).ok());
        Runs::of([newest].into_iter().chain(others)).ok_or_else(|| "there is no run".to_owned())
    }

    fn in_words(&self, m: &Measurement, estimate: &Estimate) -> String {
        let unit = self.unit();
        let value = estimate.print(&unit);
        let (true, Some(s)) = (self.is_timed(), m.statistics()) else {
            return value;
        };
        let of = match estimate.runs {
            1 => {
                format!("one run, median of {}", Unit::Number.print(s.count as f64))
            }
            runs => {
                let (least, most) = estimate.range;
                let range = unit.print_range(least, most);
                format!("median of {runs} runs, {range}")
            }
        };
        let interval = match estimate.runs == 1 && s.confidence < CONFIDENCE {
            true => "all samples",
            false => "95% interval",
        };
        format!(
            "{value} ({of}; {interval}: {} to {})",
            unit.print(estimate.low),
            unit.print(estimate.high)
        )
    }
}
