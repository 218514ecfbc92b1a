//! The GPUs, and what they send to each other: the only place where bytes cross.

use std::cell::Cell;
use std::sync::Arc;

use anyhow::ensure;
use cudarc::driver::{CudaContext, DevicePtr, DeviceSlice, result};
use lab::{Lab, Result};

use crate::cut::{Cut, Held, Sent, Shape, Share};
use crate::device::{Trainer, Words};

/// GPUs that share a net.
pub(crate) struct Team {
    pub(crate) trainers: Vec<Trainer>,
    pub(crate) shape: Shape,
    pub(crate) cut: Cut,
    /// Parts of the batch that go through the layers one after the other.
    pub(crate) micro_batches: usize,
    /// Whether a step computes; if not, it only sends.
    pub(crate) computes: bool,
    pub(crate) sent: Cell<Sent>,
}

impl Team {
    /// A team of as many of the GPUs as a cut needs.
    pub(crate) fn new(
        lab: &Lab,
        contexts: &[Arc<CudaContext>],
        cut: Cut,
        shape: Shape,
    ) -> Result<Team> {
        let count = if cut == Cut::One { 1 } else { contexts.len() };
        let trainer = |(i, context)| {
            Trainer::new(lab, context, Share::new(cut, shape, count, i))
        };
        let trainers = contexts[..count].iter().enumerate().map(trainer);
        Ok(Team {
            trainers: trainers.collect::<Result<_>>()?,
            shape,
            cut,
            micro_batches: (2 * count).min(shape.rows),
            computes: true,
            sent: Cell::default(),
        })
    }

    /// Has every GPU compute something.
    pub(crate) fn each(&self, work: impl Fn(&Trainer) -> Result<()>) -> Result<()> {
        self.trainers.iter().filter(|_| self.computes).try_for_each(work)
    }

    // ANCHOR: send
    /// Queues a copy in the sender's stream, and counts it if it leaves the GPU. What lies
    /// where it is to go stays there.
    pub(crate) fn send(
        &self,
        (from, source): (usize, Words<'_>),
        (to, target): (usize, Words<'_>),
    ) -> Result<()> {
        assert_eq!(source.len(), target.len(), "a copy has one length");
        let (sender, receiver) = (&self.trainers[from], &self.trainers[to]);
        let (bytes, stream) = (source.num_bytes(), sender.stream.cu_stream());
        let (source, _order) = source.device_ptr(&sender.stream);
        let (target, _order) = target.device_ptr(&receiver.stream);
        sender.context.bind_to_thread()?;
        if from == to {
            if source != target {
                // SAFETY: both are of this GPU, and as long as each other.
                unsafe { result::memcpy_dtod_async(target, source, bytes, stream) }?;
            }
            return Ok(());
        }
        let (there, here) = (receiver.context.cu_ctx(), sender.context.cu_ctx());
        // SAFETY: that many bytes are there on both sides, and nothing uses the target
        // before it has waited for the sender.
        unsafe {
            result::memcpy_peer_async(there, target, here, source, bytes, stream)
        }?;
        self.count(Sent { bytes, messages: 1, waits: 0 });
        Ok(())
    }

    /// Lets a GPU wait for what another one has been told so far.
    pub(crate) fn wait(&self, waiting: usize, other: usize) -> Result<()> {
        let Trainer { mark, stream, .. } = &self.trainers[other];
        mark.record(stream)?;
        self.trainers[waiting].stream.wait(mark)?;
        self.count(Sent { waits: 1, ..Sent::default() });
        Ok(())
    }

    /// Lets every GPU wait for all others.
    pub(crate) fn meet(&self) -> Result<()> {
        let all = &self.trainers;
        all.iter().try_for_each(|trainer| trainer.mark.record(&trainer.stream))?;
        for trainer in all {
            let others = all.iter().filter(|other| !std::ptr::eq(*other, trainer));
            others.into_iter().try_for_each(|o| trainer.stream.wait(&o.mark))?;
        }
        let waits = if all.len() > 1 { all.len() } else { 0 };
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

    /// What all GPUs together hold.
    pub(crate) fn held(&self) -> Held {
        let bytes = |of: fn(&Trainer) -> usize| self.trainers.iter().map(of).sum();
        Held {
            weights: bytes(|trainer| trainer.weights.num_bytes()),
            gradients: bytes(|trainer| trainer.gradients.num_bytes()),
            activations: bytes(Trainer::activation_bytes),
        }
    }

    /// Bytes of all GPUs' buffers, which no formula counts.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.trainers.iter().map(Trainer::buffer_bytes).sum()
    }

    /// Waits for all streams.
    pub(crate) fn finish(&self) -> Result<()> {
        self.trainers
            .iter()
            .try_for_each(|trainer| Ok(trainer.stream.synchronize()?))
    }

    /// All weights, layer after layer, put together from what the GPUs keep of them. What all
    /// of them keep has to be the same on all.
    pub(crate) fn weights(&self) -> Result<Vec<u32>> {
        let Shape { width, layers, .. } = self.shape;
        let mut all = vec![0; layers * width * width];
        for (i, trainer) in self.trainers.iter().enumerate() {
            let kept = trainer.stream.clone_dtoh(&trainer.weights)?;
            let mut kept = kept.as_slice();
            for part in &trainer.share.parts {
                let first = part.layer * width * width + part.first;
                for row in 0..part.rows {
                    let (own, rest) = kept.split_at(part.columns);
                    let target = &mut all[first + row * width..][..part.columns];
                    if i > 0 && self.cut == Cut::Data {
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
