//! Layers y = max(x · w, 0), one after the other, and a step of training that keeps some of
//! the activations. The loss is half the sum of the outputs' squares, so that its gradient
//! is the output itself.

mod layer;

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::measure::Timed;
use lab::{Case, Lab, MemoryReading, Result, check};

use crate::memory::Memory;
pub(crate) use layer::KERNEL;
use layer::Kernels;

pub(crate) struct Net {
    stream: Arc<CudaStream>,
    kernels: Kernels,
    samples: usize,
    /// Widths of the input, and of each layer's output.
    widths: Vec<usize>,
    input: CudaSlice<f32>,
    weights: Vec<CudaSlice<f32>>,
    gradients: Vec<CudaSlice<f32>>,
    memory: Memory,
}

impl Net {
    /// Layers between these widths. Their inputs and weights are random numbers, the same
    /// in each run, and such that activations neither grow nor vanish.
    pub(crate) fn new(lab: &Lab, samples: usize, widths: Vec<usize>) -> Result<Net> {
        let stream = lab.context().new_stream()?;
        let layers = || widths.windows(2).map(|pair| (pair[0], pair[1]));
        let weights = layers().enumerate().map(|(layer, (inputs, outputs))| {
            Ok(stream.clone_htod(&weights(layer, inputs, outputs))?)
        });
        let gradients = layers()
            .map(|(inputs, outputs)| Ok(stream.alloc_zeros(inputs * outputs)?));
        Ok(Net {
            kernels: Kernels::load(lab)?,
            samples,
            input: stream.clone_htod(&input(samples * widths[0]))?,
            weights: weights.collect::<Result<_>>()?,
            gradients: gradients.collect::<Result<_>>()?,
            memory: Memory::new(lab)?,
            widths: widths.clone(),
            stream,
        })
    }

    // ANCHOR: step
    /// A step that keeps the inputs of the layers `starts`, the first of which is 0. With
    /// each begins a segment; its other activations are computed when the backward pass
    /// comes to it. Each is freed when it is dropped.
    pub(crate) fn step(&mut self, starts: &[usize]) -> Result<()> {
        // Forward, up to the last segment.
        let mut kept: Vec<CudaSlice<f32>> = vec![];
        for segment in starts.windows(2) {
            let mut x: Option<CudaSlice<f32>> = None;
            for layer in segment[0]..segment[1] {
                x = Some(self.forward(layer, x.as_ref().or(kept.last()))?);
            }
            kept.extend(x);
        }

        // Backward, from the last segment to the first.
        let mut end = self.weights.len();
        let mut gradient: Option<CudaSlice<f32>> = None;
        for start in starts.iter().copied().rev() {
            let first = if start == 0 { None } else { kept.pop() };
            let mut inside = vec![];
            // The last segment's output is needed, too: it is the loss's gradient.
            let until = if gradient.is_none() { end } else { end - 1 };
            for layer in start..until {
                inside.push(self.forward(layer, inside.last().or(first.as_ref()))?);
            }
            let mut dz = match gradient.take() {
                Some(dz) => dz,
                None => inside.pop().expect("a segment has a layer"),
            };
            for layer in (start..end).rev() {
                dz = self.back(layer, inside.last().or(first.as_ref()), dz)?;
                inside.pop();
            }
            gradient = Some(dz);
            end = start;
        }
        Ok(())
    }
    // ANCHOR_END: step

    /// Times a step, and takes another one with a look at the memory, which is kept.
    pub(crate) fn time(
        &mut self,
        lab: &Lab,
        case: Case,
        starts: &[usize],
    ) -> Result<Timed<Vec<MemoryReading>>> {
        let stream = self.stream.clone();
        for gradient in &mut self.gradients {
            stream.memset_zeros(gradient)?;
        }
        // By the host's clock: a step queues more than a stream may hold while it waits.
        let samples = lab.time_on_host(|| {
            self.step(starts)?;
            Ok(stream.synchronize()?)
        })?;
        self.memory.watch(&stream)?;
        self.step(starts)?;
        let readings = self.memory.end(&stream)?;
        let weights: usize = self.weights.iter().map(CudaSlice::num_bytes).sum();
        let case = case.model("weights_and_gradients_bytes", 2.0 * weights as f64);
        Ok(case.timed(samples, readings))
    }

    /// Bytes of the activation that goes into the net.
    pub(crate) fn activation_bytes(&self) -> usize {
        self.input.num_bytes()
    }

    /// All layers' gradients, one behind the other.
    pub(crate) fn gradients(&self) -> Result<Vec<f32>> {
        let mut all = vec![];
        for gradient in &self.gradients {
            all.extend(self.stream.clone_dtoh(gradient)?);
        }
        self.stream.synchronize()?;
        Ok(all)
    }
}

/// Numbers from -1 to 1 that look random.
fn random(i: usize) -> f32 {
    let bits = check::value(i + 1) ^ (check::value(i + 1) >> 15);
    check::value(bits as usize) as f32 / 2f32.powi(31) - 1.0
}

pub(crate) fn input(numbers: usize) -> Vec<f32> {
    (0..numbers).map(random).collect()
}

/// A layer's weights: their variance is 2 over the inputs, because half of what goes in is 0.
pub(crate) fn weights(layer: usize, inputs: usize, outputs: usize) -> Vec<f32> {
    let (first, bound) = ((layer + 1) << 24, (6.0 / inputs as f32).sqrt());
    (0..inputs * outputs).map(|i| bound * random(first + i)).collect()
}
