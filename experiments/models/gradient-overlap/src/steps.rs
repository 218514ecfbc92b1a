//! A step of training in all ways, timed and checked.

use lab::nccl::bus_bandwidth_factor;
use lab::{Case, Ceiling, Lab, Result};

use crate::communicator::{Stream, Sums};
use crate::device::{Trainer, Trainers};
use crate::numbers::Shape;

/// A step of training, and what of it is timed.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Rows of each GPU's batch.
    pub(crate) rows: usize,
    /// How gradients are summed, if they are.
    pub(crate) sums: Option<Sums>,
    /// The stream whose end the clock waits for: the products', or the one beside it, too.
    pub(crate) waits_for: Stream,
}

impl Trainers {
    // ANCHOR: step
    /// Queues a step on all GPUs: the backward pass, and the all-reduces.
    fn step(&mut self, step: Step) -> Result<()> {
        self.start()?;
        let mut end = self.shape.layers; // from here on gradients are summed, or queued
        for layer in (0..end).rev() {
            self.weights_back(layer, step.rows)?;
            if let Some(sums) = step.sums
                && (end - layer == sums.layers_per_call || layer == 0)
            {
                self.all_reduce(layer..end, sums)?;
                end = layer;
            }
            self.inputs_back(layer, step.rows)?;
        }
        self.finish(step.waits_for)
    }
    // ANCHOR_END: step

    /// Takes two steps in a row from cleared memory, and compares all gradients.
    pub(crate) fn try_out(&mut self, step: Step) -> Result<()> {
        self.clear()?;
        self.step(step)?;
        self.step(step)?;
        self.check(step.name, step.rows, step.sums.is_some())?;
        Ok(())
    }

    /// Times steps, and compares the gradients of the last. The median, in seconds.
    pub(crate) fn time(
        &mut self,
        lab: &mut Lab,
        step: Step,
        model_seconds: Option<f64>,
    ) -> Result<f64> {
        let Shape { layers, width, .. } = self.shape;
        let products = 2 * layers - 1; // the gradient of the network's input is not needed
        let calls = step.sums.map_or(0, |sums| layers / sums.layers_per_call);
        let mut case = Case::new("step")
            .with("way", step.name)
            .with("rows", step.rows)
            .with("calls", calls)
            .computes(self.count() * products * 2 * step.rows * width * width);
        if let Some(sums) = step.sums {
            case = sums.describe(case, self.shape.layer() * size_of::<f32>());
        }
        if let Some(seconds) = model_seconds {
            case = case.model("step_seconds", seconds);
        }
        self.step(step)?; // libraries prepare at their first call
        self.clear()?;
        let timed = case.time_on_gpu(lab, &self.first(), |_| self.step(step))?;
        let seconds = timed.samples.median();
        let checked = self.check(step.name, step.rows, step.sums.is_some())?;
        timed.checked(checked).record(lab)?;
        Ok(seconds)
    }

    /// Times the all-reduces of all gradients without products, in the second stream. They sum
    /// zeros: each sum takes the place of what it was made of.
    pub(crate) fn time_sums(&mut self, lab: &mut Lab, sums: Sums) -> Result<f64> {
        let (layers, call) = (self.shape.layers, sums.layers_per_call);
        let layer_bytes = self.shape.layer() * size_of::<f32>();
        let bytes = (layers / call * call * layer_bytes) as f64;
        let queue = |gpus: &mut Trainers| {
            gpus.start()?;
            for start in (0..layers).step_by(call).rev() {
                gpus.all_reduce(start..start + call, sums)?;
            }
            gpus.finish(Stream::Beside)
        };
        queue(self)?;
        self.clear()?;
        let case = Case::new("all_reduce").with("calls", layers / call);
        let timed = sums
            .describe(case, layer_bytes)
            .reads((bytes * bus_bandwidth_factor(self.count())) as usize)
            .ceiling(Ceiling::NvLink)
            .time_on_gpu(lab, &self.first(), |_| queue(self))?;
        let seconds = timed.samples.median();
        timed.checked(self.check("all-reduce of zeros", 0, true)?).record(lab)?;
        Ok(seconds)
    }

    /// On each GPU, from `rows` rows, the gradient of a layer's weights.
    fn weights_back(&mut self, layer: usize, rows: usize) -> Result<()> {
        let Shape { layers, width, .. } = self.shape;
        let (first, place) =
            (layer * self.shape.rows * width, self.shape.of(&(layer..layer + 1)));
        for trainer in &mut self.each {
            let Trainer { multiplier, reaching, products, .. } = trainer;
            let x = trainer.inputs.slice(first..first + rows * width);
            let dz = &reaching[turn(layers - 1 - layer)];
            let mut dw = trainer.gradients.slice_mut(place.clone());
            let sides = [rows, width];
            multiplier.weights_back(&products.stream, sides, &x, dz, &mut dw)?;
        }
        Ok(())
    }

    /// On each GPU, the gradient that reaches the layer before. The first one's is not needed.
    fn inputs_back(&mut self, layer: usize, rows: usize) -> Result<()> {
        let Shape { layers, width, .. } = self.shape;
        let (first, place) =
            (layer * self.shape.rows * width, self.shape.of(&(layer..layer + 1)));
        let turns = [layers - 1 - layer, layers - layer].map(turn);
        for trainer in self.each.iter_mut().filter(|_| layer > 0) {
            let Trainer { multiplier, reaching, products, .. } = trainer;
            let x = trainer.inputs.slice(first..first + rows * width);
            let w = trainer.weights.slice(place.clone());
            let [dz, before] =
                reaching.get_disjoint_mut(turns).expect("one after the other");
            let (stream, sides) = (&products.stream, [rows, width]);
            multiplier.inputs_back(stream, sides, &x, dz, &w, before)?;
        }
        Ok(())
    }
}

/// Where the gradient lies that so many layers have passed on.
fn turn(passed: usize) -> usize {
    if passed == 0 { 0 } else { 1 + passed % 2 }
}
