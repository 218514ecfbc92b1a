//! Pairs of device buffers, and batches that are queued in streams, in one order or the
//! other.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream};
use lab::check::every_element;
use lab::launch::threads;
use lab::{Case, Lab, Result};
use rayon::prelude::*;

use crate::plan::{A, B, Order, Plan, Step};
use crate::timeline::Marks;

// SAFETY: threads at or past `count` do nothing; the others use word i of both,
// which have at least that many.
lab::kernels! { unsafe "pipeline" {
    fn work(
        input: &CudaSlice<u32>, out: &mut CudaSlice<u32>,
        count: usize, rounds: u32, a: u32, b: u32,
    );
} }

/// Batches on the host, and room for their results.
pub(crate) struct Host<'a> {
    pub(crate) from: &'a [u32],
    pub(crate) to: &'a mut [u32],
}

/// Device buffers for a batch and for its result, a stream, and events for when a step was
/// last done with the buffers.
pub(crate) struct Pair {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) from: CudaSlice<u32>,
    pub(crate) to: CudaSlice<u32>,
    pub(crate) arrived: CudaEvent,
    pub(crate) computed: CudaEvent,
    pub(crate) gone: CudaEvent,
}

impl Pair {
    // ANCHOR: step
    /// Queues one step of one batch in `stream`.
    pub(crate) fn queue(
        &mut self,
        kernels: &Kernels,
        stream: &Arc<CudaStream>,
        (step, batch): (Step, usize),
        host: &mut Host,
        plan: &Plan,
    ) -> Result<()> {
        let Pair { from, to, .. } = self;
        let (words, rounds, place) = (plan.words(), plan.rounds, plan.place(batch));
        let grid = threads(words);
        match step {
            Step::Upload => Ok(stream.memcpy_htod(&host.from[place], from)?),
            Step::Download => {
                Ok(stream.memcpy_dtoh(&to.slice(..words), &mut host.to[place])?)
            }
            Step::Kernel => {
                kernels.work(stream, grid, from, to, words, rounds, A, B)
            }
        }
    }
    // ANCHOR_END: step
}

/// The host's memories, pairs of device buffers, and the kernel.
pub(crate) struct Pipeline<'a> {
    /// In the order of `Memory`.
    pub(crate) hosts: [Host<'a>; 2],
    pub(crate) pairs: Vec<Pair>,
    pub(crate) kernels: Kernels,
}

impl<'a> Pipeline<'a> {
    /// Eight pairs with room for a batch of `words`.
    pub(crate) fn new(
        lab: &Lab,
        hosts: [Host<'a>; 2],
        words: usize,
    ) -> Result<Self> {
        let context = lab.context();
        let pair = |_| {
            let stream = context.new_stream()?;
            let (from, to) =
                (stream.alloc_zeros(words)?, stream.alloc_zeros(words)?);
            stream.synchronize()?; // other streams use them, too
            let event = || context.new_event(None);
            let (arrived, computed, gone) = (event()?, event()?, event()?);
            Ok(Pair { stream, from, to, arrived, computed, gone })
        };
        let pairs = (0..8).map(pair).collect::<Result<_>>()?;
        Ok(Pipeline { hosts, pairs, kernels: Kernels::load(lab)? })
    }

    /// A case with the batches of a plan.
    pub(crate) fn sized(&self, case: Case, plan: &Plan) -> Case {
        case.with("kind", plan.host)
            .with("bytes", plan.bytes)
            .with("batches", plan.batches)
            .reads(plan.batches * plan.bytes)
            .writes(plan.batches * plan.bytes)
    }

    /// A case with the batches of a plan, and with how they are queued.
    pub(crate) fn describe(&self, case: Case, plan: &Plan) -> Case {
        let streams = match plan.order {
            Order::DepthFirst | Order::BreadthFirst => plan.pairs,
            Order::ByEngine => Step::ALL.len(),
        };
        let case = case.with("order", plan.order).with("streams", streams);
        self.sized(case.with("pairs", plan.pairs), plan)
    }

    /// Queues all batches. `marks` are recorded around the steps of the first of them,
    /// if each batch is in one stream.
    pub(crate) fn queue(&mut self, plan: &Plan, marks: &[Marks]) -> Result<()> {
        match plan.order {
            Order::DepthFirst => self.queue_by_batch(plan, 1, marks),
            Order::BreadthFirst => self.queue_by_batch(plan, plan.pairs, marks),
            Order::ByEngine => self.queue_by_engine(plan),
        }
    }

    // ANCHOR: by_batch
    /// Each batch in one stream. As many as `group` have one step queued before any of
    /// them has the next.
    fn queue_by_batch(
        &mut self,
        plan: &Plan,
        group: usize,
        marks: &[Marks],
    ) -> Result<()> {
        let Pipeline { hosts, pairs, kernels } = self;
        let host = &mut hosts[plan.host as usize];
        for first in (0..plan.batches).step_by(group) {
            for step in Step::ALL {
                for batch in first..plan.batches.min(first + group) {
                    let pair = &mut pairs[batch % plan.pairs];
                    let stream = pair.stream.clone();
                    if let (Step::Upload, Some(marks)) = (step, marks.get(batch)) {
                        marks[0].record(&stream)?;
                    }
                    pair.queue(kernels, &stream, (step, batch), host, plan)?;
                    if let Some(marks) = marks.get(batch) {
                        marks[step as usize + 1].record(&stream)?;
                    }
                }
            }
        }
        Ok(())
    }
    // ANCHOR_END: by_batch

    pub(crate) fn wait(&self) -> Result<()> {
        Ok(self.pairs.iter().try_for_each(|pair| pair.stream.synchronize())?)
    }

    /// Clears the results, on all cores.
    pub(crate) fn clear(&mut self, plan: &Plan) {
        self.hosts[plan.host as usize]
            .to
            .par_chunks_mut(1 << 18)
            .for_each(|part| part.fill(0));
    }

    /// Compares all results.
    pub(crate) fn check(&self, plan: &Plan) -> Result<u64> {
        let (kind, to) = (plan.host.name(), &self.hosts[plan.host as usize].to);
        every_element(kind, &to[..plan.batches * plan.words()], plan.result())
    }
}
