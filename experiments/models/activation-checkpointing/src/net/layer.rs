//! A layer: the kernels of its forward and backward pass, and their launches.

use cudarc::driver::CudaSlice;
use lab::Result;
use lab::launch::tiles;

use super::Net;

// SAFETY: blocks have 16 × 16 threads. Threads past an edge neither load nor store; others
// use element (row, column) of matrices that have `samples`, `inputs` and `outputs` rows and
// columns, as `Net` allocates them.
lab::kernels! { unsafe "activation-checkpointing" {
    fn forward(
        x: &CudaSlice<f32>, w: &CudaSlice<f32>, y: &mut CudaSlice<f32>,
        samples: i32, inputs: i32, outputs: i32,
    );
    fn weights_back(
        x: &CudaSlice<f32>, dz: &CudaSlice<f32>, dw: &mut CudaSlice<f32>,
        samples: i32, inputs: i32, outputs: i32,
    );
    fn inputs_back(
        x: &CudaSlice<f32>, dz: &CudaSlice<f32>, w: &CudaSlice<f32>,
        before: &mut CudaSlice<f32>, samples: i32, inputs: i32, outputs: i32,
    );
} }

const TILE: usize = 16;

impl Net {
    /// A layer's output for `x`, or for the net's input.
    pub(super) fn forward(
        &self,
        layer: usize,
        x: Option<&CudaSlice<f32>>,
    ) -> Result<CudaSlice<f32>> {
        let (samples, inputs, outputs) = self.sides(layer);
        let (x, w) = (x.unwrap_or(&self.input), &self.weights[layer]);
        let mut y = self.memory.activation(&self.stream, samples * outputs)?;
        let grid = tiles((outputs, samples), (TILE, TILE));
        self.kernels.forward(
            &self.stream,
            grid,
            x,
            w,
            &mut y,
            samples as i32,
            inputs as i32,
            outputs as i32,
        )?;
        Ok(y)
    }

    /// Computes the gradient of a layer's weights, and gives that of what went into it.
    pub(super) fn back(
        &mut self,
        layer: usize,
        x: Option<&CudaSlice<f32>>,
        dz: CudaSlice<f32>,
    ) -> Result<CudaSlice<f32>> {
        let (samples, inputs, outputs) = self.sides(layer);
        let (x, stream) = (x.unwrap_or(&self.input), &self.stream);
        let (m, i, o) = (samples as i32, inputs as i32, outputs as i32);
        let grid = tiles((outputs, inputs), (TILE, TILE));
        let dw = &mut self.gradients[layer];
        self.kernels.weights_back(stream, grid, x, &dz, dw, m, i, o)?;
        if layer == 0 {
            return Ok(dz); // the input's gradient is not needed
        }
        let mut before = self.memory.activation(stream, samples * inputs)?;
        let grid = tiles((inputs, samples), (TILE, TILE));
        let w = &self.weights[layer];
        self.kernels.inputs_back(stream, grid, x, &dz, w, &mut before, m, i, o)?;
        Ok(before)
    }

    /// Samples, inputs and outputs of a layer.
    fn sides(&self, layer: usize) -> (usize, usize, usize) {
        (self.samples, self.widths[layer], self.widths[layer + 1])
    }
}
