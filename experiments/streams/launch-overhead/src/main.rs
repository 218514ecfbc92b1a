//! # What does it cost to start a kernel, and when does it show?
//!
//! A chain of a thousand small steps, each of which needs what the one before has made, can
//! be a thousand launches; a *CUDA graph*, which hands the GPU the whole chain with one
//! call; or *fused* into one kernel that does all steps.
//!
//! ```text
//! launches  host  call call call call …         as long as calls take longer than
//!           GPU     ■    ■    ■    ■            kernels, the GPU waits for the host
//! graph     host  call
//!           GPU     ■ ■ ■ ■ …                   gaps remain, but smaller
//! fused     GPU     ■■■■
//! ```
//!
//! **Prediction:** a call takes 2.5 µs and a tiny kernel occupies the GPU for 1.6 µs, so a
//! thousand launches take 2.5 ms, whatever the size of the vector, until a step takes more
//! than 2.5 µs; a graph takes 1.6 ms. A fused chain on a small vector takes less than
//! 0.1 ms, because a step is one multiplication.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{
    CudaFunction, CudaGraph, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use lab::{Case, Clock, Kernel, Lab, Result, Span, check};

const KERNEL: Kernel = Kernel {
    name: "launch-overhead",
    source: include_str!("../../../../kernels/launch-overhead.cu"),
    ptx: include_str!("../../../../kernels/ptx/launch-overhead.ptx"),
};

/// Steps of a chain.
const STEPS: u32 = 1000;
/// What a step multiplies an element by.
const MULTIPLIER: u32 = 1_664_525;
/// Sizes of the vector. No block divides most of them.
const ELEMENTS: [u32; 10] = [
    1_000, 10_000, 100_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 4_000_000,
    8_000_000, 16_000_000,
];
/// Steps of each kernel of a chain that notes its times.
const ROUNDS: [u32; 9] = [1, 64, 128, 256, 512, 768, 1024, 2048, 4096];
const NODES: [u32; 4] = [1, 10, 100, 1000];
const BLOCK: u32 = 1024;

fn main() -> ExitCode {
    let question = "What does it cost to start a kernel, and when does it show?";
    lab::run("launch-overhead", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    for elements in ELEMENTS.into_iter().take(if lab.quick() { 2 } else { 10 }) {
        chains(lab, &stream, elements)?;
    }
    calls(lab, &stream)?;
    gaps(lab, &stream)
}

/// Chains on a vector of `elements`.
fn chains(lab: &mut Lab, stream: &Arc<CudaStream>, elements: u32) -> Result<()> {
    let case = |name, kind| {
        Case::new(name).with("kind", kind).with("elements", elements as usize)
    };
    for kind in ["launches", "graph", "fused"] {
        let mut vector = Vector::new(lab, stream, elements)?;
        let graph = vector.capture(STEPS, |vector, _| vector.launch(1))?;
        // ANCHOR: ways
        let calls = if kind == "launches" { STEPS } else { 1 };
        let mut call = || match kind {
            "launches" => vector.launch(1),
            "graph" => vector.replay(&graph),
            _ => vector.launch(STEPS),
        };
        // 1. From the first call until all is done.
        let samples = lab.time_on_host(|| {
            (0..calls).try_for_each(|_| call())?;
            Ok(stream.synchronize()?)
        })?;
        // 2. What the GPU needs for a step, when the host is far ahead of it.
        let mut queued = lab.time_on_gpu(stream, |_| call())?;
        // ANCHOR_END: ways
        let steps = STEPS / calls;
        queued.operations *= steps;
        queued.seconds.iter_mut().for_each(|s| *s /= f64::from(steps));
        let checked = vector.check()?;
        lab.record(case("chain", kind).checked(checked).samples(samples))?;
        lab.record(case("step", kind).checked(checked).samples(queued))?;
    }
    Ok(())
}

/// What the host pays.
fn calls(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    let settle = || Ok(stream.synchronize()?);
    // 3. A call that launches a kernel, while the queue has room.
    let mut vector = Vector::new(lab, stream, BLOCK)?;
    let samples = lab.time_calls(500, || vector.launch(1), settle)?;
    let checked = vector.check()?;
    lab.record(Case::new("launch_call").checked(checked).samples(samples))?;

    for nodes in NODES {
        let case = |name| Case::new(name).with("nodes", nodes as usize);
        // 4. A call that launches a graph of so many kernels.
        let mut vector = Vector::new(lab, stream, BLOCK)?;
        let make = |vector: &mut Vector| vector.capture(nodes, |v, _| v.launch(1));
        let graph = make(&mut vector)?;
        let calls = (500 / nodes).clamp(1, 100);
        let samples = lab.time_calls(calls, || vector.replay(&graph), settle)?;
        let checked = vector.check()?;
        lab.record(case("graph_call").checked(checked).samples(samples))?;

        // 5. Making the graph, and sending it to the GPU before its first launch.
        let samples = lab.time_on_host(|| make(&mut vector))?;
        lab.record(case("graph_made").samples(samples))?;
        let upload = |(graph, _): (CudaGraph, u32)| {
            graph.upload()?;
            stream.synchronize()?;
            Ok(graph)
        };
        let samples = lab.time_on_host_after(|| make(&mut vector), upload)?;
        lab.record(case("graph_uploaded").samples(samples))?;
    }
    Ok(())
}

/// From the end of a kernel to the start of the next: the mean over a chain of kernels that
/// note when they ran, on a vector for one block.
fn gaps(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<()> {
    for rounds in ROUNDS.into_iter().take(if lab.quick() { 2 } else { 9 }) {
        for kind in ["launches", "graph"] {
            // 6. Longer and longer kernels, as launches and as a graph.
            let mut vector = Vector::new(lab, stream, BLOCK)?;
            let mut times = stream.alloc_zeros::<[u64; 2]>(STEPS as usize)?;
            let graph =
                vector.capture(STEPS, |v, k| v.stamp(rounds, &mut times, k))?;
            let (samples, spans) = lab.time_turns(Clock::CudaEvents, || {
                match kind {
                    "launches" => (0..STEPS)
                        .try_for_each(|k| vector.stamp(rounds, &mut times, k))?,
                    _ => vector.replay(&graph)?,
                }
                let times = stream.clone_dtoh(&times)?;
                let gap = |pair: &[[u64; 2]]| pair[1][0].saturating_sub(pair[0][1]);
                let seconds = times.windows(2).map(gap).sum::<u64>() as f64 * 1e-9;
                Ok((seconds / f64::from(STEPS - 1), spans(kind, &times[500..508])))
            })?;
            let case = Case::new("gap").with("kind", kind).spans(spans);
            let case = case.with("rounds", rounds as usize).checked(vector.check()?);
            lab.record(case.samples(samples))?;
        }
    }
    Ok(())
}

/// A few kernels of a chain, from the start of the first one here.
fn spans(lane: &str, times: &[[u64; 2]]) -> Vec<Span> {
    let seconds = |time: u64| (time - times[0][0]) as f64 * 1e-9;
    let span = |(k, [start, end]): (usize, &[u64; 2])| Span {
        lane: lane.to_owned(),
        label: format!("kernel {}", k + 1),
        start_seconds: seconds(*start),
        end_seconds: seconds(*end),
    };
    times.iter().enumerate().map(span).collect()
}

/// A vector on the GPU, and how many steps were applied to it.
struct Vector<'a> {
    stream: &'a Arc<CudaStream>,
    step: CudaFunction,
    stamped: CudaFunction,
    elements: u32,
    x: CudaSlice<u32>,
    applied: u32,
}

impl<'a> Vector<'a> {
    fn new(lab: &Lab, stream: &'a Arc<CudaStream>, elements: u32) -> Result<Self> {
        let input: Vec<u32> = (0..elements as usize).map(check::value).collect();
        let step = lab.module()?.load_function("step")?;
        let stamped = lab.module()?.load_function("stamped")?;
        let x = stream.clone_htod(&input)?;
        Ok(Vector { stream, step, stamped, elements, x, applied: 0 })
    }

    // ANCHOR: launch
    /// Launches a kernel that does `steps` steps.
    fn launch(&mut self, steps: u32) -> Result<()> {
        let mut launch = self.stream.launch_builder(&self.step);
        launch.arg(&mut self.x).arg(&self.elements).arg(&MULTIPLIER).arg(&steps);
        // SAFETY: the kernel takes (x, count, multiplier, steps).
        unsafe { launch.launch(LaunchConfig::for_num_elems(self.elements)) }?;
        self.applied += steps;
        Ok(())
    }
    // ANCHOR_END: launch

    /// Launches kernel `number` of a chain that notes its times.
    fn stamp(
        &mut self,
        rounds: u32,
        times: &mut CudaSlice<[u64; 2]>,
        number: u32,
    ) -> Result<()> {
        let one = LaunchConfig::for_num_elems(1);
        let config = LaunchConfig { block_dim: (BLOCK, 1, 1), ..one };
        let mut launch = self.stream.launch_builder(&self.stamped);
        launch.arg(&mut self.x).arg(times);
        launch.arg(&MULTIPLIER).arg(&rounds).arg(&number);
        // SAFETY: the kernel takes (x, times, multiplier, steps, number); x has an element
        // for each thread of a block, times an entry for each number.
        unsafe { launch.launch(config) }?;
        self.applied += rounds;
        Ok(())
    }

    // ANCHOR: graph
    /// A graph of so many launches, which are recorded and not run; and its steps.
    fn capture(
        &mut self,
        launches: u32,
        mut launch: impl FnMut(&mut Self, u32) -> Result<()>,
    ) -> Result<(CudaGraph, u32)> {
        let before = self.applied;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode)?;
        (0..launches).try_for_each(|number| launch(self, number))?;
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0))?;
        let steps = self.applied - before;
        self.applied = before; // nothing ran yet
        Ok((graph.expect("the stream was capturing"), steps))
    }

    /// Runs them all, with one call.
    fn replay(&mut self, (graph, steps): &(CudaGraph, u32)) -> Result<()> {
        self.applied += steps;
        Ok(graph.launch()?)
    }
    // ANCHOR_END: graph

    /// Compares every element with the same steps on the host.
    fn check(&self) -> Result<u64> {
        let got = self.stream.clone_dtoh(&self.x)?;
        let factor = MULTIPLIER.wrapping_pow(self.applied);
        check::every_element("chain", &got, |i| check::value(i).wrapping_mul(factor))
    }
}
