//! All GPUs of the machine, of which one, two, three … share the work.

use lab::check::{repeated, value};
use lab::{Case, Lab, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::worker::{FACTOR, Task, Worker, split};
use crate::{LIGHT, WORD_BYTES};

/// The GPUs, and pools of one, two, three … host threads.
pub(crate) struct Team {
    pub(crate) workers: Vec<Worker>,
    pub(crate) pools: Vec<ThreadPool>,
}

impl Team {
    pub(crate) fn new(workers: Vec<Worker>) -> Result<Team> {
        let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build();
        let pools = (1..=workers.len()).map(pool).collect::<Result<_, _>>()?;
        Ok(Team { workers, pools })
    }

    /// How many GPUs work: one and all, or every number of them.
    pub(crate) fn sizes(&self, every: bool) -> Vec<usize> {
        let all = self.workers.len();
        (1..=all).filter(|gpus| every || *gpus == 1 || *gpus == all).collect()
    }

    /// A case of this many of the GPUs.
    pub(crate) fn sized(&self, case: Case, gpus: usize) -> Case {
        let team = match gpus {
            1 => "one",
            _ if gpus == self.workers.len() => "all",
            _ => "some",
        };
        case.with("gpus", gpus).with("team", team)
    }

    /// Times a task on more and more GPUs, and compares all that comes of it.
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
        for gpus in self.sizes(task.every_size) {
            let case = self.sized(case.clone(), gpus);
            let (pool, workers) = (&self.pools[gpus - 1], &mut self.workers[..gpus]);
            to.fill(0);
            workers.iter_mut().try_for_each(Worker::clear)?;

            // Steps that the task leaves out are done before or after it.
            let steps = task.steps.unwrap_or(LIGHT);
            let left_out = |wanted| (wanted && !kernel).then_some(steps);
            let (up, down) = (!task.up, !task.down);
            let before = Task { up, steps: left_out(task.down), ..Task::default() };
            split(pool, workers, before, from, to)?;
            let timed =
                case.time_on_host(lab, || split(pool, workers, task, from, to))?;
            let then = Task { steps: left_out(task.up), down, ..Task::default() };
            split(pool, workers, then, from, to)?;

            let one = *alone.get_or_insert(timed.samples.median());
            let ideal = gpus as f64 * (read + written) as f64 / one;
            let after = repeated(FACTOR, 1, steps);
            timed
                .note(|case, ()| Ok(case.model("ideal_bytes_per_second", ideal)))?
                .check(to, |i| after(value(i)))?
                .record(lab)?;
        }
        Ok(())
    }
}
