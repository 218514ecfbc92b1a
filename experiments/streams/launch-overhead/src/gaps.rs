//! From the end of a kernel to the start of the next: the mean over a chain of longer and
//! longer kernels that note when they ran, on a vector for one block.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::blocks;
use lab::timeline::span;
use lab::{Case, Clock, Lab, Result, Span};

use crate::STEPS;
use crate::early::Early;
use crate::vector::{BLOCK, MULTIPLIER, Vector};

/// Steps of each kernel.
const ROUNDS: [u32; 9] = [1, 64, 128, 256, 512, 768, 1024, 2048, 4096];

pub(crate) fn measure(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let early = Early::load(lab)?;
    for rounds in ROUNDS.into_iter().take(if lab.emulated() { 2 } else { 9 }) {
        for (kind, is_graph) in [("launches", false), ("graph", true)] {
            let case = Case::new("gap").with("kind", kind);
            chain(lab, stream, (case, kind, is_graph), rounds, |v, times, n| {
                launch(v, rounds, times, n)
            })?;
        }
        let Some(early) = &early else {
            continue;
        };
        for (kind, is_graph) in [("launches", false), ("graph", true)] {
            let case = Case::new("early_gap").with("kind", kind);
            chain(lab, stream, (case, kind, is_graph), rounds, |v, times, n| {
                early.launch(v, rounds, times, n)
            })?;
        }
    }
    Ok(())
}

/// Times of a chain of kernels, each with its start and its end.
type Times = CudaSlice<[u64; 2]>;

/// A chain of kernels that `launch` queues, kernel after kernel or as a graph.
fn chain(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    (case, kind, is_graph): (Case, &str, bool),
    rounds: u32,
    mut launch: impl FnMut(&mut Vector, &mut Times, u32) -> Result<()>,
) -> Result<()> {
    let mut vector = Vector::new(lab.module()?, stream, BLOCK)?;
    let mut times = stream.alloc_zeros::<[u64; 2]>(STEPS as usize)?;
    let graph = match is_graph {
        true => Some(vector.capture(STEPS, |v, n| launch(v, &mut times, n))?),
        false => None,
    };
    let timed = case.with("rounds", rounds as usize).time_turns(
        lab,
        Clock::CudaEvents,
        || {
            match &graph {
                Some(graph) => vector.replay(graph)?,
                None => (0..STEPS)
                    .try_for_each(|n| launch(&mut vector, &mut times, n))?,
            }
            let times = stream.clone_dtoh(&times)?;
            let gap = |pair: &[[u64; 2]]| {
                pair[1][0].saturating_sub(pair[0][1]) as f64 * 1e-9
            };
            let gaps: f64 = times.windows(2).map(gap).sum();
            Ok((gaps / f64::from(STEPS - 1), spans(kind, &times[500..508])))
        },
    )?;
    timed.spans().checked(vector.check()?).record(lab)
}

/// Launches kernel `number` of a chain, which notes its times.
fn launch(
    vector: &mut Vector,
    rounds: u32,
    times: &mut Times,
    number: u32,
) -> Result<()> {
    let Vector { kernels, stream, x, applied, .. } = vector;
    *applied += rounds;
    let grid = blocks(1, BLOCK as usize);
    kernels.stamped(stream, grid, x, times, MULTIPLIER, rounds, number)
}

/// A few kernels of a chain, from the start of the first one here.
fn spans(lane: &str, times: &[[u64; 2]]) -> Vec<Span> {
    let seconds = |time: u64| (time - times[0][0]) as f64 * 1e-9;
    let spans = times.iter().enumerate().map(|(n, times)| {
        span(lane, format!("kernel {}", n + 1), times.map(seconds))
    });
    spans.collect()
}
