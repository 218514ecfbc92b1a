//! # Which GPU takes which job?
//!
//! Page: `book/src/several-gpus/device-selection.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | [`look`] | Choosing one GPU | what is there to know about a GPU? |
//! | [`choose`] | Choosing one GPU | which one to take? |
//! | [`beside`] | Choosing one GPU | what is that worth, while another program uses the first? |
//! | [`device`] | The experiment | a job |
//! | [`jobs`] | The experiment | jobs of uneven lengths |
//! | [`ways`] | The experiment | which GPU does which job? |
//! | [`model`] | The experiment; Every rule has its list | how long should it take? |
//! | `main.rs` | The experiment; Measured | all ways on all lists; the same work, cut finer |
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

mod beside;
mod choose;
mod device;
mod jobs;
mod look;
mod model;
mod ways;

use std::process::ExitCode;
use std::time::Duration;

use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use lab::check::value;
use lab::memory::pinned_with_flags;
use lab::{Case, Lab, Result};
use nvml_wrapper::Nvml;

use device::Worker;
use jobs::{List, Load, lengths, shares};
use look::{compare, open_context};
use model::Schedule;
use ways::Team;

/// Words of a job; no block divides them.
const WORDS: usize = 4_093;
/// Jobs to share: one more than any number of GPUs up to 6 divides.
const JOBS: usize = 61;
/// What NVML tells is a mean over the last second at most.
const WATCHED: Duration = Duration::from_millis(1500);
/// Numbers of jobs that the same work is cut into.
const CUTS: [usize; 8] = [4, 8, 16, 32, 61, 256, 1024, 4096];

fn main() -> ExitCode {
    lab::run!(Some(device::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Look at the GPUs, before anything runs there.
    let nvml = Nvml::init().ok();
    open_context(lab, nvml.as_ref())?;
    let contexts = lab.gpus(1)?; // and it has been busy on all of them
    compare(lab, &contexts, nvml.as_ref(), "just_used")?;
    std::thread::sleep(WATCHED);
    compare(lab, &contexts, nvml.as_ref(), "rested")?;
    beside::beside(lab, &contexts, nvml.as_ref())?;

    // 2. Room for a job on each of them, and host memory for all jobs.
    let workers = contexts.iter().map(|context| Worker::new(lab, context, WORDS));
    let mut workers = workers.collect::<Result<Vec<_>>>()?;
    let cuts = if lab.quick() { &CUTS[..5] } else { &CUTS };
    let most = cuts[cuts.len() - 1];
    let flags = CU_MEMHOSTALLOC_PORTABLE;
    let from = pinned_with_flags(lab.context(), most * WORDS, flags, value)?;
    let mut to = pinned_with_flags(lab.context(), most * WORDS, flags, |_| 0)?;
    let mut list = List { from: from.as_slice()?, to: to.as_mut_slice()? };

    // 3. What a job costs by itself, and each of its steps.
    let seconds = if lab.quick() { 0.01 } else { 0.08 };
    let cost = list.cost(lab, &mut Team::new(&mut workers[..1])?, most, seconds)?;
    let total = seconds / cost.each;

    // ANCHOR: lists
    // 4. Uneven jobs, on one GPU and in all ways on all of them.
    for load in Load::ALL {
        let steps = shares(&lengths(load, JOBS), total);
        let case = || Case::new("schedule").with("load", load);
        let mut one = Team::new(&mut workers[..1])?;
        list.schedule(lab, &mut one, Schedule::Alone, &steps, &cost, case())?;
        for way in Schedule::SHARED {
            if contexts.len() < 2 {
                lab.skip(case().with("way", way), "CUDA sees one GPU");
                continue;
            }
            let mut all = Team::new(&mut workers)?;
            list.schedule(lab, &mut all, way, &steps, &cost, case())?;
        }
    }
    // ANCHOR_END: lists

    // 5. The same work cut finer and finer.
    for &jobs in cuts {
        let steps = shares(&lengths(Load::Rising, jobs), total);
        for way in [Schedule::Chunks, Schedule::Queue] {
            let mut all = Team::new(&mut workers)?;
            list.schedule(lab, &mut all, way, &steps, &cost, Case::new("cut"))?;
        }
    }
    Ok(())
}
