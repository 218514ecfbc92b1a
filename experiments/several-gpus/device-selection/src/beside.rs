//! Choosing: a kernel on the first GPU and on the chosen one, while another program uses
//! the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use cudarc::driver::CudaContext;
use lab::check::{every_element, repeated, value};
use lab::launch::blocks;
use lab::{Case, Lab, Result};
use nvml_wrapper::Nvml;

use crate::WATCHED;
use crate::choose::choose;
use crate::device::{FACTOR, Worker};
use crate::look::look;

/// Steps of a kernel that stands in for a program's work.
const STEPS: u32 = 100_000;

/// A GPU with words for a kernel that fills it for some milliseconds.
fn filler(lab: &Lab, context: &Arc<CudaContext>) -> Result<Worker> {
    let count = 4 * lab.resident_threads()?;
    let mut worker = Worker::new(lab, context, count)?;
    let words: Vec<u32> = (0..count).map(value).collect();
    worker.stream.memcpy_htod(&words, &mut worker.input)?;
    Ok(worker)
}

fn fill(worker: &mut Worker) -> Result<()> {
    let Worker { stream, input, output, kernels, .. } = worker;
    let (count, grid) = (input.len(), blocks(input.len().div_ceil(1024), 1024));
    kernels.chain(stream, grid, input, output, count, STEPS, FACTOR)?;
    Ok(stream.synchronize()?)
}

/// Compares what the last kernel wrote.
fn check(worker: &Worker) -> Result<u64> {
    let after = repeated(FACTOR, 1, STEPS);
    let got = worker.stream.clone_dtoh(&worker.output)?;
    every_element("filler", &got, |i| after(value(i)))
}

pub(crate) fn beside(
    lab: &mut Lab,
    contexts: &[Arc<CudaContext>],
    nvml: Option<&Nvml>,
) -> Result<()> {
    let case = |on| Case::new("beside").with("on", on);
    // NVML knows no emulated GPU, even where it knows the machine's own.
    if contexts.len() < 2 || look(&contexts[0], nvml)?.busy_percent.is_none() {
        let why = "it takes a second GPU, and NVML to tell which one is busy";
        lab.skip(case("chosen"), why);
        return Ok(());
    }
    let fillers = contexts.iter().map(|context| filler(lab, context));
    let mut fillers = fillers.collect::<Result<Vec<_>>>()?;
    case("first")
        .with("others", "idle")
        .time_on_host(lab, || fill(&mut fillers[0]))?
        .checked(check(&fillers[0])?)
        .record(lab)?;

    let mut other = filler(lab, &contexts[0])?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let program = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fill(&mut other)?;
            }
            Ok(())
        });
        let mut measure = || -> Result<()> {
            std::thread::sleep(WATCHED);
            let facts = contexts.iter().map(|context| look(context, nvml));
            let facts = facts.collect::<Result<Vec<_>>>()?;
            let bytes = 4 * fillers[0].input.len() as u64 * 2;
            let chosen =
                choose(&facts, bytes).context("no GPU has enough memory")?;
            for (on, gpu) in [("first", 0), ("chosen", chosen)] {
                let mut case = case(on).with("others", "busy");
                case = case.model("gpu", contexts[gpu].ordinal() as f64);
                if let Some(busy) = facts[gpu].busy_percent {
                    case = case.model("busy_percent", f64::from(busy) / 100.0);
                }
                case.time_on_host(lab, || fill(&mut fillers[gpu]))?
                    .checked(check(&fillers[gpu])?)
                    .record(lab)?;
            }
            Ok(())
        };
        let measured = measure();
        stop.store(true, Ordering::Relaxed);
        let ran = program.join().expect("a launch does not panic");
        measured.and(ran)
    })
}
