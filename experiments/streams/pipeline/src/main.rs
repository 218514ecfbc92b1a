//! # How much faster is a pipeline of copies and kernels than one after the other?
//!
//! 30 batches go to the GPU, through a kernel and back. A GPU has a copy engine for each
//! direction, and multiprocessors for kernels, so three batches can be under way at once,
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
//! have no batch for the third engine: 1.96 times. From pageable memory the host carries
//! the bytes itself and waits, so nothing overlaps: 1.0 times. And the order in which the
//! host queues the steps does not matter.

mod pipeline;

use std::process::ExitCode;
use std::time::Instant;

use lab::{Case, Clock, Kernel, Lab, Result};

use pipeline::Order::{self, BreadthFirst, ByEngine, DepthFirst};
use pipeline::{Host, Marks, Pipeline, Plan, STEPS, WORD_BYTES, pinned, spans};

const KERNEL: Kernel = Kernel {
    name: "pipeline",
    source: include_str!("../../../../kernels/pipeline.cu"),
    ptx: include_str!("../../../../kernels/ptx/pipeline.ptx"),
};

const BATCHES: usize = 30;
/// How long the kernel takes, in copies to the GPU.
const LOADS: [(&str, f64); 3] =
    [("balanced", 1.0), ("kernel_bound", 3.0), ("copy_bound", 0.3)];
/// Batches that can be on the GPU at once, and how their steps are queued.
const ORDERS: [(usize, Order); 8] = [
    (1, DepthFirst),
    (2, DepthFirst),
    (3, DepthFirst),
    (4, DepthFirst),
    (8, DepthFirst),
    (3, BreadthFirst),
    (2, ByEngine),
    (3, ByEngine),
];
/// Batches on a timeline.
const DRAWN: usize = 9;

fn main() -> ExitCode {
    let question = "How much faster is a pipeline of copies and kernels?";
    lab::run("pipeline", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Host memory for 30 batches and their results, pinned and pageable, and streams
    //    with device memory of their own. Batches are smaller if the GPU has little.
    let context = lab.context().clone();
    let most = if lab.quick() { 1 << 20 } else { 16 << 20 };
    let bytes = most.min(lab.free_bytes()?.next_power_of_two() / 128);
    let words = bytes / WORD_BYTES;
    let mut from = pinned(&context, BATCHES * words)?;
    let mut to = pinned(&context, BATCHES * words)?;
    let mut from_vec = from.as_slice()?.to_vec();
    let mut to_vec = from_vec.clone();
    let (from, to) = (from.as_mut_slice()?, to.as_mut_slice()?);
    let mut pinned = Host { kind: "pinned", from, to };
    let (from, to) = (&mut from_vec[..], &mut to_vec[..]);
    let mut pageable = Host { kind: "pageable", from, to };
    let kernel = lab.module()?.load_function("work")?;
    let mut pipeline = Pipeline::new(&context, kernel, 8, 3 * words)?;

    // 2. A size that no block divides, in all orders.
    let plan =
        Plan { bytes, batches: BATCHES, pairs: 3, order: DepthFirst, rounds: 67 };
    for order in [DepthFirst, BreadthFirst, ByEngine] {
        let bytes = WORD_BYTES * 100_003;
        let ragged = Plan { bytes, batches: 5, order, ..plan };
        pinned.to.fill(0);
        pipeline.queue(&mut pinned, &ragged, &[])?;
        pipeline.wait()?;
        pinned.check(&ragged)?;
    }

    // 3. The copies by themselves, each alone and both at once.
    let mut lesson = Lesson { lab, pipeline };
    let upload = lesson.steps(&mut pinned, &plan, "no_kernel", &[0])?;
    let download = lesson.steps(&mut pinned, &plan, "no_kernel", &[2])?;
    lesson.steps(&mut pinned, &plan, "no_kernel", &[0, 2])?;
    lesson.steps(&mut pageable, &plan, "no_kernel", &[0])?;
    lesson.steps(&mut pageable, &plan, "no_kernel", &[2])?;

    for (load, copies) in LOADS {
        // 4. A kernel that is so many copies long, alone and beside them.
        let rounds =
            lesson.pipeline.rounds_for(&mut pinned, &plan, copies * upload)?;
        let plan = Plan { rounds, ..plan };
        let kernel = lesson.steps(&mut pinned, &plan, load, &[1])?;
        lesson.steps(&mut pinned, &plan, load, &[0, 1, 2])?;
        let stages = [upload, kernel, download];

        // 5. The pipeline.
        for (pairs, order) in ORDERS {
            let plan = Plan { pairs, order, ..plan };
            let mut case = Case::new("pipeline").with("load", load);
            if load == "kernel_bound" && order != ByEngine && pairs <= 3 {
                lesson.measure(&mut pageable, &plan, case.clone())?;
            }
            if order != ByEngine {
                case = case.model("bound_seconds", plan.bound(stages));
            }
            lesson.measure(&mut pinned, &plan, case)?;
        }
        if load != "balanced" {
            continue;
        }

        // 6. The same bytes in fewer or more batches. In the model a step takes time by
        //    its bytes and nothing else.
        for batches in [10, 15, 30, 120, 480, 1920, 7680] {
            let part = BATCHES as f64 / batches as f64;
            let plan = Plan { bytes: bytes * BATCHES / batches, batches, ..plan };
            let bound = plan.bound(stages.map(|seconds| seconds * part));
            let case = Case::new("chunks").model("bound_seconds", bound);
            for (way, pairs, order) in [
                ("three_streams", 3, DepthFirst),
                ("eight_streams", 8, DepthFirst),
                ("by_engine", 3, ByEngine),
            ] {
                let plan = Plan { pairs, order, ..plan };
                lesson.measure(&mut pinned, &plan, case.clone().with("way", way))?;
            }
        }

        // 7. When each step runs.
        for pairs in [1, 2, 3] {
            lesson.draw(&mut pinned, &Plan { pairs, ..plan })?;
        }
        lesson.draw(&mut pageable, &plan)?;
    }

    // 8. The chapter's own batches, 10,000 floats.
    for (pairs, order) in
        [(1, DepthFirst), (2, DepthFirst), (3, DepthFirst), (3, ByEngine)]
    {
        let bytes = WORD_BYTES * 10_000;
        let plan = Plan { bytes, pairs, order, rounds: 1, ..plan };
        let case = || Case::new("chapter_batch");
        lesson.measure(&mut pinned, &plan, case().with("until", "done"))?;
        lesson.measure(&mut pageable, &plan, case().with("until", "done"))?;
        //    When has the host queued them all?
        let Lesson { lab, pipeline } = &mut lesson;
        let (samples, ()) = lab.time_turns(Clock::Host, || {
            let start = Instant::now();
            pipeline.queue(&mut pinned, &plan, &[])?;
            Ok((start.elapsed().as_secs_f64(), pipeline.wait()?))
        })?;
        let case = case().with("until", "queued");
        lab.record(described(case, &plan, &pinned).samples(samples))?;
    }
    Ok(())
}

struct Lesson<'a> {
    lab: &'a mut Lab,
    pipeline: Pipeline,
}

impl Lesson<'_> {
    // ANCHOR: measure
    /// Times a plan until the last batch is out.
    fn measure(&mut self, host: &mut Host, plan: &Plan, case: Case) -> Result<()> {
        let Lesson { lab, pipeline } = self;
        host.to.fill(0);
        let samples = lab.time_on_host(|| {
            pipeline.queue(host, plan, &[])?;
            pipeline.wait()
        })?;
        let checked = host.check(plan)?;
        lab.record(described(case, plan, host).checked(checked).samples(samples))
    }
    // ANCHOR_END: measure

    /// Times a plan with events around the steps of its first batches.
    fn draw(&mut self, host: &mut Host, plan: &Plan) -> Result<()> {
        let Lesson { lab, pipeline } = self;
        let marks = (0..DRAWN).map(|_| Marks::new(lab.context()));
        let marks = marks.collect::<Result<Vec<_>>>()?;
        host.to.fill(0);
        let (samples, spans) = lab.time_turns(Clock::Host, || {
            let start = Instant::now();
            pipeline.queue(host, plan, &marks)?;
            pipeline.wait()?;
            Ok((start.elapsed().as_secs_f64(), spans(&marks, plan.pairs)?))
        })?;
        let checked = host.check(plan)?;
        let case = described(Case::new("timeline"), plan, host).spans(spans);
        lab.record(case.checked(checked).samples(samples))
    }

    /// Times steps that wait for nothing but their engine, each kind in a stream of its
    /// own. Returns the time for one batch.
    fn steps(
        &mut self,
        host: &mut Host,
        plan: &Plan,
        load: &str,
        steps: &[usize],
    ) -> Result<f64> {
        let Lesson { lab, pipeline } = self;
        pipeline.before_steps(host, plan)?;
        let samples = lab.time_on_host(|| {
            pipeline.queue_unordered(host, plan, steps)?;
            pipeline.wait()
        })?;
        let checked = pipeline.check_steps(host, plan, steps)?;
        let names: Vec<_> = steps.iter().map(|step| STEPS[*step]).collect();
        let case = Case::new("steps").with("load", load);
        let case = case.with("steps", &*names.join("_"));
        let mut seconds = samples.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        lab.record(sized(case, plan, host).checked(checked).samples(samples))?;
        Ok(seconds[seconds.len() / 2] / plan.batches as f64)
    }
}

/// A case with the batches of its plan.
fn sized(case: Case, plan: &Plan, host: &Host) -> Case {
    case.with("kind", host.kind)
        .with("bytes", plan.bytes)
        .with("batches", plan.batches)
        .reads(plan.batches * plan.bytes)
        .writes(plan.batches * plan.bytes)
}

/// And with the way in which they are queued.
fn described(case: Case, plan: &Plan, host: &Host) -> Case {
    let (order, streams) = match plan.order {
        DepthFirst => ("depth_first", plan.pairs),
        BreadthFirst => ("breadth_first", plan.pairs),
        ByEngine => ("by_engine", STEPS.len()),
    };
    let case = case.with("order", order).with("streams", streams);
    sized(case.with("pairs", plan.pairs), plan, host)
}
