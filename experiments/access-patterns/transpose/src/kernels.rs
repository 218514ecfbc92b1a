//! The kernels that take (in, out, width, height), and how they divide a matrix.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};
use lab::launch::tiles;

use crate::matrix::{Shape, Way};

// SAFETY: every kernel stays within its matrices, whose shape it is told; `in_place` has
// one of side * side elements. `idle` touches nothing.
lab::kernels! { unsafe "transpose" {
    fn transpose[
        "read_coalesced", "write_coalesced", "tile", "tile_padded", "several",
        "swizzled", "vectors", "downwards", "any_shape", "whole_sectors", "idle",
    ](input: &CudaSlice<u32>, output: &mut CudaSlice<u32>, width: u32, height: u32);
    fn in_place(matrix: &mut CudaSlice<u32>, side: u32);
} }

/// How a kernel divides a matrix among its blocks.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    /// Width and height of a tile.
    tile: (usize, usize),
    threads: (u32, u32),
    /// Whether neighbouring blocks take tiles below each other, not beside each other.
    down: bool,
    /// Whether threads move vectors of 16 bytes, at the beginning of which rows begin.
    aligned: bool,
    /// Rows by which what a block writes may be above its tile.
    early: usize,
}

pub(crate) const SIMPLE: Blocks = Blocks {
    tile: (32, 32),
    threads: (32, 32),
    down: false,
    aligned: false,
    early: 0,
};
const SEVERAL: Blocks = Blocks { threads: (32, 8), ..SIMPLE };
/// SIDE in the kernel file; a thread moves 4 × 4 elements.
pub(crate) const SIDE: usize = 64;
const VECTORS: Blocks = Blocks {
    tile: (SIDE, SIDE),
    threads: ((SIDE * SIDE / 16) as u32, 1),
    down: false,
    aligned: true,
    early: 0,
};
pub(crate) const DOWNWARDS: Blocks = Blocks { down: true, ..VECTORS };
const ANY_SHAPE: Blocks = Blocks { tile: (32, 64), down: true, ..SEVERAL };
pub(crate) const KERNELS: [(&str, Blocks); 10] = [
    ("read_coalesced", SIMPLE),
    ("write_coalesced", SIMPLE),
    ("tile", SIMPLE),
    ("tile_padded", SIMPLE),
    ("several", SEVERAL),
    ("swizzled", SEVERAL),
    ("vectors", VECTORS),
    ("downwards", DOWNWARDS),
    ("any_shape", ANY_SHAPE),
    ("whole_sectors", Blocks { early: 7, ..ANY_SHAPE }),
];

impl Blocks {
    // ANCHOR: launch
    /// The blocks for a matrix of this shape.
    pub(crate) fn config(self, shape: &Shape) -> LaunchConfig {
        let mut config = tiles((shape.width, shape.height + self.early), self.tile);
        config.block_dim = (self.threads.0, self.threads.1, 1);
        if self.down {
            // Blocks are started in the order of the first number.
            let (across, down, _) = config.grid_dim;
            config.grid_dim = (down, across, 1);
        }
        config
    }
    // ANCHOR_END: launch
}

/// The kernel of this name as a way to transpose.
pub(crate) fn way(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    name: &'static str,
    blocks: Blocks,
) -> Way {
    let (kernels, stream) = (kernels.clone(), stream.clone());
    let transpose = move |shape: &Shape, input: &_, output: &mut _| {
        let (width, height) = (shape.width as u32, shape.height as u32);
        let config = blocks.config(shape);
        kernels.transpose(name, &stream, config, input, output, width, height)
    };
    Way { name, aligned: blocks.aligned, transpose: Box::new(transpose) }
}
