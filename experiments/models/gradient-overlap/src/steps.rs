//! A step of training in all ways, timed and checked.

use lab::nccl::bus_bandwidth_factor;
use lab::{Case, Ceiling, Lab, Result};

use crate::gpus::{BESIDE, FEW_BLOCKS, Gpus};
use crate::numbers::Shape;
use crate::sums::Sums;

/// A way to take a step.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// Rows of each GPU's batch.
    pub(crate) rows: usize,
    /// How gradients are summed, if they are.
    pub(crate) sums: Option<Sums>,
    /// Up to which stream the clock waits: the products' alone, or both.
    pub(crate) upto: usize,
}

impl Gpus {
    // ANCHOR: step
    /// Queues a step on all GPUs: the backward pass, and the all-reduces.
    fn step(&mut self, way: Way) -> Result<()> {
        self.start()?;
        let mut end = self.shape.layers; // from here on gradients are summed, or queued
        for layer in (0..end).rev() {
            self.weights_back(layer, way.rows)?;
            if let Some(sums) = way.sums
                && (end - layer == sums.call || layer == 0)
            {
                self.all_reduce(layer..end, sums)?;
                end = layer;
            }
            self.inputs_back(layer, way.rows)?;
        }
        self.finish(way.upto)
    }
    // ANCHOR_END: step

    /// Takes two steps in a row from cleared memory, and compares all gradients.
    pub(crate) fn try_out(&mut self, way: Way) -> Result<()> {
        self.clear()?;
        self.step(way)?;
        self.step(way)?;
        self.check(way.name, way.rows, way.sums.is_some())?;
        Ok(())
    }

    /// Times steps, and compares the gradients of the last. The median, in seconds.
    pub(crate) fn time(
        &mut self,
        lab: &mut Lab,
        way: Way,
        model_seconds: Option<f64>,
    ) -> Result<f64> {
        let Shape { layers, width, .. } = self.shape;
        let products = 2 * layers - 1; // nobody wants the gradient of the network's input
        let calls = way.sums.map_or(0, |sums| layers / sums.call);
        let mut case = Case::new("step")
            .with("way", way.name)
            .with("rows", way.rows)
            .with("calls", calls)
            .computes(self.count() * products * 2 * way.rows * width * width);
        if let Some(sums) = way.sums {
            case = case.with(
                "call_bytes",
                sums.call * self.shape.layer() * size_of::<f32>(),
            );
            case = with_blocks(case, sums);
        }
        if let Some(seconds) = model_seconds {
            case = case.model("step_seconds", seconds);
        }
        self.step(way)?; // libraries prepare at their first call
        self.clear()?;
        let timed = case.time_on_gpu(lab, &self.first(), |_| self.step(way))?;
        let seconds = timed.samples.median();
        let checked = self.check(way.name, way.rows, way.sums.is_some())?;
        timed.checked(checked).record(lab)?;
        Ok(seconds)
    }

    /// Times the all-reduces of all gradients without products, in the second stream. They sum
    /// zeros: each sum takes the place of what it was made of.
    pub(crate) fn time_sums(&mut self, lab: &mut Lab, sums: Sums) -> Result<f64> {
        let (layers, call) = (self.shape.layers, sums.call);
        let call_bytes = call * self.shape.layer() * size_of::<f32>();
        let bytes = (layers / call * call_bytes) as f64;
        let queue = |gpus: &mut Gpus| {
            gpus.start()?;
            for start in (0..layers).step_by(call).rev() {
                gpus.all_reduce(start..start + call, sums)?;
            }
            gpus.finish(BESIDE)
        };
        queue(self)?;
        self.clear()?;
        let case = Case::new("all_reduce")
            .with("calls", layers / call)
            .with("call_bytes", call_bytes);
        let timed = with_blocks(case, sums)
            .reads((bytes * bus_bandwidth_factor(self.count())) as usize)
            .ceiling(Ceiling::NvLink)
            .time_on_gpu(lab, &self.first(), |_| queue(self))?;
        let seconds = timed.samples.median();
        timed.checked(self.check("all-reduce of zeros", 0, true)?).record(lab)?;
        Ok(seconds)
    }
}

/// The case, with the most blocks that a call takes, if there is a limit.
fn with_blocks(case: Case, sums: Sums) -> Case {
    match sums.comms.checked_sub(BESIDE + 1) {
        Some(place) => case.with("most_blocks", FEW_BLOCKS[place]),
        None => case,
    }
}
