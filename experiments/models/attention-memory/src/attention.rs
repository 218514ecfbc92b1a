//! The arrays and the three ways.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, LaunchConfig};
use lab::launch::{blocks, threads};
use lab::{Lab, Result};
use pool::driver::DriverPool;

use crate::shape::{Method, Shape};

// SAFETY: all stay within their arrays: `count` elements, or `heads` times `n` rows of
// `head` elements and `n` rows of `n` scores, `heads` being the last number of the grid.
// `differ` adds to one word.
lab::kernels! { unsafe "attention-memory" {
    fn fill(out: &mut CudaSlice<f32>, count: usize, seed: u32);
    fn scores(
        q: &CudaView<'_, f32>, k: &CudaView<'_, f32>, scores: &mut CudaSlice<f32>,
        n: u32, head: u32, scale: f32, causal: u32,
    );
    fn softmax(scores: &mut CudaSlice<f32>, n: u32);
    fn weighted_sum(
        weights: &CudaSlice<f32>, v: &CudaView<'_, f32>, out: &mut CudaViewMut<'_, f32>,
        n: u32, head: u32,
    );
    fn flash(
        q: &CudaSlice<f32>, k: &CudaSlice<f32>, v: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>, n: u32, scale: f32, causal: u32,
    );
    fn differ(
        a: &CudaSlice<f32>, b: &CudaSlice<f32>, count: usize, n: u32, head: u32,
        causal: u32, bound: f32, wrong: &mut CudaSlice<u32>,
    );
} }

/// HEAD in the kernel file: numbers of a query, a key or a value. `flash` knows no other.
pub(crate) const HEAD: usize = 64;
/// Rows of Q that a block of `flash` takes, and its threads; side of a tile of a product.
const TILE: u32 = 64;
const FLASH_THREADS: u32 = 128;
/// How far results in FP32 may differ, relative to 1 / √(keys that the row sees).
pub(crate) const BOUND: f32 = 1e-4;

/// Q, K and V.
pub(crate) type Inputs = [CudaSlice<f32>; 3];
/// Scores of the heads that are in memory at once, if there are any.
pub(crate) type Scores = Option<CudaSlice<f32>>;

pub(crate) struct Attention {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) kernels: Kernels,
    pool: ManuallyDrop<DriverPool>,
}

impl Attention {
    pub(crate) fn new(lab: &Lab) -> Result<Attention> {
        Ok(Attention {
            stream: lab.context().new_stream()?,
            kernels: Kernels::load(lab)?,
            pool: DriverPool::of_the_gpu(lab.context())?,
        })
    }

    /// Bytes of device memory that are allocated, after all that was freed is.
    pub(crate) fn used_bytes(&self) -> Result<u64> {
        self.stream.synchronize()?;
        Ok(self.pool.used_bytes()?)
    }

    /// Pseudo-random numbers from -1 to 1.
    pub(crate) fn inputs(&self, shape: &Shape) -> Result<Inputs> {
        let count = shape.elements();
        let filled = |seed| {
            let mut out = self.stream.alloc_zeros(count)?;
            self.kernels.fill(
                &self.stream,
                threads(count),
                &mut out,
                count,
                seed,
            )?;
            Ok::<_, anyhow::Error>(out)
        };
        Ok([filled(1)?, filled(2)?, filled(3)?])
    }

    /// Room for the scores that a way keeps.
    pub(crate) fn scores(&self, shape: &Shape, method: Method) -> Result<Scores> {
        let count = method.at_once(shape) * shape.tokens * shape.tokens;
        Ok((count > 0).then(|| self.stream.alloc_zeros(count)).transpose()?)
    }

    /// Queues all kernels of a way.
    pub(crate) fn run(
        &self,
        shape: &Shape,
        method: Method,
        inputs: &Inputs,
        scores: &mut Scores,
        out: &mut CudaSlice<f32>,
    ) -> Result<()> {
        match scores {
            None => self.flash(shape, inputs, out),
            Some(scores) => self.naive(shape, method, inputs, scores, out),
        }
    }

    // ANCHOR: naive
    fn naive(
        &self,
        shape: &Shape,
        method: Method,
        [q, k, v]: &Inputs,
        scores: &mut CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<()> {
        let (stream, kernels) = (&self.stream, &self.kernels);
        let (n, head) = (shape.tokens as u32, shape.head as u32);
        let heads = method.at_once(shape);
        for first in (0..shape.heads).step_by(heads) {
            let size = shape.tokens * shape.head;
            let part = first * size..(first + heads) * size;
            let (q, k) = (q.slice(part.clone()), k.slice(part.clone()));
            let (v, mut out) = (v.slice(part.clone()), out.slice_mut(part));
            let (scale, causal) = (shape.scale(), shape.causal.into());
            let grid = product(n, n, heads);
            kernels.scores(stream, grid, &q, &k, scores, n, head, scale, causal)?;
            kernels.softmax(stream, blocks(shape.tokens * heads, 256), scores, n)?;
            let grid = product(head, n, heads);
            kernels.weighted_sum(stream, grid, scores, &v, &mut out, n, head)?;
        }
        Ok(())
    }

    fn flash(
        &self,
        shape: &Shape,
        [q, k, v]: &Inputs,
        out: &mut CudaSlice<f32>,
    ) -> Result<()> {
        let n = shape.tokens as u32;
        let config = LaunchConfig {
            grid_dim: (n.div_ceil(TILE), shape.heads as u32, 1),
            block_dim: (FLASH_THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let (scale, causal) = (shape.scale(), shape.causal.into());
        self.kernels.flash(&self.stream, config, q, k, v, out, n, scale, causal)
    }
    // ANCHOR_END: naive
}

/// The blocks of a product with so many columns and rows, for so many heads.
fn product(columns: u32, rows: u32, heads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (columns.div_ceil(TILE), rows.div_ceil(TILE), heads as u32),
        block_dim: (16, 16, 1),
        shared_mem_bytes: 0,
    }
}
