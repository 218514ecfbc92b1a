//! # Which streams wait for which?
//!
//! Page: `book/src/streams/default-stream.md`. Its sections show each file,
//! or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment; Measured; Why | three kernels, in streams of each kind |
//!
//! What is in one stream runs in order. What is in two streams may run at the same time,
//! with one exception. The *legacy default stream* is a barrier: it waits for what was
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
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use lab::launch::blocks;
use lab::timeline::Timeline;
use lab::{Case, Clock, Lab, Result, check};

// SAFETY: threads at or past `count` do nothing; the others write word i of `out`,
// which has at least that many.
lab::kernels! { unsafe "default-stream" {
    fn chain(out: &mut CudaSlice<u32>, count: usize, steps: u32, factor: u32);
} }

/// Words that the kernel writes, in one block that has threads to spare.
const WORDS: usize = 1000;
const BLOCK: usize = 1024;
const FACTOR: u32 = 1_664_525;
const KERNEL_SECONDS: f64 = 1e-3;

lab::words! {
    /// The kind of the streams around the default stream.
    enum Kind {
        Blocking = "blocking",
        NonBlocking = "non_blocking",
        PerThread = "per_thread",
    }
}

lab::words! {
    /// The default stream that the program chose.
    enum DefaultStream { Legacy = "legacy", PerThread = "per_thread" }
}

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. A kernel of known length, with three outputs.
    let context = lab.context().clone();
    let kernels = Kernels::load(lab)?;
    let line = Timeline::new(&context)?;
    let own = context.new_stream()?;
    let output = || own.alloc_zeros::<u32>(WORDS + check::GUARD);
    let mut outputs = [output()?, output()?, output()?];
    let grid = blocks(1, BLOCK);
    let steps = line.steps_lasting(&own, KERNEL_SECONDS, 10_000, |steps| {
        kernels.chain(&own, grid, &mut outputs[0], WORDS, steps, FACTOR)
    })?;

    // 2. Streams of each kind around each default stream.
    for (kind, default) in [
        (Kind::Blocking, DefaultStream::Legacy),
        (Kind::NonBlocking, DefaultStream::Legacy),
        (Kind::PerThread, DefaultStream::Legacy),
        (Kind::Blocking, DefaultStream::PerThread),
    ] {
        // ANCHOR: streams
        let new = || -> Result<Arc<CudaStream>> {
            Ok(match kind {
                Kind::Blocking => blocking(&context)?,
                Kind::NonBlocking => context.new_stream()?,
                Kind::PerThread => context.per_thread_stream(), // always this thread's
            })
        };
        let (first, third) = (new()?, new()?);
        let second = match default {
            DefaultStream::Legacy => context.default_stream(),
            DefaultStream::PerThread => context.per_thread_stream(),
        };
        // ANCHOR_END: streams
        let other = if first == third { "stream 1" } else { "stream 2" };

        // 3. One turn: three launches, and a wait.
        for output in &mut outputs {
            own.memset_zeros(output)?;
        }
        own.synchronize()?;
        let turn = || {
            context.synchronize()?;
            line.begin(&own)?;
            // ANCHOR: launch
            let mut launch = |n: usize, lane: &str, stream: &Arc<CudaStream>| {
                let out = &mut outputs[n - 1];
                let kernel =
                    || kernels.chain(stream, grid, out, WORDS, steps, FACTOR);
                let kernel =
                    || line.gpu(lane, &format!("kernel {n}"), stream, kernel);
                line.host("host", &format!("launch {n}"), kernel)
            };
            // ANCHOR_END: launch
            // ANCHOR: launches
            launch(1, "stream 1", &first)?;
            launch(2, "default", &second)?;
            launch(3, other, &third)?;
            line.host("host", "wait", || Ok(context.synchronize()?))?;
            // ANCHOR_END: launches
            line.finish()
        };
        let case = Case::new("order").with("streams", kind);
        let case = case.with("default", default);
        let mut timed = case.time_turns(lab, Clock::Host, turn)?.spans();

        // 4. Check and record.
        let after = check::repeated(FACTOR, 1, steps);
        for output in &outputs {
            let expected = |i| after(i as u32);
            timed = timed
                .checked(check::output("chain", &own, output, WORDS, expected)?);
        }
        timed.record(lab)?;
    }
    Ok(())
}

// ANCHOR: blocking
/// A stream that the legacy default stream waits for, and that waits for it. cudarc
/// makes non-blocking ones only.
fn blocking(context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
    let stream = result::stream::create(StreamKind::Default)?;
    // SAFETY: the stream belongs to this context, which is this thread's, and nothing
    // destroys it before the program ends.
    Ok(unsafe { context.wrap_borrowed_stream(stream) })
}
// ANCHOR_END: blocking
