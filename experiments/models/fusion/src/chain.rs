//! A chain of steps in two ways: the arrays, the launches and the check.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};
use lab::launch::threads;
use lab::measure::Timed;
use lab::memory::power_of_two_within;
use lab::{Case, Ceiling, Lab, Result, check};
use rayon::prelude::*;

// SAFETY: threads of `chain`, `multiply`, `shift`, `activate`, `add` and `layer` use quad i
// of each array if i is below `quads`, which all have. The others have a block for each row
// of `columns` numbers, and a number for each row in `most` and `total`.
lab::kernels! { unsafe "fusion" {
    fn chain(
        input: &CudaView<'_, f32>, output: &mut CudaViewMut<'_, f32>,
        quads: usize, steps: u32,
    );
    fn with_number["multiply", "shift"](
        x: &CudaSlice<f32>, out: &mut CudaSlice<f32>, quads: usize, by: f32,
    );
    fn activate(x: &CudaSlice<f32>, out: &mut CudaSlice<f32>, quads: usize);
    fn add(
        x: &CudaSlice<f32>, residual: &CudaSlice<f32>, out: &mut CudaSlice<f32>,
        quads: usize,
    );
    fn layer(
        x: &CudaSlice<f32>, residual: &CudaSlice<f32>, out: &mut CudaSlice<f32>,
        quads: usize, scale: f32, bias: f32,
    );
    fn row_largest(x: &CudaSlice<f32>, most: &mut CudaSlice<f32>, columns: i32);
    fn row_sum(
        x: &CudaSlice<f32>, most: &CudaSlice<f32>, total: &mut CudaSlice<f32>,
        columns: i32,
    );
    fn row_divide(
        x: &CudaSlice<f32>, most: &CudaSlice<f32>, total: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>, columns: i32,
    );
    fn softmax["softmax_walks", "softmax_kept"](
        x: &CudaSlice<f32>, out: &mut CudaSlice<f32>, columns: i32,
    );
} }

/// Numbers that a thread takes at once.
pub(crate) const QUAD: usize = 4;
pub(crate) const QUAD_BYTES: usize = QUAD * size_of::<f32>();
/// Inputs repeat after so many numbers, a prime, so that few results have to be computed
/// on the host and yet every block has others than the blocks around it.
const PERIOD: usize = 65_521;

/// Number i of an input: between 0 and 1, and none twice in a period.
pub(crate) fn number(i: usize) -> f32 {
    ((i % PERIOD) as f32 + 0.5) / PERIOD as f32
}

/// What `of` makes of the inputs, by index.
pub(crate) fn table(of: impl Fn(f32) -> f32) -> impl Fn(usize) -> f32 {
    let results: Vec<f32> = (0..PERIOD).map(|i| of(number(i))).collect();
    move |i| results[i % PERIOD]
}

lab::words! {
    /// A kernel for each step, or one for all.
    pub(crate) enum Strategy { Separate = "separate", Fused = "fused" }
}

/// A chain that is timed.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) strategy: Strategy,
    pub(crate) quads: usize,
    pub(crate) steps: u32,
}

impl Shape {
    pub(crate) fn launches(&self) -> usize {
        if self.strategy == Strategy::Fused { 1 } else { self.steps as usize }
    }

    /// Bytes that the kernels ask to read, and as many to write.
    pub(crate) fn bytes(&self) -> usize {
        self.launches() * self.quads * QUAD_BYTES
    }
}

pub(crate) struct Chain {
    pub(crate) stream: Arc<CudaStream>,
    kernels: Kernels,
    /// Quads of each array.
    pub(crate) quads: usize,
    l2_bytes: usize,
    input: CudaSlice<f32>,
    /// What lies between two steps; a framework's allocator gives these two in turn, too.
    between: [CudaSlice<f32>; 2],
    output: CudaSlice<f32>,
}

impl Chain {
    pub(crate) fn new(lab: &Lab) -> Result<Chain> {
        let stream = lab.context().new_stream()?;
        let affordable = power_of_two_within(lab.free_bytes()? / 8 / QUAD_BYTES);
        let quads = (4 * lab.l2_bytes() / QUAD_BYTES).next_power_of_two();
        let quads = quads.min(affordable);
        let input: Vec<f32> =
            (0..quads * QUAD).into_par_iter().map(number).collect();
        let array = || stream.alloc_zeros::<f32>(quads * QUAD);
        Ok(Chain {
            kernels: Kernels::load(lab)?,
            quads,
            l2_bytes: lab.l2_bytes(),
            input: stream.clone_htod(&input)?,
            between: [array()?, array()?],
            output: array()?,
            stream,
        })
    }

    // ANCHOR: ways
    /// Queues the steps on the `turn`th piece of input and output. Pieces follow each other
    /// through arrays that no cache holds, so inputs come from memory and outputs go there.
    fn launch(&mut self, shape: &Shape, turn: usize) -> Result<()> {
        let Shape { strategy, quads, steps } = *shape;
        let (stream, grid, numbers) = (&self.stream, threads(quads), quads * QUAD);
        let start = turn % (self.quads / quads) * numbers;
        let input = self.input.slice(start..start + numbers);
        let mut output = self.output.slice_mut(start..start + numbers);
        let step = |from: &CudaView<f32>, to: &mut CudaViewMut<f32>, steps| {
            self.kernels.chain(stream, grid, from, to, quads, steps)
        };
        if strategy == Strategy::Fused || steps == 1 {
            return step(&input, &mut output, steps);
        }
        let [mut a, mut b] = self.between.each_mut();
        step(&input, &mut a.slice_mut(..numbers), 1)?;
        for _ in 2..steps {
            step(&a.slice(..numbers), &mut b.slice_mut(..numbers), 1)?;
            std::mem::swap(&mut a, &mut b);
        }
        step(&a.slice(..numbers), &mut output, 1)
    }
    // ANCHOR_END: ways

    /// Times a case, and compares the first piece of what it wrote.
    pub(crate) fn time(
        &mut self,
        lab: &Lab,
        case: &str,
        strategy: Strategy,
        quads: usize,
        steps: u32,
    ) -> Result<Timed<Shape>> {
        let shape = Shape { strategy, quads, steps };
        let stream = self.stream.clone();
        stream.memset_zeros(&mut self.output)?;
        // What lies between two steps need not come from memory then.
        let cached = strategy == Strategy::Separate && quads < self.quads;
        let case = Case::new(case)
            .with("kind", strategy)
            .with("steps", steps as usize)
            .with("array_bytes", quads * QUAD_BYTES)
            .reads(shape.bytes())
            .writes(shape.bytes())
            .ceiling(if cached { Ceiling::None } else { Ceiling::DeviceMemory })
            .footprint(2 * self.quads * QUAD_BYTES, self.l2_bytes);
        let samples =
            lab.time_on_gpu(&stream, &mut |turn| self.launch(&shape, turn))?;
        let output = self.output.slice(..quads * QUAD);
        case.timed(samples, shape).check_device(&stream, &output, expected(steps))
    }

    /// A size that no block divides, with room after it that has to stay as it was.
    pub(crate) fn check_ragged(
        &mut self,
        strategy: Strategy,
        steps: u32,
    ) -> Result<()> {
        let quads = check::ragged(self.quads);
        self.stream.memset_zeros(&mut self.output)?;
        self.launch(&Shape { strategy, quads, steps }, 0)?;
        let (what, expected) =
            (format!("{steps} steps, {}", strategy.name()), expected(steps));
        check::output(&what, &self.stream, &self.output, quads * QUAD, expected)?;
        Ok(())
    }
}

/// What the steps make of the input, bit for bit: a step rounds once, on host and GPU.
fn expected(steps: u32) -> impl Fn(usize) -> f32 {
    table(move |x| (0..steps).fold(x, |x, _| (-1.9f32).mul_add(x.abs(), 1.0)))
}
