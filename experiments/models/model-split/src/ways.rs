//! A step of training: what each way queues on all GPUs.

use lab::Result;

use crate::cut::{Shape, Way, part};
use crate::gpu::{Gpu, at};
use crate::team::{Sent, Team};

impl Team {
    /// A step on weights and an input as they were at first. Waits for the end.
    pub(crate) fn step(&self) -> Result<()> {
        self.sent.set(Sent::default());
        match self.way {
            Way::Data => self.data(),
            Way::State => self.state(),
            Way::Columns => self.columns(),
            Way::Layers => self.layers(),
        }?;
        self.each(Gpu::descend)?;
        self.finish()
    }

    // ANCHOR: data
    /// Nobody waits before all gradients are there.
    fn data(&self) -> Result<()> {
        let Shape { width, layers, .. } = self.shape;
        for layer in 0..layers {
            self.each(|gpu| gpu.forward(layer, 0..gpu.cut.rows.len()))?;
        }
        for layer in (0..layers).rev() {
            self.each(|gpu| gpu.back(layer, 0..gpu.cut.rows.len()))?;
        }
        self.all_reduce(layers * width * width, |gpu| gpu.kept.dw)
    }
    // ANCHOR_END: data

    // ANCHOR: state
    /// The same with borrowed weights: each layer's are gathered, twice, and gradients go to
    /// whoever keeps the part.
    fn state(&self) -> Result<()> {
        let Shape { width, layers, .. } = self.shape;
        for layer in 0..layers {
            self.borrow(layer)?;
            self.each(|gpu| gpu.forward(layer, 0..gpu.cut.rows.len()))?;
        }
        for layer in (0..layers).rev() {
            self.borrow(layer)?;
            self.each(|gpu| {
                gpu.clear(gpu.used[layer].dw, width * width)?;
                gpu.back(layer, 0..gpu.cut.rows.len())
            })?;
            let own = |gpu: &Gpu, _: &_| gpu.own[layer].dw;
            self.reduce(width * width, |gpu| gpu.used[layer].dw, own)?;
        }
        Ok(())
    }

    /// Gathers a layer's weights, when all are done with the layer before.
    fn borrow(&self, layer: usize) -> Result<()> {
        let Shape { width, .. } = self.shape;
        self.meet()?;
        let own = |gpu: &Gpu, _: &_| gpu.own[layer].w;
        self.gather(width * width, own, |gpu| gpu.used[layer].w)
    }
    // ANCHOR_END: state

    // ANCHOR: columns
    /// Columns of an even layer's weights make columns of its output. They meet the same rows
    /// of the odd layer's weights, and make a summand of all of *its* output.
    fn columns(&self) -> Result<()> {
        let Shape { rows, width, layers } = self.shape;
        for even in (0..layers).step_by(2) {
            self.each(|gpu| gpu.forward(even, 0..rows))?;
            self.each(|gpu| gpu.forward(even + 1, 0..rows))?;
            self.all_reduce(rows * width, |gpu| gpu.x[even + 2])?;
        }
        for even in (0..layers).step_by(2).rev() {
            self.each(|gpu| gpu.back(even + 1, 0..rows))?;
            self.each(|gpu| gpu.back(even, 0..rows))?;
            self.all_reduce(rows * width, |gpu| gpu.dx[0])?;
        }
        Ok(())
    }
    // ANCHOR_END: columns

    // ANCHOR: layers
    /// Parts of the batch go through the GPUs one behind the other, and then back.
    fn layers(&self) -> Result<()> {
        let Shape { rows, width, .. } = self.shape;
        let last = self.gpus.len() - 1;
        for micro in 0..self.micro {
            let rows = part(rows, self.micro, micro);
            for i in 0..=last {
                let layers = self.gpus[i].cut.layers.clone();
                for layer in layers.clone().filter(|_| self.computes) {
                    self.gpus[i].forward(layer, rows.clone())?;
                }
                if i < last {
                    let place =
                        |gpu: &Gpu| at(gpu.x[layers.end], rows.start * width);
                    self.pass(i, i + 1, place, rows.len() * width)?;
                }
            }
        }
        for micro in (0..self.micro).rev() {
            let rows = part(rows, self.micro, micro);
            for i in (0..=last).rev() {
                let layers = self.gpus[i].cut.layers.clone();
                for layer in layers.clone().rev().filter(|_| self.computes) {
                    self.gpus[i].back(layer, rows.clone())?;
                }
                if i > 0 {
                    let dx = layers.start % 2;
                    let place = |gpu: &Gpu| at(gpu.dx[dx], rows.start * width);
                    self.pass(i, i - 1, place, rows.len() * width)?;
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
        place: impl Fn(&Gpu) -> u64,
        words: usize,
    ) -> Result<()> {
        let (source, target) = (place(&self.gpus[from]), place(&self.gpus[to]));
        self.send((from, source), (to, target), words)?;
        self.wait(to, from)
    }
    // ANCHOR_END: layers
}
