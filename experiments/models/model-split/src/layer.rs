//! How a GPU computes a layer, forward and back.

use std::ops::Range;

use cudarc::driver::LaunchConfig;
use lab::Result;
use lab::launch::{blocks, threads, tiles};

use crate::device::Trainer;

const TILE: usize = 64;

impl Trainer {
    // ANCHOR: layer
    /// Computes a layer's output for some rows of this GPU's.
    pub(crate) fn forward(&self, layer: usize, rows: Range<usize>) -> Result<()> {
        let [m, i, o] = self.sides(layer, &rows);
        let (x, y) =
            (self.activation(layer, &rows), self.activation(layer + 1, &rows));
        let (w, relu) =
            (self.used_weights(layer), u32::from(layer.is_multiple_of(2)));
        self.kernels.forward(&self.stream, grid(o, m), &x, &w, &y, m, i, o, relu)
    }

    /// Adds to the gradient of a layer's weights, and computes that of its input. The loss
    /// is half the sum of the outputs' squares, so that their gradient is the output.
    pub(crate) fn back(&self, layer: usize, rows: Range<usize>) -> Result<()> {
        let (kernels, stream) = (&self.kernels, &self.stream);
        let [m, i, o] = self.sides(layer, &rows);
        let dz = match layer + 1 == self.share.shape.layers {
            true => self.activation(layer + 1, &rows),
            false => self.reaching(layer + 1, &rows),
        };
        let (x, dx) = (self.activation(layer, &rows), self.reaching(layer, &rows));
        let (w, dw) = (self.used_weights(layer), self.used_gradient(layer));
        let relu = u32::from(!layer.is_multiple_of(2)); // of the layer before
        kernels.weights_back(stream, grid(o, i), &x, &dz, &dw, m, i, o)?;
        kernels.inputs_back(stream, grid(i, m), &dz, &w, &x, &dx, m, i, o, relu)
    }
    // ANCHOR_END: layer

    /// Takes a step down the gradient with the weights that this GPU keeps.
    pub(crate) fn descend(&self) -> Result<()> {
        let words = self.share.words();
        let (w, dw) = (&self.weights, &self.gradients);
        self.kernels.update(&self.stream, threads(words), w, dw, words as u32)
    }

    /// Rows, inputs and outputs of a layer.
    fn sides(&self, layer: usize, rows: &Range<usize>) -> [u32; 3] {
        [rows.len(), self.share.width(layer), self.share.width(layer + 1)]
            .map(|side| side as u32)
    }
}

/// Blocks that cover a product.
fn grid(columns: u32, rows: u32) -> LaunchConfig {
    let LaunchConfig { grid_dim, .. } =
        tiles((columns as usize, rows as usize), (TILE, TILE));
    LaunchConfig { grid_dim, ..blocks(1, 256) }
}
