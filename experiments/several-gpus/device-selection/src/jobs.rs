//! Uneven jobs, and what they work on.

use lab::check::{repeated, value};
use lab::{Case, Clock, Lab, Result};

use crate::device::{FACTOR, Job};
use crate::model::{Schedule, bound, predict};
use crate::ways::Team;
use crate::{JOBS, WORDS};

lab::words! {
    /// Which jobs of a list are long.
    pub(crate) enum Load {
        Even = "even",
        Rising = "rising",
        Every8th = "every_8th",
        Last = "last",
    }
}

// ANCHOR: lengths
/// How long jobs are, relative to each other.
pub(crate) fn lengths(load: Load, count: usize) -> Vec<f64> {
    let length = |i: usize| match load {
        Load::Rising => i as f64 + 0.5,
        Load::Every8th if i % 8 == 7 => 15.0,
        Load::Last if i == count - 1 => 15.0,
        Load::Even | Load::Every8th | Load::Last => 1.0,
    };
    (0..count).map(length).collect()
}
// ANCHOR_END: lengths

/// Steps for each job, `total` in all.
pub(crate) fn shares(lengths: &[f64], total: f64) -> Vec<u32> {
    let sum: f64 = lengths.iter().sum();
    lengths.iter().map(|length| (total * length / sum).max(1.0) as u32).collect()
}

/// What a job takes: a fixed time, and a time for each step.
pub(crate) struct Cost {
    fixed: f64,
    pub(crate) each: f64,
}

/// What all jobs read, and where they write.
pub(crate) struct List<'a> {
    pub(crate) from: &'a [u32],
    pub(crate) to: &'a mut [u32],
}

impl List<'_> {
    /// Jobs of these numbers of steps.
    pub(crate) fn jobs(&mut self, steps: &[u32]) -> Vec<Job<'_>> {
        let sum: f64 = steps.iter().copied().map(f64::from).sum();
        let count = steps.len() as f64;
        let pieces = self.from.chunks(WORDS).zip(self.to.chunks_mut(WORDS));
        let jobs = pieces.zip(steps).enumerate().map(|(i, ((from, to), steps))| {
            let long = f64::from(*steps) * count >= 2.0 * sum;
            Job {
                label: format!("{} {i}", if long { "long" } else { "job" }),
                steps: *steps,
                from,
                to,
            }
        });
        jobs.collect()
    }

    /// What a job costs on one GPU by itself, and each of its steps: from `most` jobs of one
    /// step each, and from fewer that take about `seconds` in all.
    pub(crate) fn cost(
        &mut self,
        lab: &mut Lab,
        one: &mut Team,
        most: usize,
        seconds: f64,
    ) -> Result<Cost> {
        let mut steps = 8;
        while one.turn(Schedule::Alone, self.jobs(&[steps; JOBS]))?.0 < seconds / 2.0
        {
            steps *= 2;
        }
        let mut each_job = |length, steps: &[u32]| -> Result<f64> {
            let case = Case::new("job").with("length", length);
            let case = case.model("steps", f64::from(steps[0]));
            let seconds = self.measure(lab, one, Schedule::Alone, steps, case)?;
            Ok(seconds / steps.len() as f64)
        };
        let short = each_job("short", &vec![1; most])?;
        let long = each_job("long", &[steps; JOBS])?;
        let each = (long - short) / f64::from(steps - 1);
        Ok(Cost { fixed: short - each, each })
    }

    /// Times jobs of these numbers of steps in one of the ways, beside what the model says.
    pub(crate) fn schedule(
        &mut self,
        lab: &mut Lab,
        team: &mut Team,
        schedule: Schedule,
        steps: &[u32],
        cost: &Cost,
        case: Case,
    ) -> Result<()> {
        let gpus = team.size();
        let kernels = steps.iter().map(|steps| cost.each * f64::from(*steps));
        let kernels: Vec<_> = kernels.collect();
        let jobs: Vec<_> =
            kernels.iter().map(|kernel| cost.fixed + kernel).collect();
        let mut case = case.with("way", schedule).with("gpus", gpus);
        case = case.model("bound_seconds", bound(&kernels, gpus));
        if let Some(predicted) = predict(schedule, &jobs, gpus) {
            case = case.model("predicted_seconds", predicted);
        }
        self.measure(lab, team, schedule, steps, case)?;
        Ok(())
    }

    /// Times them, and compares every word of their results. Returns the median.
    pub(crate) fn measure(
        &mut self,
        lab: &mut Lab,
        team: &mut Team,
        schedule: Schedule,
        steps: &[u32],
        case: Case,
    ) -> Result<f64> {
        self.to.fill(0);
        let turn = || team.turn(schedule, self.jobs(steps));
        let case = case.with("jobs", steps.len());
        let mut timed = case.time_turns(lab, Clock::Host, turn)?;
        for (i, (to, steps)) in self.to.chunks(WORDS).zip(steps).enumerate() {
            let after = repeated(FACTOR, 1, *steps);
            timed = timed.check(to, |word| after(value(i * WORDS + word)))?;
        }
        let median = timed.samples.median();
        let drawn = steps.len() == JOBS;
        if drawn { timed.spans() } else { timed }.record(lab)?;
        Ok(median)
    }
}
