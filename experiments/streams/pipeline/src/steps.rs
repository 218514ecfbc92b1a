//! Steps that wait only for their engine, each kind in a stream of its own: how
//! long each takes by itself, and beside the others.

use std::time::Instant;

use cudarc::driver::CudaSlice;
use lab::check::{every_element, value};
use lab::{Case, Lab, Result};

use crate::{Pair, Pipeline, Plan, Step};

/// Times such steps, 30 of each kind. Returns the time for one batch.
pub(crate) fn measure(
    lab: &mut Lab,
    gpu: &mut Pipeline,
    plan: &Plan,
    load: &str,
    steps: &[Step],
) -> Result<f64> {
    prepare(gpu, plan)?;
    let names: Vec<_> = steps.iter().map(|step| step.name()).collect();
    let case = Case::new("steps").with("load", load);
    let case = case.with("steps", &*names.join("_"));
    let timed = gpu.sized(case, plan).time_on_host(lab, || {
        let Pipeline { hosts, pairs, kernels } = &mut *gpu;
        let host = &mut hosts[plan.host as usize];
        for batch in 0..plan.batches {
            for &step in steps {
                let pair = &mut pairs[step as usize];
                let stream = pair.stream.clone();
                pair.queue(kernels, &stream, (step, batch), host, plan)?;
            }
        }
        gpu.wait()
    })?;
    let seconds = timed.samples.median() / plan.batches as f64;
    timed.checked(check(gpu, plan, steps)?).record(lab)?;
    Ok(seconds)
}

/// Rounds for which the kernel takes about `seconds` for a batch.
pub(crate) fn rounds_for(
    gpu: &mut Pipeline,
    plan: &Plan,
    seconds: f64,
) -> Result<u32> {
    let Pipeline { hosts, pairs, kernels } = gpu;
    let (host, pair) = (&mut hosts[plan.host as usize], &mut pairs[0]);
    let stream = pair.stream.clone();
    let mut rounds = 16;
    for _ in 0..5 {
        let plan = Plan { rounds, ..*plan };
        let start = Instant::now();
        for batch in 0..plan.batches {
            pair.queue(kernels, &stream, (Step::Kernel, batch), host, &plan)?;
        }
        stream.synchronize()?;
        let once = start.elapsed().as_secs_f64() / plan.batches as f64;
        rounds = (f64::from(rounds) * seconds / once).ceil() as u32;
    }
    Ok(rounds)
}

/// Each of the first three pairs gets one of the last three batches, with its result, but
/// where the steps will write.
fn prepare(gpu: &mut Pipeline, plan: &Plan) -> Result<()> {
    gpu.queue(&Plan { pairs: 3, ..*plan }, &[])?;
    gpu.wait()?;
    gpu.clear(plan);
    let stream = gpu.pairs[0].stream.clone();
    stream.memset_zeros(&mut gpu.pairs[0].from)?;
    stream.memset_zeros(&mut gpu.pairs[1].to)?;
    gpu.wait()
}

/// Compares what they wrote: the last batch came in, the kernel worked on the last but
/// one, and the result of the last went out every time.
fn check(gpu: &Pipeline, plan: &Plan, steps: &[Step]) -> Result<u64> {
    let (words, result) = (plan.words(), plan.result());
    let last = plan.place(plan.batches - 1).start;
    let mut checked = 0;
    for &step in steps {
        let Pair { stream, from, to, .. } = &gpu.pairs[step as usize];
        let read =
            |memory: &CudaSlice<u32>| stream.clone_dtoh(&memory.slice(..words));
        let (name, sent) = (step.name(), &gpu.hosts[plan.host as usize].to);
        checked += match step {
            Step::Upload => every_element(name, &read(from)?, |i| value(last + i)),
            Step::Download => {
                every_element(name, sent, |i| result(last + i % words))
            }
            Step::Kernel => {
                every_element(name, &read(to)?, |i| result(last - words + i))
            }
        }?;
    }
    Ok(checked)
}
