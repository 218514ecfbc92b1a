//! The GPUs, and what they send to each other: the only place where bytes cross.

use std::cell::Cell;
use std::sync::Arc;

use anyhow::ensure;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, CudaSlice, result};
use lab::{Lab, Result};

use crate::cut::{Cut, Shape, Way};
use crate::gpu::{Gpu, WEIGHTS};

/// What was sent, and how often a GPU has waited for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) bytes: usize,
    pub(crate) messages: usize,
    pub(crate) waits: usize,
}

/// GPUs that share a net.
pub(crate) struct Team {
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) shape: Shape,
    pub(crate) way: Way,
    /// Parts of the batch that go through the layers one after the other.
    pub(crate) micro: usize,
    /// Without, a step only sends.
    pub(crate) computes: bool,
    pub(crate) sent: Cell<Sent>,
}

impl Team {
    pub(crate) fn new(
        lab: &Lab,
        contexts: &[Arc<CudaContext>],
        way: Way,
        shape: Shape,
    ) -> Result<Team> {
        let count = contexts.len();
        let gpu =
            |(i, context)| Gpu::new(lab, context, Cut::new(way, shape, count, i));
        let gpus = contexts.iter().enumerate().map(gpu).collect::<Result<_>>()?;
        let (micro, sent) = ((2 * count).min(shape.rows), Cell::default());
        Ok(Team { gpus, shape, way, micro, computes: true, sent })
    }

    /// Has every GPU compute something.
    pub(crate) fn each(&self, work: impl Fn(&Gpu) -> Result<()>) -> Result<()> {
        let gpus = self.gpus.iter().filter(|_| self.computes);
        gpus.into_iter().try_for_each(work)
    }

    // ANCHOR: send
    /// Queues a copy in the sender's stream, and counts it if it leaves the GPU.
    pub(crate) fn send(
        &self,
        (from, source): (usize, CUdeviceptr),
        (to, target): (usize, CUdeviceptr),
        words: usize,
    ) -> Result<()> {
        let bytes = words * size_of::<u32>();
        let (sender, receiver) = (&self.gpus[from], &self.gpus[to]);
        let stream = sender.stream.cu_stream();
        sender.context.bind_to_thread()?;
        if from == to {
            // SAFETY: both are arrays of this GPU's, and hold that many words.
            return Ok(unsafe {
                result::memcpy_dtod_async(target, source, bytes, stream)
            }?);
        }
        let (there, here) = (receiver.context.cu_ctx(), sender.context.cu_ctx());
        // SAFETY: that many words are there on both sides, and nobody uses the target
        // before it has waited for the sender.
        unsafe {
            result::memcpy_peer_async(there, target, here, source, bytes, stream)
        }?;
        self.count(Sent { bytes, messages: 1, waits: 0 });
        Ok(())
    }

    /// Lets a GPU wait for what another one has been told so far.
    pub(crate) fn wait(&self, gpu: usize, other: usize) -> Result<()> {
        let Gpu { mark, stream, .. } = &self.gpus[other];
        mark.record(stream)?;
        self.gpus[gpu].stream.wait(mark)?;
        self.count(Sent { waits: 1, ..Sent::default() });
        Ok(())
    }

    /// Lets every GPU wait for all others.
    pub(crate) fn meet(&self) -> Result<()> {
        let count = self.gpus.len();
        self.gpus.iter().try_for_each(|gpu| gpu.mark.record(&gpu.stream))?;
        for gpu in &self.gpus {
            let others = self.gpus.iter().filter(|other| !std::ptr::eq(*other, gpu));
            others.into_iter().try_for_each(|other| gpu.stream.wait(&other.mark))?;
        }
        let waits = if count > 1 { count } else { 0 };
        self.count(Sent { waits, ..Sent::default() });
        Ok(())
    }

    fn count(&self, more: Sent) {
        let Sent { bytes, messages, waits } = self.sent.get();
        self.sent.set(Sent {
            bytes: bytes + more.bytes,
            messages: messages + more.messages,
            waits: waits + more.waits,
        });
    }
    // ANCHOR_END: send

    /// Bytes that all GPUs together hold: weights, gradients, activations, and the rest.
    pub(crate) fn held(&self) -> [usize; 4] {
        [0, 1, 2, 3].map(|kind: usize| {
            let arrays = self.gpus.iter().flat_map(|gpu| &gpu.held[kind]);
            arrays.map(CudaSlice::num_bytes).sum()
        })
    }

    /// Waits for all streams.
    pub(crate) fn finish(&self) -> Result<()> {
        self.gpus.iter().try_for_each(|gpu| Ok(gpu.stream.synchronize()?))
    }

    /// All weights, layer after layer, put together from what the GPUs keep of them. What all
    /// of them keep has to be the same on all.
    pub(crate) fn weights(&self) -> Result<Vec<u32>> {
        let Shape { width, layers, .. } = self.shape;
        let mut all = vec![0; layers * width * width];
        for (i, gpu) in self.gpus.iter().enumerate() {
            let kept = gpu.stream.clone_dtoh(&gpu.held[WEIGHTS][0])?;
            let mut kept = kept.as_slice();
            for part in &gpu.cut.parts {
                let first = part.layer * width * width + part.first;
                for row in 0..part.rows {
                    let (own, rest) = kept.split_at(part.columns);
                    let target = &mut all[first + row * width..][..part.columns];
                    if i > 0 && self.way == Way::Data {
                        ensure!(target == own, "GPUs 0 and {i} have other weights");
                    }
                    target.copy_from_slice(own);
                    kept = rest;
                }
            }
        }
        Ok(all)
    }
}
