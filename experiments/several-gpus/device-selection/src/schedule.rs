//! Uneven jobs for several GPUs: who takes which, and how long it should take.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use lab::{Result, Span};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use lab::timeline::Timeline;

const BLOCK: u32 = 256;
pub(crate) const FACTOR: u32 = 1_664_525;

/// A piece of work: so many steps for every word of `from`.
pub(crate) struct Job<'a> {
    pub(crate) label: String,
    pub(crate) steps: u32,
    pub(crate) from: &'a [u32],
    pub(crate) to: &'a mut [u32],
}

/// A GPU with room for one job.
pub(crate) struct Gpu {
    lane: String,
    stream: Arc<CudaStream>,
    chain: CudaFunction,
    input: CudaSlice<u32>,
    output: CudaSlice<u32>,
    line: Timeline,
}

impl Gpu {
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        chain: CudaFunction,
        words: usize,
    ) -> Result<Gpu> {
        let stream = context.new_stream()?;
        Ok(Gpu {
            lane: format!("GPU {}", context.ordinal()),
            chain,
            input: stream.alloc_zeros(words)?,
            output: stream.alloc_zeros(words)?,
            line: Timeline::new(context)?,
            stream,
        })
    }

    // ANCHOR: job
    /// Does a job: there, the kernel, and back. The calls go to this GPU, whichever
    /// thread makes them: cudarc makes its context current in that thread.
    pub(crate) fn run(&mut self, job: Job) -> Result<()> {
        let Gpu { stream, input, output, .. } = self;
        let words = job.from.len();
        self.line.gpu(&self.lane, &job.label, stream, || {
            stream.memcpy_htod(job.from, &mut input.slice_mut(..words))?;
            let mut launch = stream.launch_builder(&self.chain);
            launch.arg(&*input).arg(&mut *output).arg(&words);
            launch.arg(&job.steps).arg(&FACTOR);
            let config = LaunchConfig {
                grid_dim: (words.div_ceil(BLOCK as usize) as u32, 1, 1),
                block_dim: (BLOCK, 1, 1),
                shared_mem_bytes: 0,
            };
            // SAFETY: the kernel takes (in, out, count, steps, factor), and both arrays
            // have at least as many words.
            unsafe { launch.launch(config) }?;
            Ok(stream.memcpy_dtoh(&output.slice(..words), job.to)?)
        })?;
        Ok(stream.synchronize()?)
    }
    // ANCHOR_END: job
}

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

    /// Each thread works off its own list, or all of them the only one.
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

    /// Does a job on a thread's own GPU, which nobody else uses.
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

// ANCHOR: place
/// Where job i goes if that is settled beforehand.
fn place(way: &str, total: usize, gpus: usize, i: usize) -> usize {
    match way {
        "strided" => i % gpus,
        _ => {
            (0..gpus).find(|gpu| piece(total, gpus, *gpu).contains(&i)).unwrap_or(0)
        }
    }
}

/// Which of `total` jobs are in a GPU's piece: in order, and none is left out.
fn piece(total: usize, gpus: usize, gpu: usize) -> Range<usize> {
    total * gpu / gpus..total * (gpu + 1) / gpus
}
// ANCHOR_END: place

// ANCHOR: model
/// When the last GPU is done, if the jobs take so long. `None` for ways in which the
/// order depends on chance.
pub(crate) fn predict(way: &str, seconds: &[f64], gpus: usize) -> Option<f64> {
    let mut done = vec![0.0f64; gpus];
    let mut seconds = seconds.to_vec();
    if way == "longest_first" {
        seconds.sort_by(|a, b| b.total_cmp(a));
    }
    for (i, job) in seconds.iter().enumerate() {
        let gpu = match way {
            "chunks" | "strided" => place(way, seconds.len(), gpus, i),
            // The next job goes to whoever is done first.
            "alone" | "queue" | "longest_first" => {
                (0..gpus).min_by(|a, b| done[*a].total_cmp(&done[*b])).unwrap_or(0)
            }
            _ => return None,
        };
        done[gpu] += job;
    }
    done.into_iter().reduce(f64::max)
}

/// No way is faster: the GPUs together take the sum, and one of them the longest job.
pub(crate) fn bound(seconds: &[f64], gpus: usize) -> f64 {
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    longest.max(seconds.iter().sum::<f64>() / gpus as f64)
}
// ANCHOR_END: model

/// What the kernel makes of a word: all steps at once are a product and a sum.
pub(crate) fn after(steps: u32) -> impl Fn(u32) -> u32 {
    let (factor, summand) = (0..steps).fold((1u32, 0u32), |(f, s), _| {
        (f.wrapping_mul(FACTOR), s.wrapping_mul(FACTOR).wrapping_add(1))
    });
    move |x| x.wrapping_mul(factor).wrapping_add(summand)
}

#[cfg(test)]
mod tests {
    use super::{bound, place, predict};

    #[test]
    fn every_job_has_one_place() {
        for (total, gpus) in [(61, 1), (61, 4), (61, 8), (3, 8)] {
            for way in ["chunks", "strided"] {
                let places = (0..total).map(|i| place(way, total, gpus, i));
                let mut jobs = vec![0; gpus];
                places.for_each(|gpu| jobs[gpu] += 1);
                let (least, most) = (jobs.iter().min(), jobs.iter().max());
                assert!(
                    least.zip(most).is_some_and(|(a, b)| b - a <= 1),
                    "{jobs:?}"
                );
            }
        }
    }

    #[test]
    fn the_first_exercise_is_right() {
        let jobs = [5.0, 1.0, 1.0, 1.0, 3.0, 5.0];
        assert_eq!(bound(&jobs, 2), 8.0);
        for (way, end) in [
            ("chunks", Some(9.0)),
            ("strided", Some(9.0)),
            ("queue", Some(10.0)),
            ("longest_first", Some(8.0)),
            ("rayon", None),
        ] {
            assert_eq!(predict(way, &jobs, 2), end, "{way}");
        }
    }
}
