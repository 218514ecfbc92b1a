//! How a GPU computes a layer, forward and back.

use std::ops::Range;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{LaunchConfig, result};
use lab::Result;
use lab::launch::{blocks, threads, tiles};

use crate::gpu::{Gpu, Weights, at};

// SAFETY: threads past an edge neither load nor store; others use element (row, column) of
// matrices that have `samples`, `inputs` and `outputs` rows and columns, or element i of
// `count`, as `Gpu::new` allocates them. Events order what GPUs write for each other.
lab::kernels! { unsafe "model-split" {
    fn forward(
        x: CUdeviceptr, w: CUdeviceptr, y: CUdeviceptr,
        samples: u32, inputs: u32, outputs: u32, relu: u32,
    );
    fn weights_back(
        x: CUdeviceptr, dz: CUdeviceptr, dw: CUdeviceptr,
        samples: u32, inputs: u32, outputs: u32,
    );
    fn inputs_back(
        dz: CUdeviceptr, w: CUdeviceptr, x: CUdeviceptr, dx: CUdeviceptr,
        samples: u32, inputs: u32, outputs: u32, relu: u32,
    );
    fn add(sum: CUdeviceptr, inbox: CUdeviceptr, count: u32, pieces: u32);
    fn update(w: CUdeviceptr, dw: CUdeviceptr, count: u32);
    fn fill(
        memory: CUdeviceptr, count: u32, columns: u32, stride: u32, first: u32,
    );
} }

const TILE: usize = 64;

impl Gpu {
    // ANCHOR: layer
    /// Computes a layer's output for some rows of this GPU's.
    pub(crate) fn forward(&self, layer: usize, rows: Range<usize>) -> Result<()> {
        let (samples, inputs, outputs) = self.sides(layer, &rows);
        let grid = grid(outputs, samples);
        let x = at(self.x[layer], rows.start * inputs);
        let y = at(self.x[layer + 1], rows.start * outputs);
        let [m, i, o] = [samples, inputs, outputs].map(|n| n as u32);
        let (w, relu) = (self.used[layer].w, u32::from(layer.is_multiple_of(2)));
        self.kernels.forward(&self.stream, grid, x, w, y, m, i, o, relu)
    }

    /// Adds to the gradient of a layer's weights, and computes that of its input. The loss
    /// is half the sum of the outputs' squares, so that their gradient is the output.
    pub(crate) fn back(&self, layer: usize, rows: Range<usize>) -> Result<()> {
        let (samples, inputs, outputs) = self.sides(layer, &rows);
        let is_last = layer + 1 == self.cut.shape.layers;
        let dz = if is_last { self.x[layer + 1] } else { self.dx[(layer + 1) % 2] };
        let dz = at(dz, rows.start * outputs);
        let x = at(self.x[layer], rows.start * inputs);
        let dx = at(self.dx[layer % 2], rows.start * inputs);
        let [m, i, o] = [samples, inputs, outputs].map(|n| n as u32);
        let (stream, Weights { w, dw }) = (&self.stream, self.used[layer]);
        let relu = u32::from(!layer.is_multiple_of(2)); // of the layer before
        self.kernels.weights_back(
            stream,
            grid(outputs, inputs),
            x,
            dz,
            dw,
            m,
            i,
            o,
        )?;
        let grid = grid(inputs, samples);
        self.kernels.inputs_back(stream, grid, dz, w, x, dx, m, i, o, relu)
    }
    // ANCHOR_END: layer

    /// Takes a step down the gradient with the weights that this GPU keeps.
    pub(crate) fn descend(&self) -> Result<()> {
        let (Weights { w, dw }, words) = (self.kept, self.cut.words());
        self.kernels.update(&self.stream, threads(words), w, dw, words as u32)
    }

    /// Clears words.
    pub(crate) fn clear(&self, memory: CUdeviceptr, words: usize) -> Result<()> {
        self.context.bind_to_thread()?;
        let (bytes, stream) = (size_of::<u32>() * words, self.stream.cu_stream());
        // SAFETY: that many words are there, and only this stream uses them.
        Ok(unsafe { result::memset_d8_async(memory, 0, bytes, stream) }?)
    }

    fn sides(&self, layer: usize, rows: &Range<usize>) -> (usize, usize, usize) {
        (rows.len(), self.cut.width(layer), self.cut.width(layer + 1))
    }
}

/// Blocks that cover a product.
fn grid(columns: usize, rows: usize) -> LaunchConfig {
    let LaunchConfig { grid_dim, .. } = tiles((columns, rows), (TILE, TILE));
    LaunchConfig { grid_dim, ..blocks(1, 256) }
}
