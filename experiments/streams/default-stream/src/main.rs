//! # Which streams wait for which?
//!
//! What is in one stream runs in order. What is in two streams may run at the same time,
//! but for one exception. The *legacy default stream* is a barrier: it waits for what was
//! put into any *blocking* stream before, and what is put into one after waits for it.
//! *Non-blocking* streams, which are what cudarc makes, take no part in this. A program
//! can choose *per-thread* default streams instead, one for each host thread, which are
//! blocking streams.
//!
//! Three kernels of 1 ms, each so small that the GPU could run all at once, are launched
//! into a stream, the default stream, and another stream, by a host that does not wait.
//!
//! **Prediction:** they take 3 ms if the streams are blocking and the default stream is
//! the legacy one, also if a per-thread one is in their place; 1 ms if the streams are
//! non-blocking, or the default stream is a per-thread one.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::result::{self, stream::StreamKind};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use lab::{Case, Clock, Kernel, Lab, Result, check};
use lab::timeline::Timeline;

const KERNEL: Kernel = Kernel {
    name: "default-stream",
    source: include_str!("../../../../kernels/default-stream.cu"),
    ptx: include_str!("../../../../kernels/ptx/default-stream.ptx"),
};

/// Words that the kernel writes, in four blocks, of which the last has threads to spare.
const WORDS: usize = 1000;
const FACTOR: u32 = 1_664_525;
const KERNEL_SECONDS: f64 = 1e-3;

fn main() -> ExitCode {
    let question = "Which streams wait for which?";
    lab::run("default-stream", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. A kernel of known length, with three outputs.
    let context = lab.context().clone();
    let mut rig = Rig::new(lab)?;
    let line = Timeline::new(&context)?;

    // 2. Streams of each kind around each default stream.
    for (kind, default) in [
        ("blocking", "legacy"),
        ("non_blocking", "legacy"),
        ("per_thread", "legacy"),
        ("blocking", "per_thread"),
    ] {
        // ANCHOR: streams
        let new = || -> Result<Arc<CudaStream>> {
            Ok(match kind {
                "blocking" => blocking(&context)?,
                "non_blocking" => context.new_stream()?,
                _ => context.per_thread_stream(), // always this thread's
            })
        };
        let (first, third) = (new()?, new()?);
        let second = match default {
            "legacy" => context.default_stream(),
            _ => context.per_thread_stream(),
        };
        // ANCHOR_END: streams
        let other = if first == third { "stream 1" } else { "stream 2" };
        // 3. One turn: three launches, and a wait.
        rig.clear()?;
        let turn = || {
            context.synchronize()?;
            line.begin(&rig.stream)?;
            // ANCHOR: order
            let launch = |n: usize, lane: &str, stream: &Arc<CudaStream>| {
                let kernel = || rig.launch(n - 1, stream);
                let kernel =
                    || line.gpu(lane, &format!("kernel {n}"), stream, kernel);
                line.host("host", &format!("launch {n}"), kernel)
            };
            launch(1, "stream 1", &first)?;
            launch(2, "default", &second)?;
            launch(3, other, &third)?;
            line.host("host", "wait", || Ok(context.synchronize()?))?;
            // ANCHOR_END: order
            line.finish()
        };
        let (samples, spans) = lab.time_turns(Clock::Host, turn)?;

        // 4. Check and record.
        let checked = (0..3).map(|n| rig.check(n)).sum::<Result<u64>>()?;
        let case = Case::new("order").with("streams", kind).with("default", default);
        lab.record(case.checked(checked).samples(samples).spans(spans))?;
    }
    Ok(())
}

// ANCHOR: blocking
/// A stream that the legacy default stream waits for, and that waits for it. cudarc
/// makes non-blocking ones only.
fn blocking(context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
    let stream = result::stream::create(StreamKind::Default)?;
    // SAFETY: the stream belongs to this context, which is this thread's, and nobody
    // destroys it before the program ends.
    Ok(unsafe { context.wrap_borrowed_stream(stream) })
}
// ANCHOR_END: blocking

/// A kernel of known length.
struct Rig {
    chain: CudaFunction,
    /// Steps of the kernel, which make its length.
    steps: u32,
    outputs: [CudaSlice<u32>; 3],
    /// A stream of the rig's own.
    stream: Arc<CudaStream>,
}

impl Rig {
    fn new(lab: &Lab) -> Result<Rig> {
        let stream = lab.context().new_stream()?;
        let output = || stream.alloc_zeros::<u32>(WORDS);
        let mut rig = Rig {
            chain: lab.module()?.load_function("chain")?,
            steps: 1,
            outputs: [output()?, output()?, output()?],
            stream,
        };
        // Time grows evenly with the steps.
        let line = Timeline::new(lab.context())?;
        let mut time = |steps| -> Result<f64> {
            rig.steps = steps;
            rig.launch(0, &rig.stream)?;
            line.begin(&rig.stream)?;
            line.gpu("", "", &rig.stream, || rig.launch(0, &rig.stream))?;
            let (_, spans) = line.finish()?;
            Ok(spans[0].end_seconds - spans[0].start_seconds)
        };
        let (few, many) = (time(10_000)?, time(50_000)?);
        let step = (many - few) / 40_000.0;
        rig.steps = (10_000.0 + (KERNEL_SECONDS - few) / step).max(1.0) as u32;
        Ok(rig)
    }

    fn launch(&self, output: usize, stream: &Arc<CudaStream>) -> Result<()> {
        let mut launch = stream.launch_builder(&self.chain);
        launch.arg(&self.outputs[output]).arg(&WORDS).arg(&self.steps).arg(&FACTOR);
        // SAFETY: the kernel takes (out, count, steps, factor), and the output has as
        // many words. A turn launches one kernel for each output and waits for them.
        unsafe { launch.launch(LaunchConfig::for_num_elems(WORDS as u32)) }?;
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        for output in &mut self.outputs {
            self.stream.memset_zeros(output)?;
        }
        Ok(self.stream.synchronize()?)
    }

    fn check(&self, output: usize) -> Result<u64> {
        // All steps at once: x * factor + summand.
        let (factor, summand) = (0..self.steps).fold((1u32, 0u32), |(f, s), _| {
            (f.wrapping_mul(FACTOR), s.wrapping_mul(FACTOR).wrapping_add(1))
        });
        let after = |i| (i as u32).wrapping_mul(factor).wrapping_add(summand);
        check::every_element(
            "kernel",
            &self.stream.clone_dtoh(&self.outputs[output])?,
            after,
        )
    }
}
