//! Sharing out: six ways to hand jobs to GPUs.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context;
use lab::{Result, Span};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::gpu::{Gpu, Job};
use crate::model::place;

/// GPUs, each with a host thread that serves it.
pub(crate) struct Team<'a> {
    gpus: Vec<Mutex<&'a mut Gpu>>,
    pool: ThreadPool,
}

impl<'a> Team<'a> {
    pub(crate) fn new(gpus: &'a mut [Gpu]) -> Result<Team<'a>> {
        let pool = ThreadPoolBuilder::new().num_threads(gpus.len()).build()?;
        Ok(Team { gpus: gpus.iter_mut().map(Mutex::new).collect(), pool })
    }

    pub(crate) fn size(&self) -> usize {
        self.gpus.len()
    }

    // ANCHOR: ways
    /// Does all jobs, in one of the ways.
    fn all(&self, way: &str, mut jobs: Vec<Job>) -> Result<()> {
        let count = self.gpus.len();
        if way == "longest_first" {
            jobs.sort_by_key(|job| std::cmp::Reverse(job.steps));
        }
        match way {
            "rayon" => self.steal(jobs.into_par_iter()),
            "rayon_single" => self.steal(jobs.into_par_iter().with_max_len(1)),
            "alone" | "queue" | "longest_first" => self.serve(vec![jobs]),
            _ => {
                let mut lists: Vec<_> = (0..count).map(|_| vec![]).collect();
                let total = jobs.len();
                for (i, job) in jobs.into_iter().enumerate() {
                    lists[place(way, total, count, i)].push(job);
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
        self.gpus[thread].lock().unwrap_or_else(PoisonError::into_inner).run(job)
    }

    /// Does all jobs; how long that took, and what ran when. Each GPU has a clock of its
    /// own, and the host's clock ties them.
    pub(crate) fn turn(
        &mut self,
        way: &str,
        jobs: Vec<Job>,
    ) -> Result<(f64, Vec<Span>)> {
        let mut starts = vec![];
        for gpu in &mut self.gpus {
            let gpu = gpu.get_mut().unwrap_or_else(PoisonError::into_inner);
            starts.push(gpu.line.begin(&gpu.stream)?);
        }
        let start = Instant::now();
        self.all(way, jobs)?;
        let seconds = start.elapsed().as_secs_f64();
        let mut spans = vec![];
        for (gpu, its_start) in self.gpus.iter_mut().zip(starts) {
            let gpu = gpu.get_mut().unwrap_or_else(PoisonError::into_inner);
            let later = (start - its_start).as_secs_f64();
            spans.extend(gpu.line.finish()?.1.into_iter().map(|span| Span {
                start_seconds: (span.start_seconds - later).max(0.0),
                end_seconds: (span.end_seconds - later).max(0.0),
                ..span
            }));
        }
        Ok((seconds, spans))
    }
}
