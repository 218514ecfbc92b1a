//! # Which GPU takes which job?
//!
//! A program that finds several GPUs has to choose one, or to share its work among them.
//! Choosing takes a look at each: how much memory is free, how busy it is with other
//! programs' work, how strong it is.
//!
//! Sharing is harder, if the *jobs* are uneven. They can be dealt out beforehand: each
//! GPU gets a chunk of the list, as in the chapter, or every Nth job. Or every GPU takes
//! the next job when it is done with the last one, from a queue or as rayon hands them
//! out:
//!
//! ```text
//! dealt out   GPU 0 | 1 | 2  | 3  |
//!             GPU 1 | 4    | 5     | 6      |
//! queue       GPU 0 | 1 | 3  | 5     |
//!             GPU 1 | 2  | 4    | 6      |
//! ```
//!
//! **Prediction:** no way is faster than the *bound*: the sum of all jobs over the number
//! of GPUs, or the longest job. On 4 GPUs, jobs that grow along the list take 1.7 times
//! the bound in chunks and 1.05 times from the queue; jobs of which every eighth is long
//! take 2.8 times the bound if every fourth goes to the same GPU, and 1.1 times from the
//! queue. If the long one comes last, the queue takes 1.6 times the bound, and none is left
//! if the longest go first. Cut finer, work balances better, until at some hundreds of jobs
//! for each GPU the 30 µs that each job costs are more than what that gains.

mod inspect;
mod schedule;

use std::process::ExitCode;

use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use lab::check::{every_element, value};
use lab::{Case, Clock, Kernel, Lab, Result, Samples};
use nvml_wrapper::Nvml;

use inspect::{WATCHED, beside_others, compare, cost_of_context};
use schedule::{Gpu, Job, Team, after, bound, predict};

/// The kernel of the experiment `stream-overlap`.
const KERNEL: Kernel = Kernel {
    name: "stream-overlap",
    source: include_str!("../../../../kernels/stream-overlap.cu"),
    ptx: include_str!("../../../../kernels/ptx/stream-overlap.ptx"),
};

/// Words of a job; no block divides them.
const WORDS: usize = 4_093;
/// Jobs to share: one more than any number of GPUs up to 6 divides.
const JOBS: usize = 61;
const LOADS: [&str; 4] = ["even", "rising", "every_8th", "last"];
const WAYS: [&str; 6] =
    ["chunks", "strided", "rayon", "rayon_single", "queue", "longest_first"];
/// The same work in more and more jobs.
const CUTS: [usize; 8] = [4, 8, 16, 32, 61, 256, 1024, 4096];

fn main() -> ExitCode {
    let question = "Which GPU takes which job?";
    lab::run("device-selection", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Look at the GPUs, before anything runs there.
    let nvml = Nvml::init().ok();
    cost_of_context(lab, nvml.as_ref())?;
    let contexts = lab.gpus(1)?; // and it has been busy on all of them
    compare(lab, &contexts, nvml.as_ref(), "just_used")?;
    std::thread::sleep(WATCHED);
    compare(lab, &contexts, nvml.as_ref(), "rested")?;
    beside_others(lab, &contexts, nvml.as_ref())?;

    // 2. Room for a job on each of them, and host memory for all jobs.
    let mut gpus = vec![];
    for context in &contexts {
        let chain = lab.module_on(context)?.load_function("chain")?;
        gpus.push(Gpu::new(context, chain, WORDS)?);
    }
    let cuts = if lab.quick() { &CUTS[..5] } else { &CUTS };
    let most = cuts[cuts.len() - 1] * WORDS;
    let pinned = |words| {
        // SAFETY: every word is written before it is read.
        unsafe {
            lab.context()
                .alloc_pinned_with_flags::<u32>(words, CU_MEMHOSTALLOC_PORTABLE)
        }
    };
    let (mut from, mut to) = (pinned(most)?, pinned(most)?);
    let (from, to) = (from.as_mut_slice()?, to.as_mut_slice()?);
    from.iter_mut().enumerate().for_each(|(i, word)| *word = value(i));
    to.fill(0);
    let mut list = List { from, to };

    // 3. What a job costs by itself, and each of its steps.
    let mut one = Team::new(&mut gpus[..1])?;
    let mut time = |steps| -> Result<f64> {
        Ok(one.turn("alone", list.jobs(&[steps; JOBS]))?.0)
    };
    let work = if lab.quick() { 0.01 } else { 0.08 };
    let mut steps = 8;
    while time(steps)? < work / 2.0 {
        steps *= 2;
    }
    let many = vec![1; cuts[cuts.len() - 1]];
    let mut each_job = |length, steps: &[u32]| -> Result<f64> {
        let case = Case::new("job").with("length", length);
        let case = case.model("steps", f64::from(steps[0]));
        let seconds = list.measure(lab, &mut one, "alone", steps, case)?;
        Ok(seconds / steps.len() as f64)
    };
    let short = each_job("short", &many)?;
    let long = each_job("long", &[steps; JOBS])?;
    let each = (long - short) / f64::from(steps - 1);
    let model = Model { fixed: short - each, each };
    let total = work / each;

    // 4. Uneven jobs, on one GPU and in all ways on all of them.
    for load in LOADS {
        let steps = shares(&lengths(load, JOBS), total);
        let case = Case::new("schedule").with("load", load);
        let mut one = Team::new(&mut gpus[..1])?;
        schedule(lab, &mut list, &mut one, "alone", &steps, &model, case.clone())?;
        for way in WAYS {
            if contexts.len() < 2 {
                lab.skip(case.clone().with("way", way), "CUDA sees one GPU");
                continue;
            }
            let mut all = Team::new(&mut gpus)?;
            schedule(lab, &mut list, &mut all, way, &steps, &model, case.clone())?;
        }
    }

    // 5. The same work cut finer and finer.
    for &jobs in cuts {
        let steps = shares(&lengths("rising", jobs), total);
        for way in ["chunks", "queue"] {
            let case = Case::new("cut");
            let mut all = Team::new(&mut gpus)?;
            schedule(lab, &mut list, &mut all, way, &steps, &model, case)?;
        }
    }
    Ok(())
}

// ANCHOR: lengths
/// How long jobs are, beside each other.
fn lengths(load: &str, count: usize) -> Vec<f64> {
    let length = |i: usize| match load {
        "rising" => i as f64 + 0.5,
        "every_8th" if i % 8 == 7 => 15.0,
        "last" if i == count - 1 => 15.0,
        _ => 1.0,
    };
    (0..count).map(length).collect()
}
// ANCHOR_END: lengths

/// Steps for each job, so many in all.
fn shares(lengths: &[f64], total: f64) -> Vec<u32> {
    let sum: f64 = lengths.iter().sum();
    lengths.iter().map(|length| (total * length / sum).max(1.0) as u32).collect()
}

/// What a job takes: something fixed, and so much for each step.
struct Model {
    fixed: f64,
    each: f64,
}

/// Times jobs of so many steps in one of the ways, beside what the model says.
fn schedule(
    lab: &mut Lab,
    list: &mut List,
    team: &mut Team,
    way: &str,
    steps: &[u32],
    model: &Model,
    case: Case,
) -> Result<()> {
    let gpus = team.size();
    let kernels = steps.iter().map(|steps| model.each * f64::from(*steps));
    let kernels: Vec<_> = kernels.collect();
    let jobs: Vec<_> = kernels.iter().map(|kernel| model.fixed + kernel).collect();
    let mut case = case.with("way", way).with("gpus", gpus);
    case = case.model("bound_seconds", bound(&kernels, gpus));
    if let Some(predicted) = predict(way, &jobs, gpus) {
        case = case.model("predicted_seconds", predicted);
    }
    list.measure(lab, team, way, steps, case)?;
    Ok(())
}

/// What all jobs read, and where they write.
struct List<'a> {
    from: &'a [u32],
    to: &'a mut [u32],
}

impl List<'_> {
    /// Jobs of so many steps.
    fn jobs(&mut self, steps: &[u32]) -> Vec<Job<'_>> {
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

    /// Times them, and compares every word of their results. Returns the median.
    fn measure(
        &mut self,
        lab: &mut Lab,
        team: &mut Team,
        way: &str,
        steps: &[u32],
        case: Case,
    ) -> Result<f64> {
        self.to.fill(0);
        let (samples, spans) =
            lab.time_turns(Clock::Host, || team.turn(way, self.jobs(steps)))?;
        let mut checked = 0;
        for (i, (to, steps)) in self.to.chunks(WORDS).zip(steps).enumerate() {
            let after = after(*steps);
            checked +=
                every_element("job", to, |word| after(value(i * WORDS + word)))?;
        }
        let median = median(&samples);
        let case = case.with("jobs", steps.len()).checked(checked).samples(samples);
        let drawn = steps.len() == JOBS;
        lab.record(if drawn { case.spans(spans) } else { case })?;
        Ok(median)
    }
}

/// The median of samples, in seconds.
fn median(samples: &Samples) -> f64 {
    let mut seconds = samples.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
