//! Sharing out: six ways to hand jobs to GPUs.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context;
use lab::{Result, Span};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::device::{Job, Worker};
use crate::model::{Schedule, place};

/// GPUs, each with a host thread that serves it.
pub(crate) struct Team<'a> {
    workers: Vec<Mutex<&'a mut Worker>>,
    pool: ThreadPool,
}

impl<'a> Team<'a> {
    pub(crate) fn new(workers: &'a mut [Worker]) -> Result<Team<'a>> {
        let pool = ThreadPoolBuilder::new().num_threads(workers.len()).build()?;
        Ok(Team { workers: workers.iter_mut().map(Mutex::new).collect(), pool })
    }

    pub(crate) fn size(&self) -> usize {
        self.workers.len()
    }

    // ANCHOR: ways
    /// Does all jobs, in one of the ways.
    fn all(&self, schedule: Schedule, mut jobs: Vec<Job>) -> Result<()> {
        match schedule {
            Schedule::Rayon => self.steal(jobs.into_par_iter()),
            Schedule::RayonSingle => {
                self.steal(jobs.into_par_iter().with_max_len(1))
            }
            Schedule::Alone | Schedule::Queue => self.serve(vec![jobs]),
            Schedule::LongestFirst => {
                jobs.sort_by_key(|job| std::cmp::Reverse(job.steps));
                self.serve(vec![jobs])
            }
            Schedule::Chunks | Schedule::Strided => {
                let (total, count) = (jobs.len(), self.size());
                let mut lists: Vec<_> = (0..count).map(|_| vec![]).collect();
                for (i, job) in jobs.into_iter().enumerate() {
                    let gpu = place(schedule, total, count, i);
                    lists[gpu.context("a job without a place")?].push(job);
                }
                self.serve(lists)
            }
        }
    }

    // ANCHOR: serve
    /// Each thread works off its own list, or all share the only one.
    fn serve(&self, lists: Vec<Vec<Job>>) -> Result<()> {
        let lists: Vec<_> =
            lists.into_iter().map(|list| Mutex::new(list.into_iter())).collect();
        let served = self.pool.broadcast(|thread| {
            let list = &lists[thread.index() % lists.len()];
            let next = || list.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(job) = next() {
                self.on(thread.index(), job)?;
            }
            Ok(())
        });
        served.into_iter().collect()
    }
    // ANCHOR_END: serve

    /// Rayon hands out the jobs: a thread that has none takes half of another's.
    fn steal<'j>(&self, jobs: impl ParallelIterator<Item = Job<'j>>) -> Result<()> {
        self.pool.install(|| {
            jobs.try_for_each(|job| {
                let thread = rayon::current_thread_index();
                self.on(thread.context("not one of the pool's threads")?, job)
            })
        })
    }
    // ANCHOR_END: ways

    /// Does a job on a thread's own GPU, which nothing else uses.
    fn on(&self, thread: usize, job: Job) -> Result<()> {
        self.workers[thread].lock().unwrap_or_else(PoisonError::into_inner).run(job)
    }

    /// Does all jobs; how long that took, and what ran when. Each GPU has a clock of its
    /// own, and the host's clock ties them.
    pub(crate) fn turn(
        &mut self,
        schedule: Schedule,
        jobs: Vec<Job>,
    ) -> Result<(f64, Vec<Span>)> {
        let mut starts = vec![];
        for worker in &mut self.workers {
            let worker = worker.get_mut().unwrap_or_else(PoisonError::into_inner);
            starts.push(worker.line.begin(&worker.stream)?);
        }
        let start = Instant::now();
        self.all(schedule, jobs)?;
        let seconds = start.elapsed().as_secs_f64();
        let mut spans = vec![];
        for (worker, its_start) in self.workers.iter_mut().zip(starts) {
            let worker = worker.get_mut().unwrap_or_else(PoisonError::into_inner);
            let later = (start - its_start).as_secs_f64();
            spans.extend(worker.line.finish()?.1.into_iter().map(|span| Span {
                start_seconds: (span.start_seconds - later).max(0.0),
                end_seconds: (span.end_seconds - later).max(0.0),
                ..span
            }));
        }
        Ok((seconds, spans))
    }
}
