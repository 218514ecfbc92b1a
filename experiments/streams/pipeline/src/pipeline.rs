//! The pipeline: pairs of device buffers, and steps that are queued in streams, in one
//! order or the other.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError,
    LaunchConfig, PinnedHostSlice, PushKernelArg, sys,
};
use lab::check::{every_element, value};
use lab::{Result, Span};

pub(crate) const WORD_BYTES: usize = size_of::<u32>();
pub(crate) const STEPS: [&str; 3] = ["upload", "kernel", "download"];
/// One round of the kernel is x → A·x + B.
const A: u32 = 1_664_525;
const B: u32 = 1_013_904_223;

/// How the batches are cut, spread over streams and queued.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) bytes: usize,
    pub(crate) batches: usize,
    /// Pairs of device buffers, so batches that can be on the GPU at once.
    pub(crate) pairs: usize,
    pub(crate) order: Order,
    pub(crate) rounds: u32,
}

/// In which streams, and in which order, the steps are queued.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// A stream for each pair: all steps of a batch, then the next batch.
    DepthFirst,
    /// A stream for each pair: one step for as many batches as there are pairs, then the
    /// next step.
    BreadthFirst,
    /// A stream for each step, so for each engine.
    ByEngine,
}

impl Plan {
    pub(crate) fn words(&self) -> usize {
        self.bytes / WORD_BYTES
    }

    /// Where a batch lies in the host's memory.
    pub(crate) fn place(&self, batch: usize) -> Range<usize> {
        batch * self.words()..(batch + 1) * self.words()
    }

    // ANCHOR: model
    /// When the last batch is out, if each step starts as soon as the step before it is
    /// done and its engine is free. The first also waits until an earlier batch has left
    /// its pair.
    pub(crate) fn bound(&self, [upload, kernel, download]: [f64; 3]) -> f64 {
        let (mut is_in, mut computed, mut is_out) = (0f64, 0f64, 0f64);
        let mut ends = vec![0.0; self.pairs]; // of the last batch in each pair
        for batch in 0..self.batches {
            let pair = &mut ends[batch % self.pairs];
            is_in = is_in.max(*pair) + upload;
            computed = computed.max(is_in) + kernel;
            is_out = is_out.max(computed) + download;
            *pair = is_out;
        }
        is_out
    }
    // ANCHOR_END: model

    /// What word i of all results must be: the rounds together are one x → a·x + b.
    pub(crate) fn result(&self) -> impl Fn(usize) -> u32 + use<> {
        let round = |(a, b): (u32, u32), _| {
            (A.wrapping_mul(a), A.wrapping_mul(b).wrapping_add(B))
        };
        let (a, b) = (0..self.rounds).fold((1, 0), round);
        move |i| value(i).wrapping_mul(a).wrapping_add(b)
    }
}

/// Batches on the host, and room for their results.
pub(crate) struct Host<'a> {
    pub(crate) kind: &'static str,
    pub(crate) from: &'a mut [u32],
    pub(crate) to: &'a mut [u32],
}

impl Host<'_> {
    pub(crate) fn check(&self, plan: &Plan) -> Result<u64> {
        let got = &self.to[..plan.batches * plan.words()];
        every_element(self.kind, got, plan.result())
    }
}

/// Device buffers for a batch and for its result, and a stream.
pub(crate) struct Pair {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) from: CudaSlice<u32>,
    pub(crate) to: CudaSlice<u32>,
}

/// Events before the first step of a batch and after each of the three.
pub(crate) struct Marks([CudaEvent; STEPS.len() + 1]);

impl Marks {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Marks> {
        let event = || context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        Ok(Marks([event()?, event()?, event()?, event()?]))
    }
}

pub(crate) struct Pipeline {
    pub(crate) pairs: Vec<Pair>,
    kernel: CudaFunction,
    /// When each step was last done with a pair.
    done: Vec<[Arc<CudaEvent>; STEPS.len()]>,
}

impl Pipeline {
    /// With room for a batch of `words` in each pair.
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        kernel: CudaFunction,
        pairs: usize,
        words: usize,
    ) -> Result<Pipeline> {
        let pair = |_| {
            let stream = context.new_stream()?;
            let from = stream.alloc_zeros(words)?;
            let to = stream.alloc_zeros(words)?;
            stream.synchronize()?; // other streams use them, too
            Ok(Pair { stream, from, to })
        };
        let event = || Ok::<_, DriverError>(Arc::new(context.new_event(None)?));
        let done = (0..pairs).map(|_| Ok([event()?, event()?, event()?]));
        let done = done.collect::<Result<_>>()?;
        let pairs = (0..pairs).map(pair).collect::<Result<_>>()?;
        Ok(Pipeline { pairs, kernel, done })
    }

    // ANCHOR: step
    /// Queues one step of one batch in `stream`, with the buffers of `pair`.
    pub(crate) fn queue_step(
        &mut self,
        stream: &Arc<CudaStream>,
        (pair, step, batch): (usize, usize, usize),
        host: &mut Host,
        plan: &Plan,
    ) -> Result<()> {
        let Pair { from, to, .. } = &mut self.pairs[pair];
        let (words, place) = (plan.words(), plan.place(batch));
        match STEPS[step] {
            "upload" => stream.memcpy_htod(&host.from[place], from)?,
            "download" => {
                stream.memcpy_dtoh(&to.slice(..words), &mut host.to[place])?;
            }
            _ => {
                let mut launch = stream.launch_builder(&self.kernel);
                launch.arg(from).arg(to).arg(&words).arg(&plan.rounds);
                launch.arg(&A).arg(&B);
                let blocks = LaunchConfig {
                    grid_dim: (words.div_ceil(256) as u32, 1, 1),
                    block_dim: (256, 1, 1),
                    shared_mem_bytes: 0,
                };
                // SAFETY: the kernel takes (in, out, count, rounds, a, b); both buffers
                // hold at least `words` words.
                unsafe { launch.launch(blocks) }?;
            }
        }
        Ok(())
    }
    // ANCHOR_END: step

    /// Queues all batches. `marks` are recorded around the steps of the first of them,
    /// if each batch is in one stream.
    pub(crate) fn queue(
        &mut self,
        host: &mut Host,
        plan: &Plan,
        marks: &[Marks],
    ) -> Result<()> {
        match plan.order {
            Order::DepthFirst => self.queue_by_batch(host, plan, 1, marks),
            Order::BreadthFirst => {
                self.queue_by_batch(host, plan, plan.pairs, marks)
            }
            Order::ByEngine => self.queue_by_engine(host, plan),
        }
    }

    // ANCHOR: by_batch
    /// Each batch in one stream. As many as `group` have one step queued before any of
    /// them has the next.
    fn queue_by_batch(
        &mut self,
        host: &mut Host,
        plan: &Plan,
        group: usize,
        marks: &[Marks],
    ) -> Result<()> {
        for first in (0..plan.batches).step_by(group) {
            for step in 0..STEPS.len() {
                for batch in first..plan.batches.min(first + group) {
                    let pair = batch % plan.pairs;
                    let stream = self.pairs[pair].stream.clone();
                    if let (0, Some(marks)) = (step, marks.get(batch)) {
                        marks.0[0].record(&stream)?;
                    }
                    self.queue_step(&stream, (pair, step, batch), host, plan)?;
                    if let Some(marks) = marks.get(batch) {
                        marks.0[step + 1].record(&stream)?;
                    }
                }
            }
        }
        Ok(())
    }
    // ANCHOR_END: by_batch

    // ANCHOR: by_engine
    /// Each step in a stream of its own. Events say when it is done with a pair.
    fn queue_by_engine(&mut self, host: &mut Host, plan: &Plan) -> Result<()> {
        let [up, work, down] = [0, 1, 2].map(|step| self.pairs[step].stream.clone());
        for batch in 0..plan.batches {
            let pair = batch % plan.pairs;
            let [arrived, computed, gone] = self.done[pair].clone();
            up.wait(&computed)?; // the kernel has read the batch before
            self.queue_step(&up, (pair, 0, batch), host, plan)?;
            arrived.record(&up)?;

            work.wait(&arrived)?;
            work.wait(&gone)?; // and its result has been sent
            self.queue_step(&work, (pair, 1, batch), host, plan)?;
            computed.record(&work)?;

            down.wait(&computed)?;
            self.queue_step(&down, (pair, 2, batch), host, plan)?;
            gone.record(&down)?;
        }
        Ok(())
    }
    // ANCHOR_END: by_engine

    /// Steps that wait for nothing but their engine, each kind in a stream of its own.
    pub(crate) fn queue_unordered(
        &mut self,
        host: &mut Host,
        plan: &Plan,
        steps: &[usize],
    ) -> Result<()> {
        for batch in 0..plan.batches {
            for &step in steps {
                let stream = self.pairs[step].stream.clone();
                self.queue_step(&stream, (step, step, batch), host, plan)?;
            }
        }
        Ok(())
    }

    pub(crate) fn wait(&self) -> Result<()> {
        Ok(self.pairs.iter().try_for_each(|pair| pair.stream.synchronize())?)
    }

    /// So many rounds that the kernel takes about `seconds` for a batch.
    pub(crate) fn rounds_for(
        &mut self,
        host: &mut Host,
        plan: &Plan,
        seconds: f64,
    ) -> Result<u32> {
        let mut rounds = 16;
        for _ in 0..5 {
            let plan = Plan { rounds, ..*plan };
            let start = Instant::now();
            let stream = self.pairs[0].stream.clone();
            for batch in 0..plan.batches {
                self.queue_step(&stream, (0, 1, batch), host, &plan)?;
            }
            self.wait()?;
            let once = start.elapsed().as_secs_f64() / plan.batches as f64;
            rounds = (f64::from(rounds) * seconds / once).ceil() as u32;
        }
        Ok(rounds)
    }

    /// For that, the first three pairs each get one of the last three batches, with its
    /// result, but where such steps will write.
    pub(crate) fn before_steps(
        &mut self,
        host: &mut Host,
        plan: &Plan,
    ) -> Result<()> {
        self.queue(host, &Plan { pairs: 3, ..*plan }, &[])?;
        self.wait()?;
        host.to.fill(0);
        let [Pair { stream, from, .. }, Pair { to, .. }, ..] = &mut self.pairs[..]
        else {
            unreachable!("there are three pairs");
        };
        stream.memset_zeros(from)?;
        stream.memset_zeros(to)?;
        self.wait()
    }

    /// Compares what they wrote: the last batch came in, the kernel worked on the last
    /// but one, and the result of the last went out every time.
    pub(crate) fn check_steps(
        &self,
        host: &Host,
        plan: &Plan,
        steps: &[usize],
    ) -> Result<u64> {
        let (words, result) = (plan.words(), plan.result());
        let last = plan.place(plan.batches - 1).start;
        let mut checked = 0;
        for &step in steps {
            let Pair { stream, from, to } = &self.pairs[step];
            let read = |memory: &CudaSlice<u32>| {
                let words = stream.clone_dtoh(&memory.slice(..words))?;
                stream.synchronize()?;
                Ok::<_, DriverError>(words)
            };
            checked += match STEPS[step] {
                "upload" => {
                    every_element("upload", &read(from)?, |i| value(last + i))
                }
                "download" => {
                    every_element("download", host.to, |i| result(last + i % words))
                }
                _ => {
                    every_element("kernel", &read(to)?, |i| result(last - words + i))
                }
            }?;
        }
        Ok(checked)
    }
}

/// What ran when, since the first event. A stream may pass the event before a step while
/// the engine is still busy with the batch before; then the step starts when that is done.
pub(crate) fn spans(marks: &[Marks], pairs: usize) -> Result<Vec<Span>> {
    let since = |event| -> Result<f64, DriverError> {
        Ok(f64::from(marks[0].0[0].elapsed_ms(event)?) * 1e-3)
    };
    let mut spans = vec![];
    let mut engines = [0.0; STEPS.len()];
    for (batch, Marks(events)) in marks.iter().enumerate() {
        for (step, engine) in engines.iter_mut().enumerate() {
            let (before, after) = (since(&events[step])?, since(&events[step + 1])?);
            spans.push(Span {
                lane: format!("stream {}", batch % pairs),
                label: format!("{} {batch}", STEPS[step]),
                start_seconds: before.max(*engine),
                end_seconds: after,
            });
            *engine = after;
        }
    }
    Ok(spans)
}

/// Plain pinned memory with `value(i)` in word i. (cudarc's `alloc_pinned` would make it
/// write-combined, which the host is not meant to read.)
pub(crate) fn pinned(
    context: &Arc<CudaContext>,
    words: usize,
) -> Result<PinnedHostSlice<u32>> {
    // SAFETY: every word is written below.
    let mut memory = unsafe { context.alloc_pinned_with_flags(words, 0) }?;
    for (i, word) in memory.as_mut_slice()?.iter_mut().enumerate() {
        *word = value(i);
    }
    Ok(memory)
}
