//! # How much faster is a pipeline of copies and kernels than one after the other?
//!
//! Page: `book/src/streams/pipeline.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured | one stream and several, for three lengths of the kernel |
//! | [`pipeline`] | The experiment | batches, each in one stream |
//! | [`plan`] | How many streams | how they are queued; when could the last one be out? |
//! | [`timeline`] | Measured | when does each step run? |
//! | [`steps`] | Copies in both directions | how long does each step take by itself? |
//! | [`engines`] | | steps, each in a stream of its own: `streams/engine-streams.md` |
//! | [`sizes`] | How large a batch | the same bytes in fewer or more batches |
//! | [`chapter`] | The chapter's batch | 10,000 floats |
//!
//! 30 batches go to the GPU, through a kernel and back. A GPU has a copy engine for each
//! direction, and multiprocessors for kernels, so three batches can be in flight at once,
//! each in another step. A *stream* runs what is queued on it in order, so batches that
//! are to overlap must be in different streams: batch i goes to stream i % streams.
//!
//! ```text
//! stream 0  | upload 0 | kernel 0 |download 0| upload 3 | kernel 3 |download 3|
//! stream 1             | upload 1 | kernel 1 |download 1| upload 4 | kernel 4 | …
//! stream 2                        | upload 2 | kernel 2 |download 2| upload 5 | …
//! ```
//!
//! **Prediction:** the three engines work independently, so the longest of the three steps
//! sets the pace, and the other two are waited for once: N batches take the sum of the
//! three steps and N - 1 times the longest. With equal steps that is 32 instead of 90, so
//! three streams are 2.81 times as fast as one, and more streams do not help. Two streams
//! have no batch for the third engine: 1.96 times. From pageable memory the host copies
//! the bytes itself and waits, so nothing overlaps: 1.0 times. And the order in which the
//! host queues the steps does not matter.

mod chapter;
mod engines;
mod pipeline;
mod plan;
mod sizes;
mod steps;
mod timeline;

use std::process::ExitCode;

use lab::check::value;
use lab::{Case, Lab, Result, memory};

use pipeline::{Host, Pair, Pipeline};
use plan::Order::{BreadthFirst, ByEngine, DepthFirst};
use plan::{Memory, Plan, Step, WORD_BYTES};

/// How long the kernel takes, in copies to the GPU.
const LOADS: [(&str, f64); 3] =
    [("balanced", 1.0), ("kernel_bound", 3.0), ("copy_bound", 0.3)];

fn main() -> ExitCode {
    lab::run!(Some(pipeline::KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Host memory for 30 batches and their results, pinned and pageable, and streams
    //    with device memory of their own. Batches are smaller if the GPU has little.
    let most = if lab.emulated() { 1 << 20 } else { 16 << 20 };
    let bytes = most.min(lab.free_bytes()?.next_power_of_two() / 256);
    let words = bytes / WORD_BYTES;
    let from = memory::pinned(lab.context(), 30 * words, value)?;
    let mut to = memory::pinned(lab.context(), 30 * words, value)?;
    let (from, to) = (from.as_slice()?, to.as_mut_slice()?);
    let (from_vec, mut to_vec) = (from.to_vec(), from.to_vec());
    let hosts = [Host { from, to }, Host { from: &from_vec, to: &mut to_vec }];
    let gpu = &mut Pipeline::new(lab, hosts, 3 * words)?;
    let order = DepthFirst;
    let host = Memory::Pinned;
    let plan = Plan { host, bytes, batches: 30, pairs: 3, order, rounds: 67 };

    // 2. A size that no block divides, in all orders.
    for order in [DepthFirst, BreadthFirst, ByEngine] {
        let ragged = Plan { bytes: WORD_BYTES * 100_003, batches: 5, order, ..plan };
        gpu.clear(&ragged);
        gpu.queue(&ragged, &[])?;
        gpu.wait()?;
        gpu.check(&ragged)?;
    }

    // 3. The copies by themselves, each alone and both at once.
    let upload = steps::measure(lab, gpu, &plan, "no_kernel", &[Step::Upload])?;
    let download = steps::measure(lab, gpu, &plan, "no_kernel", &[Step::Download])?;
    steps::measure(lab, gpu, &plan, "no_kernel", &[Step::Upload, Step::Download])?;

    for (load, copies) in LOADS {
        // 4. A kernel as long as this load asks for, alone.
        let rounds = steps::rounds_for(gpu, &plan, copies * upload)?;
        let plan = Plan { rounds, ..plan };
        let kernel = steps::measure(lab, gpu, &plan, load, &[Step::Kernel])?;
        let stages = [upload, kernel, download];

        // 5. The pipeline: in one stream and in several, and in other orders.
        let case = Case::new("pipeline").with("load", load);
        for (pairs, order) in [1, 2, 3, 4, 8]
            .map(|pairs| (pairs, DepthFirst))
            .into_iter()
            .chain([(3, BreadthFirst), (3, ByEngine)])
        {
            let plan = Plan { pairs, order, ..plan };
            let case = match order {
                ByEngine => case.clone(),
                _ => case.clone().model("bound_seconds", plan.bound(stages)),
            };
            measure(lab, gpu, &plan, case)?;
        }

        match load {
            // 6. From pageable memory.
            "kernel_bound" => {
                for (pairs, order) in
                    [(1, DepthFirst), (3, DepthFirst), (3, BreadthFirst)]
                {
                    let host = Memory::Pageable;
                    let plan = Plan { host, pairs, order, ..plan };
                    measure(lab, gpu, &plan, case.clone())?;
                }
            }
            // 7. More of the balanced kernel: beside both copies; two pairs for three
            //    engines; batches of other sizes; and when each step runs.
            "balanced" => {
                steps::measure(lab, gpu, &plan, load, &Step::ALL)?;
                let two_pairs = Plan { pairs: 2, order: ByEngine, ..plan };
                measure(lab, gpu, &two_pairs, case)?;
                sizes::measure(lab, gpu, &plan, stages)?;
                for pairs in [1, 2, 3] {
                    timeline::measure(lab, gpu, &Plan { pairs, ..plan })?;
                }
                let pageable = Plan { host: Memory::Pageable, ..plan };
                timeline::measure(lab, gpu, &pageable)?;
            }
            "copy_bound" => {}
            other => unreachable!("{other}"),
        }
    }
    chapter::measure(lab, gpu, &plan)
}

// ANCHOR: measure
/// Times a plan until the last batch is out.
fn measure(
    lab: &mut Lab,
    gpu: &mut Pipeline,
    plan: &Plan,
    case: Case,
) -> Result<()> {
    gpu.clear(plan);
    let timed = gpu.describe(case, plan).time_on_host(lab, || {
        gpu.queue(plan, &[])?;
        gpu.wait()
    })?;
    timed.checked(gpu.check(plan)?).record(lab)
}
// ANCHOR_END: measure
