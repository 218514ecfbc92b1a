//! All GPUs of the machine, of which one, two, three … share the work.

use std::time::{Duration, Instant};

use lab::check::value;
use lab::{Case, Lab, Result, Samples, check};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::listing::{listing, printed};
use crate::worker::{Task, Worker, after, piece, split};
use crate::{LIGHT, WORD_BYTES};

/// The GPUs, and pools of one, two, three … host threads.
pub(crate) struct Team {
    workers: Vec<Worker>,
    pools: Vec<ThreadPool>,
}

impl Team {
    pub(crate) fn new(workers: Vec<Worker>) -> Result<Team> {
        let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build();
        let pools = (1..=workers.len()).map(pool).collect::<Result<_, _>>()?;
        Ok(Team { workers, pools })
    }

    /// Times a task on one GPU, on two, and so on, and compares all that comes of it.
    pub(crate) fn scale(
        &mut self,
        lab: &mut Lab,
        case: Case,
        task: Task,
        from: &[u32],
        to: &mut [u32],
    ) -> Result<()> {
        let host = if task.one_thread { "one_thread" } else { "threads" };
        let kernel = task.steps.is_some();
        let bytes = |wanted| if wanted { from.len() * WORD_BYTES } else { 0 };
        let (read, written) = (bytes(kernel || task.down), bytes(kernel || task.up));
        let case = case.with("host", host).reads(read).writes(written);
        let mut alone = None;
        for (gpus, pool) in (1..).zip(&self.pools) {
            let workers = &mut self.workers[..gpus];
            to.fill(0);
            workers.iter_mut().try_for_each(Worker::clear)?;

            // Steps that the task leaves out are done before or after it.
            let steps = task.steps.unwrap_or(LIGHT);
            let left_out = |wanted| (wanted && !kernel).then_some(steps);
            let before = Task::new(!task.up, left_out(task.down), false);
            split(pool, workers, before, from, to)?;
            let samples =
                lab.time_on_host(|| split(pool, workers, task, from, to))?;
            let then = Task::new(false, left_out(task.up), !task.down);
            split(pool, workers, then, from, to)?;

            let after = after(steps);
            let checked = check::every_element("split", to, |i| after(value(i)))?;
            let one = *alone.get_or_insert(median(&samples));
            let ideal = gpus as f64 * (read + written) as f64 / one;
            let case = self.sized(case.clone(), gpus);
            let case = case.model("ideal_bytes_per_second", ideal);
            lab.record(case.checked(checked).samples(samples))?;
        }
        Ok(())
    }

    /// A case of so many of the GPUs.
    fn sized(&self, case: Case, gpus: usize) -> Case {
        let team = match gpus {
            1 => "one",
            _ if gpus == self.workers.len() => "all",
            _ => "some",
        };
        case.with("gpus", gpus).with("team", team)
    }

    // ANCHOR: hand_over
    /// Threads that only pass so much time: what it takes to wake them up, and to hear
    /// that they are done.
    pub(crate) fn hand_over(&self, lab: &mut Lab) -> Result<()> {
        for microseconds in [50, 500, 5000] {
            let pass = |_| {
                let start = Instant::now();
                while start.elapsed() < Duration::from_micros(microseconds) {
                    std::hint::spin_loop();
                }
            };
            for (gpus, pool) in (1..).zip(&self.pools) {
                let samples = lab.time_on_host(|| {
                    pool.install(|| (0..gpus).into_par_iter().for_each(pass));
                    Ok(())
                })?;
                let case = self.sized(Case::new("hand_over"), gpus);
                let case = case.with("microseconds", microseconds);
                lab.record(case.samples(samples))?;
            }
        }
        Ok(())
    }
    // ANCHOR_END: hand_over

    /// Times the chapter's listing. As printed, it may leave out the last elements.
    pub(crate) fn listing(
        &self,
        lab: &mut Lab,
        code: &str,
        data: &[u32],
    ) -> Result<()> {
        for gpus in 1..=self.workers.len() {
            let (workers, total) = (&self.workers[..gpus], data.len());
            let mut result = vec![];
            let samples = lab.time_on_host(|| {
                result = match code {
                    "printed" => listing(workers, data, printed(total, gpus)),
                    _ => listing(workers, data, |i| piece(total, gpus, i)),
                }?;
                Ok(())
            })?;
            let after = after(LIGHT);
            let checked = check::every_element(code, &result, |i| after(value(i)))?;
            let case = self.sized(Case::new("listing"), gpus).with("code", code);
            let case = case.with("host", "threads").with("elements", total);
            let case = case.model("elements_missing", (total - result.len()) as f64);
            lab.record(case.checked(checked).samples(samples))?;
        }
        Ok(())
    }
}

/// The median of samples, in seconds.
fn median(samples: &Samples) -> f64 {
    let mut seconds = samples.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
