//! The kernels, the numbers that they read, and what these must become.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};
use lab::check::{self, value};
use lab::{Lab, Result};

use crate::MANY;

// SAFETY: threads at or past `count` do nothing; others use vector i of both, four floats.
lab::kernels! { unsafe "roofline" {
    fn steps[
        "steps_0", "steps_1", "steps_2", "steps_4", "steps_8", "steps_16", "steps_32",
        "steps_64", "steps_128", "steps_256", "steps_512",
    ](
        input: &CudaSlice<f32>, output: &mut CudaSlice<f32>, count: u32, a: f32, b: f32,
    );
    fn many_steps(
        input: &CudaSlice<f32>, output: &mut CudaSlice<f32>, count: u32, a: f32, b: f32,
        turns: u32,
    );
} }

/// The kernel that counts the clock: it lies with those of `matrix-product`.
pub(crate) mod clocks {
    use cudarc::driver::CudaSlice;

    // SAFETY: it writes two words.
    lab::kernels! { unsafe "matrix-product" {
        fn read_clocks(out: &mut CudaSlice<u64>, nanoseconds: u32);
    } }
}

/// A step is x → a x + b. It brings numbers slowly nearer to b / (1 - a), so that after
/// thousands they are still different, and none of their bits rests.
const A: f32 = 0.9999;
const B: f32 = 0.000_054_321;
/// So many numbers are different, and then they come again: a prime, so that one from a
/// wrong block shows.
const DIFFERENT: usize = 65_521;

/// Steps of a turn of `many_steps`.
const TURN: usize = 32;

/// Random numbers, what the kernel makes of them, and what it should.
pub(crate) struct Numbers {
    pub(crate) stream: Arc<CudaStream>,
    kernels: Kernels,
    input: CudaSlice<f32>,
    output: CudaSlice<f32>,
    expected: Vec<f32>,
}

/// A random number from -1 to 1.
fn random(i: usize) -> f32 {
    value(i % DIFFERENT) as i32 as f32 / 2f32.powi(31)
}

impl Numbers {
    /// So many vectors of four.
    pub(crate) fn new(lab: &Lab, count: usize) -> Result<Numbers> {
        let stream = lab.context().new_stream()?;
        let input: Vec<f32> = (0..4 * count).map(random).collect();
        Ok(Numbers {
            kernels: Kernels::load(lab)?,
            input: stream.clone_htod(&input)?,
            output: stream.alloc_zeros(4 * count)?,
            expected: vec![],
            stream,
        })
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        Ok(self.stream.memset_zeros(&mut self.output)?)
    }

    pub(crate) fn launch(
        &mut self,
        steps: usize,
        grid: LaunchConfig,
        count: usize,
    ) -> Result<()> {
        let Numbers { stream, kernels, input, output, .. } = self;
        let count = count as u32;
        if steps == MANY {
            let turns = (MANY / TURN) as u32;
            return kernels
                .many_steps(stream, grid, input, output, count, A, B, turns);
        }
        let name = format!("steps_{steps}");
        kernels.steps(&name, stream, grid, input, output, count, A, B)
    }

    /// Computes what so many steps make of the numbers, as exactly as the GPU does.
    pub(crate) fn expect(&mut self, steps: usize) {
        let end = |i| (0..steps).fold(random(i), |x, _| x.mul_add(A, B));
        let all = self.input.len().min(DIFFERENT);
        self.expected = (0..all).map(end).collect();
    }

    /// Compares every number of the first `count` vectors.
    pub(crate) fn check(&self, count: usize) -> Result<u64> {
        check::output("numbers", &self.stream, &self.output, 4 * count, |i| {
            self.expected[i % DIFFERENT]
        })
    }
}
