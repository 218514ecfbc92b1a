//! A step of training: what each way queues on all GPUs.

use lab::Result;

use crate::cut::{Cut, Sent, Shape, part};
use crate::device::{Trainer, Words};
use crate::team::Team;

impl Team {
    /// A step on weights and an input as they were at first. Waits for the end.
    pub(crate) fn step(&self) -> Result<()> {
        self.sent.set(Sent::default());
        match self.cut {
            Cut::One | Cut::Data => self.data(),
            Cut::State => self.state(),
            Cut::Columns => self.columns(),
            Cut::Layers => self.layers(),
        }?;
        self.each(Trainer::descend)?;
        self.finish()
    }

    // ANCHOR: data
    /// A step in which no GPU waits before all gradients are there.
    fn data(&self) -> Result<()> {
        let Shape { width, layers, .. } = self.shape;
        for layer in 0..layers {
            self.each(|trainer| {
                trainer.forward(layer, 0..trainer.share.rows.len())
            })?;
        }
        for layer in (0..layers).rev() {
            self.each(|trainer| trainer.back(layer, 0..trainer.share.rows.len()))?;
        }
        self.all_reduce(layers * width * width, |trainer| {
            trainer.gradients.as_view()
        })
    }
    // ANCHOR_END: data

    // ANCHOR: state
    /// A step with borrowed weights: each layer's are gathered, twice, and gradients go to
    /// whoever keeps the part.
    fn state(&self) -> Result<()> {
        let Shape { width, layers, .. } = self.shape;
        for layer in 0..layers {
            self.borrow(layer)?;
            self.each(|trainer| {
                trainer.forward(layer, 0..trainer.share.rows.len())
            })?;
        }
        for layer in (0..layers).rev() {
            self.borrow(layer)?;
            self.each(|trainer| {
                trainer.clear(&trainer.used_gradient(layer))?;
                trainer.back(layer, 0..trainer.share.rows.len())
            })?;
            self.reduce(
                width * width,
                |trainer| trainer.used_gradient(layer),
                |trainer, _| trainer.own_gradient(layer),
            )?;
        }
        Ok(())
    }

    /// Gathers a layer's weights, when all are done with the layer before.
    fn borrow(&self, layer: usize) -> Result<()> {
        let Shape { width, .. } = self.shape;
        self.meet()?;
        self.gather(
            width * width,
            |trainer, _| trainer.own_weights(layer),
            |trainer| trainer.used_weights(layer),
        )
    }
    // ANCHOR_END: state

    // ANCHOR: columns
    /// Columns of an even layer's weights make columns of its output. They meet the same rows
    /// of the odd layer's weights, and make a summand of all of *its* output.
    fn columns(&self) -> Result<()> {
        let Shape { rows, width, layers } = self.shape;
        for even in (0..layers).step_by(2) {
            self.each(|trainer| trainer.forward(even, 0..rows))?;
            self.each(|trainer| trainer.forward(even + 1, 0..rows))?;
            self.all_reduce(rows * width, |trainer| {
                trainer.activation(even + 2, &(0..rows))
            })?;
        }
        for even in (0..layers).step_by(2).rev() {
            self.each(|trainer| trainer.back(even + 1, 0..rows))?;
            self.each(|trainer| trainer.back(even, 0..rows))?;
            self.all_reduce(rows * width, |trainer| {
                trainer.reaching(even, &(0..rows))
            })?;
        }
        Ok(())
    }
    // ANCHOR_END: columns

    // ANCHOR: layers
    /// Parts of the batch go through the GPUs one behind the other, and then back.
    fn layers(&self) -> Result<()> {
        let (micro_batches, last) = (self.micro_batches, self.trainers.len() - 1);
        for micro_batch in 0..micro_batches {
            let rows = part(self.shape.rows, micro_batches, micro_batch);
            for i in 0..=last {
                let layers = self.trainers[i].share.layers.clone();
                for layer in layers.clone().filter(|_| self.computes) {
                    self.trainers[i].forward(layer, rows.clone())?;
                }
                if i < last {
                    self.pass(i, i + 1, |t| t.activation(layers.end, &rows))?;
                }
            }
        }
        for micro_batch in (0..micro_batches).rev() {
            let rows = part(self.shape.rows, micro_batches, micro_batch);
            for i in (0..=last).rev() {
                let layers = self.trainers[i].share.layers.clone();
                for layer in layers.clone().rev().filter(|_| self.computes) {
                    self.trainers[i].back(layer, rows.clone())?;
                }
                if i > 0 {
                    self.pass(i, i - 1, |t| t.reaching(layers.start, &rows))?;
                }
            }
        }
        Ok(())
    }

    /// Sends words to the same place on the neighbour, which waits for them.
    fn pass(
        &self,
        from: usize,
        to: usize,
        words: impl Fn(&Trainer) -> Words<'_>,
    ) -> Result<()> {
        let (source, target) = (&self.trainers[from], &self.trainers[to]);
        self.send((from, words(source)), (to, words(target)))?;
        self.wait(to, from)
    }
    // ANCHOR_END: layers
}
